//! Cost of a request in the server compared with nginx: CPU time per request under wrk, in
//! interleaved rounds. `bench_cost [rounds] [seconds] [NAME=PID=URL …]`; the names add servers that
//! already run. Needs nginx, wrk and taskset on PATH, and `bench_server` built beside it. Servers
//! run on CPU 0, wrk on CPU 1.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Measured loads: connections, and requests in flight per connection.
const REGIMES: [(u32, u32); 3] = [(50, 1), (100, 1), (50, 16)];

/// wrk script that keeps `DEPTH` requests in flight per connection.
const PIPELINE: &str = "init = function(args)
  local requests = {}
  for k = 1, DEPTH do requests[k] = wrk.format() end
  batch = table.concat(requests)
end
request = function() return batch end
";

/// Parameters of one wrk run.
struct Load {
    seconds: u32,
    connections: u32,
    script: String,
}

struct Candidate {
    name: String,
    pid: u32,
    url: String,
    /// The server's process, killed when this program ends; none for servers started elsewhere.
    child: Option<Child>,
}

impl Drop for Candidate {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // The process may have ended by itself; that is no error.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u32| {
        arguments.get(place).map_or(Ok(default), |text| text.parse::<u32>())
    };
    let rounds = number(0, 7)?;
    let seconds = number(1, 5)?;
    let home = std::env::temp_dir().join(format!("bench-cost-{}", std::process::id()));
    fs::create_dir_all(&home)?;
    let nginx = start_nginx(&home)?;
    let name = "nginx file".to_string();
    let url = format!("{}small", nginx.url);
    let file = Candidate { name, pid: nginx.pid, url, child: None };
    let mut candidates = vec![nginx, file, start_weir("epoll")?, start_weir("uring")?];
    for argument in arguments.iter().skip(2) {
        let mut words = argument.splitn(3, '=');
        let (Some(name), Some(pid), Some(url)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("`{argument}` is not NAME=PID=URL").into());
        };
        let name = name.to_string();
        let url = url.to_string();
        candidates.push(Candidate { name, pid: pid.parse()?, url, child: None });
    }
    for (connections, depth) in REGIMES {
        let script = home.join(format!("depth-{depth}.lua"));
        fs::write(&script, PIPELINE.replace("DEPTH", &depth.to_string()))?;
        println!("{connections} connections, pipelining {depth}, {rounds} rounds of {seconds} s");
        let load = Load { seconds, connections, script: script.display().to_string() };
        compare(&candidates, rounds, &load)?;
    }
    drop(candidates);
    fs::remove_dir_all(&home)?;
    Ok(())
}

/// Prints, for each candidate, its cost and the ratio of nginx's cost to it: medians over the
/// rounds, the ratio's smallest and largest round.
fn compare(candidates: &[Candidate], rounds: u32, load: &Load) -> Result<(), Box<dyn Error>> {
    let mut costs = vec![Vec::new(); candidates.len()];
    let mut rates = vec![Vec::new(); candidates.len()];
    for round in 0..rounds as usize {
        for turn in 0..candidates.len() {
            // Each round starts with another candidate.
            let place = (round + turn) % candidates.len();
            let (cost_us, rate_rps) = measure(&candidates[place], load)?;
            costs[place].push(cost_us);
            rates[place].push(rate_rps);
        }
    }
    for (place, candidate) in candidates.iter().enumerate() {
        let ratios: Vec<f64> =
            costs[0].iter().zip(&costs[place]).map(|(nginx, own)| nginx / own).collect();
        let low = sorted(&ratios)[0];
        let high = sorted(&ratios)[ratios.len() - 1];
        println!(
            "  {:<12} {:6.2} us/request {:8.0} requests/s {:.2} of nginx ({low:.2}-{high:.2})",
            candidate.name,
            median(&costs[place]),
            median(&rates[place]),
            median(&ratios),
        );
    }
    Ok(())
}

/// Returns the CPU time per request in µs, and requests per second.
fn measure(candidate: &Candidate, load: &Load) -> Result<(f64, f64), Box<dyn Error>> {
    let seconds = load.seconds;
    let connections = load.connections;
    let before = cpu_us(candidate.pid)?;
    let output = Command::new("taskset")
        .args(["-c", "1", "wrk", "-t1", &format!("-c{connections}"), &format!("-d{seconds}s")])
        .args(["-s", &load.script, &candidate.url])
        .output()?;
    let used_us = cpu_us(candidate.pid)? - before;
    let text = String::from_utf8(output.stdout)?;
    let count = text.lines().find_map(|line| line.trim().split_once(" requests in "));
    let count: f64 = count.ok_or_else(|| format!("wrk said: {text}"))?.0.parse()?;
    if let Some(line) =
        text.lines().find(|line| line.contains("Non-2xx") || line.contains("Socket"))
    {
        return Err(format!("{}: {line}", candidate.name).into());
    }
    Ok((used_us / count, count / f64::from(seconds)))
}

/// Returns the CPU time of a process so far: fields 14 and 15 of proc_pid_stat(5), in ticks of
/// 10 ms.
fn cpu_us(pid: u32) -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').ok_or("no name in stat")?;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
    Ok(ticks.sum::<Result<u32, _>>().map(|ticks| f64::from(ticks) * 10_000.0)?)
}

fn start_nginx(home: &Path) -> Result<Candidate, Box<dyn Error>> {
    fs::write(home.join("small"), "hello, world!\n")?;
    let port = free_port()?;
    let config = format!(
        "daemon off; master_process off; worker_processes 1; pid {home}/pid; error_log {home}/error;
         events {{ worker_connections 4096; }}
         http {{
           access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
           client_body_temp_path {home}/1; proxy_temp_path {home}/2; fastcgi_temp_path {home}/3;
           uwsgi_temp_path {home}/4; scgi_temp_path {home}/5;
           server {{ listen 127.0.0.1:{port}; root {home};
             location = / {{ return 200 'hello, world!\\n'; }} }}
         }}",
        home = home.display(),
    );
    let path = home.join("conf");
    fs::write(&path, config)?;
    let mut command = Command::new("taskset");
    command.args(["-c", "0", "nginx", "-p"]).arg(home).arg("-c").arg(&path);
    let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // taskset execs nginx (execve(2)), so the process id is nginx's.
    let pid = child.id();
    let url = format!("http://127.0.0.1:{port}/");
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::yield_now();
    }
    Ok(Candidate { name: "nginx".to_string(), pid, url, child: Some(child) })
}

fn free_port() -> Result<u16, Box<dyn Error>> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn start_weir(engine: &str) -> Result<Candidate, Box<dyn Error>> {
    let program = std::env::current_exe()?.with_file_name("bench_server");
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program).arg(engine);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let url = line.split_whitespace().nth(2).ok_or("bench_server did not start")?.to_string();
    Ok(Candidate { name: format!("weir {engine}"), pid: child.id(), url, child: Some(child) })
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn median(numbers: &[f64]) -> f64 {
    let numbers = sorted(numbers);
    (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0
}

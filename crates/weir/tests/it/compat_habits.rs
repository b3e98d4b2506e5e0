//! Common uses of wrk and wrk2, with scripts, pipelines and command lines of the same shape as in
//! public repositories.

use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::weir::{WEIR, weir};
use crate::support::wrk::{start_as, weir_as, weir_reporting_as, wrk};
use crate::support::wrk_report::Report;

/// A script in a file, and a server that reports request heads.
struct Bench {
    directory: Directory,
    server: Raw,
    heads: Receiver<String>,
}

impl Bench {
    fn new(script: &str) -> Bench {
        let (sender, heads) = mpsc::channel();
        let sender = Mutex::new(sender);
        let server = Raw::start(move |peer| {
            while let Some(head) = peer.read_request()? {
                let _gone = sender.lock().expect("no holder panics").send(head);
                peer.write(OK)?;
            }
            Ok(())
        });
        let directory = Directory::new();
        fs::write(directory.file("s.lua"), script).expect("the directory is the test's own");
        Bench { directory, server, heads }
    }

    /// Runs weir with the script by the flags of `dialect`.
    fn run_as(&self, dialect: &str, words: &str) -> Output {
        weir_as(dialect, words, &["-s", &self.directory.file("s.lua"), &self.server.url()])
    }

    /// The head of the first request, with HOST for the server.
    fn first_head(&self) -> String {
        let head = self.heads.recv().expect("a request");
        head.replace(self.server.authority(), "HOST")
    }
}

/// The report of a successful run that wrote nothing to standard error.
#[track_caller]
fn quiet(output: &Output) -> Report {
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    let report = Report::read(&output.stdout);
    report.assert_consistent();
    report
}

/// Programs parse the JSON that `done()` writes to standard error.
#[test]
fn standard_error_is_the_scripts_alone() {
    let script = "function done(summary, latency)\n\
                  \x20 io.stderr:write('{\"requests\":', summary.requests, ',\"p99\":',\n\
                  \x20   latency:percentile(99), '}')\nend\n";
    for (dialect, flags) in [("wrk", ""), ("wrk2", "-R 500")] {
        let bench = Bench::new(script);
        let output = bench.run_as(dialect, &format!("-d1 -t2 -c4 {flags}"));
        assert_eq!(output.code(), 0, "{output:?}");
        let object: serde_json::Value =
            serde_json::from_str(&output.stderr).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(object["requests"], Report::read(&output.stdout).requests, "{output:?}");
    }
}

/// Timeouts, error responses and a missed rate are no failures of the run.
#[test]
fn nothing_is_reported_beside_a_run_that_succeeds() {
    let silent = Raw::start(|peer| peer.await_close());
    let refusing = Raw::answering("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n");
    let closing = Raw::start(|peer| peer.read_request().map(drop));
    let mut runs = Vec::new();
    for server in [&silent, &refusing, &closing] {
        for (dialect, flags) in [("wrk", "-T1"), ("wrk2", "-T1 -R 50k -L")] {
            let mut command = Command::new(WEIR);
            command.args(["--compat", dialect]).args("-d1 -t2 -c3".split(' '));
            command.args(flags.split(' ')).arg(server.url());
            runs.push(Process::start(&mut command));
        }
    }
    for run in runs {
        quiet(&run.wait());
    }
}

#[test]
fn weirs_own_report_goes_to_the_file_that_is_named() {
    let directory = Directory::new();
    let server = Raw::answering(OK);
    for (dialect, flags) in [("wrk", "-d1 -t1 -c3"), ("wrk2", "-d1 -t1 -R200 -c3")] {
        let (output, own) = weir_reporting_as(dialect, flags, &[&server.url()]);
        assert!(quiet(&output).requests > 0, "{output:?}");
        assert!(own.contains(&server.url()) && !own.contains("Thread Stats"), "{own}");
    }
    // A file that cannot be written is an error before the load; an empty name is ignored.
    let run = |place: &str| {
        let mut command = Command::new(WEIR);
        command.env("WEIR_REPORT", place).args(["--compat", "wrk", "-d1", "-t1", "-c1"]);
        Process::start(command.arg(server.url())).wait()
    };
    let before = server.requests();
    let output = run(&directory.file("no/such/place"));
    assert_eq!((output.code(), output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.contains("WEIR_REPORT"), "{output:?}");
    assert_eq!(server.requests(), before, "{output:?}");
    quiet(&run(""));
}

/// Scripts that seed a database send each item once.
#[test]
fn a_list_that_is_sent_once_ends_the_thread() {
    for returned in ["return nil", "return ''", "return"] {
        let script = format!(
            "local sent, shown = 0, 0\n\
             function request()\n\
             \x20 sent = sent + 1\n\
             \x20 if sent > 100 then wrk.thread:stop() {returned} end\n\
             \x20 return wrk.format('GET', '/item/' .. sent)\nend\n\
             function response(status, headers, body) shown = shown + 1 end\n"
        );
        for (dialect, flags) in [("wrk", ""), ("wrk2", "-R 2000")] {
            let bench = Bench::new(&script);
            let report = quiet(&bench.run_as(dialect, &format!("-d30 -t1 -c2 {flags}")));
            assert!((98..=100).contains(&report.requests), "{returned}: {report:#?}");
            assert!(report.run_time_us < 29e6, "{report:#?}");
            let heads: Vec<String> = bench.heads.try_iter().collect();
            assert_eq!(heads.len(), 100, "{returned}: {heads:?}");
        }
    }
    // A stopped thread does not end the others.
    let script = "local number = 0\n\
                  function setup(thread) number = number + 1 thread:set('id', number) end\n\
                  function request()\n\
                  \x20 if id == 1 then wrk.thread:stop() return nil end\n\
                  \x20 return wrk.request()\nend\n";
    let bench = Bench::new(script);
    let report = quiet(&bench.run_as("wrk", "-d1 -t2 -c2"));
    assert!(report.requests > 1 && report.run_time_us >= 1e6, "{report:#?}");
}

#[test]
fn wrk_can_be_required() {
    let script = "local wrk = require \"wrk\"\n\
                  wrk.method = 'PUT'\n\
                  function request() return require('wrk').format(nil, '/required') end\n";
    let bench = Bench::new(script);
    quiet(&bench.run_as("wrk", "-d1 -t1 -c1"));
    assert!(bench.first_head().starts_with("PUT /required HTTP/1.1\r\n"));
}

/// The shape of DeathStarBench's command lines and scripts: a mixed workload of absolute targets.
#[test]
fn workloads_of_deathstarbench_run() {
    let script = "local at_load = url\n\
                  local function search() return wrk.format('GET', url .. 'hotels?lat=38') end\n\
                  local function login() return wrk.format('POST', at_load .. 'user') end\n\
                  request = function()\n\
                  \x20 if math.random() < 0.6 then return search() else return login() end\nend\n";
    for words in ["-D exp -t2 -c4 -d1 -L -R 400", "-D fixed -t 2 -c 4 -d 1s -S -R400"] {
        let bench = Bench::new(script);
        let report = quiet(&bench.run_as("wrk2", words));
        assert!(report.requests > 0, "{report:#?}");
        let head = bench.first_head();
        let line = head.lines().next().unwrap_or_default();
        assert!(line.contains(" http://HOST/"), "{head}");
    }
}

#[test]
fn arrivals_are_spaced_as_requested() {
    let server = Raw::answering(OK);
    for (flag, says) in [("-D exp", "poisson"), ("-D fixed", "uniform")] {
        let words = format!("-d1 -t1 -c2 -R300 {flag}");
        let (output, own) = weir_reporting_as("wrk2", &words, &[&server.url()]);
        quiet(&output);
        assert!(own.to_lowercase().contains(says), "{flag}: {own}");
    }
}

#[test]
fn sent_requests_are_shown_on_request() {
    let server = Raw::answering(OK);
    let output = weir_as("wrk2", "-r -d1 -t1 -c2 -R100", &[&server.url()]);
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    let line = output.stdout.lines().find(|line| line.starts_with("Sent "));
    let sent: Option<u64> = line.and_then(|line| line.split(' ').nth(1)?.parse().ok());
    assert!(sent.is_some_and(|sent| (1..=101).contains(&sent)), "{output:?}");
    assert!(output.stdout.contains(" requests\n\n  Thread Stats "), "{output:?}");
}

/// A flag of a related tool causes an error with a hint, and nothing is sent.
#[test]
fn flags_of_wrks_relatives_are_answered_with_a_hint() {
    let server = Raw::answering(OK);
    for (dialect, flags, says) in [
        ("wrk2", "-R10 -D norm", "norm is not supported; use fixed or exp"),
        ("wrk2", "-R10 -D zipf", "zipf is not supported; use fixed or exp"),
        ("wrk2", "-R10 -P", "weir -R N --raw FILE"),
        ("wrk2", "-R10 -p", "weir -R N -o FILE"),
        ("wrk2", "-R10 -f rates.csv", "wrk3"),
        ("wrk2", "-R10 -N", "kinvolk"),
        ("wrk2", "-R10 -a 1", "taskset"),
        ("wrk", "-R10", "--compat wrk2"),
        ("wrk", "-D exp", "--compat wrk2"),
    ] {
        let output = weir_as(dialect, flags, &["-d1", &server.url()]);
        assert_eq!(output.code(), 1, "{flags}: {output:?}");
        assert!(output.stdout.starts_with("Usage: "), "{flags}: {output:?}");
        assert!(output.stderr.contains(says), "{flags}: {output:?}");
    }
    assert_eq!(server.accepted(), 0);
}

/// Endless loops before and after the load.
#[test]
fn a_script_that_never_returns_is_ended_and_named() {
    // One that computes all the time is enough.
    let endless = "while true do end";
    let pauses = "while true do for _ = 1, 1e7 do end os.execute('sleep 0.2') end";
    let scripts = [
        ("load", pauses.to_owned()),
        ("setup", format!("function setup() {pauses} end")),
        ("init", format!("function init() {endless} end")),
        ("done", format!("function done() print('printed') {pauses} end")),
    ];
    // In parallel, as each takes ten seconds.
    let runs = scripts.map(|(callback, script)| {
        let bench = Bench::new(&script);
        let file = bench.directory.file("s.lua");
        let words = ["-s", file.as_str()];
        let mut command = Command::new(WEIR);
        command.args(["--compat", "wrk", "-d1", "-t1", "-c1"]).args(words);
        let process = Process::start(command.arg(bench.server.url()));
        (callback, bench, process)
    });
    for (callback, bench, process) in runs {
        let output = process.wait();
        assert_eq!(output.code(), 1, "{callback}: {output:?}");
        let file = bench.directory.file("s.lua");
        let says = format!("{callback}: {file}: has not returned for 10 s");
        assert!(output.stderr.starts_with(&says), "{callback}: {output:?}");
        let is_reported = callback == "done";
        assert_eq!(output.stdout.contains("Requests/sec:"), is_reported, "{callback}: {output:?}");
        assert_eq!(output.stdout.ends_with("printed\n"), is_reported, "{callback}: {output:?}");
        assert_eq!(bench.heads.try_iter().next().is_some(), is_reported, "{callback}");
    }
}

/// The content of a pipe runs in every state.
#[test]
fn scripts_come_through_pipes() {
    let directory = Directory::new();
    let file = directory.file("s.lua");
    let script = "wrk.path = '/piped'\nfunction done() print('piped too') end\n";
    fs::write(&file, script).expect("the directory is the test's own");
    for line in [
        "cat FILE | WEIR --compat wrk -d1 -t3 -c3 -s /dev/stdin URL",
        "WEIR --compat wrk -d1 -t3 -c3 -s /dev/stdin URL < FILE",
        "cat FILE | WEIR --compat wrk -d1 -t3 -c3 -s /dev/fd/0 URL",
        "cat FILE | WEIR -n 20 -t3 -c3 --no-verdict -s /dev/stdin URL",
    ] {
        let bench = Bench::new("");
        let line = line.replace("WEIR", WEIR).replace("URL", &bench.server.url());
        let mut shell = Command::new("sh");
        let output = Process::start(shell.arg("-c").arg(line.replace("FILE", &file))).wait();
        assert_eq!(output.code(), 0, "{line}: {output:?}");
        assert!(output.stdout.ends_with("piped too\n"), "{line}: {output:?}");
        let heads: Vec<String> = bench.heads.try_iter().collect();
        assert!(heads.iter().all(|head| head.starts_with("GET /piped ")), "{heads:?}");
    }
    let piped = |text: &str| {
        let line = format!("printf '{text}' | {WEIR} --compat wrk -d1 -s /dev/stdin http://h/");
        Process::start(Command::new("sh").arg("-c").arg(line)).wait()
    };
    let output = piped("\\n\\nerror(\"boom\")");
    assert_eq!((output.code(), output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(
        output.stderr.starts_with("the script does not load: /dev/stdin:3: boom"),
        "{output:?}"
    );
    for (place, says) in [("/dev/zero", "is longer than 64 MiB"), ("/", "cannot be read")] {
        let output = weir("-d1", &["-s", place, "http://127.0.0.1:9/"]);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
}

/// wrk rejects whitespace in a URL.
#[test]
fn blanks_in_a_url_are_refused_in_wrks_words() {
    let bench = Bench::new("");
    for path in ["a b", "a?b=c d", " "] {
        let url = format!("{}{path}", bench.server.url());
        let [ours, theirs] = [weir_as("wrk", "-d1", &[&url]), wrk("-d1", &[&url])];
        assert_eq!((ours.code(), theirs.code()), (1, 1), "{ours:?}\n{theirs:?}");
        assert_eq!(ours.stderr, theirs.stderr, "{url}");
    }
    assert_eq!(bench.server.accepted(), 0);
}

/// wrk sends two Host fields, which servers reject (RFC 9112 §3.2).
#[test]
fn a_host_is_sent_once_however_it_is_spelled() {
    let mut runs = Vec::new();
    for script in [None, Some(""), Some("function request() return wrk.format() end")] {
        for flags in [&["-H", "host: x"][..], &["-H", "Host: y", "-H", "HOST: x"]] {
            let bench = Bench::new(script.unwrap_or_default());
            let file = bench.directory.file("s.lua");
            let url = bench.server.url();
            let file = if script.is_some() { &["-s", file.as_str()][..] } else { &[] };
            let words = [flags, file, &[url.as_str()]].concat();
            let process = start_as("wrk", "-d1 -t1 -c1", &words);
            runs.push((format!("{script:?} {flags:?}"), bench, process));
        }
    }
    for (what, bench, process) in runs {
        quiet(&process.wait());
        let head = bench.heads.recv().expect("a request");
        assert_eq!(head, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "{what}");
    }
}

/// Some scripts replace wrk's own functions.
#[test]
fn a_script_may_replace_init() {
    let script = "function wrk.init(args) wrk.headers.Host = 'own' end\n\
                  function request() return wrk.format('GET', '/own') end\n";
    let bench = Bench::new(script);
    quiet(&bench.run_as("wrk", "-d1 -t1 -c1"));
    assert_eq!(bench.heads.recv().as_deref(), Ok("GET /own HTTP/1.1\r\nHost: own\r\n\r\n"));
}

/// Most programs cannot parse `-nan`.
#[test]
fn a_run_without_an_answer_prints_zeros() {
    let gone = Raw::start(|peer| peer.read_request().map(drop));
    for (dialect, flags) in [("wrk", "--latency"), ("wrk2", "-R 20 -U")] {
        let output = weir_as(dialect, &format!("-d1 -t1 -c1 {flags}"), &[&gone.url()]);
        let report = quiet(&output);
        assert!(!output.stdout.contains("nan"), "{output:?}");
        assert_eq!(report.requests, 0, "{output:?}");
        for start in ["Requests/sec:      0.00", "Transfer/sec:       0.00B"] {
            assert!(output.stdout.contains(start), "{output:?}");
        }
    }
}

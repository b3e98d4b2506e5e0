//! The scripts that come with weir, run by the command lines in their top comments: by weir, and by
//! wrk if they use nothing of weir's own. Servers check the requests of each script.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::{fmt, fs};

use weir_result::{Callback, Document};

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::weir::WEIR;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The program that runs a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Weir,
    Wrk,
}

use Tool::{Weir, Wrk};

/// A finished run.
struct Ran {
    stdout: String,
    stderr: String,
    /// Document of weir; `None` for wrk.
    document: Option<Document>,
}

impl Tool {
    /// Runs the script's command line against the servers; the first is the URL's. `more` follows
    /// it and overrides its flags. It must end well.
    fn run(self, script: &str, servers: &[&Raw], more: &str) -> Ran {
        self.run_to(0, script, servers, more)
    }

    /// Runs the script's command line, which must end with `code`.
    fn run_to(self, code: i32, script: &str, servers: &[&Raw], more: &str) -> Ran {
        let directory = Directory::new();
        let mut line = command_line(script);
        for (example, server) in
            ["localhost:8080", "localhost:8081", "localhost:8082"].iter().zip(servers)
        {
            line = line.replace(example, server.authority());
        }
        let words = match self {
            Weir => {
                let file = directory.file("run.json");
                let words = line.replacen("weir -s", &format!("{WEIR} -s"), 1);
                format!("{words} {more} --no-verdict --output {file}")
            }
            Wrk => {
                let words = line.replacen("weir -s", "wrk -s", 1).replace(" --warmup 0", "");
                format!("{words} -d 1s")
            }
        };
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec env {words}")).current_dir(REPOSITORY);
        let output = Process::start(&mut shell).wait();
        assert_eq!(
            output.code(),
            code,
            "{words} (is wrk missing? cargo xtask setup test)\n{output:?}"
        );
        let Output { stdout, stderr, .. } = output;
        let document = (self == Weir).then(|| {
            let document = Document::load(directory.file("run.json"));
            document.unwrap_or_else(|error| panic!("{error}\n{stdout}\n{stderr}"))
        });
        Ran { stdout, stderr, document }
    }
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcomes = self.document.as_ref().map(|document| document.results.outcomes);
        write!(f, "{}\n{}\n{outcomes:?}", self.stdout, self.stderr)
    }
}

impl Ran {
    /// The number in the line `N requests in …` of wrk's report.
    fn wrk_requests(&self) -> u64 {
        let line = self.stdout.lines().find(|line| line.contains(" requests in "));
        let count = line.and_then(|line| line.split_whitespace().next());
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// The command line in the comment on top of a script.
fn command_line(script: &str) -> String {
    let file = PathBuf::from(REPOSITORY).join("examples/lua").join(script);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let lines = text.lines().take_while(|line| line.starts_with("--"));
    let mut lines = lines.filter_map(|line| line.strip_prefix("--   "));
    let line = lines.find(|line| line.contains(&format!("weir -s examples/lua/{script} ")));
    line.unwrap_or_else(|| panic!("{script} says no command line")).to_owned()
}

/// A request as received by a server.
#[derive(Clone, Debug)]
struct Request {
    /// The server's connection, from 0 in the order of acceptance.
    conn: u64,
    method: String,
    target: String,
    fields: BTreeMap<String, String>,
    body: String,
}

impl Request {
    fn read(conn: u64, head: &str) -> Request {
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let fields = lines.filter_map(|line| line.split_once(": "));
        Request {
            conn,
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            fields: fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
            body: String::new(),
        }
    }

    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

/// A server that records the requests that it receives.
struct Witness {
    server: Raw,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Witness {
    fn start(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Witness {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&seen);
        let server = Raw::start(move |peer| {
            while let Some(head) = peer.read_request()? {
                let mut request = Request::read(peer.number, &head);
                let length = request.field("content-length").parse().unwrap_or(0);
                let body = peer.read_body(length)?;
                request.body = String::from_utf8(body).expect("bodies of scripts are text");
                let bytes = answer(&request);
                theirs.lock().expect("no server panics").push(request);
                peer.write(bytes)?;
            }
            Ok(())
        });
        Witness { server, seen }
    }

    /// Waits until everything sent has been read.
    fn finish(self) -> Vec<Request> {
        self.server.finish();
        std::mem::take(&mut *self.seen.lock().expect("no server panics"))
    }
}

fn ok(_: &Request) -> String {
    OK.to_owned()
}

/// Runs the script by both tools, and calls `judge` with the requests of each.
fn check(script: &str, more: &str, judge: impl Fn(Tool, &Ran, &[Request])) {
    for tool in [Weir, Wrk] {
        let witness = Witness::start(ok);
        let ran = tool.run(script, &[&witness.server], more);
        let seen = witness.finish();
        assert!(!seen.is_empty(), "{tool:?} sent nothing: {ran:?}");
        judge(tool, &ran, &seen);
    }
}

/// Flags for enough requests for every connection, and no more however slow the machine is. wrk
/// runs for a second.
const SHORT: &str = "-n 400 --warmup 0";

/// Returns a token for each login, and refuses requests without one.
fn gatekeeper(request: &Request) -> String {
    if (request.method.as_str(), request.target.as_str()) == ("POST", "/login") {
        assert_eq!(request.body, "user=bench&password=bench");
        let token = format!("X-Auth-Token: t{}", request.conn);
        return OK.replacen("\r\n", &format!("\r\n{token}\r\n"), 1);
    }
    match request.field("authorization").starts_with("Bearer t") {
        true => OK.to_owned(),
        false => OK.replacen("200 OK", "401 Unauthorized", 1),
    }
}

#[test]
fn token_logs_in_first_and_then_sends_the_token() {
    for tool in [Weir, Wrk] {
        let witness = Witness::start(gatekeeper);
        let ran = tool.run("token.lua", &[&witness.server], SHORT);
        let seen = witness.finish();
        let (logins, calls): (Vec<_>, Vec<_>) =
            seen.iter().partition(|request| request.method == "POST");
        assert!((2..=10).contains(&logins.len()), "{} logins: {ran:?}", logins.len());
        assert!(!calls.is_empty(), "{ran:?}");
        let mut tokens = BTreeSet::new();
        for call in calls {
            assert_eq!((call.method.as_str(), call.target.as_str()), ("GET", "/items"));
            assert!(call.field("authorization").starts_with("Bearer t"), "{call:?}");
            tokens.insert(call.field("authorization"));
        }
        assert!(tokens.len() <= 2, "a thread changed its token: {tokens:?}");
    }
}

#[test]
fn token_stops_when_the_login_is_refused() {
    let witness = Witness::start(|_| OK.replacen("200 OK", "403 Forbidden", 1));
    // No response was a success.
    let ran = Weir.run_to(1, "token.lua", &[&witness.server], "--warmup 0");
    assert!(ran.stderr.contains("the login was answered 403 without a token"), "{ran:?}");
    assert!(witness.finish().len() <= 10, "the run went on: {ran:?}");
}

#[test]
fn sessions_logs_each_connection_in_once() {
    let witness = Witness::start(|request| {
        let user = request.body.strip_prefix("user=").and_then(|body| body.split('&').next());
        match (request.target.as_str(), user) {
            ("/login", Some(user)) => {
                OK.replacen("\r\n", &format!("\r\nSet-Cookie: id={user}; Path=/\r\n"), 1)
            }
            _ => OK.to_owned(),
        }
    });
    let ran = Weir.run("sessions.lua", &[&witness.server], SHORT);
    let seen = witness.finish();
    let mut users = BTreeSet::new();
    for conn in seen.iter().map(|request| request.conn).collect::<BTreeSet<_>>() {
        let mut requests = seen.iter().filter(|request| request.conn == conn);
        // The connection by which finish() ends the server sends nothing, so each one here has a
        // first request.
        let login = requests.next().expect("it was seen");
        assert_eq!(login.target, "/login", "{ran:?}");
        let user = login.body.trim_start_matches("user=").split('&').next().unwrap_or_default();
        assert!(users.insert(user), "{user} logged in twice");
        for call in requests {
            assert_eq!((call.method.as_str(), call.target.as_str()), ("GET", "/items"));
            assert_eq!(call.field("cookie"), format!("id={user}"), "{call:?}");
        }
    }
    assert_eq!(users.len(), 10, "{users:?} {ran:?}");
}

#[test]
fn mix_draws_by_weight() {
    check("mix.lua", "-n 1000 --warmup 0", |tool, ran, seen| {
        let mut counts = BTreeMap::new();
        for request in seen {
            *counts.entry((request.method.as_str(), request.target.as_str())).or_insert(0) += 1;
            let body = if request.method == "POST" { "item=17&count=2" } else { "" };
            assert_eq!(request.body, body, "{request:?}");
        }
        let share = |key| f64::from(*counts.get(&key).unwrap_or(&0)) / seen.len() as f64;
        let expected = [
            (("GET", "/"), 0.7),
            (("GET", "/search?q=weir"), 0.2),
            (("GET", "/item/17"), 0.075),
            (("POST", "/cart"), 0.025),
        ];
        for (key, weight) in expected {
            // Seeds and the shares of weir's threads are fixed, so its result is always the same.
            // The number of wrk's requests depends on the machine.
            let difference = (share(key) - weight).abs();
            assert!(tool == Wrk || difference < 0.05, "{counts:?}: {ran:?}");
        }
        assert!(counts.len() <= expected.len(), "{counts:?}");
    });
}

#[test]
fn counter_sends_each_number_once() {
    check("counter.lua", SHORT, |_, ran, seen| {
        let mut numbers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for request in seen {
            let (thread, number) = request
                .target
                .strip_prefix("/item?n=")
                .and_then(|rest| rest.split_once('-'))
                .unwrap_or_else(|| panic!("{request:?}"));
            assert_eq!(request.field("x-request-number"), number, "{request:?}");
            let number = number.parse().expect("a number");
            let is_new = numbers.entry(thread).or_default().insert(number);
            assert!(is_new, "{thread}-{number} came twice: {ran:?}");
        }
        for (thread, numbers) in numbers {
            assert!(["1", "2"].contains(&thread), "{thread}");
            // Each connection may have made one number that was never sent, or never read.
            let greatest = *numbers.last().expect("it has one");
            assert!(greatest - numbers.len() <= 10, "{thread}: {numbers:?}");
        }
    });
}

#[test]
fn bodies_have_random_sizes_between_the_bounds() {
    check("bodies.lua", SHORT, |_, _, seen| {
        for request in seen {
            assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/upload"));
            assert!((100..=20_000).contains(&request.body.len()), "{}", request.body.len());
            assert!(request.body.bytes().all(|byte| byte.is_ascii_lowercase()));
        }
        // Of a hundred draws from 19,901 sizes, hardly two are the same.
        let first: Vec<usize> = seen.iter().take(100).map(|request| request.body.len()).collect();
        let distinct = first.iter().collect::<BTreeSet<_>>().len();
        assert!(2 * distinct > first.len(), "{first:?}");
    });
}

#[test]
fn batches_arrive_as_one() {
    for tool in [Weir, Wrk] {
        // Responds only after the third: sending one request after the other would hang.
        let server = Raw::start(|peer| {
            loop {
                for path in ["/first", "/second", "/third"] {
                    let Some(head) = peer.read_request()? else { return Ok(()) };
                    assert!(head.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{head}");
                }
                peer.write(OK.repeat(3))?;
            }
        });
        let ran = tool.run("batches.lua", &[&server], "-n 300 --warmup 0");
        let answered = match &ran.document {
            Some(document) => document.results.outcomes.ok,
            None => ran.wrk_requests(),
        };
        assert!(answered >= 3, "{ran:?}");
        assert!(tool == Wrk || answered == 300, "{ran:?}");
        drop(server);
    }
}

#[test]
fn think_delays_each_request() {
    check("think.lua", "-n 40 --warmup 0", |_, ran, seen| {
        let Some(document) = &ran.document else { return };
        assert_eq!(document.results.outcomes.ok, 40, "{ran:?}");
        let script = document.script.as_ref().expect("there was one");
        let calls = script.callbacks[&Callback::Delay].calls;
        assert!((40..=50).contains(&calls), "{calls} calls of delay(): {ran:?}");
        // One of ten connections sent at least four requests, with a delay of 50 ms before each.
        assert!(document.throughput.window_s >= 0.2, "{ran:?}");
        assert!(seen.len() >= 40);
    });
}

#[test]
fn totals_adds_the_threads_counts_up() {
    check("totals.lua", SHORT, |_, ran, seen| {
        let total = |start: &str| -> u64 {
            let line = ran.stdout.lines().find_map(|line| line.strip_prefix(start));
            let count = line.and_then(|line| line.split(' ').next());
            count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{ran:?}"))
        };
        let all = total("all threads: ");
        assert_eq!(total("thread 1: ") + total("thread 2: "), all, "{ran:?}");
        match &ran.document {
            // The preflight sent one request before the run.
            Some(document) => {
                assert_eq!(document.accounting.sent.preflight, 1, "{ran:?}");
                let probed = document.accounting.sent.probe;
                assert_eq!(all + 1 + probed, seen.len() as u64, "{ran:?}");
            }
            None => assert_eq!(all, ran.wrk_requests(), "{ran:?}"),
        }
    });
}

#[test]
fn enough_ends_the_run() {
    // Its command line has 60 s; it ends after 500 responses in each of two threads.
    check("enough.lua", "", |tool, ran, seen| {
        // Other responses in the same iteration of a thread's loop, and the requests that they
        // allow, come on top.
        let probed = ran.document.as_ref().map_or(0, |document| document.accounting.sent.probe);
        let most = 2 * 500 + 2 * 10 + 1 + probed as usize;
        assert!(seen.len() <= most, "{} requests: {ran:?}", seen.len());
        if let Some(document) = &ran.document {
            let script = document.script.as_ref().expect("there was one");
            assert_eq!(script.stopped, 2, "{ran:?}");
            assert!((1_000..=1_020).contains(&document.results.outcomes.ok), "{tool:?} {ran:?}");
        }
    });
}

#[test]
fn json_prints_an_object() {
    check("json.lua", SHORT, |_, ran, _| {
        let last = ran.stdout.lines().last().unwrap_or_default();
        let object: serde_json::Value = serde_json::from_str(last).expect(last);
        let requests = match &ran.document {
            Some(document) => document.results.completed,
            None => ran.wrk_requests(),
        };
        assert_eq!(object["requests"], requests, "{last}");
        assert_eq!(object["path"], "/", "{last}");
        assert_eq!(object["errors"]["status"], 0, "{last}");
        let latency = &object["latency_us"];
        let percentiles = latency["percentiles"].as_array().expect(last);
        let values: Vec<f64> = percentiles.iter().filter_map(|one| one["value"].as_f64()).collect();
        assert_eq!(values.len(), 6, "{last}");
        assert!(values.is_sorted(), "{last}");
        assert!(latency["max"].as_f64() >= values.last().copied(), "{last}");
    });
}

#[test]
fn json_is_alone_when_weir_is_quiet() {
    let server = Raw::answering(OK);
    let ran = Weir.run("json.lua", &[&server], "-n 20 -q --warmup 0");
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    assert!(object["requests"].is_u64(), "{ran:?}");
}

#[test]
fn csv_lists_every_latency() {
    check("csv.lua", SHORT, |_, ran, _| {
        let mut lines = ran.stdout.lines();
        let head = lines.find(|line| line.starts_with("latency_us,"));
        assert_eq!(head, Some("latency_us,count,cumulated,percentage"), "{ran:?}");
        let rows: Vec<[f64; 4]> = lines
            .map(|line| {
                let fields: Vec<f64> =
                    line.split(',').filter_map(|field| field.parse().ok()).collect();
                fields.try_into().unwrap_or_else(|_| panic!("{line}"))
            })
            .collect();
        assert!(rows.is_sorted_by(|one, next| one[0] < next[0] && one[2] < next[2]), "{ran:?}");
        let [_, _, samples, percentage] = *rows.last().expect("something was answered");
        assert_eq!(percentage, 100.0, "{ran:?}");
        assert_eq!(rows.iter().map(|row| row[1]).sum::<f64>(), samples, "{ran:?}");
        if let Some(document) = &ran.document {
            assert_eq!(document.results.planned as f64, samples, "{ran:?}");
        }
    });
}

#[test]
fn spread_gives_each_thread_a_server() {
    for tool in [Weir, Wrk] {
        let [named, first, second] = [(); 3].map(|()| Raw::answering(OK));
        let ran = tool.run("spread.lua", &[&named, &first, &second], SHORT);
        assert!(named.requests() <= 1, "only the preflight goes to the URL's server: {ran:?}");
        for server in [first, second] {
            assert!(server.finish() > 0, "{tool:?}: {ran:?}");
        }
    }
}

#[test]
fn every_script_is_tested() {
    let text = fs::read_to_string(file!().rsplit('/').next().map_or_else(PathBuf::new, |name| {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
    }));
    let text = text.expect("this file");
    for entry in fs::read_dir(PathBuf::from(REPOSITORY).join("examples/lua")).expect("it is there")
    {
        let name = entry.expect("it can be read").file_name().to_string_lossy().into_owned();
        if name.ends_with(".lua") {
            assert!(text.contains(&format!("(\"{name}\"")), "{name} has no test here");
        }
    }
}

//! Scripts: the order and the arguments of their callbacks, and the handling of their errors. wrk
//! runs the same scripts; if weir differs on purpose, the test gives the reason.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_result::Callback;

use crate::support::directory::Directory;
use crate::support::process::Output;
use crate::support::raw::{OK, Raw};
use crate::support::serve::Serve;
use crate::support::weir::{self, Ran, sum_ns, weir};
use crate::support::wrk::{weir_as, wrk};
use crate::support::wrk_report::Report;

/// Lua code that writes a line for each call to a file: the state, the function, the arguments.
const LOGGER: &str = r##"
local file = io.open("LOG", "a")

local function show(value)
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for key, item in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. show(item) end
  table.sort(parts)
  return "{" .. table.concat(parts, ";") .. "}"
end

local counts = {}
function log(name, ...)
  counts[name] = (counts[name] or 0) + 1
  if counts[name] > 6 then return end
  local parts = { tostring(wrk), "->", name, select("#", ...) }
  for index = 1, select("#", ...) do
    parts[#parts + 1] = (show((select(index, ...))):gsub("%s", "|"))
  end
  file:write(table.concat(parts, " "), "\n")
  file:flush()
end
log("file")
"##;

/// The calls of a script with the logger, by state.
#[derive(Debug, PartialEq)]
struct Log {
    /// Calls before and after the run with their states, which are numbered in order of appearance.
    frame: Vec<String>,
    /// Calls during the load, by state.
    calls: Vec<Vec<String>>,
    /// Output of the script before the report.
    printed: String,
    report: Report,
}

/// Number of a state's calls that are compared.
const COMPARED: usize = 8;

/// Runs a script with the logger in front of it.
#[track_caller]
fn logged(run: impl Fn(&str, &[&str]) -> Output, words: &str, script: &str, args: &[&str]) -> Log {
    let answer = "HTTP/1.1 200 OK\r\nx-lower: a\r\nX-Twice: 1\r\nX-Twice: 2\r\n\
                  Content-Length: 4\r\n\r\nbody";
    let directory = Directory::new();
    let server = Raw::answering(answer);
    let log = directory.file("log");
    let file = directory.file("s.lua");
    let script = LOGGER.replace("LOG", &log) + script;
    fs::write(&file, script).expect("the directory is the test's own");
    let url = server.url();
    let output = run(words, &[&["-s", &file, &url], args].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    let at = output.stdout.find("Running ").unwrap_or_else(|| panic!("{output:?}"));
    let (printed, report) = output.stdout.split_at(at);
    let printed = printed.to_owned();
    let report = Report::read(report);
    let log = fs::read_to_string(log).expect("the script has written it");
    let log = log.replace(server.authority(), "HOST:PORT");
    let port = server.authority().rsplit(':').next().expect("a port");
    let mut states = Vec::new();
    let mut frame = Vec::new();
    let mut calls: Vec<Vec<String>> = Vec::new();
    for line in log.replace(port, "PORT").lines() {
        let (state, call) = line.split_once(" -> ").expect("a state and a call");
        let number = states.iter().position(|known| known == state).unwrap_or_else(|| {
            states.push(state.to_owned());
            calls.push(Vec::new());
            states.len() - 1
        });
        match call.split(' ').next() {
            Some("request" | "response" | "delay") => calls[number].push(call.to_owned()),
            _ => frame.push(format!("{number} {call}")),
        }
    }
    Log { frame, calls, printed, report }
}

/// Checks that both programs make the same calls in the same order with the same arguments.
#[track_caller]
fn compare(words: &str, script: &str, args: &[&str]) -> Log {
    let mut ours = logged(|words, more| weir_as("wrk", words, more), words, script, args);
    let mut theirs = logged(wrk, words, script, args);
    assert_eq!(ours.frame, theirs.frame, "{script}");
    assert_eq!((&ours.printed, &ours.report.rest), (&theirs.printed, &theirs.report.rest));
    // State 0 is the main one; 1 is the first thread's, where wrk calls request() once before the
    // run to count the requests in its string. weir parses every string when request() returns it,
    // so it needs no call beforehand.
    if theirs.calls[1].first().is_some_and(|call| call.starts_with("request")) {
        theirs.calls[1].remove(0);
    }
    for log in [&mut ours, &mut theirs] {
        log.calls.iter_mut().for_each(|calls| calls.truncate(COMPARED));
    }
    assert_eq!(ours.calls, theirs.calls, "{script}");
    ours
}

const CALLBACKS: &str = r##"
log("load", wrk.scheme, wrk.host, wrk.port, type(wrk.port), wrk.method, wrk.path, wrk.headers,
    wrk.body, type(wrk.thread), type(wrk.request), type(wrk.addrs))
local threads = {}
function setup(thread, ...)
  threads[#threads + 1] = thread
  print("printed by setup: " .. #threads)
  thread:set("number", #threads)
  -- wrk does not survive tables in tables.
  thread:set("flat", { a = "b", 1, true })
  log("setup", type(thread), tostring(thread.addr), #wrk.addrs, select("#", ...))
end
function init(args, ...)
  io.write("printed by init: ", number, "\n")
  log("init", number, flat, args[0], args[1], args[2], #args, wrk.headers, type(wrk.thread),
      tostring(wrk.thread.addr), type(wrk.addrs), select("#", ...))
  local lines = {}
  local request = wrk.format("PUT", "/p?q", { X = 1 }, "abc")
  for line in request:gmatch("[^\r\n]+") do
    lines[#lines + 1] = line
  end
  table.sort(lines)
  log("format", lines)
  sent, seen = 0, 0
end
function request(...)
  sent = sent + 1
  log("request", ...)
  return wrk.request()
end
function response(...)
  seen = seen + 1
  log("response", ...)
end
function done(summary, latency, requests, ...)
  local function types(table)
    local kinds = {}
    for key, value in pairs(table) do
      kinds[key] = type(value) == "table" and types(value) or type(value)
    end
    return kinds
  end
  log("done", types(summary), select("#", ...), type(wrk.thread))
  for index, stats in ipairs({ latency, requests }) do
    log("done-statistics", index, type(stats), type(stats.min), type(stats.max), type(stats.mean),
        type(stats.stdev), stats.min <= stats.mean and stats.mean <= stats.max,
        type(stats:percentile(50)), stats:percentile(50) <= stats:percentile(99), #stats > 0,
        select("#", stats(1)), stats.nothing)
  end
  for index, thread in ipairs(threads) do
    log("done-thread", index, thread:get("number"), type(thread:get("seen")), thread:get("nothing"),
        thread:get("sent") >= thread:get("seen"))
  end
  print("printed by done: " .. #threads)
end
"##;

#[test]
fn callbacks_come_in_wrks_order_with_wrks_arguments() {
    let log = compare("-d1 -t1 -c1", CALLBACKS, &["one", "two words"]);
    assert_eq!(log.calls[1].len(), COMPARED, "{log:?}");
    assert_eq!(log.calls[1][0], "request 0");
    assert_eq!(log.calls[1][1], "response 3 200 {Content-Length=4;X-Twice=2;x-lower=a} body");
    assert_eq!(log.printed, "printed by setup: 1\nprinted by init: 1\n");
    assert_eq!(log.report.rest, "printed by done: 1\n");
    // The file runs once more than there are threads.
    let log = compare("-d1 -t3 -c3", CALLBACKS, &["--", "-x"]);
    let count = |name: &str| log.frame.iter().filter(|call| call.contains(name)).count();
    assert_eq!((count(" load "), count(" setup "), count(" init ")), (4, 3, 3), "{log:?}");
    assert_eq!(log.report.rest, "printed by done: 3\n");
}

#[test]
fn delay_is_called_before_each_request() {
    let script = "function delay(...) log('delay', ...) return 3 end\n\
                  function request(...) log('request', ...) return wrk.request() end\n\
                  function response(status) log('response', status) end\n";
    let log = compare("-d1 -t1 -c1", script, &[]);
    assert_eq!(log.calls[1][..4], ["delay 0", "request 0", "response 1 200", "delay 0"], "{log:?}");
    // At most one in three milliseconds.
    assert!((1..=333).contains(&log.report.requests), "{log:?}");
}

#[test]
fn the_body_of_a_script_is_in_the_plan_if_it_is_known() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = directory.file("s.lua");
    let known = "wrk.method = 'POST'\nwrk.body = ('b'):rep(5000)\n";
    let free = format!("{known}function request() return wrk.format('PUT', '/', nil, 'c') end\n");
    for (script, bytes, shown) in [(known, 5_000, "POST 5.00 kB"), (&free, 0, "POST ")] {
        fs::write(&file, script).expect("the directory is the test's own");
        let ran = weir::load("epoll", "-c1 -n 20", &["-s", &file, &server.url()]);
        assert_eq!(ran.document.plan.request.body_bytes, bytes, "{script}");
        ran.assert_says(shown);
        assert!(!ran.text.contains(" 0 B"), "{ran}");
    }
}

#[test]
fn a_script_without_functions_shapes_the_request() {
    for script in [
        "wrk.method = 'POST'\nwrk.body = 'a=b'\nwrk.headers['Content-Type'] = 'x'\n",
        "wrk.path = '/elsewhere?x'\nfunction init() wrk.headers.Host = 'named' end\n",
        "function request() return wrk.format(nil, '/p', { Host = 'h', N = 1 }) end\n",
        "wrk.headers['Content-Length'] = '7'\nfunction request() return wrk.format() end\n",
    ] {
        let seen = |run: &dyn Fn(&str, &[&str]) -> Output| {
            let directory = Directory::new();
            let first = std::sync::Arc::new(std::sync::OnceLock::new());
            let theirs = std::sync::Arc::clone(&first);
            let server = Raw::start(move |peer| {
                while let Some(head) = peer.read_request()? {
                    let _not_first = theirs.set(head);
                    peer.write(OK)?;
                }
                Ok(())
            });
            let file = directory.file("s.lua");
            fs::write(&file, script).expect("the directory is the test's own");
            let output = run("-d1 -t1 -c1 -s", &[&file, &server.url()]);
            assert_eq!(output.code(), 0, "{output:?}");
            let head = first.get().expect("a request").replace(server.authority(), "HOST");
            let mut lines: Vec<String> = head.lines().map(str::to_owned).collect();
            lines[1..].sort();
            lines
        };
        let ours = seen(&|words, more| weir_as("wrk", words, more));
        assert_eq!(ours, seen(&wrk), "{script}");
    }
}

/// A script in a file, and a server that counts requests.
struct Bench {
    directory: Directory,
    server: Raw,
}

impl Bench {
    fn new(script: &str) -> Bench {
        let directory = Directory::new();
        fs::write(directory.file("s.lua"), script).expect("the directory is the test's own");
        Bench { directory, server: Raw::answering(OK) }
    }

    fn file(&self) -> String {
        self.directory.file("s.lua")
    }

    fn as_wrk(&self, words: &str) -> Output {
        weir_as("wrk", words, &["-s", &self.file(), &self.server.url()])
    }

    fn load(&self, words: &str, args: &[&str]) -> Ran {
        weir::load("epoll", words, &[&["-s", &self.file(), &self.server.url()], args].concat())
    }
}

#[test]
fn an_error_of_a_callback_names_it_its_line_and_its_message() {
    for (callback, is_before) in [
        ("setup", true),
        ("init", true),
        ("request", false),
        ("delay", false),
        ("response", false),
        ("done", false),
    ] {
        let bench =
            Bench::new(&format!("-- one\nfunction {callback}()\n  error('a ' .. 'b')\nend\n"));
        let says = format!("{}:3: a b", bench.file());
        let check = |output: &Output, code: i32| {
            assert_eq!(output.code(), code, "{callback}: {output:?}");
            let lines: Vec<&str> =
                output.stderr.lines().filter(|line| line.contains(&says)).collect();
            let [line] = lines[..] else { panic!("told once: {callback}: {output:?}") };
            assert!(line.contains(callback), "{line}");
            assert_eq!(output.stdout.is_empty(), is_before, "{callback}: {output:?}");
        };
        let output = bench.as_wrk("-d1 -c2 -t2");
        check(&output, 1);
        if !is_before {
            Report::read(&output.stdout).assert_consistent();
        }
        let accepted = bench.server.accepted();
        assert!(!is_before || bench.server.requests() == 0, "{callback}: {accepted} connections");
        let words = ["-s", &bench.file(), &bench.server.url()];
        let output = weir("-d100ms --warmup 0 -c2 -t2", &words);
        check(&output, 2);
    }
}

#[test]
fn an_error_while_the_load_runs_is_a_note_of_the_document() {
    let bench = Bench::new("function response()\n  error('boom')\nend\n");
    let ran = bench.load("-d10s --warmup 0 -c2 -t2", &[]);
    assert_eq!(ran.code, 2, "{ran}");
    let note = ran.document.notes.iter().find(|note| note.code == "script_failed");
    let text = &note.unwrap_or_else(|| panic!("{ran}")).text;
    let end = format!(": {}:2: boom", bench.file());
    assert!(text.starts_with("response() of the script failed"), "{text}");
    assert!(text.ends_with(&end) && text.lines().count() == 1, "{text}");
    assert!(ran.document.throughput.window_s < 10.0, "it ended the run: {ran}");
}

/// Lua modules written in C find LuaJIT's functions in the program, as in wrk.
#[test]
fn the_program_exports_the_functions_of_luajit() {
    let script = "local ffi = require('ffi')\n\
                  ffi.cdef('const char *lua_pushstring(void *, const char *);')\n\
                  assert(ffi.C.lua_pushstring ~= nil)\n";
    let bench = Bench::new(script);
    let output = weir("-n1 -c1 -t1", &["-s", &bench.file(), &bench.server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
}

#[test]
fn a_script_that_cannot_be_loaded_stops_before_any_connection() {
    for (script, says) in [
        (Some("function request(\n"), "s.lua:"),
        (Some("nothing.at_all()\n"), "s.lua:1: attempt to index global 'nothing'"),
        (Some("require('no_such_module')\n"), "module 'no_such_module' not found"),
        (None, "s.lua cannot be read: No such file or directory"),
    ] {
        let bench = Bench::new(script.unwrap_or_default());
        if script.is_none() {
            fs::remove_file(bench.file()).expect("it was written");
        }
        let words = ["-s", &bench.file(), &bench.server.url()];
        let compat = bench.as_wrk("-d1");
        let plain = weir("-d1s", &words);
        for (output, code) in [(compat, 1), (plain, 2)] {
            assert_eq!((output.code(), output.stdout.as_str()), (code, ""), "{output:?}");
            let start = match script {
                Some(_) => "the script does not load: ",
                None => "--script ",
            };
            assert!(output.stderr.contains(start), "{output:?}");
            assert!(output.stderr.contains(says), "{says}: {output:?}");
        }
        assert_eq!(bench.server.accepted(), 0, "{script:?}");
    }
}

#[test]
fn a_request_that_is_none_is_reported_with_its_place() {
    for (script, says) in [
        ("function request() return 'GET / HTTP/1.1\\r\\n' end\n", "incomplete request"),
        ("function request() return {} end\n", "a string, not table"),
        ("function request() end\n", "a string, not nil"),
        ("function request() return '' end\n", "no HTTP request: incomplete request at 1:1"),
        ("wrk.body = 'x'\nrequest = nil wrk.path = '/\\n'\n", "invalid request target at 1:"),
    ] {
        let bench = Bench::new(script);
        let output = bench.as_wrk("-d1 -c2 -t1");
        assert_eq!(output.code(), 1, "{script}: {output:?}");
        assert!(output.stderr.contains(says), "{script}: {output:?}");
        // For a function, Lua adds its line.
        let place = match script.starts_with("function") {
            true => format!("{}:1: ", bench.file()),
            false => bench.file(),
        };
        assert!(output.stderr.contains(&place), "{script}: {output:?}");
        assert_eq!(bench.server.requests(), 0, "{script}");
    }
}

/// wrk sleeps for its whole duration, and divides by it even if its threads stopped earlier.
#[test]
fn a_run_whose_threads_all_stop_ends_with_a_true_rate() {
    let script = "local count = 0\n\
                  function response()\n  count = count + 1\n\
                  \x20 if count == 500 then wrk.thread:stop() end\nend\n";
    let bench = Bench::new(script);
    let output = bench.as_wrk("-d30 -c4 -t2");
    assert_eq!(output.code(), 0, "{output:?}");
    let report = Report::read(&output.stdout);
    report.assert_consistent();
    assert!((1_000..=1_004).contains(&report.requests), "{report:#?}");
    assert!(report.run_time_us < 29e6, "{report:#?}");
    let ran = bench.load("-d30s --warmup 0 -c4 -t2", &[]);
    assert_eq!((ran.code, ran.document.script.as_ref().map(|it| it.stopped)), (0, Some(2)));
    let results = &ran.document.results;
    let throughput = &ran.document.throughput;
    let counted = results.completed_rps * throughput.window_s;
    assert!((counted - results.completed as f64).abs() < 1.0, "{ran}");
    assert!(throughput.window_s < 29.0 && results.completed >= 1_000, "{ran}");
}

#[test]
fn an_endless_callback_is_ended_and_named_and_the_rest_is_reported() {
    // It computes for some of the time, so as not to hold a CPU from other tests.
    let script = "local calls, number = 0\n\
                  local function pause() for _ = 1, 1e7 do end os.execute('sleep 0.2') end\n\
                  function setup(thread) number = (number or 0) + 1 thread:set('id', number) end\n\
                  function request()\n  calls = calls + 1\n\
                  \x20 while id == 1 and calls > 5 do pause() end\n  return wrk.request()\nend\n";
    let bench = Bench::new(script);
    // Long enough for calibration lines: the thread that prints them must not wait for the worker
    // whose script never returns.
    let words = ["-s", &bench.file(), &bench.server.url()];
    let output = weir_as("wrk2", "-R500 -d30 -c2 -t2", &words);
    assert_eq!(output.code(), 1, "{output:?}");
    let says = "request() of the script failed in thread 1: has not returned for 1";
    assert!(output.stderr.contains(says), "{output:?}");
    let report = Report::read(&output.stdout);
    report.assert_consistent();
    assert!(report.requests > 0 && report.run_time_us < 29e6, "{report:#?}");
}

#[test]
fn a_growing_table_meets_the_limit() {
    // In one thread, as the memory of all takes seconds to fill; the others wait meanwhile.
    let script = "local count, kept = 0, {}\n\
                  function setup(thread)\n  count = count + 1\n\
                  \x20 thread:set('number', count)\nend\n\
                  function request()\n\
                  \x20 if number == 1 then kept[#kept + 1] = string.rep('x', 1e6) .. #kept end\n\
                  \x20 return wrk.request()\nend\n\
                  function delay() return number == 1 and 0 or 500 end\n";
    let bench = Bench::new(script);
    // More threads mean a lower memory limit for each.
    let ran = bench.load("-d60s --warmup 0 -c64 -t64", &[]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("not enough memory"), "{ran}");
    assert!(ran.stderr.contains("MiB; is a table only growing?"), "{ran}");
    assert!(ran.document.throughput.window_s < 60.0, "{ran}");
}

#[test]
fn a_callback_that_holds_its_thread_is_named() {
    let busy = "local function busy()\n  local from = os.clock()\n\
                \x20 while os.clock() - from < 0.06 do end\nend\n";
    for (callback, returns) in [("request", "wrk.request()"), ("delay", "0"), ("response", "nil")] {
        let once = format!(
            "{busy}local calls = 0\nfunction {callback}()\n  calls = calls + 1\n\
             \x20 if calls == 3 then busy() end\n  return {returns}\nend\n"
        );
        let bench = Bench::new(&once);
        let ran = bench.load("-n200 -c2 -t1", &[]);
        assert_eq!(ran.code, 0, "{ran}");
        let note = ran.document.notes.iter().find(|note| note.code == "script_holds_worker");
        let text = &note.unwrap_or_else(|| panic!("{callback}: {ran}")).text;
        assert!(text.starts_with(&format!("{callback}() of the script took ")), "{text}");
        let usage = &ran.document.script.as_ref().expect("there is a script").callbacks;
        // os.clock() is the CPU time of all threads, so less wall-clock time may pass.
        assert!(usage.values().any(|usage| usage.longest_ns >= 30_000_000), "{usage:?}");
    }
    let calm = Bench::new("function response() end\n");
    let ran = calm.load("-R200 -d200ms --warmup 0 -c2 -t1", &[]);
    let codes: Vec<&str> = ran.document.notes.iter().map(|note| note.code.as_str()).collect();
    assert!(!codes.contains(&"script_too_slow"), "{codes:?}");
}

#[test]
fn words_for_the_script_come_after_the_url() {
    let script = "function init(args)\n  local file = io.open(args[1], 'a')\n\
                  \x20 file:write(#args, ' ', table.concat(args, ' ', 2), '|', args[0], '\\n')\n\
                  \x20 file:close()\nend\n";
    // After the URL, flags are still flags, unless two dashes come before them.
    for (words, expected) in [
        (&["--", "LOG", "a", "-c", "b"][..], "4 a -c b"),
        (&["--", "LOG", "-c", "--", "b"], "4 -c -- b"),
        (&["LOG", "a b", "", "c"], "4 a b  c"),
        (&["LOG", "a", "-T", "9", "b"], "3 a b"),
    ] {
        let bench = Bench::new(script);
        let log = bench.directory.file("log");
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "LOG" { &log } else { *word }).collect();
        let ran = bench.load("-n10 -c1 -t1", &words);
        assert_eq!(ran.code, 0, "{ran}");
        let expected = format!("{expected}|{}\n", bench.server.url());
        assert_eq!(fs::read_to_string(&log).expect("init has run"), expected);
    }
}

#[test]
fn calls_are_counted_in_the_document() {
    let script = "function request() return wrk.format('GET', '/x') end\n\
                  function response(status, headers, body) assert(body == 'ok') end\n";
    for load in ["-n400", "-R1000 -d400ms --warmup 0"] {
        let bench = Bench::new(script);
        let ran = bench.load(&format!("-c4 -t2 {load}"), &[]);
        ran.assert_all_ok();
        let section = ran.document.script.as_ref().expect("there is a script");
        assert_eq!((section.file.as_deref(), section.states), (Some(&*bench.file()), 2));
        let sent = ran.document.accounting.sent.total;
        assert_eq!(bench.server.requests(), sent, "no preflight: only the script knows: {ran}");
        let calls = |callback| section.callbacks.get(&callback).map_or(0, |usage| usage.calls);
        assert_eq!(calls(Callback::Response), sent, "{ran}");
        // Some may have been made ahead for slots that were never sent.
        assert!((sent..=sent + 600).contains(&calls(Callback::Request)), "{ran}");
        assert_eq!(calls(Callback::Delay), 0, "{ran}");
        assert_eq!(section.callbacks.len(), 2, "{section:?}");
    }
}

/// Each string holds one to four requests, and each response belongs to one request.
#[test]
fn strings_of_several_requests_are_answered_one_by_one() {
    let script = "local calls, answers = 0, 0\n\
                  function request()\n  calls = calls + 1\n\
                  \x20 return string.rep(wrk.request(), 1 + calls % 4)\nend\n\
                  function response(status, headers, body) answers = answers + 1 end\n";
    for (load, planned) in [("-n1000", 1_000), ("-R2000 -d500ms --warmup 0", 1_000)] {
        let bench = Bench::new(script);
        let ran = bench.load(&format!("-c3 -t1 {load}"), &[]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert_eq!(ran.document.results.planned, planned, "{ran}");
        let sent = ran.document.accounting.sent.total;
        assert_eq!(bench.server.requests(), sent, "{ran}");
        // The last string may hold more than `planned` requires; a rate also goes on until the last
        // response.
        let tail = ran.document.accounting.sent.tail;
        assert_eq!(sent - tail, planned, "{ran}");
        assert!(tail < 12 || !load.starts_with("-n"), "{ran}");
        let section = ran.document.script.as_ref().expect("there is a script");
        assert_eq!(section.callbacks[&Callback::Response].calls, sent, "{ran}");
        assert_eq!(ran.response_time().count, planned, "{ran}");
    }
}

/// Responses to one string that arrive one after another have different times.
#[test]
fn answers_to_one_string_have_times_of_their_own() {
    use crate::support::wait;
    use std::time::Duration;
    let script = "function request() return string.rep(wrk.request(), 3) end\n";
    let directory = Directory::new();
    let file = directory.file("s.lua");
    fs::write(&file, script).expect("the directory is the test's own");
    let count = AtomicU64::new(0);
    let server = Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            if count.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
                wait::let_pass(Duration::from_millis(50));
            }
            peer.write(OK)?;
        }
        Ok(())
    });
    let ran = weir::load("epoll", "-n30 -c1 -t1", &["-s", &file, &server.url()]);
    ran.assert_all_ok();
    // Every third response was delayed; those before it came at once.
    assert!(sum_ns(&ran.document.results.response_time) >= 10 * 50_000_000, "{ran}");
    let summary = ran.response_time();
    assert!(summary.count == 30 && summary.min_ns.is_some_and(|ns| ns < 50_000_000), "{ran}");
}

#[test]
fn what_does_not_go_with_a_script_is_refused() {
    let bench = Bench::new("function request() return wrk.request() end\n");
    let words = ["-s", &bench.file(), &bench.server.url()];
    for (flags, says) in [
        ("--pipeline 4", "return several requests in one string"),
        ("-X PUT", "--method"),
        ("-b x", "--body"),
    ] {
        let output = weir(flags, &words);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{flags}: {output:?}");
        assert!(output.stderr.contains(says), "{flags}: {output:?}");
    }
    let fixed = Bench::new("wrk.path = '/x'\n");
    let ran = fixed.load("--pipeline 4 -n 100 -c2", &[]);
    ran.assert_all_ok();
}

//! Edge cases: outputs that cannot be written, signals outside the load, missing threads and
//! memory, and text from elsewhere with control sequences of terminals.

use std::fs::{self, File};
use std::process::Command;
use weir_result::Document;

use serde_json::Value;
use weir_text::is_unprintable;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::secure::{Authority, Secure};
use crate::support::wait;
use crate::support::weir::{WEIR, load, start, start_by, weir};

/// Flags of a load of a few requests.
const SHORT: &str = "-c2 -t1 -n20 --no-verdict --witness off";

/// Text that clears a screen, reorders a line and forges one, in characters of one byte, two and
/// three.
const EVIL: &str = "\u{1b}[2J\u{7f}\u{9b}31m\u{202e}\u{2066}\u{200f}\u{61c}";

/// Runs `script` by a shell, with weir as its `$0` and `args` as its arguments.
fn by_shell(script: &str, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    Process::start(command.arg("-c").arg(script).arg(WEIR).args(args)).wait()
}

#[track_caller]
fn assert_printable(text: &str) {
    let found: Vec<char> = text.chars().filter(|&c| is_unprintable(c) && c != '\n').collect();
    assert!(found.is_empty(), "{text:?}");
}

#[test]
fn standard_error_may_have_no_reader() {
    let server = Raw::answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    for gone in ["2>/dev/full", "2>&-"] {
        let directory = Directory::new();
        let file = directory.file("run.json");
        // The preflight prints a warning for a 404.
        let script = format!("exec \"$0\" {SHORT} \"$@\" {gone}");
        let output = by_shell(&script, &["-o", &file, &server.url()]);
        assert!(output.code() < 4 && output.stderr.is_empty(), "{output:?}");
        assert!(!output.stdout.is_empty());
        assert_eq!(Document::load(&file).expect("a document").results.outcomes.bad_response, 20);
        // An error needs no reader either.
        let output = by_shell(&format!("exec \"$0\" \"$@\" {gone}"), &["--no-such-flag"]);
        assert_eq!(output.code(), 2, "{output:?}");
    }
}

#[test]
fn a_standard_output_that_takes_nothing_costs_nothing_else() {
    let server = Raw::answering(OK);
    for gone in [">/dev/full", ">&-"] {
        let directory = Directory::new();
        let file = directory.file("run.json");
        let script = format!("exec \"$0\" {SHORT} \"$@\" {gone}");
        let output = by_shell(&script, &["-o", &file, &server.url()]);
        assert_eq!(output.code(), 74, "{output:?}");
        assert!(output.stderr.contains("standard output cannot be written"), "{output:?}");
        assert_eq!(Document::load(&file).expect("a document").results.outcomes.ok, 20);
        assert_eq!(directory.names(), ["run.json"]);
        for words in ["--help", "-h", "--version", "report --help", "--compat wrk -v"] {
            let output = by_shell(&format!("exec \"$0\" {words} {gone}"), &[]);
            assert_eq!(output.code(), 74, "{words}: {output:?}");
        }
        let wrk = format!("exec \"$0\" --compat wrk -d1 -t1 -c1 \"$@\" {gone}");
        assert_eq!(by_shell(&wrk, &[&server.url()]).code(), 74);
    }
    // A closed pipe is no error.
    let output = by_shell("\"$0\" --help | head -n 1; exit 0", &[]);
    assert!(output.code() == 0 && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_leaves_nothing() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let names = ["run.json", "rows.parquet"].map(|name| directory.file(name));
    for file in [["-o", &names[0]], ["--raw", &names[1]]] {
        let script = format!("ulimit -f 0; exec \"$0\" {SHORT} \"$@\"");
        let output = by_shell(&script, &[&file[..], &[&server.url()]].concat());
        assert_eq!(output.code(), 74, "{output:?}");
        assert!(output.stderr.contains("File too large"), "{output:?}");
        assert!(!output.stdout.is_empty(), "the report is printed: {output:?}");
        assert_eq!(directory.names(), [""; 0], "no half of a result is left");
    }
}

#[test]
fn a_terminal_that_hangs_up_ends_the_run_with_a_report() {
    let server = Raw::answering(OK);
    // Without a terminal, this test may have inherited the signal as ignored.
    let mut env = Command::new("env");
    env.args(["--default-signal=HUP", WEIR]);
    let flags = "-c4 -t2 -d30s --warmup 0 --no-preflight";
    let running = start_by(env, "epoll", flags, &[&server.url()]);
    server.await_requests(50);
    running.process.signal(&["HUP"]);
    let ran = running.finish();
    assert_eq!(ran.code, 129, "{ran}");
    assert!(ran.document.run.interrupted && ran.document.results.outcomes.ok >= 10, "{ran}");
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let server = Raw::answering(OK);
    let mut command = Command::new("sh");
    // nohup(1) does the same.
    command.args(["-c", "trap '' HUP; exec \"$0\" -c2 -d30s --warmup 0 \"$@\"", WEIR]);
    let process = Process::start(command.arg(server.url()));
    server.await_requests(50);
    process.signal(&["HUP", "INT"]);
    let output = process.wait();
    assert_eq!(output.code(), 130, "{output:?}");
}

/// Waits until the program blocks signals to wait for them, which it does before its preflight.
fn await_signals(process: &Process) {
    let status = format!("/proc/{}/status", process.id());
    wait::until("signals are waited for", || {
        let status = fs::read_to_string(&status).ok()?;
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
        // SIGINT is the second bit.
        (u64::from_str_radix(blocked.trim(), 16).ok()? & 2 != 0).then_some(())
    });
}

#[test]
fn a_signal_before_the_load_ends_it_with_a_line() {
    let silent = Raw::start(|peer| {
        while peer.read_request()?.is_some() {}
        Ok(())
    });
    let url = silent.url();
    for (words, more) in [("-d30s -c1", vec![url.as_str()]), ("--selfcheck", Vec::new())] {
        for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
            let directory = Directory::new();
            let mut command = Command::new(WEIR);
            command.current_dir(directory.path()).args(words.split(' ')).args(&more);
            if !more.is_empty() {
                command.args(["-o", "run.json", "--raw", "rows.parquet"]);
            }
            let process = Process::start(&mut command);
            await_signals(&process);
            process.signal(&[signal]);
            let output = process.wait();
            // The run may have ended, with its report, before the signal.
            if output.stdout.is_empty() {
                assert_eq!(output.code(), code, "{words}: {output:?}");
                assert!(output.stderr.contains("interrupted"), "{words}: {output:?}");
                assert_eq!(directory.names(), [""; 0], "no half of a result is left");
            }
        }
    }
}

#[test]
fn a_signal_in_done_ends_the_program_after_its_report() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let script = directory.file("endless.lua");
    let text = "function done() print('in done'); io.flush(); while true do end end";
    fs::write(&script, text).expect("the directory is writable");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut running = start("epoll", "-c1 -n5 -s", &[&script, &server.url()]);
        while running.process.next_line() != "in done" {}
        running.process.signal(&[signal]);
        let ran = running.finish();
        assert_eq!(ran.code, code, "{ran}");
        assert!(ran.stderr.contains("interrupted after the report"), "{ran}");
        assert_eq!(ran.document.results.outcomes.ok, 5, "{ran}");
    }
}

#[test]
fn a_run_that_is_abandoned_leaves_no_file() {
    let server = Raw::start(|peer| {
        while peer.read_request()?.is_some() {}
        Ok(())
    });
    let directory = Directory::new();
    let rows = directory.file("rows.parquet");
    let flags = "-c4 -t2 -d30s --warmup 0 --no-preflight --raw";
    let running = start("epoll", flags, &[&rows, &server.url()]);
    server.await_requests(4);
    assert_eq!(directory.names().len(), 1, "the rows are being written");
    running.process.signal(&["INT", "TERM"]);
    let output = running.process.wait();
    assert_eq!(output.code(), 143, "{output:?}");
    assert_eq!(directory.names(), [""; 0], "no half of a result is left");
}

#[test]
fn a_machine_without_threads_ends_with_71() {
    let server = Raw::answering(OK);
    let url = server.url();
    for (words, more) in [
        ("-n1", vec![&url]),
        ("--compat wrk -d1", vec![&url]),
        ("--selfcheck", Vec::new()),
        ("serve --listen 127.0.0.1:0", Vec::new()),
    ] {
        let mut command = Command::new(WEIR);
        // No thread's stack can be so large; the system returns the same error for a full table.
        command.env("RUST_MIN_STACK", "1000000000000000").args(words.split(' ')).args(more);
        let output = Process::start(&mut command).wait();
        assert_eq!(output.code(), 71, "{words}: {output:?}");
        assert!(output.stderr.contains("Resource temporarily"), "{words}: {output:?}");
        assert!(!output.stderr.contains("panicked"), "{words}: {output:?}");
    }
}

#[test]
fn a_body_is_held_once() {
    const BYTES: u64 = 96 << 20;
    // The program itself takes memory, and more of it with every feature.
    let small = resident_bytes_with_body(1);
    let large = resident_bytes_with_body(BYTES);
    assert!(large < small + BYTES + (32 << 20), "{large} bytes, {small} without a body");
}

/// Returns the memory of a run whose two workers send the same bytes.
fn resident_bytes_with_body(bytes: u64) -> u64 {
    let server = Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            assert!(peer.read_body(bytes as usize)?.iter().all(|byte| *byte == 0));
            peer.write(OK)?;
        }
        Ok(())
    });
    let directory = Directory::new();
    let body = directory.file("body");
    File::create(&body).and_then(|file| file.set_len(bytes)).expect("a sparse file");
    let words = "-c2 -t2 -n2 --no-preflight -T 60s -b";
    let ran = load("epoll", words, &[&format!("@{body}"), &server.url()]);
    ran.assert_all_ok();
    assert_eq!(ran.document.plan.request.body_bytes, bytes);
    ran.document.run.client.max_resident_bytes
}

#[test]
fn a_long_body_is_whole_over_tls() {
    let body: Vec<u8> = (0..700_001u32).map(|index| (index % 251) as u8).collect();
    let directory = Directory::new();
    let file = directory.file("body");
    fs::write(&file, &body).expect("the directory is writable");
    let authority = Authority::new();
    on_an_engine(|engine| {
        let expected = body.clone();
        let server = Secure::start(&authority.sign_loopback(), move |peer| {
            while peer.read_request()?.is_some() {
                assert!(peer.read_body(expected.len())? == expected);
                peer.write(OK)?;
            }
            Ok(())
        });
        let more = [&format!("@{file}"), "--cacert", &authority.file(), &server.url()];
        let ran = load(engine, "-c2 -t1 -n6 --no-preflight -T 60s -b", &more);
        ran.assert_all_ok();
        ran.assert_no_failure();
    });
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let directory = Directory::new();
    let long = directory.file("long");
    File::create(&long).and_then(|file| file.set_len(4 << 30)).expect("a sparse file");
    let body = format!("@{long}");
    for (words, more, part) in [
        ("-b", vec![body.as_str(), "http://127.0.0.1:9/"], "send 1 GiB at most"),
        ("-b @/dev/zero", vec!["http://127.0.0.1:9/"], "does not end within 64 MiB"),
        ("report", vec![long.as_str()], "more than a document can be"),
        ("report /dev/zero", vec![], "does not end within 64 MiB"),
    ] {
        // 400 MB of address space; up to 64 MiB may be in memory twice while a buffer grows.
        let words: Vec<&str> = words.split(' ').chain(more).collect();
        let output = by_shell("ulimit -v 400000; exec \"$0\" \"$@\"", &words);
        assert_eq!(output.code(), 2, "{words:?}: {output:?}");
        assert!(output.stderr.contains(part), "{words:?}: {output:?}");
    }
}

#[test]
fn bodies_that_a_script_sees_share_a_memory() {
    let server = Raw::start(|peer| {
        while peer.read_request()?.is_some() {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")?;
            peer.write([b'x'; 300_000])?;
        }
        Ok(())
    });
    let directory = Directory::new();
    let script = directory.file("bodies.lua");
    let text = "local whole, cut = 0, 0
        function response(status, headers, body)
          if wrk.body_cut() then cut = cut + 1 else whole = whole + 1 end
          assert(wrk.body_cut() == (#body < 300000))
        end
        function teardown() print('whole ' .. whole .. ', cut ' .. cut) end";
    fs::write(&script, text).expect("the directory is writable");
    let words = "-c1 -t1 -n8 --script-memory";
    let ran = load("epoll", words, &["100k", "-s", &script, &server.url()]);
    ran.assert_all_ok();
    ran.assert_says("whole 0, cut 8");
    ran.assert_says("bodies cut: 8");
    ran.assert_says("8 bodies were cut before response()");
    assert_eq!(ran.document.script.as_ref().map(|script| script.bodies_cut), Some(8), "{ran}");
    let ran = load("epoll", words, &["1M", "-s", &script, &server.url()]);
    ran.assert_says("whole 8, cut 0");
    assert!(!ran.text.contains("beginning of"), "{ran}");
}

#[test]
fn nothing_that_a_server_says_is_obeyed() {
    let head = format!(
        "HTTP/1.1 302 Go{EVIL}\r\nServer: evil{EVIL}\r\nLocation: /{EVIL}\r\n warning: forged\r\n\
         Content-Length: 0\r\n\r\n"
    );
    let server = Raw::answering(head);
    for format in ["text", "json"] {
        let words = format!("{SHORT} --format {format}");
        let output = weir(&words, &[&server.url()]);
        assert_printable(&output.stdout);
        assert_printable(&output.stderr);
        assert!(output.stderr.contains("a redirect to /"), "{output:?}");
        let forged = output.stderr.lines().any(|line| line.trim_start().starts_with("warning: f"));
        assert!(!forged, "{output:?}");
    }
}

#[test]
fn nothing_that_a_script_or_a_name_says_is_obeyed() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let script = directory.file(&format!("script{EVIL}.lua"));
    let name = directory.file(&format!("name{EVIL}\nerror: forged"));
    let url = server.url();
    fs::write(&script, format!("function response() error('{EVIL}') end")).expect("writable");
    fs::write(&name, "no document").expect("writable");
    let nowhere = format!("{name}/a");
    for (words, more) in [
        (format!("{SHORT} -s"), vec![&script, &url]),
        ("--compat wrk -d1 -t1 -c1 -s".to_owned(), vec![&script, &url]),
        ("report".to_owned(), vec![&name]),
        ("-n1 -o".to_owned(), vec![&nowhere, &url]),
        ("-n1 --raw".to_owned(), vec![&nowhere, &url]),
        ("-n1 -b".to_owned(), vec![&format!("@{nowhere}"), &url]),
        ("serve --log".to_owned(), vec![&nowhere]),
        ("-n1 --junit".to_owned(), vec![&nowhere, &url]),
    ] {
        let more: Vec<&str> = more.into_iter().map(String::as_str).collect();
        let output = weir(&words, &more);
        assert_ne!(output.code(), 0, "{words}: {output:?}");
        // The calls that led to an error of a script are indented by a tab.
        assert_printable(&output.stderr.replace('\t', " "));
        assert!(!output.stderr.contains("\nerror: forged"), "{words}: {output:?}");
        if !words.contains("-s") {
            assert_printable(&output.stdout);
        }
    }
}

/// The standard library would end it by SIGABRT.
#[test]
fn a_limit_of_the_memory_ends_with_a_message() {
    let mut command = Command::new("sh");
    let line =
        "ulimit -v 900000; exec \"$0\" -n1 --body-size 880M --no-preflight http://127.0.0.1:9/";
    let output = Process::start(command.args(["-c", line, WEIR])).wait();
    assert_eq!(output.code(), 71, "{output:?}");
    let last = output.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: out of memory: ") && last.contains("ulimit -v"), "{output:?}");
}

/// A line feed of others in an error begins no line: GitHub Actions would obey it as a command.
#[test]
fn no_error_passes_on_a_line_of_others() {
    const FORGED: &str = "::error::forged";
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let routes = directory.file("routes");
    let route = format!(r#"{{"path": "/", "delay": "a\n{FORGED}\nb"}}"#);
    fs::write(&routes, route).expect("writable");
    let script = directory.file("script.lua");
    let text = format!("function response() error('a\\n{FORGED}\\n\\t{FORGED}') end");
    fs::write(&script, text).expect("writable");
    let thread = directory.file("init.lua");
    fs::write(&thread, format!("function init() error('a\\n{FORGED}') end")).expect("writable");
    let rate = format!("1\n{FORGED}");
    let name = format!("--none\n{FORGED}");
    let url = server.url();
    for (words, more) in [
        ("serve --routes", vec![&routes]),
        (&format!("{SHORT} -s"), vec![&script, &url]),
        (&format!("{SHORT} -s"), vec![&thread, &url]),
        ("--compat wrk -d1 -t1 -c1 -s", vec![&script, &url]),
        ("--compat wrk -d", vec![&rate, &url]),
        ("-R", vec![&rate, &url]),
        ("-n1", vec![&name, &url]),
        ("--compat wrk", vec![&name, &url]),
        ("--spec", vec![&name]),
    ] {
        let more: Vec<&str> = more.into_iter().map(String::as_str).collect();
        let output = weir(words, &more);
        assert_ne!(output.code(), 0, "{words}: {output:?}");
        assert!(output.stderr.contains("forged") || words == "--spec", "{words}: {output:?}");
        let is_command = |line: &str| line.trim_start().starts_with("::");
        let printed = output.stderr.lines().chain(output.stdout.lines());
        assert!(!printed.into_iter().any(is_command), "{words}: {output:?}");
    }
}

/// Appends [`EVIL`] to every text at and below `pointer` for which the document stays valid.
fn poison(whole: &mut Value, pointer: &str, poisoned: &mut usize) {
    let Some(value) = whole.pointer_mut(pointer) else { return };
    let below: Vec<String> = match value {
        Value::Object(fields) => fields.keys().map(|key| format!("{pointer}/{key}")).collect(),
        Value::Array(items) => (0..items.len()).map(|at| format!("{pointer}/{at}")).collect(),
        Value::String(text) => {
            let before = std::mem::replace(text, format!("{text}{EVIL}\nx"));
            match Document::from_json(whole.to_string().as_bytes()) {
                Ok(_) => *poisoned += 1,
                Err(_) => *whole.pointer_mut(pointer).expect("it was there") = before.into(),
            }
            return;
        }
        _ => return,
    };
    for pointer in below {
        poison(whole, &pointer, poisoned);
    }
}

#[test]
fn nothing_that_a_document_says_is_obeyed() {
    let server =
        Raw::answering("HTTP/1.1 302 Go\r\nServer: a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    let ran = load("epoll", "-c2 -t2 -n50 --assert", &["p50<1ns", &server.url()]);
    let mut document = serde_json::to_value(&ran.document).expect("it is JSON");
    let mut poisoned = 0;
    for section in
        ["run", "plan", "environment", "preflight", "notes", "connections", "verdict", "assertions"]
    {
        poison(&mut document, &format!("/{section}"), &mut poisoned);
    }
    assert!(poisoned > 30, "{poisoned} in {document:#}");
    let directory = Directory::new();
    let file = directory.file("poisoned.json");
    fs::write(&file, document.to_string()).expect("the directory is writable");
    for words in ["report", "report --rules --latency", "report --format json"] {
        let output = weir(words, &[&file]);
        assert_printable(&output.stdout);
        assert_printable(&output.stderr);
        assert!(output.stdout.len() > 200, "{words}: {output:?}");
    }
    // An error about a document quotes it.
    for text in [format!("{{\"schema_version\": 1, \"{EVIL}\": 0}}"), EVIL.to_owned()] {
        fs::write(&file, text).expect("the directory is writable");
        let output = weir("report", &[&file]);
        assert_eq!(output.code(), 2, "{output:?}");
        assert_printable(&output.stderr);
    }
}

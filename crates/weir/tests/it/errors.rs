//! Ends other than 0: the reason is on standard error, also of a run that prints nothing else.

use std::fs;

use crate::support::directory::Directory;
use crate::support::process::Output;
use crate::support::served::Served;
use crate::support::weir::weir;

const LOAD: &str = "-c2 -t1 -n 20 --warmup 0 --witness off";

/// Returns a port of the loopback address on which nothing listens.
fn closed_port() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    format!("http://{}/", listener.local_addr().expect("it is bound"))
}

/// Checks that a silent run prints one line, the error.
#[track_caller]
fn check(output: &Output, code: i32, parts: &[&str]) {
    assert_eq!((output.code(), output.stdout.as_str()), (code, ""), "{output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    assert!(output.stderr.starts_with("error: "), "{output:?}");
    for part in parts {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
}

#[test]
fn a_silent_run_names_its_failure() {
    let good = Served::plainly();
    let bad = Served::with(|behaviour| behaviour.status = 500);
    let run = |words: &[&str]| weir(&format!("-q {LOAD}"), words);
    let none = "no successful response: 100% of responses were 500";
    check(&run(&["--no-preflight", &bad.url()]), 1, &[none]);
    check(&run(&["-R", "100", &closed_port()]), 1, &["cannot connect", "connection refused"]);
    let claims = ["--assert", "p50 < 1ns", "--assert", "errors == 1", "--assert", "errors == 0"];
    let failed = run(&[&claims[..], &[&good.url()]].concat());
    check(&failed, 3, &["--assert 'p50 < 1ns' failed: ", "; 1 more failed"]);
    let half = Served::with(|behaviour| {
        behaviour.faults = vec!["reset:1/2".parse().expect("a fault")];
    });
    let words = ["--no-preflight", "--strict", &half.url()];
    check(&run(&words), 3, &["--strict: the grade is failed: 50% failed"]);
}

#[test]
fn a_server_that_is_down_is_the_cause_in_each_result() {
    let directory = Directory::new();
    let [junit, summary] = ["junit.xml", "summary.md"].map(|name| directory.file(name));
    let url = closed_port();
    let claims = ["--assert", "p99 < 5ms", "--assert", "errors < 1%", "--assert", "rate > 5"];
    let mut command = std::process::Command::new(crate::support::weir::WEIR);
    command.args(LOAD.split(' ')).args(claims).args(["--junit", &junit, "--github", &url]);
    command.env("GITHUB_STEP_SUMMARY", &summary);
    let output = crate::support::process::Process::start(&mut command).wait();
    assert_eq!(output.code(), 1, "{output:?}");
    let junit = fs::read_to_string(&junit).expect("it was written");
    let failures: Vec<&str> = junit.lines().filter(|line| line.contains("<failure ")).collect();
    let is_cause = |line: &&str| line.contains("no connection: connection refused");
    assert!(failures.len() == 3 && failures.iter().all(is_cause), "{junit}");
    let annotations: Vec<&str> =
        output.stdout.lines().filter(|line| line.starts_with("::error")).collect();
    assert!(annotations.len() >= 4, "{output:?}");
    for annotation in annotations {
        assert!(annotation.contains("connection refused"), "{annotation}");
        assert!(!annotation.contains("measured no connection"), "{annotation}");
    }
}

/// A study has no verdict then, and its JUnit file says why.
#[test]
fn a_comparison_that_stops_names_its_cause_in_junit() {
    let directory = Directory::new();
    let junit = directory.file("junit.xml");
    let words = format!("ab -q --no-settle -a -c1 -b -c2 --pairs 6 {LOAD}");
    check(&weir(&words, &["-o", &junit, &closed_port()]), 1, &["connection refused"]);
    let text = fs::read_to_string(&junit).expect("it was written");
    assert!(text.contains(r#"errors="1""#), "{text}");
    assert!(text.contains("stopped at trial 1: no request of"), "{text}");
    assert!(text.contains("connection refused"), "{text}");
    let unknown = weir("ab --thresold 1% http://h/", &[]);
    assert!(unknown.stderr.contains("unknown flag --thresold"), "{unknown:?}");
}

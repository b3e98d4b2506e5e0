//! A client that was stopped (METHOD 1.9, `client-stopped`): its report, and the exit status of a
//! grade. The other rules are tested with documents, independent of the machine.

use std::process::Command;

use weir_result::Document;
use weir_result::document::{Grade, RuleOutcome, Subject};

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::wait::let_pass;
use crate::support::weir::WEIR;

/// Length of the stop: far more than bounds the numbers, and a fifth of the window.
const STOPPED: std::time::Duration = std::time::Duration::from_millis(600);

/// Runs weir with these flags, and stops it for a while inside its window.
fn stopped(engine: &str, flags: &str) -> (Output, Document) {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let file = directory.file("run.json");
    let mut command = Command::new(WEIR);
    command.args([
        "-d3s",
        "--warmup",
        "0",
        "-R200",
        "-c2",
        "--no-preflight",
        "--io",
        engine,
        "-o",
        &file,
    ]);
    let weir = Process::start(command.args(flags.split_whitespace()).arg(server.url()));
    server.await_requests(20);
    weir.signal(&["STOP"]);
    let_pass(STOPPED);
    weir.signal(&["CONT"]);
    let output = weir.wait();
    let document = Document::load(&file).expect("it was written");
    (output, document)
}

/// True if the report contains this text, regardless of line breaks.
fn says(output: &Output, text: &str) -> bool {
    output.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(text.trim())
}

#[test]
fn a_client_that_was_stopped_has_bounds_and_says_why() {
    on_an_engine(|engine| {
        let (output, document) = stopped(engine, "");
        assert_eq!(output.code(), 0, "{output:?}");
        assert!(says(&output, "client stopped: "), "{output:?}");
        assert!(document.verdict.grade >= Grade::Bounded, "{output:?}");
        let stops = document.verdict.rules.iter().find(|rule| rule.id == "client-stopped");
        let stops = stops.expect("it is always judged");
        assert_eq!((stops.outcome, stops.subject), (RuleOutcome::Bound, Subject::Client));
    });
}

#[test]
fn strict_refuses_grades_and_no_verdict_hides_them() {
    let (output, document) = stopped("epoll", "--strict");
    assert_eq!(output.code(), 3, "{output:?}");
    assert!(document.verdict.grade >= Grade::Bounded, "{output:?}");
    let (output, _) = stopped("epoll", "--strict=bounded");
    assert_eq!(output.code(), 0, "{output:?}");
    let (output, document) = stopped("epoll", "--no-verdict");
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(!says(&output, "client stopped: "), "{output:?}");
    assert!(document.verdict.grade >= Grade::Bounded, "{output:?}");
}

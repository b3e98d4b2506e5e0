//! `--assert`: assertions that hold end with 0, all others with 3, for a run and for its document.
//! Assertions that cannot be parsed end with 2 before anything is sent.

use std::fs;

use weir_result::{AssertionOutcome, Document};

use crate::support::directory::Directory;
use crate::support::raw::{OK, Raw};
use crate::support::weir::weir;

use AssertionOutcome::{Fail, Pass};

/// Runs a hundred requests with these assertions, and evaluates them on the document once more.
fn check(claims: &[(&str, AssertionOutcome)], code: i32) {
    let directory = Directory::new();
    let document = directory.file("run.json");
    let junit = directory.file("run.xml");
    let server = Raw::answering(OK);
    let url = server.url();
    let claimed: Vec<&str> = claims.iter().flat_map(|(claim, _)| ["--assert", claim]).collect();
    let words = [&claimed[..], &["-o", &document, "--junit", &junit, &url]].concat();
    let output = weir("--no-verdict -c2 -t2 -n 100", &words);
    assert_eq!(output.code(), code, "{output:?}");
    let loaded = Document::load(&document).expect("a document");
    let outcomes: Vec<(&str, AssertionOutcome)> = loaded
        .assertions
        .iter()
        .map(|result| (result.assertion.as_str(), result.outcome))
        .collect();
    assert_eq!(outcomes, claims);
    for (claim, outcome) in claims {
        let is_reported = |line: &str| {
            line.trim_start().starts_with(&outcome.to_string()) && line.contains(claim)
        };
        assert!(output.stdout.lines().any(is_reported), "{output:?}");
    }
    let xml = fs::read_to_string(&junit).expect("it was written");
    assert_eq!(xml.matches("<testcase ").count(), claims.len(), "{xml}");
    assert!(xml.contains("<system-out>weir ") && xml.contains("  Latency "), "{xml}");
    let again = weir("report", &[&claimed[..], &[&document]].concat());
    assert_eq!(again.code(), code, "{again:?}");
    // The document contains the assertions of its run, and they count.
    let printed = weir("report --no-verdict --format junit", &[&document]);
    assert_eq!((printed.code(), printed.stdout), (code, xml));
}

#[test]
fn only_what_holds_ends_well() {
    check(&[("errors == 0", Pass), ("max < 1h", Pass), ("status.2xx.count == 100", Pass)], 0);
    check(&[("errors == 0", Pass), ("status.200 < 50%", Fail)], 3);
    check(&[("p99.999 < 1h", Fail)], 3);
}

#[test]
fn what_is_asserted_of_a_document_replaces_what_was() {
    let directory = Directory::new();
    let document = directory.file("run.json");
    let junit = directory.file("run.xml");
    let server = Raw::answering(OK);
    let words = ["--assert", "errors > 50%", "-q", "-o", &document, &server.url()];
    assert_eq!(weir("--no-verdict -n 100", &words).code(), 3);
    let output = weir("report", &["--assert", "errors==0", "--junit", &junit, &document]);
    assert_eq!(output.code(), 0, "{output:?}");
    // The command is still that of the run.
    let reported = |line: &&str| line.contains("errors") && !line.contains("Command");
    let reported: Vec<&str> = output.stdout.lines().filter(reported).collect();
    assert_eq!(reported, ["  pass  errors==0   0 of 100 requests (0%)"], "{output:?}");
    assert!(fs::read_to_string(&junit).expect("it was written").contains("errors==0"));
}

#[test]
fn a_report_without_assertions_has_no_junit() {
    let directory = Directory::new();
    let document = directory.file("run.json");
    let server = Raw::answering(OK);
    assert_eq!(weir("--no-verdict -n 10", &["-q", "-o", &document, &server.url()]).code(), 0);
    let file = directory.file("run.xml");
    let url = server.url();
    for (command, words) in [
        ("report", &["--junit", &file, &document][..]),
        ("report", &["--format", "junit", &document]),
        ("-n 10", &["--format", "junit", &url]),
    ] {
        let output = weir(command, words);
        assert_eq!(output.code(), 2, "{output:?}");
        assert!(output.stderr.contains("--assert"), "{output:?}");
    }
}

/// A hundred requests allow no p99 with 95% confidence, and the maximum never has any confidence.
#[test]
fn a_claim_that_is_too_uncertain_fails() {
    let server = Raw::answering(OK);
    let url = server.url();
    let claim = |claim, confidence| {
        let words = ["--assert", claim, "--assert-confidence", confidence, &url];
        weir("--no-verdict -c2 -t2 -n 100", &words)
    };
    let output = claim("max < 1h", "95");
    assert_eq!(output.code(), 3, "{output:?}");
    assert!(output.stdout.contains("no confidence for --assert-confidence 95%"), "{output:?}");
    let output = claim("errors == 0", "99.9%");
    assert_eq!(output.code(), 0, "{output:?}");
    for wrong in ["49", "100", "high"] {
        let output = claim("errors == 0", wrong);
        assert_eq!(output.code(), 2, "{output:?}");
        assert!(output.stderr.contains("--assert-confidence"), "{output:?}");
    }
}

//! Every fuzz target on stable Rust, over its committed corpus: inputs that once made a target fail
//! or increased its coverage. CONTRIBUTING.md describes the origin of the corpora.

use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;
use weir_result::Document;

use crate::{checks, http};

/// Replays the corpus of one target, which has at least `least` files.
fn replay(target: &str, least: usize, check: fn(&[u8])) {
    let directory =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&directory).expect("the corpus is in the tree");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= least, "{} files in {}", paths.len(), directory.display());
    for path in paths {
        let input = fs::read(&path).expect("a readable file");
        let result = catch_unwind(|| check(&input));
        assert!(result.is_ok(), "{} fails on {}", target, path.display());
    }
}

#[test]
fn h2_client() {
    replay("h2_client", 8, http::h2::client);
}

#[test]
fn h2_server() {
    replay("h2_server", 5, http::h2::server);
}

#[test]
fn hpack() {
    replay("hpack", 8, http::hpack::hpack);
}

#[test]
fn http1_request() {
    replay("http1_request", 50, http::server::received);
}

#[test]
fn http1_response() {
    replay("http1_response", 50, http::response);
}

#[test]
fn read_head() {
    replay("read_head", 20, http::head);
}

#[test]
fn raw_requests() {
    replay("raw_requests", 20, http::requests);
}

#[test]
fn grpc() {
    replay("grpc", 10, http::grpc::messages);
}

#[test]
fn sse() {
    replay("sse", 10, http::sse::events);
}

#[test]
fn ws() {
    replay("ws", 15, http::ws::frames);
}

#[test]
fn document() {
    replay("document", 3, checks::document);
}

#[test]
fn command_line() {
    replay("command_line", 15, checks::command_line);
}

#[test]
fn expectations() {
    replay("expectations", 10, checks::expectations);
}

#[test]
fn scenario_import() {
    replay("scenario_import", 5, checks::scenario_import);
}

#[test]
fn schema() {
    replay("schema", 10, checks::schema);
}

#[test]
fn script_values() {
    replay("script_values", 10, checks::script_values);
}

#[test]
fn tls_records() {
    replay("tls_records", 8, checks::tls_records);
}

#[test]
fn certificate() {
    replay("certificate", 4, checks::certificate);
}

/// If the document's format changes so that the base is invalid, edits of it test nothing: write a
/// new one.
#[test]
fn edits_begin_with_a_document() {
    Document::from_json(checks::BASE).expect("the base of edits is a document");
}

/// A replay that could not fail would be no test.
#[test]
#[should_panic(expected = "document fails on")]
fn a_failing_file_fails_the_replay() {
    replay("document", 1, |_| panic!("as a check would"));
}

/// Every target is replayed, and every directory belongs to a target.
#[test]
fn nothing_is_left_out() {
    let fuzz = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let names = |directory: &str| {
        let entries = fs::read_dir(fuzz.join(directory)).expect("a directory of the tree");
        let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_owned());
        let mut names: Vec<_> =
            entries.filter_map(|entry| stem(entry.expect("an entry").path())).collect();
        names.sort();
        names
    };
    let replayed = [
        "certificate",
        "command_line",
        "document",
        "expectations",
        "grpc",
        "h2_client",
        "h2_server",
        "hpack",
        "http1_request",
        "http1_response",
        "raw_requests",
        "read_head",
        "scenario_import",
        "schema",
        "script_values",
        "sse",
        "tls_records",
        "ws",
    ];
    assert_eq!(names("fuzz_targets"), replayed);
    assert_eq!(names("corpus"), replayed);
}

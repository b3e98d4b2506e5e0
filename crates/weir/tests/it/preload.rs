//! A load under a preloaded socket library (ld.so(8)): all of its connections, sends and receives
//! pass the library.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use weir_result::{Document, IoEngine};

use crate::support::directory::Directory;
use crate::support::process::Process;
use crate::support::raw::{OK, Raw};
use crate::support::weir::WEIR;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/preload/redirect.c");

/// Compiles the library with the C compiler that linked weir.
fn compile(library: &str) {
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"]);
    let output = Process::start(&mut compiler).wait();
    assert!(output.status.success() && Path::new(library).exists(), "{output:?}");
}

#[test]
fn a_preloaded_library_sees_every_connection_and_request() {
    let server = Raw::answering(OK);
    let (_, served) = server.authority().rsplit_once(':').expect("it has a port");
    // Nothing listens there, so that the load succeeds through the library alone.
    let unused = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let named = unused.local_addr().expect("it is bound").port();
    drop(unused);
    let directory = Directory::new();
    let library = directory.file("redirect.so");
    let counts = directory.file("counts");
    let document = directory.file("run.json");
    compile(&library);

    let mut command = Command::new(WEIR);
    command.env("LD_PRELOAD", &library).env("PRELOAD_COUNTS", &counts);
    command.env("PRELOAD_FROM", named.to_string()).env("PRELOAD_TO", served);
    command.args(["-n", "200", "-c2", "-t1", "--no-verdict", "--witness", "off"]);
    command.args(["-o", &document, &format!("http://127.0.0.1:{named}/")]);
    let output = Process::start(&mut command).wait();
    assert_eq!(output.code(), 0, "{output:?}");

    let document = Document::load(&document).expect("it was written");
    assert_eq!(document.results.outcomes.ok, 200, "{output:?}");
    assert_eq!(document.plan.io, IoEngine::Epoll);
    assert!(document.notes.iter().any(|note| note.code == "epoll_for_preload"), "{output:?}");
    let sent = document.accounting.sent.total;
    assert_eq!(server.requests(), sent, "{output:?}");
    let counts = fs::read_to_string(&counts).expect("the library wrote it");
    let counts: Vec<u64> = counts.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // The preflight's connect is in no count.
    assert!(counts[0] > document.connections.connects, "{counts:?}: {output:?}");
    assert!(counts[1] >= sent && counts[2] >= sent, "{counts:?} of {sent}: {output:?}");
}

//! Checks of the fuzz targets of HTTP/2 on stable Rust: over the committed corpora, which have a
//! file for each case here, and over mutations of them, the same in every run.

use std::fs;
use std::path::PathBuf;

use weir_http::h2::frame::{FrameKind, flags};

use super::raw::Raw;
use crate::check::{XorShift, h2, hpack};
use crate::corpus::mutate;

/// Mutations of each file.
const MUTATIONS: usize = 60;

/// Insertions of the mutations: frames, and parts of header blocks.
const WORDS: [&[u8]; 12] = [
    b"\0\0\x01\x01\x05\0\0\0\x01\x88",
    b"\0\0\x01\x01\x04\0\0\0\x03\x88",
    b"\0\0\x03\x00\x01\0\0\0\x01abc",
    b"\0\0\x03\x00\x08\0\0\0\x03\x02ab",
    b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07",
    b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\x01",
    b"\0\0\x08\x06\0\0\0\0\x0012345678",
    b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0",
    b"\0\0\x04\x08\0\0\0\0\x01\0\0\0\x01",
    b"\0\0\x01\x09\x04\0\0\0\x01\x88",
    b"\x40\x01a\x81\x1f",
    b"\xbe",
];

/// A name and frames.
type Case = (&'static str, fn(&mut Raw));

const OK: &[(&str, &str)] = &[(":status", "200"), ("server", "weir"), ("date", "today")];
const GET: &[(&str, &str)] = &[(":method", "GET"), (":scheme", "http"), (":path", "/a")];

const CLIENT: [Case; 8] = [
    ("responses", |raw| {
        for stream in [1, 3] {
            raw.headers(stream, OK, false);
            raw.data(stream, b"body", true);
        }
        raw.headers(5, OK, true);
    }),
    ("trailers_and_interims", |raw| {
        raw.headers(1, &[(":status", "103"), ("link", "a")], false);
        raw.headers(1, &[(":status", "200"), ("content-length", "4")], false);
        raw.frame(FrameKind::DATA, flags::PADDED, 1, b"\x02body\0\0");
        raw.headers(1, &[("trailer", "a")], true);
    }),
    ("continuation", |raw| {
        let block = raw.block(OK);
        raw.frame(FrameKind::HEADERS, 0, 1, &block[..2]);
        raw.frame(FrameKind::CONTINUATION, flags::END_HEADERS, 1, &block[2..]);
    }),
    ("control", |raw| {
        raw.frame(FrameKind::PING, 0, 0, &[7; 8]);
        raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2]);
        raw.window_update(0, 9);
        raw.window_update(1, 9);
        raw.frame(FrameKind::PRIORITY, 0, 1, &[0; 5]);
        raw.frame(FrameKind(77), 1, 1, b"unknown");
    }),
    ("reset_and_goaway", |raw| {
        raw.frame(FrameKind::RST_STREAM, 0, 1, &[0, 0, 0, 7]);
        raw.frame(FrameKind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]);
        raw.headers(3, OK, true);
    }),
    ("wrong_length", |raw| {
        raw.headers(1, &[(":status", "200"), ("content-length", "3")], false);
        raw.data(1, b"four", true);
        raw.data(1, b"late", true);
    }),
    ("bad_index", |raw| raw.frame(FrameKind::HEADERS, 5, 1, b"\xbe")),
    ("huffman", |raw| raw.frame(FrameKind::HEADERS, 5, 1, b"\x88\x40\x82\x1f\xff\x82\xff\xff")),
];

const SERVER: [Case; 5] = [
    ("requests", |raw| {
        raw.headers(1, GET, true);
        raw.headers(3, GET, false);
        raw.data(3, b"body", true);
        raw.headers(5, GET, true);
    }),
    ("trailers", |raw| {
        raw.headers(1, &[GET, &[("content-length", "3"), ("te", "trailers")]].concat(), false);
        raw.data(1, b"abc", false);
        raw.headers(1, &[("a", "b")], true);
    }),
    ("malformed", |raw| {
        raw.headers(1, &[(":method", "GET"), (":path", "/")], true);
        raw.headers(3, &[("Upper", "case")], true);
        raw.data(3, b"late", true);
    }),
    ("control", |raw| {
        raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]);
        raw.frame(FrameKind::PING, 0, 0, &[7; 8]);
        raw.headers(1, GET, false);
        raw.frame(FrameKind::RST_STREAM, 0, 1, &[0, 0, 0, 8]);
        raw.frame(FrameKind::GOAWAY, 0, 0, &[0; 8]);
    }),
    ("no_preface", |raw| raw.bytes = b"GET / HTTP/1.1\r\n\r\n".to_vec()),
];

/// Every case is in the corpus. `WRITE_CORPUS=1` writes it.
#[test]
fn the_corpora_have_the_cases() {
    let check = |target: &str, cases: &[Case], raw: fn() -> Raw| {
        for (piece, (name, build)) in (0..).zip(cases) {
            let mut raw = raw();
            build(&mut raw);
            let input = [&[piece][..], &raw.bytes].concat();
            let path = directory(target).join(name);
            if std::env::var_os("WRITE_CORPUS").is_some() {
                fs::create_dir_all(directory(target)).expect("the corpus can be written");
                fs::write(&path, &input).expect("the corpus can be written");
            }
            let file = fs::read(&path).expect("the case is in the corpus; WRITE_CORPUS=1 adds it");
            assert_eq!(file, input, "{name}");
        }
    };
    check("h2_client", &CLIENT, Raw::new);
    check("h2_server", &SERVER, Raw::client);
}

#[test]
fn mutations_of_the_corpora_hold() {
    check("h2_client", h2::client);
    check("h2_server", h2::server);
    check("hpack", hpack::hpack);
}

/// Checks the files of a target's corpus, and mutations of them.
fn check(target: &str, check: fn(&[u8])) {
    let entries = fs::read_dir(directory(target)).expect("the corpus is in the tree");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let inputs: Vec<Vec<u8>> =
        paths.iter().map(|path| fs::read(path).expect("a readable file")).collect();
    let mut random = XorShift::new(9113);
    for input in &inputs {
        check(input);
        for _ in 0..MUTATIONS {
            let other = &inputs[random.below(inputs.len())];
            let mutant = mutate(input, other, &WORDS, &mut random);
            let result = std::panic::catch_unwind(|| check(&mutant));
            assert!(result.is_ok(), "failed: {:?}", mutant.escape_ascii().to_string());
        }
    }
}

fn directory(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

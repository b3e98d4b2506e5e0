//! `--expect`: responses that miss an expectation are found, counted by kind and by name, and shown
//! with an example.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use weir_result::Document;

use flate2::Compression;
use flate2::write::GzEncoder;
use weir_result::document::Results;

use crate::support::directory::Directory;
use crate::support::nginx::Nginx;
use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::weir::{self, Ran};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Returns a response with this body.
fn response(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Returns the counts by kind.
fn missed(results: &Results) -> Vec<(&str, u64)> {
    results.missed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// Returns the expectation and what was found in the example of a kind.
fn example<'a>(ran: &'a Ran, kind: &str) -> (&'a str, &'a str) {
    let example = &ran.document.accounting.miss_examples[kind];
    (&example.expected, &example.found)
}

#[test]
fn one_broken_body_in_a_hundred_is_found() {
    on_an_engine(|engine| {
        let sent = AtomicU64::new(0);
        let headers = "Content-Encoding: gzip\r\nETag: a\r\n";
        let good = response(headers, &gzip(b"{\"state\": \"ok\"}"));
        let broken = response(headers, &gzip(b"{\"state\": \"broken\"}"));
        let server = Raw::start(move |peer| {
            while peer.read_request()?.is_some() {
                let is_broken = sent.fetch_add(1, Ordering::Relaxed) % 100 == 57;
                peer.write(if is_broken { &broken } else { &good })?;
            }
            Ok(())
        });
        let more = ["--expect", "body~\"ok\"", "--expect", "header:etag=a", &server.url()];
        let ran = weir::load(engine, "-n 1000 -c 4 -t 2 --no-preflight", &more);
        let results = &ran.document.results;
        assert_eq!((results.outcomes.ok, results.outcomes.bad_response), (990, 10), "{ran}");
        assert_eq!(missed(results), [("expect_body", 10)], "{ran}");
        assert_eq!(example(&ran, "expect_body"), ("body~\"ok\"", "{\"state\": \"broken\"}"));
        ran.assert_says("Expectations expect body: 10 body~\"ok\" status 200 found {\"state\"");
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(server.finish(), 1_000);
    });
}

#[test]
fn bodies_that_nginx_compresses_are_decoded() {
    let nginx = Nginx::start("gzip on; gzip_min_length 1; gzip_types *;");
    let secure = nginx.secure_url();
    let authority = nginx.authority();
    on_an_engine(|engine| {
        for (url, flags) in [
            (nginx.url(), "--http 1.1".to_owned()),
            (nginx.http2_url(), "--http 2 --streams 10".to_owned()),
            (secure.clone(), format!("--cacert {authority}")),
        ] {
            let flags = format!("-n 200 -c 4 -t 2 {flags}");
            let check = |expected: &[&str], misses: &[(&str, u64)]| {
                let expected = expected.iter().flat_map(|&text| ["--expect", text]);
                let more = ["-H", "Accept-Encoding: gzip", &url];
                let more: Vec<&str> = expected.chain(more).collect();
                let ran = weir::load(engine, &flags, &more);
                assert_eq!(missed(&ran.document.results), misses, "{ran}");
                ran
            };
            let coded = "header:content-encoding=gzip";
            check(&["status=200", coded, "body~^ok$", "same"], &[]).assert_all_ok();
            let ran = check(&[coded, "body~^no$"], &[("expect_body", 200)]);
            assert_eq!(example(&ran, "expect_body"), ("body~^no$", "ok"));
            check(&["status=404"], &[("expect_status", 200)]);
        }
    });
}

/// A decompression bomb: 1 GiB of zeros in a body of one megabyte, in members of 1 MiB.
#[test]
fn a_bomb_costs_no_more_than_the_limit() {
    let bomb = response("Content-Encoding: gzip\r\n", &gzip(&vec![0; 1 << 20]).repeat(1 << 10));
    let server = Raw::answering(bomb);
    let flags = "-n 20 -c 2 -t 1 --no-preflight";
    let resident = |ran: &Ran| ran.document.run.client.max_resident_bytes;
    let without = weir::load("auto", flags, &[&server.url()]);
    without.assert_all_ok();
    for (flag, limit) in [("8Mi", 8 << 20), ("100Ki", 100 << 10)] {
        let more = ["--expect", "body~x", "--expect-max-body", flag, &server.url()];
        let ran = weir::load("auto", flags, &more);
        assert_eq!(missed(&ran.document.results), [("body_too_large", 20)], "{ran}");
        // Beside the decoded body there are the bodies as received, one for each connection, and
        // the decoder's own pages. Decoded, the 20 bodies have 20 GiB.
        let most = resident(&without) + limit + (32 << 20);
        assert!(resident(&ran) < most, "{} of {most}: {ran}", resident(&ran));
    }
    server.finish();
}

#[test]
fn without_expectations_no_body_is_kept() {
    let body = vec![b'x'; 48 << 20];
    let server = Raw::answering(response("", &body));
    let flags = "-n 3 -c 1 -t 1 --no-preflight";
    let load = |more: &[&str]| {
        let ran = weir::load("auto", flags, &[more, &[&server.url()]].concat());
        ran.assert_all_ok();
        ran.document.run.client.max_resident_bytes
    };
    let without = load(&[]);
    let with = load(&["--expect", "same", "--expect-max-body", "64Mi"]);
    assert!(without + (40 << 20) < with, "{without} {with}");
    server.finish();
}

#[test]
fn rows_have_expectations_of_their_own() {
    let directory = Directory::new();
    let list = directory.file("list.jsonl");
    let rows = r#"{"url": "/a", "name": "a", "expect": ["json:/id=1", "same"]}
        {"url": "/b", "name": "a", "expect": "status=404"}
        {"url": "/c", "name": "c", "expect": "status=200-299"}
        {"url": "/d", "name": "d"}
        "#;
    fs::write(&list, rows.replace("        ", "")).expect("the directory is the test's own");
    let server = Raw::start(|peer| {
        let ok = response("X: 1\r\n", b"{\"id\": 1}");
        let no = response("X: 1\r\n", b"{\"id\": 2}");
        let missing = b"HTTP/1.1 404 No\r\nX: 1\r\nContent-Length: 0\r\n\r\n".to_vec();
        let mut of_a = 0;
        while let Some(request) = peer.read_request()? {
            of_a += u64::from(request.starts_with("GET /a "));
            match &request[..6] {
                "GET /a" if u64::is_multiple_of(of_a, 2) => peer.write(&no)?,
                "GET /a" => peer.write(&ok)?,
                "GET /d" => peer.write(OK)?,
                _ => peer.write(&missing)?,
            }
        }
        Ok(())
    });
    let more = ["--from", &list, "--expect", "header:x", "--expect", "status=200", &server.url()];
    let ran = weir::load("auto", "-n 40 -c 1 -t 1 --no-preflight", &more);
    let names = ran.document.names.iter();
    let names: BTreeMap<&str, _> = names.map(|name| (&name.name[..], name)).collect();
    let of_name = |name: &str| {
        let missed = names[name].results.missed.iter().map(|(kind, count)| (kind.as_str(), *count));
        (names[name].results.outcomes.ok, missed.collect::<Vec<_>>())
    };
    assert_eq!(of_name("a"), (15, vec![("expect_json", 5)]), "{ran}");
    assert_eq!(of_name("c"), (0, vec![("expect_status", 10)]), "{ran}");
    assert_eq!(of_name("d"), (0, vec![("expect_header", 10)]), "{ran}");
    let all = [("expect_header", 10), ("expect_json", 5), ("expect_status", 10)];
    assert_eq!(missed(&ran.document.results), all, "{ran}");
    assert_eq!(example(&ran, "expect_status").0, "status=200-299");
    assert_eq!(example(&ran, "expect_header"), ("header:x", "no x"));
    assert_eq!(example(&ran, "expect_json"), ("json:/id=1", "/id = 2"));
    let plan = ran.document.plan.expect.as_ref().expect("the plan has them");
    assert_eq!((plan.all.len(), plan.rows, plan.body_max_bytes), (2, 3, Some(8 << 20)));
    ran.assert_says("2 expectations, and those of 3 requests");
    server.finish();
}

#[test]
fn examples_are_short_printable_and_without_credentials() {
    let secret = "SECRET-e3b0c442";
    let long = format!("\u{1b}[31m{{\"access_token\": \"{secret}\"}}\n{}", "x".repeat(1_000));
    let server = Raw::answering(response(&format!("Set-Cookie: a={secret}\r\n"), long.as_bytes()));
    let directory = Directory::new();
    for text in [
        "body~^y",
        "header:Set-Cookie=b",
        "header:X-Api-Key=SECRET-e3b0c442",
        "json:/password=SECRET-e3b0c442",
    ] {
        let output = directory.file("all.json");
        let html = directory.file("all.html");
        let more = ["--expect", text, "-o", &output, "-o", &html, &server.url()];
        let ran = weir::weir("-n 20 -c 1 -t 1 --no-verdict", &more);
        let files = [&output, &html].map(|file| fs::read_to_string(file).expect("it is written"));
        for written in files.iter().chain([&ran.stdout, &ran.stderr]) {
            assert!(!written.contains(secret), "{text}: {written}");
        }
        assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.contains("Expectations"), "{ran:?}");
        let lines = ran.stdout.lines();
        assert!(lines.map(|line| line.chars().count()).all(|wide| wide <= 80), "{}", ran.stdout);
        let document = Document::load(&output).expect("a document");
        for example in document.accounting.miss_examples.values() {
            assert!(example.found.chars().count() <= 201, "{example:?}");
        }
    }
    server.finish();
}

#[test]
fn the_preflight_warns_of_a_response_that_misses_an_expectation() {
    let server = Raw::answering("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno");
    let warnings = |expected: &str| {
        let flags = "-n 5 -c 1 -t 1 --no-verdict";
        weir::weir(flags, &["--expect", expected, &server.url()]).stderr
    };
    assert!(!warnings("status=404").contains("warning"), "{}", warnings("status=404"));
    let stderr = warnings("status=200");
    assert!(stderr.contains("warning: the URL responds with 404"), "{stderr}");
    server.finish();
    let server = Raw::answering(OK);
    let run = weir::weir("-n 5 -c 1 -t 1 --no-verdict", &["--expect", "body~^no", &server.url()]);
    let text = "warning: the URL's response misses the expectation \"body~^no\": status 200, found";
    assert!(run.stderr.contains(text), "{}", run.stderr);
    server.finish();
}

#[test]
fn an_assertion_reads_a_kind() {
    let server = Raw::start(|peer| {
        let other = response("", b"no");
        while peer.read_request()?.is_some() {
            peer.write(if peer.requests().is_multiple_of(10) {
                &other[..]
            } else {
                OK.as_bytes()
            })?;
        }
        Ok(())
    });
    for (expected, kind, code) in [
        ("body~^(ok|no)$", "expect_body", 0),
        ("body~^ok$", "expect_status", 0),
        ("body~^ok$", "expect_body", 3),
    ] {
        let claim = format!("results.missed.{kind} == 0");
        let more = ["--expect", expected, "--assert", &claim, &server.url()];
        let ran = weir::load("auto", "-n 100 -c 1 -t 1 --no-preflight", &more);
        assert_eq!(ran.code, code, "{expected} {kind}: {ran}");
    }
    server.finish();
}

#[test]
fn what_is_no_expectation_is_refused_with_the_remedy() {
    let directory = Directory::new();
    let list = directory.file("list.jsonl");
    let row = "{\"url\": \"/a\"}\n{\"url\": \"/b\", \"expect\": [\"same\", \"body=x\"]}\n";
    fs::write(&list, row).expect("the directory is the test's own");
    let server = Raw::answering(OK);
    for (words, part) in [
        (&["--expect", "200"][..], "--expect: \"200\" is no expectation: give status=CODES"),
        (&["--expect", "body~["], "--expect: \"[\" is no regular expression: unclosed"),
        (&["--expect", "json:a"], "--expect: \"a\" is no JSON pointer: begin it with /"),
        (&["--expect", "status=20"], "give codes and ranges from 100 to 999"),
        (&["--expect", "status=200", "--expect", "status=404"], "join their codes with a comma"),
        (&["--expect", "same", "--expect-max-body", "0"], "between 1 byte and 1 GiB"),
        (&["--from", &list], "line 2: its `expect`: \"body=x\" is no expectation"),
    ] {
        let refused = weir::weir("-n 4", &[words, &[&server.url()]].concat());
        assert_eq!(refused.code(), 2, "{words:?}: {refused:?}");
        assert!(refused.stderr.contains(part), "{words:?}: {refused:?}");
    }
    assert_eq!(server.finish(), 0);
}

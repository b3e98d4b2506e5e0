//! A load in stages: its slots, its results by stage, and what is refused.

use std::fs;

use serde_json::Value;
use weir_result::Document;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::served::Served;
use crate::support::weir::{self, weir};

/// Three stages: a step, a ramp and bursts, with 100, 150 and 60 requests.
const STAGES: &str = "500ms@200,500ms@200..400,300ms@10x20";

#[test]
fn each_stage_has_its_requests_whatever_they_are_partitioned_over() {
    on_an_engine(|engine| {
        for (threads, connections) in [(1, 1), (1, 8), (2, 7)] {
            let server = Served::plainly();
            let load = format!("--stages {STAGES} --warmup 100ms -t{threads} -c{connections}");
            let ran = weir::load(engine, &load, &[&server.url()]);
            ran.assert_all_ok();
            let stages = &ran.document.stages;
            let planned: Vec<u64> = stages.iter().map(|stage| stage.results.planned).collect();
            assert_eq!(planned, [100, 150, 60], "{ran}");
            assert_eq!(
                stages.iter().map(|stage| stage.results.outcomes.ok).sum::<u64>(),
                310,
                "{ran}"
            );
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            assert_eq!((results.planned, accounting.sent.warmup), (310, 20), "{ran}");
            assert_eq!(stages[1].load, "500 ms at 200/s to 400/s", "{ran}");
            assert_eq!((stages[2].start_s, stages[2].end_s), (1.0, 1.3), "{ran}");
            let counts: Vec<u64> =
                stages.iter().map(|it| it.results.response_time.ok.count).collect();
            assert_eq!(counts, planned, "{ran}");
            // A ramp is no sample of one load.
            assert!(stages[0].results.completed_interval.is_some(), "{ran}");
            assert!(stages[1].results.completed_interval.is_none(), "{ran}");
            assert!(ran.document.results.completed_interval.is_none(), "{ran}");
            ran.assert_says("Results by stage");
            assert_eq!(lines_of_stages(&ran.document), [100, 150, 60], "{ran}");
            assert_eq!(accounting.sent.total, server.stop().requests.received, "{ran}");
        }
    });
}

/// Returns the requests of each stage by the lines of JSON Lines.
fn lines_of_stages(document: &Document) -> Vec<u64> {
    let mut lines = Vec::new();
    weir_report::jsonl::write(document, &mut lines).expect("a line");
    let lines = String::from_utf8(lines).expect("text");
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("an object"));
    let stages = lines.filter(|line: &Value| line["type"] == "stage");
    stages.map(|line| line["planned"].as_u64().expect("a number")).collect()
}

#[test]
fn random_arrivals_follow_the_stages_and_their_seed() {
    let server = Served::plainly();
    let load = "--stages 300ms@0..1k,300ms@1k --arrivals poisson --seed 5 -t1 -c4";
    let runs = [(); 2].map(|()| weir::load("auto", load, &[&server.url()]));
    let planned = runs.map(|ran| {
        ran.assert_all_ok();
        let stages = &ran.document.stages;
        // 150 and 300 on average; five standard deviations.
        assert!((90..210).contains(&stages[0].results.planned), "{ran}");
        assert!((215..385).contains(&stages[1].results.planned), "{ran}");
        stages.iter().map(|stage| stage.results.planned).collect::<Vec<_>>()
    });
    assert_eq!(planned[0], planned[1]);
}

#[test]
fn a_curve_comes_from_a_file_and_assertions_name_a_stage() {
    let server = Served::plainly();
    let directory = Directory::new();
    let curve = directory.file("curve.csv");
    fs::write(&curve, "seconds,rate\n0,100\n0.2,300\n0.4,300\n").expect("a file");
    let words = format!("--stages @{curve} --warmup 0 -c4 --assert");
    for (claim, code) in
        [("stage 1: errors == 0", 0), ("stage 2: rate > 100", 0), ("stage 2: rate > 1k", 3)]
    {
        let url = server.url();
        let words: Vec<&str> = words.split(' ').chain([claim, url.as_str()]).collect();
        let output = weir("", &words);
        assert_eq!(output.code(), code, "{claim}: {output:?}");
        assert!(output.stdout.contains(claim), "{output:?}");
    }
}

/// The requests of a name that are due in a stage are those of both.
#[test]
fn assertions_name_a_stage_and_a_name() {
    let server = Served::plainly();
    let urls = ["good", "bad?status=503"].map(|path| format!("{}{path}", server.url()));
    let claims = [
        ("stage 1, GET /good: errors == 0", 0),
        ("stage 2, GET /good: rate > 50", 0),
        ("stage 1, GET /bad: errors > 99%", 0),
        ("stage 2, GET /bad: errors < 1%", 3),
    ];
    for (claim, code) in claims {
        let load = "--stages 100ms@100,100ms@200 --warmup 0 -c2 -t1 --witness off --assert";
        let words: Vec<&str> =
            load.split(' ').chain([claim, urls[0].as_str(), urls[1].as_str()]).collect();
        let output = weir("", &words);
        assert_eq!(output.code(), code, "{claim}: {output:?}");
    }
    let refused = |claim: &str, part: &str| {
        let urls = urls.each_ref().map(String::as_str);
        let output = weir("--stages 100ms@100 --assert", &[&[claim], &urls[..]].concat());
        assert_eq!(output.code(), 2, "{claim}: {output:?}");
        assert!(output.stderr.contains(part), "{claim}: {output:?}");
    };
    refused("stage 1, GET /god: p99 < 1s", "did you mean 'GET /good'");
    refused("stage 2, GET /good: p99 < 1s", "there is no 'stage 2': the load has 1 stage");
    refused("stage 1, GET /good: timeouts == 0", "use errors");
    refused("stage 1, GET /good: service.p99 < 1s", "use p99");
}

#[test]
fn what_does_not_fit_stages_is_refused_before_any_load() {
    let server = Served::plainly();
    let check = |words: &str, more: &[&str], part: &str| {
        let output = weir(words, &[more, &[&server.url()]].concat());
        assert_eq!(output.code(), 2, "{words}: {output:?}");
        assert!(output.stderr.contains(part), "{words}: {output:?}");
    };
    check(
        "--stages 5s@1k -d5s",
        &[],
        "--duration cannot be used with --stages, as the stages have",
    );
    check("--stages 5s@1k -n5", &[], "cannot be used with");
    check("--stages 5s@1k -R5", &[], "cannot be used with");
    check("--stages 5s", &[], "\"5s\" has no rate");
    check("--stages 5s@1,5s@c=1..9", &[], "all rates or all connections");
    check("--stages 5s@c=1..9 -c 9", &[], "leave -c out");
    check("--stages 5s@c=1..9 -R5", &[], "cannot be used with");
    check("--stages 5s@c=1..9 --arrivals poisson", &[], "needs a rate");
    check("--stages 1s@c=0..5 --warmup 1s", &[], "give --warmup 0");
    check("--stages @/missing", &[], "the curve /missing cannot be read: No such file");
    check("--stages @/dev/zero", &[], "the curve /dev/zero is longer than 16 MiB");
    check("--stages 1s@0..5 --warmup 1s", &[], "give --warmup 0");
    check("--stages 1s@5 --warmup auto", &[], "give --warmup a length");
    check("--stages 1s@5 --assert", &["stage 2: p99 < 1s"], "the load has 1 stage");
    check("--stages 1s@5 --assert", &["stage 1, a: p99 < 1s"], "the run has no list");
    check("--stages 1s@5 --assert", &["stage 1: status.500 == 0"], "statuses are not counted");
    let output = weir("search --stages 1s@5", &["p99 < 5ms", &server.url()]);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("--stages cannot be used in a search"), "{output:?}");
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn connections_come_and_leave_by_plan() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| behaviour.delay = "2ms".parse().expect("valid"));
        let load = "--stages 300ms@c=1..9,200ms@c=9,300ms@c=9..2 --warmup 50ms -t2";
        let ran = weir::load(engine, load, &[&server.url()]);
        ran.assert_all_ok();
        let document = &ran.document;
        let connections = &document.connections;
        assert_eq!((connections.requested, connections.open_at_t0), (1, 1), "{ran}");
        assert_eq!((connections.joined, connections.left), (8, 7), "{ran}");
        assert_eq!(connections.connects_of_load(), 9, "{ran}");
        let stages = &document.stages;
        assert_eq!(
            stages.iter().map(|it| it.results.planned).sum::<u64>(),
            document.results.planned
        );
        assert_eq!(stages[1].load, "200 ms with 9 connections", "{ran}");
        assert!(stages.iter().all(|stage| stage.verdict.is_some()), "{ran}");
        ran.assert_says("closed loop in 3 stages");
        ran.assert_says("up to 9 connections");
        ran.assert_says("as planned 8 came and 7 left");
        assert!(document.accounting.sent.probe > 0, "{ran}");
        assert!(!ran.stderr.contains("panicked"), "{ran}");
        assert_eq!(document.accounting.sent.total, server.stop().requests.received, "{ran}");
    });
}

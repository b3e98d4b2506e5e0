//! Text from outside that tries to be more than text, in every format of the list.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_report::{EXPORTERS, Exporter, Findings, Source, TextOptions};
use weir_result::document::{
    AssertionOutcome, CommandSection, NameSection, Point, Results, ServerSection,
};
use weir_result::study::{HookRun, StudyResult};
use weir_result::{Document, DueTimes, ListPlan, Note, ReplayPlan, Study};
use weir_text::is_unprintable;
use weir_verdict::Assertion;

use crate::fixture::{Fixture, S, fine};
use crate::studies;

/// Beginnings of formulas, ends of elements, controls, marks of direction, markup, and a text of a
/// megabyte.
fn hostile() -> Vec<String> {
    let texts = [
        "</script><script>pwned=1</script>",
        "<img src=http://evil/ onerror=pwned=1>",
        "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}1m",
        "\u{202e}drowssap\u{2066}\u{200f}",
        "nul\u{0}\u{8}\r\n\r\n# heading\n| a | b |",
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2+3",
        "@SUM(A1:A2)",
        "\t=1+1",
        "\r=1+1",
        "]]>&\"'`<!--[x](javascript:y)**z**",
    ];
    let long = "<b>=µ\u{202e}".repeat(40_000);
    texts.iter().map(|text| (*text).to_owned()).chain([long]).collect()
}

/// Puts a text wherever a server, a script, a hook or a user can.
fn infected(mut document: Document, text: &str) -> Document {
    document.plan.url = format!("{text}http://h/{text}");
    document.plan.request.method = text.to_owned();
    document.tool.version = text.to_owned();
    document.run.epoch = text.to_owned();
    document.run.command = Some(vec!["weir".to_owned(), text.to_owned()]);
    document.run.annotations = BTreeMap::from([(text.to_owned(), text.to_owned())]);
    let preflight = document.run.preflight.as_mut().expect("it was made");
    preflight.server = Some(text.to_owned());
    preflight.location = Some(text.to_owned());
    preflight.http_version = text.to_owned();
    document.environment.cpu_model = Some(text.to_owned());
    document.results.errors = BTreeMap::from([(text.to_owned(), 3)]);
    document.notes = vec![Note::new(text, text)];
    document.verdict.reason = text.to_owned();
    let claim: Assertion = "p99 < 1ms".parse().expect("a claim");
    let mut result = claim.judge(&document);
    assert_eq!(result.outcome, AssertionOutcome::Fail);
    result.assertion = text.to_owned();
    result.measured = text.to_owned();
    result.reason = Some(text.to_owned());
    document.assertions = vec![result];
    let point = |at: u32| Point { at_s: f64::from(at), value: Some(1.0) };
    let points: Vec<Point> = (0..10).map(point).collect();
    let command = CommandSection {
        command: text.to_owned(),
        series: BTreeMap::from([(text.to_owned(), points)]),
        ..CommandSection::default()
    };
    document.plan.list = Some(ListPlan {
        names: vec![text.to_owned()],
        other_origins: BTreeMap::from([(text.to_owned(), 3)]),
        ..ListPlan::default()
    });
    document.plan.load.due = Some(DueTimes::Log(ReplayPlan {
        name: text.to_owned(),
        left_out: BTreeMap::from([(text.to_owned(), 3)]),
        ..ReplayPlan::default()
    }));
    document.names = vec![NameSection {
        steps: Vec::new(),
        name: text.to_owned(),
        results: Results {
            planned: document.results.planned,
            outcomes: document.results.outcomes,
            status: document.results.status.clone(),
            errors: BTreeMap::from([(text.to_owned(), 3)]),
            response_time: document.results.response_time.clone(),
            service_time: document.results.service_time.clone(),
            ..Results::default()
        },
    }];
    document.server = Some(ServerSection { commands: vec![command], ..ServerSection::default() });
    document
}

/// The same for a study: names of variants, words of commands, outputs of hooks.
fn infected_study(mut study: Study, text: &str) -> Study {
    study.cells[1].name = text.to_owned();
    study.result = Some(StudyResult::Comparison(studies::comparison(text)));
    study.cells[0].words = vec![text.to_owned()];
    study.command = vec![text.to_owned()];
    study.notes = vec![Note::new(text, text)];
    let hook = HookRun { status: Some(1), output: text.to_owned(), ..HookRun::default() };
    study.trials[0].before = Some(hook);
    study
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("memory can be written");
    String::from_utf8(out).expect("it is UTF-8")
}

/// Splits a CSV file into its cells (RFC 4180).
fn cells(text: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' | '\n' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            c => cell.push(c),
        }
    }
    assert!(cell.is_empty() && !is_quoted, "the file ends within a cell");
    cells
}

/// Checks a file by its extension, beside the one of a harmless text.
#[track_caller]
fn check(exporter: Exporter, found: &str, plain: &str, what: &str) {
    let what = format!("{} with {what}", exporter.name);
    let is_kept = |c: char| c == '\n' || (c == '\r' && exporter.extension == "csv");
    let foul = found.chars().find(|c| is_unprintable(*c) && !is_kept(*c));
    assert_eq!(foul, None, "{what}");
    let count = |text: &str, part: &str| text.matches(part).count();
    match exporter.extension {
        "html" | "xml" => {
            for part in ["<script", "</script", "<img", "<b>", "<!--", "<"] {
                assert_eq!(count(found, part), count(plain, part), "{what}: {part}");
            }
            assert!(exporter.extension == "html" || !found.contains("]]>"), "{what}");
        }
        "json" => drop(serde_json::from_str::<Value>(found).expect(&what)),
        "jsonl" => {
            let lines = found.lines().map(serde_json::from_str::<Value>);
            assert!(lines.collect::<Result<Vec<_>, _>>().is_ok(), "{what}");
        }
        "csv" => {
            for cell in cells(found) {
                let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
                assert!(!is_formula || cell.parse::<f64>().is_ok(), "{what}: {cell}");
            }
            assert_eq!(count(found, "\r\n"), count(plain, "\r\n"), "{what}");
        }
        "md" => {
            for part in ["<", "`", "](", "://", "**z**"] {
                assert_eq!(count(found, part), count(plain, part), "{what}: {part}");
            }
            assert_eq!(count(found, "\n#"), count(plain, "\n#"), "{what}");
        }
        "txt" => {}
        "hgrm" | "hlog" => assert_eq!(count(found, "\n"), count(plain, "\n"), "{what}"),
        "prom" => {
            assert_eq!(count(found, "\n"), count(plain, "\n"), "{what}");
            let bare = |text: &str| text.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(count(&bare(found), "\""), count(&bare(plain), "\""), "{what}");
        }
        other => panic!("say here what a hostile text could do in a file of the kind {other}"),
    }
}

/// Formats that a person reads: a text of a megabyte must not drown the rest.
const SHOWN: [&str; 4] = ["text", "markdown", "html", "junit"];

#[test]
fn no_text_is_more_than_text_in_any_format() {
    let options = TextOptions { verbose: true, rules: true, ..TextOptions::default() };
    let clean = fine(Fixture::open_loop(2_000)).evidence().timeouts(20, S).document();
    for exporter in EXPORTERS {
        let run = |text: &str| {
            let document = infected(clean.clone(), text);
            written(|out| exporter.write(&document, &options, out))
        };
        let plain = run("harmless");
        for text in hostile() {
            let found = run(&text);
            let what: String = text.chars().take(20).collect();
            check(exporter, &found, &plain, &format!("{what:?}"));
            if SHOWN.contains(&exporter.name) {
                assert!(
                    found.len() < plain.len() + 1_000_000,
                    "{}: {}",
                    exporter.name,
                    found.len()
                );
            }
        }
    }
}

#[test]
fn no_text_is_more_than_text_in_a_study() {
    let options = TextOptions::default();
    let clean = studies::ab("new");
    let is_written =
        |exporter: &Exporter| exporter.check(&Findings::of(Source::Study(&clean))).is_ok();
    for exporter in EXPORTERS.into_iter().filter(is_written) {
        let run = |text: &str| {
            let study = infected_study(clean.clone(), text);
            let findings = Findings::of(Source::Study(&study));
            written(|out| exporter.write_findings(&findings, &options, out))
        };
        let plain = run("harmless");
        for text in hostile() {
            let what: String = text.chars().take(20).collect();
            check(exporter, &run(&text), &plain, &format!("{what:?}"));
        }
    }
}

/// The checks find what they are for.
#[test]
#[should_panic(expected = "csv with a formula: =1+1")]
fn a_formula_is_found() {
    let csv = Exporter::named("csv").expect("a format");
    check(csv, "a,=1+1\r\n", "a,b\r\n", "a formula");
}

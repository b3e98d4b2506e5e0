//! The Markdown report against golden files, and with text from outside that tries to be markup.

use crate::fixture::{Fixture, MS, S, fine, inflated, listed, renewing};
use crate::studies::compared as comparison;
use crate::text::golden_bytes;
use weir_report::annotation::AnnotationLevel;
use weir_report::view::Report;
use weir_report::{Annotation, TextOptions, markdown};
use weir_result::study::{Answer, Gate};
use weir_result::{Document, Note};
use weir_verdict::Assertion;

fn print(document: &Document, options: &TextOptions) -> String {
    let mut out = Vec::new();
    markdown::write(document, options, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("a report is UTF-8")
}

fn print_report(report: &Report) -> String {
    let mut out = Vec::new();
    markdown::write_report(report, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("a report is UTF-8")
}

/// A run with findings and two failed assertions.
fn claimed() -> Document {
    let fixture = fine(Fixture::open_loop(20_000)).evidence().with(|parts| {
        parts.measurements.workers[1].usage.run_delay_ns = Some(920 * MS);
        parts.measurements.departures.displaced = 20_000;
    });
    let mut document = fixture.document();
    let claims = ["p99 < 10ms", "p50 < 100us", "errors == 0", "status.404.count > 1"];
    let claims = claims.map(|claim| claim.parse::<Assertion>().expect("a claim"));
    document.assertions = claims.map(|claim| claim.judge(&document)).into();
    document
}

#[test]
fn a_run_and_a_comparison_have_their_pages() {
    let options = TextOptions { verbose: true, rules: true, ..TextOptions::default() };
    golden_bytes("run.md", print(&claimed(), &TextOptions::default()).as_bytes());
    golden_bytes("run_verbose.md", print(&claimed(), &options).as_bytes());
    golden_bytes("names.md", print(&listed().document(), &TextOptions::default()).as_bytes());
    let runs = claimed();
    let report = Report::of_comparison(&comparison("new", Answer::Worse), Some([&runs, &runs]));
    golden_bytes("comparison.md", print_report(&report).as_bytes());
}

/// Checks that tables have a head and equal rows, and that no text of the view is markup.
#[track_caller]
fn check(page: &str) {
    let mut width = None;
    for line in page.lines() {
        let is_row = line.starts_with('|');
        let cells = is_row.then(|| line.matches('|').count());
        assert!(width.is_none() || cells.is_none() || width == cells, "{line}\n{page}");
        width = cells;
        assert!(is_row || !line.contains('|'), "{line}\n{page}");
        for sign in ["<", "`", "[", "](", "://", "\u{1b}", "\u{202e}", "\t"] {
            assert!(!line.contains(sign), "{sign:?} in {line}\n{page}");
        }
    }
}

#[test]
fn every_report_is_well_formed() {
    let all = TextOptions {
        histogram: Some(weir_report::text::Bars::Blocks),
        spectrum: true,
        verbose: true,
        rules: true,
        ..TextOptions::default()
    };
    for document in [
        claimed(),
        inflated().timeouts(4_000, 2 * S).document(),
        renewing().document(),
        Fixture::open_loop(5).spread(50, MS, 2 * MS).document(),
        Fixture::open_loop(1_000).responses(9_000, 404, MS, MS).document(),
        Fixture::closed_loop().timeouts(500, 2 * S).document(),
    ] {
        check(&print(&document, &all));
    }
}

#[test]
fn hostile_text_is_no_markup() {
    let hostile = "http://h/|<script>`x`\u{1b}[31m\r\n\n# [a](javascript:b) **c** \u{202e}";
    let mut document = claimed();
    document.plan.url = hostile.to_owned();
    document.tool.name = hostile.to_owned();
    let preflight = document.run.preflight.as_mut().expect("it was made");
    preflight.server = Some(hostile.to_owned());
    document.assertions[1].assertion = hostile.to_owned();
    let page = print(&document, &TextOptions::default());
    check(&page);
    // The title, and the headings of five sections.
    assert_eq!(page.lines().filter(|line| line.starts_with('#')).count(), 6, "{page}");
    check(&print_report(&Report::of_comparison(&comparison(hostile, Answer::Worse), None)));
    for annotation in Annotation::of_run(&document, true, false) {
        let line = annotation.to_string();
        assert!(line.lines().count() == 1 && !line.contains('\u{1b}'), "{line:?}");
    }
}

fn titles(annotations: &[Annotation], level: AnnotationLevel) -> Vec<&str> {
    let of_level = annotations.iter().filter(|annotation| annotation.level == level);
    of_level.map(|annotation| annotation.title.as_str()).collect()
}

#[test]
fn failed_assertions_are_errors_and_findings_warnings() {
    let found = Annotation::of_run(&claimed(), true, false);
    let failed = ["p50 < 100us", "status.404.count > 1"];
    assert_eq!(
        titles(&found, AnnotationLevel::Error),
        failed.map(|claim| format!("weir: assertion failed: {claim}"))
    );
    let findings = ["weir: finding cpu-contention", "weir: finding send-gaps"];
    assert_eq!(titles(&found, AnnotationLevel::Warning), findings);
    assert!(found.iter().all(|annotation| !annotation.message.is_empty()), "{found:?}");
    let quiet = Annotation::of_run(&claimed(), false, false);
    assert!(titles(&quiet, AnnotationLevel::Warning).is_empty(), "{quiet:?}");
    let clean = fine(Fixture::open_loop(20_000)).evidence().document();
    assert_eq!(Annotation::of_run(&clean, true, false), []);
}

#[test]
fn a_grade_is_an_error_if_it_fails_the_job() {
    let bounded = inflated().document();
    let of = |verdict, is_refused| Annotation::of_run(&bounded, verdict, is_refused);
    let grade = "weir: grade bounded";
    assert!(
        titles(&of(true, false), AnnotationLevel::Warning).contains(&grade),
        "{:?}",
        of(true, false)
    );
    assert_eq!(titles(&of(false, true), AnnotationLevel::Error), [grade]);
    assert_eq!(of(false, false), []);
    let dead = Fixture::open_loop(1_000).responses(9_000, 404, MS, MS).document();
    let found = Annotation::of_run(&dead, false, false);
    assert_eq!(titles(&found, AnnotationLevel::Error), ["weir: grade failed"]);
    assert!(found[0].message.contains("404"), "{found:?}");
}

#[test]
fn a_slower_system_is_a_warning_unless_it_fails_the_job() {
    let of = |answer, gate| {
        let annotation = Annotation::of_comparison(&comparison("new", answer), gate);
        assert!(annotation.message.starts_with("new is slower"), "{annotation:?}");
        annotation.level
    };
    assert_eq!(of(Answer::Worse, Gate::Failed), AnnotationLevel::Error);
    assert_eq!(of(Answer::Worse, Gate::Passed), AnnotationLevel::Warning);
    assert_eq!(of(Answer::Undecided, Gate::Failed), AnnotationLevel::Error);
    assert_eq!(of(Answer::Undecided, Gate::Open), AnnotationLevel::Warning);
    assert_eq!(of(Answer::Undecided, Gate::Passed), AnnotationLevel::Notice);
    assert_eq!(of(Answer::Better, Gate::Passed), AnnotationLevel::Notice);
    let mut apart = comparison("new", Answer::None);
    apart.not_comparable = vec![Note::new("x", "another load")];
    let annotation = Annotation::of_comparison(&apart, Gate::Passed);
    let shown = (annotation.level, annotation.message.as_str());
    assert_eq!(shown, (AnnotationLevel::Warning, "not comparable: another load"));
}

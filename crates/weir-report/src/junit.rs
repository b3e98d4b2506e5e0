//! Assertions, and the verdicts of comparisons, as JUnit XML, which CI servers show as tests. There
//! is no standard; this is the common subset that all readers support.

use std::fmt::Write as _;
use std::io::{self, Write};

use weir_result::study::{Comparison, Gate, StudyState};
use weir_result::{AssertionOutcome, AssertionResult, Document, Study};
use weir_text::{excerpt, is_unprintable};

use crate::findings::{Findings, Source};
use crate::text::{self, TextOptions};
use crate::view::interruption;

/// Writes the document's assertions, and the report as their output. A run that ended early has one
/// more test, an error: its assertions hold for what was measured until then.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, options: &TextOptions, out: &mut dyn Write) -> io::Result<()> {
    let results = &document.assertions;
    let failed = |result: &&AssertionResult| result.outcome == AssertionOutcome::Fail;
    let early_end = interruption(document);
    let suite = format!(
        r#"{}" tests="{}" failures="{}" errors="{}" time="{:.3}" timestamp="{}"#,
        escaped(&document.plan.url),
        results.len() + usize::from(early_end.is_some()),
        results.iter().filter(failed).count(),
        u8::from(early_end.is_some()),
        document.throughput.window_s,
        escaped(&document.run.epoch),
    );
    let incomplete = early_end.map(|reason| incomplete("run", &escaped(&reason)));
    let cases: String = results.iter().map(test_case).chain(incomplete).collect();
    let mut report = Vec::new();
    text::write(document, &plain(options), &mut report)?;
    write_suite(&suite, &cases, &report, out)
}

fn test_case(result: &AssertionResult) -> String {
    let name = escaped(&result.assertion);
    if result.outcome == AssertionOutcome::Pass {
        return format!("    <testcase classname=\"weir\" name=\"{name}\"/>\n");
    }
    let reason = result.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let message = escaped(&(result.measured.clone() + &reason));
    format!(
        "    <testcase classname=\"weir\" name=\"{name}\">\n      \
         <failure message=\"{message}\" type=\"fail\"/>\n    </testcase>\n"
    )
}

/// Writes the verdict of a result as one test, or an error if it ended before its verdict.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_findings(
    findings: &Findings<'_>,
    options: &TextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (suite, case) = match (findings.verdict(), findings.source) {
        (Some(found), _) => of_verdict(found, findings.fails_undecided),
        (None, Source::Study(study)) => of_incomplete(study),
        (None, _) => return Err(io::Error::other("there is no verdict")),
    };
    let mut report = Vec::new();
    findings.write_text(&plain(options), &mut report)?;
    write_suite(&suite, &case, &report, out)
}

/// The suite and the test of the verdict on the primary metric of a comparison. The test fails if B
/// is worse, and is skipped if that is open, which fails with `undecided`. Systems that cannot be
/// compared are an error.
fn of_verdict(found: &Comparison, fails_undecided: bool) -> (String, String) {
    let is_error = !found.not_comparable.is_empty();
    let gate = found.gate(fails_undecided);
    let a = escaped(&found.base.name);
    let b = escaped(&found.new.name);
    let metric = escaped(found.primary().map_or("", |primary| &primary.metric));
    let is = |outcome| u8::from(gate == outcome && !is_error);
    let failures = is(Gate::Failed);
    let skipped = is(Gate::Open);
    let errors = u8::from(is_error);
    let suite = format!(
        r#"{a} and {b}" tests="1" failures="{failures}" errors="{errors}" skipped="{skipped}"#
    );
    let sentence = escaped(&found.sentence());
    let end = match gate {
        _ if is_error => format!(r#"><error message="{sentence}" type="error"/></testcase>"#),
        Gate::Failed => format!(r#"><failure message="{sentence}" type="fail"/></testcase>"#),
        Gate::Open => format!(r#"><skipped message="{sentence}"/></testcase>"#),
        Gate::Passed => "/>".to_owned(),
    };
    let name = format!("{metric}: {b} is not slower than {a}");
    (suite, format!("    <testcase classname=\"weir\" name=\"{name}\"{end}\n"))
}

/// The suite and the test of a comparison that ended before its verdict: an error, the reason.
fn of_incomplete(study: &Study) -> (String, String) {
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let reason = match &study.state {
        StudyState::Stopped { reason } => format!("the study stopped at {reason}"),
        _ => "the study was interrupted before it had a verdict".to_owned(),
    };
    let suite = escaped(&names.join(" and "));
    let reason = escaped(&reason);
    let case = incomplete("study", &reason);
    (format!(r#"{suite}" tests="1" failures="0" errors="1" skipped="0"#), case)
}

/// The test of a run or study that ended early: an error, the reason, which is escaped.
fn incomplete(what: &str, reason: &str) -> String {
    format!(
        "    <testcase classname=\"weir\" name=\"the {what} is complete\">\n      \
         <error message=\"{reason}\" type=\"error\"/>\n    </testcase>\n"
    )
}

/// The options without what only a terminal shows.
fn plain(options: &TextOptions) -> TextOptions {
    let TextOptions { width, .. } = TextOptions::default();
    TextOptions { colour: false, width, histogram: None, ..*options }
}

/// Writes a suite by its name and attributes, its tests, and the report, which CI servers show
/// beside the tests.
fn write_suite(suite: &str, cases: &str, report: &[u8], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>")?;
    write!(out, "  <testsuite name=\"weir {suite}\">\n{cases}    <system-out>")?;
    for line in String::from_utf8_lossy(report).lines() {
        writeln!(out, "{}", escaped(line))?;
    }
    writeln!(out, "</system-out>\n  </testsuite>\n</testsuites>")
}

/// Escapes text for an attribute (XML 1.0 §2.3); characters that XML cannot represent become `?`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in excerpt(text).chars() {
        match c {
            '&' | '<' | '>' | '"' => {
                write!(escaped, "&#{};", u32::from(c)).expect("a string takes all that is written");
            }
            c if is_unprintable(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_would_misread_is_escaped() {
        for (text, expected) in [
            ("p99 < 5ms", "p99 &#60; 5ms"),
            ("a&b\"c'", "a&#38;b&#34;c'"),
            ("\u{1b}[1m\n\u{202e}", "?[1m??"),
            ("µs", "µs"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}

//! Assertions, and the verdicts of comparisons, as JUnit XML, which CI servers show as tests. There
//! is no standard; this is the common subset that all readers support.

use std::fmt::Write as _;
use std::io::{self, Write};

use weir_result::study::{Comparison, Gate, StudyState};
use weir_result::{AssertionOutcome, AssertionResult, Document};
use weir_text::{excerpt, is_unprintable};

use crate::findings::{Findings, Source};
use crate::text::{self, TextOptions};

/// Writes the document's assertions, and the report as their output.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let results = &document.assertions;
    let failed = |result: &&AssertionResult| result.outcome == AssertionOutcome::Fail;
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "<testsuites>")?;
    write!(out, r#"  <testsuite name="weir {}""#, escaped(&document.plan.url))?;
    write!(out, r#" tests="{}""#, results.len())?;
    write!(out, r#" failures="{}""#, results.iter().filter(failed).count())?;
    write!(out, r#" errors="0""#)?;
    write!(out, r#" time="{:.3}""#, document.throughput.window_s)?;
    writeln!(out, r#" timestamp="{}">"#, escaped(&document.run.epoch))?;
    results.iter().try_for_each(|result| test_case(result, out))?;
    let mut report = Vec::new();
    text::write(document, &plain(options), &mut report)?;
    system_out(&report, out)?;
    writeln!(out, "  </testsuite>")?;
    writeln!(out, "</testsuites>")
}

fn test_case(result: &AssertionResult, out: &mut impl Write) -> io::Result<()> {
    let name = escaped(&result.assertion);
    if result.outcome == AssertionOutcome::Pass {
        return writeln!(out, r#"    <testcase classname="weir" name="{name}"/>"#);
    }
    writeln!(out, r#"    <testcase classname="weir" name="{name}">"#)?;
    let message = match &result.reason {
        Some(reason) => format!("{}: {reason}", result.measured),
        None => result.measured.clone(),
    };
    let message = escaped(&message);
    writeln!(out, r#"      <failure message="{message}" type="fail"/>"#)?;
    writeln!(out, "    </testcase>")
}

/// Writes the verdict on the primary metric of a comparison as one test. It fails if B is worse,
/// and is skipped if that is open, which fails with `undecided`. Systems that cannot be compared
/// are an error.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_verdict(
    found: &Comparison,
    findings: &Findings<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let primary = found.primary();
    let is_error = !found.not_comparable.is_empty();
    let gate = found.gate(findings.fails_undecided);
    let (a, b) = (escaped(&found.base.name), escaped(&found.new.name));
    let metric = escaped(primary.map_or("", |primary| &primary.metric));
    let is = |outcome| u8::from(gate == outcome && !is_error);
    let (failures, skipped, errors) = (is(Gate::Failed), is(Gate::Open), u8::from(is_error));
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "<testsuites>")?;
    write!(out, r#"  <testsuite name="weir {a} and {b}" tests="1" failures="{failures}""#)?;
    writeln!(out, r#" errors="{errors}" skipped="{skipped}">"#)?;
    write!(out, r#"    <testcase classname="weir" name="{metric}: {b} is not slower than {a}""#)?;
    let sentence = escaped(&found.sentence());
    match gate {
        _ if is_error => {
            writeln!(out, r#"><error message="{sentence}" type="error"/></testcase>"#)?;
        }
        Gate::Failed => {
            writeln!(out, r#"><failure message="{sentence}" type="fail"/></testcase>"#)?;
        }
        Gate::Open => writeln!(out, r#"><skipped message="{sentence}"/></testcase>"#)?,
        Gate::Passed => writeln!(out, "/>")?,
    }
    let mut report = Vec::new();
    findings.write_text(&plain(options), &mut report)?;
    system_out(&report, out)?;
    writeln!(out, "  </testsuite>")?;
    writeln!(out, "</testsuites>")
}

/// Writes a comparison that ended before its verdict as one test with an error, the reason.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_incomplete(
    findings: &Findings<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let Source::Study(study) = findings.source else {
        return Err(io::Error::other("there is no verdict"));
    };
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let reason = match &study.state {
        StudyState::Stopped { reason } => format!("the study stopped at {reason}"),
        _ => "the study was interrupted before it had a verdict".to_owned(),
    };
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "<testsuites>")?;
    let (suite, reason) = (escaped(&names.join(" and ")), escaped(&reason));
    writeln!(
        out,
        r#"  <testsuite name="weir {suite}" tests="1" failures="0" errors="1" skipped="0">"#
    )?;
    writeln!(out, r#"    <testcase classname="weir" name="the study is complete">"#)?;
    writeln!(out, r#"      <error message="{reason}" type="error"/>"#)?;
    writeln!(out, "    </testcase>")?;
    let mut report = Vec::new();
    findings.write_text(&plain(options), &mut report)?;
    system_out(&report, out)?;
    writeln!(out, "  </testsuite>")?;
    writeln!(out, "</testsuites>")
}

/// The options without what only a terminal shows.
fn plain(options: &TextOptions) -> TextOptions {
    let TextOptions { width, .. } = TextOptions::default();
    TextOptions { colour: false, width, histogram: None, ..*options }
}

/// Writes the report, which CI servers show beside the tests.
fn system_out(report: &[u8], out: &mut impl Write) -> io::Result<()> {
    write!(out, "    <system-out>")?;
    for line in String::from_utf8_lossy(report).lines() {
        writeln!(out, "{}", escaped(line))?;
    }
    writeln!(out, "</system-out>")
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

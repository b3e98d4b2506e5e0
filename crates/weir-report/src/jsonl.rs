//! The series as JSON Lines: one object for each interval, with stages one for each, with a list
//! one for each name, and a last one with the result.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use weir_result::Document;
use weir_result::document::SeriesEntry;

use crate::json::escaped;
use crate::{by_scope, csv, streams};

/// Writes the intervals, the stages, the names, and then the result.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    document.series.iter().try_for_each(|entry| write_interval(entry, out))?;
    write_stages(document, out)?;
    write_names(document, out)?;
    write_summary(document, out)
}

/// Writes one interval, as an object with `"type": "interval"` and the names of the document's
/// series.
///
/// # Errors
/// Errors of `out`.
pub fn write_interval(entry: &SeriesEntry, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Map::from_iter([("type".to_owned(), Value::from("interval"))]);
    line.extend(csv::fields(entry));
    writeln!(out, "{}", Value::Object(line))
}

/// Writes the results by name of a run with a list, each as an object with `"type": "name"`.
///
/// # Errors
/// Errors of `out`.
pub fn write_names(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    document.names.iter().try_for_each(|name| {
        let mut line = Map::from_iter([("type".to_owned(), Value::from("name"))]);
        line.extend(by_scope::fields_of_name(name));
        line.insert("status".to_owned(), json!(name.results.status));
        line.insert("errors".to_owned(), json!(name.results.errors));
        writeln!(out, "{}", escaped(Value::Object(line).to_string()))
    })
}

/// Writes the results of each stage of a load in stages, as an object with `"type": "stage"` and
/// its number, from 1.
///
/// # Errors
/// Errors of `out`.
pub fn write_stages(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    document.stages.iter().enumerate().try_for_each(|(index, stage)| {
        let first = [("type".to_owned(), json!("stage")), ("stage".to_owned(), json!(index + 1))];
        let mut line = Map::from_iter(first);
        line.extend(by_scope::fields_of_stage(stage));
        writeln!(out, "{}", Value::Object(line))
    })
}

/// Writes the result, as an object with `"type": "summary"`; a replayed log has its load in words.
///
/// # Errors
/// Errors of `out`.
pub fn write_summary(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let results = &document.results;
    let latency = results.response_time.headline();
    let at = |p| latency.percentile(p).map(|value| value.ns);
    let mut summary = json!({
        "type": "summary",
        "grade": document.verdict.grade,
        "completed_rps": results.completed_rps,
        "planned": results.planned,
        "outcomes": results.outcomes,
        "status": results.status,
        "errors": results.errors,
        "missed": results.missed,
        "accounting": document.accounting,
        "p50_ns": at(50.0),
        "p90_ns": at(90.0),
        "p99_ns": at(99.0),
        "p99_9_ns": at(99.9),
        "max_ns": latency.max_ns,
    });
    let load = document.plan.load.log().map(|log| Value::from(log.in_words()));
    let more = [("load", load), ("messages", streams::figures(document))];
    if let Some(fields) = summary.as_object_mut() {
        let more = more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        fields.extend(more);
    }
    writeln!(out, "{}", escaped(summary.to_string()))
}

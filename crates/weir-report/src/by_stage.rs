//! Results by stage as fields, for formats whose records are flat, and their times. It writes no
//! format.

use serde_json::{Value, json};
use weir_result::document::{Document, Metric, StageSection};
use weir_result::{ByOutcome, Histogram};

use crate::fields::summary_fields;
use crate::streams;

/// Returns the number of each stage, from 1, with the stage and its response time. Failures of all
/// classes are together: slices do not tell their times apart.
pub(crate) fn response_times(document: &Document) -> Vec<(String, &StageSection, Metric)> {
    let times = |stage: &StageSection| {
        let (mut ok, mut censored) = (Histogram::new(), Histogram::new());
        let begin = document.slices.partition_point(|slice| slice.start_s < stage.start_s);
        let own = document.slices[begin..].iter();
        own.take_while(|slice| slice.start_s < stage.end_s).for_each(|slice| {
            ok.add(&slice.ok);
            censored.add(&slice.not_ok);
        });
        let (times, all) =
            (ByOutcome { ok, censored, ..ByOutcome::default() }, &stage.response_time_all);
        Metric { ok: stage.response_time.clone(), all: all.clone(), times }
    };
    let stages = document.stages.iter().enumerate();
    stages.map(|(index, stage)| ((index + 1).to_string(), stage, times(stage))).collect()
}

/// Returns the fields of a stage, by their names in the document. Null is an unknown value.
pub(crate) fn fields(stage: &StageSection) -> Vec<(String, Value)> {
    let interval = stage.completed_interval;
    let counts = [
        ("load", Value::from(stage.load.as_str())),
        ("start_s", stage.start_s.into()),
        ("end_s", stage.end_s.into()),
        ("planned", stage.planned.into()),
        ("ok", stage.ok.into()),
        ("bad_response", stage.bad_response.into()),
        ("transport_error", stage.transport_error.into()),
        ("timed_out", stage.timed_out.into()),
        ("in_flight_at_end", stage.in_flight_at_end.into()),
        ("never_sent", stage.never_sent.into()),
        ("shed", stage.shed.into()),
        ("sent", stage.sent.into()),
        ("completed", stage.completed.into()),
        ("good", stage.good.into()),
        ("planned_rps", stage.planned_rps.into()),
        ("completed_rps", stage.completed_rps.into()),
        ("completed_low_rps", json!(interval.map(|interval| interval.low_rps))),
        ("completed_high_rps", json!(interval.map(|interval| interval.high_rps))),
        ("backlog", stage.backlog.into()),
        ("grade", json!(stage.verdict.as_ref().map(|verdict| verdict.grade))),
        ("target", json!(stage.verdict.as_ref().map(|verdict| verdict.target.state))),
        ("delivery", json!(stage.verdict.as_ref().map(|verdict| verdict.load.delivery))),
        ("limit", json!(stage.verdict.as_ref().map(|verdict| verdict.limit.by))),
        ("knee_low_rps", json!(stage.knee.and_then(|knee| knee.low_rps))),
        ("knee_high_rps", json!(stage.knee.and_then(|knee| knee.high_rps))),
    ];
    let counts = counts.into_iter().map(|(field, value)| (field.to_owned(), value));
    let summary = stage.response_time_all.as_ref().unwrap_or(&stage.response_time);
    let messages = stage.messages.iter().flat_map(|of| {
        let first = of.first_all.as_ref().unwrap_or(&of.first);
        streams::fields(of.received, of.per_second, of.tokens, (first, Some(&of.gap)))
    });
    counts.chain(summary_fields("response", summary)).chain(messages).collect()
}

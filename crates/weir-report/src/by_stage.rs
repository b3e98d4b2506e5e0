//! Results by stage as fields, for formats whose records are flat. It writes no format.

use serde_json::{Value, json};
use weir_result::document::StageSection;

use crate::by_name::summary_fields;

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
    ];
    let counts = counts.into_iter().map(|(field, value)| (field.to_owned(), value));
    let summary = stage.response_time_all.as_ref().unwrap_or(&stage.response_time);
    counts.chain(summary_fields("response", summary)).collect()
}

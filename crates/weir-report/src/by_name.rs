//! Results by name as fields, for formats whose records are flat. It writes no format.

use serde_json::{Value, json};
use weir_result::document::NameSection;

use crate::fields::summary_fields;
use crate::streams;

/// Returns the fields of a name, by their names in the document. Null is an unknown value.
pub(crate) fn fields(name: &NameSection) -> Vec<(String, Value)> {
    let interval = name.completed_interval;
    let counts = [
        ("name", Value::from(name.name.as_str())),
        ("planned", name.planned.into()),
        ("ok", name.ok.into()),
        ("bad_response", name.bad_response.into()),
        ("transport_error", name.transport_error.into()),
        ("timed_out", name.timed_out.into()),
        ("in_flight_at_end", name.in_flight_at_end.into()),
        ("never_sent", name.never_sent.into()),
        ("shed", name.shed.into()),
        ("completed", name.completed.into()),
        ("good", name.good.into()),
        ("completed_rps", name.completed_rps.into()),
        ("completed_low_rps", json!(interval.map(|interval| interval.low_rps))),
        ("completed_high_rps", json!(interval.map(|interval| interval.high_rps))),
    ];
    let counts = counts.into_iter().map(|(field, value)| (field.to_owned(), value));
    let times = [("response", &name.response_time), ("service", &name.service_time)];
    let summaries = times.map(|(time, metric)| (time, metric.headline()));
    let messages = name.messages.iter().flat_map(|of| {
        let gap = of.gap.as_ref().map(|gap| gap.headline());
        streams::fields(of.received, of.per_second, of.tokens, (of.first.headline(), gap))
    });
    let times = summaries.into_iter().flat_map(|(time, of)| summary_fields(time, of));
    counts.chain(times).chain(messages).collect()
}

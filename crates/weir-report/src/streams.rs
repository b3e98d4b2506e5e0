//! The times and counts of streamed responses, for exports. It writes no format.

use serde_json::{Value, json};
use weir_result::document::{Metric, ScopeMessages, Summary};
use weir_result::{Document, TokenTotals};

use crate::fields::summary_fields;

/// Returns the times of messages that the run has, by their names.
pub(crate) fn times(document: &Document) -> impl Iterator<Item = (&'static str, &Metric)> {
    let names =
        ["first_message", "message_gap", "time_per_token", "first_reasoning", "first_answer"];
    names.into_iter().filter_map(|name| Some((name, document.time(name)?)))
}

/// Returns the counts, rates and times of messages as an object; `None` if they are not measured.
pub(crate) fn figures(document: &Document) -> Option<Value> {
    let messages = document.messages.as_ref()?;
    let all = document.results.messages.as_ref()?;
    let mut figures = json!({
        "received": all.received,
        "per_second": all.per_second,
        "bytes_per_second": all.bytes_per_second,
        "measured": messages.measured,
        "streams": messages.streams,
        "others": messages.others,
        "too_long": messages.too_long,
        "errors": messages.errors,
        "end_marks": all.end_marks,
    });
    let object = figures.as_object_mut()?;
    for (name, metric) in times(document) {
        object.extend(summary_fields(name, metric.headline()));
    }
    if let Some(goodput) = &messages.goodput {
        object.insert("goodput_share".to_owned(), json!(goodput.share));
        object.insert("goodput_per_second".to_owned(), json!(goodput.per_second));
    }
    if let Some(tokens) = &messages.tokens {
        object.insert("tokens_received".to_owned(), json!(tokens.received));
        object.insert("tokens_per_second".to_owned(), json!(tokens.per_second));
        object.insert("tokens_per_response_mean".to_owned(), json!(tokens.per_response.mean));
    }
    object.extend(all.totals.iter().flat_map(totals));
    Some(figures)
}

/// Returns the fields of the tokens of requests and responses.
fn totals(totals: &TokenTotals) -> impl Iterator<Item = (String, Value)> + use<> {
    let fields = [
        ("tokens_of_prompts", totals.input),
        ("tokens_cached", totals.cached),
        ("tokens_of_responses", totals.output),
        ("tokens_of_reasoning", totals.reasoning),
    ];
    fields.into_iter().map(|(field, count)| (field.to_owned(), json!(count)))
}

/// Returns the fields of the messages of a scope.
pub(crate) fn fields(of: &ScopeMessages) -> Vec<(String, Value)> {
    let counts = [
        ("messages", json!(of.received)),
        ("messages_per_second", json!(of.per_second)),
        ("tokens", json!(of.tokens)),
    ];
    let counts = counts.into_iter().map(|(field, value)| (field.to_owned(), value));
    let first = summary_fields("first_message", of.first.headline());
    let none = Summary::default();
    let gap = summary_fields("message_gap", of.gap.as_ref().map_or(&none, Metric::headline));
    let totals = of.totals.iter().flat_map(totals);
    counts.chain(first).chain(gap).chain(totals).collect()
}

//! Results by scope: those of each name of a list, and of each stage of the load, as fields for
//! formats whose records are flat. It writes no format.

use std::borrow::Cow;

use serde_json::{Value, json};
use weir_result::document::{Document, NameSection, Results, StageSection};

use crate::fields::summary_fields;
use crate::streams;

/// The results of one scope.
#[derive(Clone, Debug)]
pub(crate) struct ScopeResults<'d> {
    /// Kind of the scope, as labels and tags name it: `name`, `scenario` or `stage`.
    pub(crate) tag: &'static str,
    /// The name, or the number of the stage from 1.
    pub(crate) value: Cow<'d, str>,
    pub(crate) results: &'d Results,
}

impl ScopeResults<'_> {
    /// Returns what its results count.
    pub(crate) fn noun(&self) -> &'static str {
        if self.tag == "scenario" { "users" } else { "requests" }
    }
}

/// Returns the scopes of a list's names; none without a list.
pub(crate) fn names(document: &Document) -> Vec<ScopeResults<'_>> {
    let names = document.names.iter();
    names
        .map(|of| ScopeResults {
            tag: if of.is_of_users() { "scenario" } else { "name" },
            value: (&of.name).into(),
            results: &of.results,
        })
        .collect()
}

/// Returns the scopes of the stages that began; none without stages.
pub(crate) fn stages<'d>(document: &'d Document) -> Vec<ScopeResults<'d>> {
    let of = |(index, stage): (usize, &'d StageSection)| ScopeResults {
        tag: "stage",
        value: (index + 1).to_string().into(),
        results: &stage.results,
    };
    document.stages.iter().enumerate().map(of).collect()
}

/// Returns the fields of a name, by their names in the document, and what its results count. Null
/// is an unknown value.
pub(crate) fn fields_of_name(name: &NameSection) -> Vec<(String, Value)> {
    let noun = if name.is_of_users() { "users" } else { "requests" };
    let first = [("name", Value::from(name.name.as_str())), ("of", noun.into())];
    owned(first).chain(fields(&name.results)).collect()
}

/// Returns the fields of a stage, by their names in the document. Null is an unknown value.
pub(crate) fn fields_of_stage(stage: &StageSection) -> Vec<(String, Value)> {
    let verdict = stage.verdict.as_ref();
    let before = [
        ("load", Value::from(stage.load.as_str())),
        ("start_s", stage.start_s.into()),
        ("end_s", stage.end_s.into()),
    ];
    let behind = [
        ("sent", stage.sent.into()),
        ("planned_rps", stage.planned_rps.into()),
        ("backlog", stage.backlog.into()),
        ("grade", json!(verdict.map(|verdict| verdict.grade))),
        ("target", json!(verdict.map(|verdict| verdict.target.state))),
        ("delivery", json!(verdict.map(|verdict| verdict.load.delivery))),
        ("limit", json!(verdict.map(|verdict| verdict.limit.by))),
        ("knee_low_rps", json!(stage.knee.and_then(|knee| knee.low_rps))),
        ("knee_high_rps", json!(stage.knee.and_then(|knee| knee.high_rps))),
    ];
    owned(before).chain(fields(&stage.results)).chain(owned(behind)).collect()
}

/// Returns the fields of the results of any scope.
fn fields(results: &Results) -> Vec<(String, Value)> {
    let interval = results.completed_interval;
    let classes = results.outcomes.classes().map(|(class, count)| (class, count.into()));
    let parts = results.outcomes.parts().map(|(part, count)| (part, count.into()));
    let rates = [
        ("completed", results.completed.into()),
        ("good", results.good.into()),
        ("completed_rps", results.completed_rps.into()),
        ("completed_low_rps", json!(interval.map(|interval| interval.low_rps))),
        ("completed_high_rps", json!(interval.map(|interval| interval.high_rps))),
    ];
    let counts = owned([("planned", results.planned.into())]).chain(owned(classes));
    let times = summary_fields("response", results.response_time.headline())
        .into_iter()
        .chain(summary_fields("service", results.service_time.headline()));
    let messages = results.messages.iter().flat_map(|messages| streams::fields(messages));
    counts.chain(owned(parts)).chain(owned(rates)).chain(times).chain(messages).collect()
}

fn owned(
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> impl Iterator<Item = (String, Value)> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value))
}

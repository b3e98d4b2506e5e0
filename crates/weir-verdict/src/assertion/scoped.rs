//! A metric of all requests of a run, or of those with one name of its list: `p99`,
//! `checkout: p99`.

use weir_result::{ListPlan, Plan};
use weir_text::{brief, similar};

use super::metric::{AssertedMetric, AssertionError};

/// End of a name before a metric. The last one counts: names may have it too.
const NAME_END: &str = ": ";

/// Names printed of a list before the rest is counted.
const SHOWN_MAX: usize = 3;

/// Greatest length of a name with a hint, in bytes: the distance of two takes the product of their
/// lengths.
const HINT_MAX_BYTES: usize = 256;

/// A metric and the requests that it is of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScopedMetric {
    /// Name of the requests; `None` for all of the run.
    pub(super) name: Option<String>,
    pub(super) metric: AssertedMetric,
}

/// Splits a text into the name before its metric, if there is one, and the rest.
pub(super) fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.rsplit_once(NAME_END) {
        Some((name, rest)) => (Some(name.trim()), rest.trim()),
        None => (None, text.trim()),
    }
}

impl ScopedMetric {
    /// Parses a metric of the requests with `name`, or of all. The error names the fault and a
    /// likely metric.
    pub(super) fn parse(name: Option<&str>, metric: &str) -> Result<ScopedMetric, String> {
        let found = AssertedMetric::parse(metric).map_err(|why| match metric.contains(':') {
            true => format!("{why}; a name ends with a colon and a blank: 'checkout: p99'"),
            false => why,
        })?;
        match (name, found.why_of_whole_runs()) {
            (Some(""), _) => Err("there is no name before ': '".to_owned()),
            (Some(name), Some(why)) => {
                let name = brief(name);
                Err(format!("'{metric}' is of the whole run, not of '{name}': {why}"))
            }
            (name, _) => Ok(ScopedMetric { name: name.map(str::to_owned), metric: found }),
        }
    }

    /// Returns a text about the metric with the name before it, if it has one.
    pub(super) fn prefixed(&self, text: String) -> String {
        match &self.name {
            Some(name) => format!("{name}{NAME_END}{text}"),
            None => text,
        }
    }

    /// Checks that a plan has requests with the name.
    ///
    /// # Errors
    /// When it has none; the message has the nearest name.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), AssertionError> {
        match &self.name {
            Some(name) if stage(name, plan).is_some() => Ok(()),
            Some(name) => place(name, plan).map(|_| ()).map_err(AssertionError),
            None => Ok(()),
        }
    }
}

/// Returns the index of the stage that a name such as `stage 2` means: one of the plan's, unless a
/// list has the name.
pub(super) fn stage(name: &str, plan: &Plan) -> Option<usize> {
    let number: usize = name.strip_prefix("stage ")?.parse().ok()?;
    let is_of_list = plan.list.as_ref().is_some_and(|list| list.names.iter().any(|it| it == name));
    let is_planned = (1..=plan.stage_count()).contains(&number);
    (is_planned && !is_of_list).then(|| number - 1)
}

/// Returns the index of a name in a plan's list. The error is the reason why there is none.
pub(super) fn place(name: &str, plan: &Plan) -> Result<usize, String> {
    let shown = brief(name);
    let stages = plan.stage_count();
    if name.starts_with("stage ") && stages > 0 {
        return Err(match name.contains(',') {
            true => format!("'{shown}': the requests of a stage are not counted by name too"),
            false if stages == 1 => format!("there is no '{shown}': the load has 1 stage"),
            false => format!("there is no '{shown}': the load has {stages} stages"),
        });
    }
    let Some(list) = &plan.list else {
        return Err(format!(
            "no request has the name '{shown}': the run has no list of requests, so that its \
             metrics have no name before them"
        ));
    };
    let found = list.names.iter().position(|known| known == name);
    found.ok_or_else(|| format!("no request has the name '{shown}'{}", hint(name, list)))
}

/// Returns the nearest name, or the first ones.
fn hint(name: &str, list: &ListPlan) -> String {
    let comparable = |known: &&str| known.len().max(name.len()) <= HINT_MAX_BYTES;
    let near = similar(name, list.names.iter().map(String::as_str).filter(comparable));
    if let Some(near) = near {
        return format!(": did you mean '{}'?", brief(near));
    }
    let first = list.names.iter().take(SHOWN_MAX).map(|name| format!("'{}'", brief(name)));
    let first = first.collect::<Vec<_>>().join(", ");
    match list.names.len().saturating_sub(SHOWN_MAX) {
        0 => format!("; the list has {first}"),
        more => format!("; the list has {first} and {more} more"),
    }
}

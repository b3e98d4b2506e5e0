//! A metric of all requests of a run, or of those with one name of its list or in one stage: `p99`,
//! `checkout: p99`, `stage 2, checkout: p99`.

use weir_result::{ListPlan, Plan};
use weir_text::{brief, similar};

use super::metric::{AssertedMetric, AssertionError, Class, Time};

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

    /// Checks that a plan has requests with the name, and that the metric is measured of them.
    ///
    /// # Errors
    /// When it has none; the message has the nearest name. When such requests do not have it; the
    /// message has another metric.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), AssertionError> {
        let Some(name) = &self.name else { return Ok(()) };
        let requests = NamedRequests::of(name, plan).map_err(AssertionError)?;
        match requests.why_without(&self.metric) {
            Some(why) => Err(AssertionError(format!("'{}': {why}", brief(name)))),
            None => Ok(()),
        }
    }
}

/// The requests that a name before a metric stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedRequests {
    /// Those of the name at this index of the list.
    Name(usize),
    /// Those due in the stage at this index.
    Stage(usize),
    /// Those of both: the indices of the stage and of the name, and the name's place among those
    /// with slices.
    NameInStage { stage: usize, place: usize },
}

impl NamedRequests {
    /// Returns the requests that a name stands for: `checkout`, and with stages `stage 2` and
    /// `stage 2, checkout`, unless a list has these names. The error is the reason why there are
    /// none.
    pub(super) fn of(name: &str, plan: &Plan) -> Result<NamedRequests, String> {
        let is_of_list = |list: &ListPlan| list.names.iter().any(|known| known == name);
        let rest = name.strip_prefix("stage ").filter(|_| plan.load.stage_count() > 0);
        let Some(rest) = rest.filter(|_| !plan.list.as_ref().is_some_and(is_of_list)) else {
            return place(name, plan).map(NamedRequests::Name);
        };
        let (number, inner) = match rest.split_once(',') {
            Some((number, inner)) => (number, Some(inner.trim())),
            None => (rest, None),
        };
        let planned =
            number.parse().ok().filter(|number| (1..=plan.load.stage_count()).contains(number));
        let stage = planned.map(|number: usize| number - 1).ok_or_else(|| {
            let shown = brief(number);
            let stages = plan.load.stage_count();
            let noun = if stages == 1 { "stage" } else { "stages" };
            format!("there is no 'stage {shown}': the load has {stages} {noun}")
        })?;
        let Some(inner) = inner else { return Ok(NamedRequests::Stage(stage)) };
        let index = place(inner, plan)?;
        let with = plan.list.as_ref().map_or(&[][..], |list| &list.with_intervals);
        let place = with.iter().position(|with| usize::from(*with) == index);
        let place = place.ok_or_else(|| {
            let shown = brief(inner);
            let count = with.len();
            format!(
                "'{shown}' is not counted by stage: only the {count} names with the greatest \
                 weights are"
            )
        })?;
        Ok(NamedRequests::NameInStage { stage, place })
    }

    /// Returns the reason why a metric is not measured of these requests, with one that is; `None`
    /// if it is.
    fn why_without(self, metric: &AssertedMetric) -> Option<&'static str> {
        let is_named = match self {
            NamedRequests::Name(_) => return None,
            NamedRequests::Stage(_) => false,
            NamedRequests::NameInStage { .. } => true,
        };
        match metric {
            AssertedMetric::Time(Time::SERVICE, _) => {
                Some("the service time is not measured by stage: use p99")
            }
            AssertedMetric::Share(Class::Status(..)) | AssertedMetric::Count(Class::Status(..)) => {
                Some("statuses are not counted by stage: use errors")
            }
            AssertedMetric::Share(class) | AssertedMetric::Count(class) if is_named => {
                let why = "failures of a name are not told apart by stage: use errors";
                (*class != Class::Errors).then_some(why)
            }
            _ => None,
        }
    }
}

/// Returns the index of a name in a plan's list. The error is the reason why there is none.
pub(super) fn place(name: &str, plan: &Plan) -> Result<usize, String> {
    let shown = brief(name);
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

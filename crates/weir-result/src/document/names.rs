//! Results by name, of the requests of a list. They add up to those of the whole run.

use serde::{Deserialize, Serialize};

use super::results::{ResultKinds, Results};
use super::scope_span::ScopeSpan;
use crate::counters::{NamedSlice, Outcomes, Slice, StepCounts};
use crate::measurements::Measurements;
use crate::plan::{ListPlan, Plan};

/// Results of the requests with one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameSection {
    /// Name.
    pub name: String,
    /// Their results; of a scenario those of its users, whose response time goes from the due time
    /// of the first step to the end of the last, and whose service time leaves out the pauses.
    pub results: Results,
    /// Steps of the scenario; absent if the name is of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSection>,
}

/// Turns of the users of a scenario at one of its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepSection {
    /// Name.
    pub name: String,
    /// Turns.
    pub counts: StepCounts,
}

impl NameSection {
    /// True if it is the name of a scenario, and its results are those of users.
    pub fn is_of_users(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns the sections of a run's names; none without a list. `kinds` are those of each name,
    /// and `span` is that of the run.
    pub(super) fn all(
        plan: &Plan,
        measured: &Measurements,
        kinds: &[ResultKinds],
        span: ScopeSpan,
    ) -> Vec<NameSection> {
        let Some(list) = &plan.list else { return Vec::new() };
        let name_of = |index: usize| list.names.get(index).cloned().unwrap_or_default();
        let place =
            |index: usize| list.with_intervals.iter().position(|with| usize::from(*with) == index);
        let names = measured.names.iter().zip(kinds).enumerate();
        let sections = names.map(|(index, (counts, kinds))| {
            let slices = place(index).map(|place| shares(&measured.slices, place));
            let slices = slices.unwrap_or_default();
            let steps = steps_of(list, index, &measured.steps);
            let in_progress = if steps.is_empty() { 0 } else { counts.outcomes.in_flight_at_end };
            let results = Results { in_progress, ..Results::of(counts, kinds, &slices, span) };
            NameSection { name: name_of(index), results, steps }
        });
        sections.collect()
    }
}

/// Returns the steps of the scenario with this name; none if it is of requests.
fn steps_of(list: &ListPlan, index: usize, counts: &[StepCounts]) -> Vec<StepSection> {
    let Some(scenario) = index.checked_sub(list.request_names()) else { return Vec::new() };
    let Some(own) = list.scenarios().get(scenario) else { return Vec::new() };
    let before: usize = list.scenarios()[..scenario].iter().map(|other| other.steps.len()).sum();
    let steps = own.steps.iter().zip(counts.iter().skip(before));
    steps.map(|(step, counts)| StepSection { name: step.name.clone(), counts: *counts }).collect()
}

/// Returns one name's shares of slices, each as a slice whose failures have no classes.
pub(super) fn shares(slices: &[Slice], place: usize) -> Vec<Slice> {
    let share = |slice: &Slice| {
        let NamedSlice { ok, not_ok, completed, good, messages } =
            slice.named.get(place).cloned().unwrap_or_default();
        let start_ns = slice.start_ns;
        let end_ns = slice.end_ns;
        let outcomes = Outcomes { ok: ok.count(), ..Outcomes::default() };
        let times = Slice { start_ns, end_ns, ok, not_ok, outcomes, ..Slice::default() };
        Slice { completed, good, messages, ..times }
    };
    slices.iter().map(share).collect()
}

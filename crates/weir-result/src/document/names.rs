//! Results by name, of the requests of a list. They add up to those of the whole run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::results::Results;
use super::scope_span::ScopeSpan;
use crate::counters::{NamedSlice, Slice};
use crate::measurements::Measurements;
use crate::plan::Plan;

/// Results of the requests with one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameSection {
    /// Name.
    pub name: String,
    /// Their results.
    pub results: Results,
}

/// Counts of one name, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct NameKinds {
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) missed: BTreeMap<String, u64>,
}

impl NameKinds {
    pub(super) fn of(section: &NameSection) -> NameKinds {
        NameKinds { errors: section.results.errors.clone(), missed: section.results.missed.clone() }
    }
}

impl NameSection {
    /// Returns the sections of a run's names; none without a list. `kinds` are those of each name.
    pub(super) fn all(
        plan: &Plan,
        measured: &Measurements,
        kinds: &[NameKinds],
        window_ns: u64,
    ) -> Vec<NameSection> {
        let Some(list) = &plan.list else { return Vec::new() };
        let name_of = |index: usize| list.names.get(index).cloned().unwrap_or_default();
        let place =
            |index: usize| list.with_intervals.iter().position(|with| usize::from(*with) == index);
        let span = ScopeSpan {
            length_ns: window_ns,
            is_one_load: plan.load.is_one_load(),
            is_open_loop: plan.load.is_open_loop(),
        };
        let names = measured.names.iter().zip(kinds).enumerate();
        let sections = names.map(|(index, (counts, kinds))| {
            let slices = place(index).map(|place| shares(&measured.slices, place));
            let slices = slices.unwrap_or_default();
            let NameKinds { errors, missed } = kinds.clone();
            let results = Results { errors, missed, ..Results::of(counts, &slices, span) };
            NameSection { name: name_of(index), results }
        });
        sections.collect()
    }
}

/// Returns one name's shares of slices, each as a slice.
pub(super) fn shares(slices: &[Slice], place: usize) -> Vec<Slice> {
    let share = |slice: &Slice| {
        let NamedSlice { ok, not_ok, completed, good, messages } =
            slice.named.get(place).cloned().unwrap_or_default();
        let start_ns = slice.start_ns;
        let end_ns = slice.end_ns;
        Slice { start_ns, end_ns, ok, not_ok, completed, good, messages, ..Slice::default() }
    };
    slices.iter().map(share).collect()
}

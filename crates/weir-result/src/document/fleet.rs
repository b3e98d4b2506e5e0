//! The agents that carried out a run together (`--agents`).

use serde::{Deserialize, Serialize};
use weir_text::units;

use super::{SeriesEntry, SeriesPhase};
use crate::plan::Part;
use weir_stats::histogram::Histogram;

/// A fleet, and how its agents began and ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetSection {
    /// Longest time that can lie between the begins of two agents' schedules, in nanoseconds: 0
    /// with one clock, null if one begin is unknown. How late each request was sent is its send
    /// lag.
    pub start_spread_ns: Option<u64>,
    /// The agents in the order of their parts.
    pub agents: Vec<AgentSection>,
}

/// One agent of a fleet. Times are on the coordinator's clock unless they say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSection {
    /// Its name.
    pub name: String,
    /// Its part of the run.
    pub part: Part,
    /// Begin of its schedule on its own CLOCK_MONOTONIC, in nanoseconds; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_monotonic_ns: Option<u64>,
    /// Greatest error of its clock, compared with the coordinator's, at the start of its load, in
    /// nanoseconds; null if its start is unknown.
    pub clock_error_ns: Option<u64>,
    /// Bounds of the share by which its clock is faster than the coordinator's; absent with one
    /// clock, and if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift: Option<(f64, f64)>,
    /// How its load ended.
    pub end: AgentEnd,
    /// Further words on the end: the signal, the reason of a failure; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Time after the planned begin of the load at which it was heard last, in nanoseconds, 0 if
    /// that was before; absent unless it was lost, and where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_until_ns: Option<u64>,
    /// Times of more than 3 s in which it was not heard, each from and to, in nanoseconds after the
    /// planned begin of the load; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences_ns: Vec<(u64, u64)>,
    /// Its intervals as far as it had sent them, if it delivered no document; they are in no other
    /// section. Absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<SeriesEntry>,
}

/// End of the load of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentEnd {
    /// As planned.
    Planned,
    /// The coordinator stopped it: another agent was lost, or the run was interrupted.
    Stopped,
    /// It stopped by itself: it did not hear the coordinator for the time of its lease.
    LeaseExpired,
    /// A signal ended it.
    Signal,
    /// It failed.
    Failed,
    /// It was not heard any more.
    Lost,
    /// Its process ended, and another one took its name.
    Restarted,
}

impl FleetSection {
    /// Agents whose load ended early by themselves, or that were lost.
    pub fn lost(&self) -> impl Iterator<Item = &AgentSection> {
        let ends_in_order = [AgentEnd::Planned, AgentEnd::Stopped];
        self.agents.iter().filter(move |agent| !ends_in_order.contains(&agent.end))
    }
}

impl AgentSection {
    /// Returns the share by which its clock is at least too fast or too slow; `None` if it is not
    /// known.
    pub fn drift_least(&self) -> Option<f64> {
        let (low, high) = self.clock_drift?;
        Some(low.max(-high).max(0.0))
    }

    /// Describes what it measured before it was lost, if that is in no other section: `by then it
    /// had 4,200 responses, p50 1.20 ms, p99 3.40 ms, which no other figure covers`.
    pub fn left_in_words(&self) -> Option<String> {
        let measured = || self.intervals.iter().filter(|it| it.phase != SeriesPhase::Warmup);
        let mut times = Histogram::default();
        measured().for_each(|interval| times.add_sparse(&interval.latency));
        let completed: u64 = measured().map(|interval| interval.completed).sum();
        let percentile = |p| times.percentile(p).map(units::duration);
        let (p50, p99) = percentile(50.0).zip(percentile(99.0))?;
        let responses = units::count(completed);
        Some(format!(
            "by then it had {responses} responses, p50 {p50}, p99 {p99}, which no other figure \
             covers"
        ))
    }

    /// Names it: `agent gen-3`, or `agent-3` alone.
    pub fn in_words(&self) -> String {
        match self.name.starts_with("agent") {
            true => self.name.clone(),
            false => format!("agent {}", self.name),
        }
    }

    /// Describes an end that was not planned: `agent gen-3 was not heard after 2.10 s`.
    pub fn end_in_words(&self) -> String {
        let AgentSection { end, reason, heard_until_ns, .. } = self;
        let name = self.in_words();
        let after = match heard_until_ns {
            None => String::new(),
            Some(0) => " from the start on".to_owned(),
            Some(ns) => format!(" after {}", units::duration(*ns)),
        };
        match end {
            AgentEnd::Planned => format!("{name} ended as planned"),
            AgentEnd::Stopped => format!("{name} was stopped"),
            AgentEnd::LeaseExpired => {
                format!("{name} did not hear the coordinator any more, and stopped")
            }
            AgentEnd::Signal => format!("{name} was ended by {reason}"),
            AgentEnd::Failed => format!("{name} failed: {reason}"),
            AgentEnd::Lost => format!("{name} was not heard any more{after}"),
            AgentEnd::Restarted => format!("{name} ended{after}, and was started again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_stats::histogram::SparseHistogram;

    fn entry((phase, completed): (SeriesPhase, u64)) -> SeriesEntry {
        let mut times = Histogram::default();
        (0..completed).for_each(|_| times.record(1_000_000));
        let latency = SparseHistogram::from_histogram(&times).expect("few values");
        SeriesEntry { phase, completed, latency, ..SeriesEntry::default() }
    }

    #[test]
    fn an_end_is_described() {
        let part = Part::new(1, 2).expect("it exists");
        let mut agent = AgentSection {
            name: "gen-3".to_owned(),
            part,
            begun_monotonic_ns: None,
            clock_error_ns: None,
            clock_drift: None,
            end: AgentEnd::Lost,
            reason: String::new(),
            heard_until_ns: Some(2_100_000_000),
            silences_ns: Vec::new(),
            intervals: Vec::new(),
        };
        assert_eq!((agent.left_in_words(), agent.drift_least()), (None, None));
        for (bounds, least) in [((-1e-6, 2e-6), 0.0), ((1e-4, 3e-4), 1e-4), ((-5e-4, -2e-4), 2e-4)]
        {
            agent.clock_drift = Some(bounds);
            assert_eq!(agent.drift_least(), Some(least), "{bounds:?}");
        }
        agent.intervals = [(SeriesPhase::Warmup, 9), (SeriesPhase::Measured, 2)].map(entry).into();
        let left =
            "by then it had 2 responses, p50 1.00 ms, p99 1.00 ms, which no other figure covers";
        assert_eq!(agent.left_in_words().as_deref(), Some(left));
        assert_eq!(agent.end_in_words(), "agent gen-3 was not heard any more after 2.10 s");
        agent.end = AgentEnd::Signal;
        agent.reason = "SIGTERM".to_owned();
        assert_eq!(agent.end_in_words(), "agent gen-3 was ended by SIGTERM");
        let fleet = FleetSection { start_spread_ns: None, agents: vec![agent] };
        assert_eq!(fleet.lost().count(), 1);
    }
}

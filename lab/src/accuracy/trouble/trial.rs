//! One run of a fleet in which something goes wrong, as its report and the server's log tell it.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_result::Document;

use crate::accuracy::fleet::machines::{AGENTS, Machines};
use crate::accuracy::fleet::processes::{
    FleetAgent, FleetBus, FleetLoad, FleetLoadEnd, FleetTarget, bus_address,
};
use crate::rig::{Fixture, Record, monotonic_ns};

/// The load, and its time before something goes wrong.
pub(super) const LOAD: &str = "-R 2k -c 30";
pub(super) const RATE_RPS: f64 = 2_000.0;
const BEFORE: Duration = Duration::from_millis(1_500);

/// The machines and their bus.
pub(super) struct Scene<'a> {
    pub(super) fixture: &'a Fixture,
    pub(super) machines: Machines,
    pub(super) bus: FleetBus,
}

/// A load under way.
pub(super) struct TroubledRun {
    pub(super) load: FleetLoad,
    pub(super) agents: Vec<FleetAgent>,
    target: FleetTarget,
    event_ns: u64,
}

impl TroubledRun {
    /// Starts three agents, and a load on them with these flags more; returns when it has begun.
    pub(super) fn begin(scene: &Scene<'_>, flags: &str) -> Result<TroubledRun> {
        let agents = FleetAgent::start_all(scene.fixture)?;
        let flags = format!("--agents 3 {LOAD} {flags} {}", bus_flags());
        TroubledRun::begin_with(scene, agents, &flags)
    }

    /// Starts a load with these flags on agents of its own.
    pub(super) fn begin_private(scene: &Scene<'_>, flags: &str) -> Result<TroubledRun> {
        TroubledRun::begin_with(scene, Vec::new(), &format!("--agents 2 {LOAD} {flags}"))
    }

    fn begin_with(scene: &Scene<'_>, agents: Vec<FleetAgent>, flags: &str) -> Result<TroubledRun> {
        let target = FleetTarget::start(scene.fixture)?;
        let load = FleetLoad::start(scene.fixture, flags, &target.url)?;
        target.await_load()?;
        thread::sleep(BEFORE);
        Ok(TroubledRun { load, agents, target, event_ns: monotonic_ns()? })
    }

    /// Returns the id of the last agent's process.
    pub(super) fn last_agent(&self) -> Result<u32> {
        self.agents.last().context("there are no agents")?.pid()
    }

    /// Waits for the end of the load.
    pub(super) fn end(self) -> Result<TroubleSeen> {
        let end = self.load.finish()?;
        Ok(TroubleSeen { end, log: self.target.finish()?, event_ns: self.event_ns })
    }
}

/// Flags that name the bus.
pub(super) fn bus_flags() -> String {
    format!("--bus {} --insecure-bus", bus_address())
}

/// The last agent, which is the one that something befalls.
pub(super) fn last_name() -> &'static str {
    AGENTS[AGENTS.len() - 1]
}

/// A run that has ended, as far as it was seen.
pub(super) struct TroubleSeen {
    pub(super) end: FleetLoadEnd,
    pub(super) log: Vec<Record>,
    /// When something went wrong, on the clock of the log.
    pub(super) event_ns: u64,
}

impl TroubleSeen {
    pub(super) fn document(&self) -> Result<&Document> {
        self.end.document.as_ref().context("weir has written no document")
    }

    /// Seconds from the event to each request.
    fn after_s(&self) -> impl Iterator<Item = f64> {
        self.log.iter().map(|record| (record.received_ns as f64 - self.event_ns as f64) / 1e9)
    }

    /// Requests per second between two times after the event, in seconds.
    pub(super) fn rate_rps(&self, from_s: f64, to_s: f64) -> f64 {
        let count = self.after_s().filter(|after_s| (from_s..to_s).contains(after_s)).count();
        count as f64 / (to_s - from_s)
    }

    /// Requests in each second after the event.
    pub(super) fn by_second(&self) -> Vec<u64> {
        let mut counts = Vec::new();
        for second in
            self.after_s().filter(|after_s| *after_s >= 0.0).map(|after_s| after_s as usize)
        {
            counts.resize(counts.len().max(second + 1), 0);
            counts[second] += 1;
        }
        counts
    }

    /// Seconds from the event to the last request.
    pub(super) fn last_s(&self) -> f64 {
        self.after_s().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Seconds from the first request to the event.
    pub(super) fn event_s(&self) -> f64 {
        -self.after_s().fold(f64::INFINITY, f64::min)
    }

    /// Number of slots that came twice.
    pub(super) fn doubled(&self) -> usize {
        let mut slots: Vec<u64> = self.log.iter().filter_map(|record| record.slot).collect();
        slots.sort_unstable();
        slots.windows(2).filter(|pair| pair[0] == pair[1]).count()
    }

    /// Returns a line of the report with what belongs to it.
    pub(super) fn line(&self, label: &str) -> Option<String> {
        line_of(&self.end.report, label)
    }

    /// True if one line of the report is above another.
    pub(super) fn is_above(&self, upper: &str, lower: &str) -> bool {
        let place = |label| self.end.report.find(&format!("\n  {label} "));
        place(upper).zip(place(lower)).is_some_and(|(upper, lower)| upper < lower)
    }
}

/// Finds a line by its label, and appends the lines that go on with it.
fn line_of(report: &str, label: &str) -> Option<String> {
    let is_label = |line: &&str| {
        line.strip_prefix("  ")
            .and_then(|line| line.strip_prefix(label))
            .is_some_and(|rest| rest.starts_with(' '))
    };
    let mut lines = report.lines().skip_while(|line| !is_label(line));
    let first = lines.next()?.trim().strip_prefix(label)?.trim().to_owned();
    let more = lines.take_while(|line| line.starts_with("      ") && !line.trim().is_empty());
    Some(more.fold(first, |text, line| format!("{text} {}", line.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_belongs_to_it() {
        let report = "head\n  Parts         2 of 3;\n                agent a\n  Target        OK\n";
        assert_eq!(line_of(report, "Parts").as_deref(), Some("2 of 3; agent a"));
        assert_eq!(line_of(report, "Target").as_deref(), Some("OK"));
        assert_eq!(line_of(report, "Part"), None);
    }

    #[test]
    fn requests_are_counted_by_second() {
        let at = |received_ns: u64, slot: u64| Record {
            connection: 0,
            received_ns,
            sent_ns: None,
            slot: Some(slot),
        };
        let end = FleetLoadEnd {
            code: None,
            report: "a\n  Parts  x\n  Target  y\n".to_owned(),
            errors: String::new(),
            document: None,
        };
        let log = vec![at(500_000_000, 0), at(1_200_000_000, 1), at(3_300_000_000, 1)];
        let seen = TroubleSeen { end, log, event_ns: 1_000_000_000 };
        assert_eq!(seen.by_second(), [1, 0, 1]);
        assert_eq!((seen.doubled(), seen.rate_rps(-1.0, 0.0)), (1, 1.0));
        assert!((seen.last_s() - 2.3).abs() < 1e-9 && (seen.event_s() - 0.5).abs() < 1e-9);
        assert!(seen.is_above("Parts", "Target") && !seen.is_above("Target", "Parts"));
    }
}

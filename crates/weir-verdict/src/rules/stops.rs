//! The rule about stops of the client (METHOD 1.9).

use super::client::worker;
use crate::rules::measure::Measure;
use crate::thresholds::{
    SHORT_STOP_FINDING_NS, STOP_BOUND_NS, STOP_BOUND_SHARE, STOP_FINDING_NS, STOP_VOID_SHARE,
};
use weir_result::Document;
use weir_result::document::{Rule, RuleUnit, Subject};
use weir_text::units;

/// Judges the time for which the program, or one of its threads, could not run.
pub(crate) fn judge(document: &Document) -> Rule {
    let measure = Measure::new("client-stopped", "client stopped", Subject::Client, RuleUnit::Ns);
    // Short stretches of one thread are no findings, and hide no stop of the program.
    let mut of_thread = of_threads(document);
    let long = of_thread.take_if(|lost| lost.ns as f64 > lost.finding_ns);
    let lost = of_program(document).into_iter().chain(long).max_by_key(|lost| lost.ns);
    let Some(lost) = lost.or(of_thread) else {
        return measure.unknown("the client's stops were not watched");
    };
    let window_ns = document.throughput.window_s * 1e9;
    let bound_ns = STOP_BOUND_NS.max(STOP_BOUND_SHARE * window_ns);
    let void_ns = (STOP_VOID_SHARE * window_ns).max(STOP_BOUND_NS);
    let mut measure = measure.finding_at(lost.finding_ns);
    // Of a stop that was mostly in the warm-up only a part counts.
    let counts = |ns: u64, limit_ns: f64| ns as f64 > limit_ns || lost.ns as f64 <= limit_ns;
    if counts(lost.effective_ns, bound_ns) {
        measure = measure.bound_at(bound_ns);
    }
    if counts(lost.window_ns, void_ns) {
        measure = measure.void_at(void_ns);
    }
    let weight = 10.0 * lost.effective_ns as f64 / window_ns.max(1.0);
    measure.weight(weight).judge(lost.ns as f64, &lost.evidence, "run again on a quiet machine")
}

/// Time that the client lost.
struct Lost {
    /// Whole time, in nanoseconds.
    ns: u64,
    /// Of it: time in which requests of the window could be delayed.
    effective_ns: u64,
    /// Of it: inside the window.
    window_ns: u64,
    /// Least time that is a finding, in nanoseconds.
    finding_ns: f64,
    evidence: String,
}

/// Returns the longest stretch in which a thread of the load, or the heartbeat's, could not act.
fn of_threads(document: &Document) -> Option<Lost> {
    let workers = document.phases.iter().filter(|phases| phases.usage.wall_ns > 0);
    let of_worker = workers.map(|phases| {
        let usage = &phases.usage;
        (usage.gap_max_ns, usage.gap_at_ns, worker(document, phases))
    });
    let health = document.health.as_ref();
    let of_program = health.and_then(|health| {
        let at_ns = health.heartbeat_gap_at_ns.unwrap_or(0);
        health.heartbeat_gap_ns.map(|gap_ns| (gap_ns, at_ns, "weir".to_owned()))
    });
    let (ns, at_ns, who) = of_worker.chain(of_program).max_by_key(|gap| gap.0)?;
    let left_ns = ((document.throughput.window_s * 1e9) as u64).saturating_sub(at_ns);
    let (length, at) = (units::duration(ns), units::duration(at_ns));
    Some(Lost {
        ns,
        effective_ns: ns,
        window_ns: ns.min(left_ns),
        finding_ns: STOP_FINDING_NS,
        evidence: format!("{who} could not run for {length}, {at} into the window"),
    })
}

/// Returns the stops of the whole program; `None` if there were none.
fn of_program(document: &Document) -> Option<Lost> {
    let stops = document.health?.stops.filter(|stops| stops.count > 0)?;
    let at_ns = units::duration(stops.longest_at_ns.unsigned_abs());
    let place = match stops.longest_at_ns < 0 {
        true => format!("from {at_ns} before the window"),
        false => format!("{at_ns} into the window"),
    };
    // A stop that ends just after t0 is found by its whole length.
    let ns = stops.effective_ns.max(stops.longest_ns);
    let (whole, longest) = (units::duration(ns), units::duration(stops.longest_ns));
    let evidence = match stops.count {
        1 => format!("weir could not run for {whole}, {place}"),
        count => format!(
            "weir could not run for {whole}, in {count} stops, the longest {longest}, {place}"
        ),
    };
    Some(Lost {
        ns,
        effective_ns: stops.effective_ns,
        window_ns: stops.window_ns,
        finding_ns: SHORT_STOP_FINDING_NS,
        evidence,
    })
}

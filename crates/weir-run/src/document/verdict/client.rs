//! C1, C2, C4 to C7 and Little's law: was it the client (METHOD 1.9)?
//!
//! Nothing here may rest on what a slow or stopped server does: waiting for a busy connection is
//! not lateness, and an idle thread is not a gap.

use super::super::{Document, Phases, ProveClientSection, RatioEstimate};
use super::attribution::Attribution;
use super::thresholds::{
    BUSY_CAVEAT, BUSY_INVALID, CLIENT_PART_CAVEAT_NS, CLIENT_PART_INVALID_NS, CLIENT_RATIO_CAVEAT,
    CLIENT_RATIO_INVALID, CPU_WAIT_CAVEAT, CPU_WAIT_INVALID, FLOOR_CAVEAT, GAP_CAVEAT, GAP_INVALID,
    LATE_CAVEAT_NS, LATE_CAVEAT_SHARE, LATE_INVALID_NS, LATE_INVALID_SHARE, LITTLE_CAVEAT,
    LITTLE_INVALID, WITNESS_CAVEAT, WITNESS_INVALID,
};
use super::{Measure, Rule, RuleOutcome, Subject, Unit};
use crate::plan::Load;
use crate::script_usage::Callback;
use crate::units;

pub(super) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    rules.push(client_share(document));
    rules.push(cpu_wait(document));
    rules.push(busy(document));
    match document.plan.load {
        Load::ClosedLoop => rules.push(client_gap(document)),
        Load::OpenLoop { .. } => rules.push(late_sends(document)),
    }
    if document.witness.is_some() {
        rules.push(witness(document));
    }
    rules.extend(document.prove_client.as_ref().map(one_thread_more));
    rules.extend(noise_floor(document));
    rules.push(little(document));
}

fn measure(id: &'static str, name: &'static str, unit: Unit) -> Measure {
    Measure::new(id, name, Subject::Client, unit)
}

/// C1. The percentile at which the client's part weighs most. Only p50 and p99 can invalidate.
fn client_share(document: &Document) -> Rule {
    let measure = measure("C1", "client_share", Unit::Ratio).caveat_at(CLIENT_RATIO_CAVEAT);
    let at = |p| Attribution::of(document, p);
    let listed: Vec<Attribution> = [50.0, 90.0, 99.0, 99.9].into_iter().filter_map(at).collect();
    let is_heavy = |ratio: f64, least_ns: f64| {
        move |of: &&Attribution| of.ratio() > ratio && of.client_ns as f64 > least_ns
    };
    let worst = |candidates: &mut dyn Iterator<Item = &Attribution>| {
        candidates.max_by(|a, b| a.ratio().total_cmp(&b.ratio())).copied()
    };
    let Some(heaviest) = worst(&mut listed.iter()) else {
        return measure.invalid_at(CLIENT_RATIO_INVALID).unknown(
            "without kernel stamps, and with few requests, nobody knows what weir itself took",
        );
    };
    let can_invalidate = |of: &&Attribution| of.p == 50.0 || of.p == 99.0;
    let invalid = is_heavy(CLIENT_RATIO_INVALID, CLIENT_PART_INVALID_NS);
    let caveat = is_heavy(CLIENT_RATIO_CAVEAT, CLIENT_PART_CAVEAT_NS);
    let invalid = worst(&mut listed.iter().filter(can_invalidate).filter(invalid));
    let caveat = worst(&mut listed.iter().filter(caveat));
    let remedy = match document.plan.load {
        Load::OpenLoop { .. } => "lower the rate, or give weir more CPUs",
        Load::ClosedLoop => "use fewer connections (-c), or give weir more CPUs",
    };
    match (invalid, caveat) {
        (Some(of), _) => {
            measure.invalid_at(CLIENT_RATIO_INVALID).judge(of.ratio(), &in_words(&of), remedy)
        }
        (None, Some(of)) => measure.judge(of.ratio(), &in_words(&of), remedy),
        // It may be a large share of next to nothing.
        (None, None) => {
            measure.rule(RuleOutcome::Pass, Some(heaviest.ratio()), in_words(&heaviest))
        }
    }
}

fn in_words(of: &Attribution) -> String {
    let (ns, client_ns) = (units::duration(of.ns), units::duration(of.client_ns));
    format!("of p{} {ns}, {client_ns} are weir's own", of.p)
}

/// C2, of the thread that waited most.
fn cpu_wait(document: &Document) -> Rule {
    let measure = measure("C2", "cpu_wait", Unit::Share)
        .caveat_at(CPU_WAIT_CAVEAT)
        .invalid_at(CPU_WAIT_INVALID);
    let shares = worker_shares(document, |phases| phases.usage.run_delay_ns);
    let Some((share, worst)) = greatest(&shares) else {
        return measure.unknown("this kernel does not tell how long threads waited for a CPU");
    };
    let mean = shares.iter().map(|(share, _)| share).sum::<f64>() / shares.len() as f64;
    let fact = format!(
        "{} waited {} of the time for a CPU, on average {}",
        worker(document, worst),
        units::percent(share),
        units::percent(mean),
    );
    measure.judge(share, &fact, "free CPUs for weir, or use fewer threads (-t)")
}

/// C4, of the busiest thread. Spinning without anything to do is not being busy.
fn busy(document: &Document) -> Rule {
    let measure =
        measure("C4", "busy", Unit::Share).caveat_at(BUSY_CAVEAT).invalid_at(BUSY_INVALID);
    let shares = worker_shares(document, |phases| {
        Some(phases.usage.cpu_ns.saturating_sub(phases.usage.spun_ns))
    });
    let Some((share, busiest)) = greatest(&shares) else {
        return measure.unknown("the threads' CPU time is not known");
    };
    let worker = worker(document, busiest);
    let fact = format!("{worker} was busy {} of the time", units::percent(share.min(1.0)));
    measure.judge(share.min(1.0), &fact, &more_threads(document))
}

/// What to do where threads are too few; more than CPUs are no help.
fn more_threads(document: &Document) -> String {
    let threads = document.plan.threads;
    let has_more = document.environment.cpus_usable.is_none_or(|cpus| cpus > threads);
    match has_more && threads < document.plan.connections {
        true => "weir was the limit; use more threads (-t)".to_owned(),
        false => "weir was the limit; it needs more CPUs".to_owned(),
    }
}

/// C5: the connections' time in which nothing was in flight, by the integral of their number.
fn client_gap(document: &Document) -> Rule {
    let measure = measure("C5", "client_gap", Unit::Share);
    let limited = measure.caveat_at(GAP_CAVEAT).invalid_at(GAP_INVALID);
    let Some(busy_ns) = document.occupancy.map(|occupancy| occupancy.integral_ns as f64) else {
        return limited.unknown("the requests in flight were not counted over time");
    };
    if let Some(why) = why_gaps_are_not_the_clients(document) {
        return limited.unknown(why);
    }
    let connections = document.connections.open_at_t0 as f64;
    // Up to half of the places are left free on purpose, until they are filled together.
    let places = connections * f64::from(document.plan.pipeline / 2 + 1);
    let whole_ns = places * document.throughput.window_s * 1e9;
    let completed = document.throughput.completed as f64;
    if whole_ns <= 0.0 || completed <= 0.0 {
        return limited.unknown("nothing was measured");
    }
    let gap = (1.0 - busy_ns / whole_ns).max(0.0);
    let turnaround_ns = gap * whole_ns / completed;
    // Against a fast server the few microseconds between an answer and the next request are a
    // large share; only a turnaround that is slow in itself counts.
    let mut judged = measure;
    if turnaround_ns > CLIENT_PART_CAVEAT_NS {
        judged = judged.caveat_at(GAP_CAVEAT);
    }
    if turnaround_ns > CLIENT_PART_INVALID_NS {
        judged = judged.invalid_at(GAP_INVALID);
    }
    let fact = format!(
        "weir left connections idle {} of the time, {} after each answer",
        units::percent(gap),
        units::duration(turnaround_ns as u64),
    );
    let rule = judged.judge(gap, &fact, "more threads (-t), or fewer connections (-c)");
    Rule { caveat_at: limited.caveat_at, invalid_at: limited.invalid_at, ..rule }
}

/// Gaps that the server makes, the script or the end of the run.
fn why_gaps_are_not_the_clients(document: &Document) -> Option<&'static str> {
    let connections = &document.connections;
    let script = document.script.as_ref();
    let delays = script.and_then(|script| script.callbacks.get(&Callback::Delay));
    if delays.is_some_and(|usage| usage.calls > 0) {
        return Some("the script's delay() rests connections");
    }
    if document.run.interrupted || script.is_some_and(|script| script.stopped > 0) {
        return Some("the window was cut short");
    }
    if document.plan.requests.is_some() {
        return Some("connections rest once the last requests are sent");
    }
    let was_renewed = connections.connects > connections.asked
        || connections.closed_by_peer > 0
        || !connections.failures.is_empty();
    was_renewed.then_some("connections were renewed, and renewing takes time")
}

/// C6: how late the client sent, without waiting for connections.
fn late_sends(document: &Document) -> Rule {
    let p50_ns = document.latency.service_time.ok.percentile(50.0).map_or(0.0, |v| v.ns as f64);
    let measure = measure("C6", "late_sends", Unit::Ns)
        .caveat_at(LATE_CAVEAT_NS.max(LATE_CAVEAT_SHARE * p50_ns))
        .invalid_at(LATE_INVALID_NS.max(LATE_INVALID_SHARE * p50_ns));
    let lags = document.latency.sched_lag.by_outcome().ok();
    let Some(p99_ns) = lags.and_then(|lags| lags.ok.percentile(99.0)) else {
        return measure.unknown("nothing was sent by plan");
    };
    let fact = format!("weir sent 1% of requests {} late or more", units::duration(p99_ns));
    measure.judge(p99_ns as f64, &fact, "--pacing spin, more threads, or a lower rate")
}

/// C7: the load's median beside the witness's.
fn witness(document: &Document) -> Rule {
    let measure =
        measure("C7", "witness", Unit::Ratio).caveat_at(WITNESS_CAVEAT).invalid_at(WITNESS_INVALID);
    let seen = document.witness.as_ref();
    let Some((witness, main, ratio)) =
        seen.and_then(|seen| Some((seen.p50?, seen.main_p50?, seen.ratio?)))
    else {
        return measure.unknown("the witness had too few answers");
    };
    let more_ns = main.ns.saturating_sub(witness.ns) as f64;
    let fact = format!(
        "a witness beside the load saw p50 {}, the load {}",
        units::duration(witness.ns),
        units::duration(main.ns),
    );
    let remedy = "weir's own queues are in the times; use more threads or a lower rate";
    let is_beyond_chance = ratio.low > 1.0;
    if !is_beyond_chance || more_ns <= CLIENT_PART_CAVEAT_NS {
        return measure.rule(RuleOutcome::Pass, Some(ratio.ratio), fact);
    }
    let rule = measure.judge(ratio.ratio, &fact, remedy);
    if rule.outcome == RuleOutcome::Invalid && more_ns <= CLIENT_PART_INVALID_NS {
        return Rule { outcome: RuleOutcome::Caveat, ..rule };
    }
    rule
}

/// C12: what the same load did with a thread more.
fn one_thread_more(proof: &ProveClientSection) -> Rule {
    let measure = measure("C12", "one_thread_more", Unit::Ratio);
    let figure = |name: &str, of: Option<RatioEstimate>| {
        of.map(|of| format!("{name} {:.2} times ({:.2} to {:.2})", of.ratio, of.low, of.high))
    };
    let figures: Vec<String> = [("throughput", proof.throughput), ("p99", proof.p99)]
        .into_iter()
        .filter_map(|(name, of)| figure(name, of))
        .collect();
    if figures.is_empty() {
        return measure.unknown("the trials with a thread more had too few answers");
    }
    let value = proof.throughput.or(proof.p99).map(|of| of.ratio);
    let fact = format!("with {} threads {}", proof.more_threads, figures.join(", "));
    match proof.is_client_limited {
        true => {
            let text = format!("{fact}: weir was the limit; use more threads (-t)");
            measure.rule(RuleOutcome::Invalid, value, text)
        }
        false => measure.rule(RuleOutcome::Pass, value, fact),
    }
}

/// Whether the server is so fast that weir measures itself (METHOD 1.17).
fn noise_floor(document: &Document) -> Option<Rule> {
    let floor_ns = document.selfcheck.as_ref()?.service_time.p50_ns;
    let p50_ns = document.latency.service_time.ok.percentile(50.0)?.ns;
    let measure = measure("SELFCHECK", "noise_floor", Unit::Ratio);
    let multiple = p50_ns as f64 / floor_ns.max(1) as f64;
    let fact = format!(
        "p50 {} is {multiple:.1} times the {} that weir takes for itself",
        units::duration(p50_ns),
        units::duration(floor_ns),
    );
    // Too little is what counts here, so that the limit stands in the text alone.
    let is_near = multiple < FLOOR_CAVEAT;
    Some(match is_near {
        true => {
            let text = format!("{fact} (limit {FLOOR_CAVEAT:.0}): differences may be weir's");
            measure.rule(RuleOutcome::Caveat, Some(multiple), text)
        }
        false => measure.rule(RuleOutcome::Pass, Some(multiple), fact),
    })
}

/// Little's law: two counts of the same requests (METHOD 1.7).
fn little(document: &Document) -> Rule {
    let measure = measure("LITTLE", "little", Unit::Share)
        .caveat_at(LITTLE_CAVEAT)
        .invalid_at(LITTLE_INVALID);
    let Some(occupancy) = document.occupancy else {
        return measure.unknown("the requests in flight were not counted over time");
    };
    let difference = occupancy.difference;
    let fact =
        format!("two counts of the requests in flight differ by {}", units::percent(difference));
    measure.judge(difference, &fact, "weir lost requests or counted some twice: report this")
}

/// A figure of each worker as a share of its window; workers that do not tell are left out.
fn worker_shares(
    document: &Document,
    figure_ns: impl Fn(&Phases) -> Option<u64>,
) -> Vec<(f64, &Phases)> {
    let known = document.phases.iter().filter(|phases| phases.usage.wall_ns > 0);
    known
        .filter_map(|phases| {
            let share = figure_ns(phases)? as f64 / phases.usage.wall_ns as f64;
            Some((share, phases))
        })
        .collect()
}

fn greatest<'d>(shares: &[(f64, &'d Phases)]) -> Option<(f64, &'d Phases)> {
    shares.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))
}

/// `worker 1`, or `worker 1 of part 2` where there are several parts.
pub(super) fn worker(document: &Document, phases: &Phases) -> String {
    let has_parts = document.phases.iter().any(|other| other.part != phases.part);
    match has_parts {
        true => format!("worker {} of part {}", phases.worker, phases.part),
        false => format!("worker {}", phases.worker),
    }
}

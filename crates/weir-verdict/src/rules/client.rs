//! Rules about the client: its overhead, its CPU time, its sends, and Little's law (METHOD 1.9).
//!
//! No rule here depends on a slow or stopped server: waiting for a busy connection is not lateness,
//! and an idle thread is not a gap.

use crate::overhead;
use crate::rules::measure::Measure;
use crate::thresholds::{
    CLIENT_CPU_BOUND, CLIENT_CPU_FINDING, CPU_CONTENTION_FINDING, GAP_BOUND, GAP_FINDING,
    LATE_BOUND_NS, LATE_BOUND_SHARE, LATE_NS, LATE_SHARE, LIST_READER_BOUND, LIST_READER_FINDING,
    LITTLE_FINDING, LITTLE_VOID, NOISE_FLOOR_FINDING, OVERHEAD_NS, OVERHEAD_SHARE,
    PROBE_THREAD_BOUND, PROBE_THREAD_FINDING, TURNAROUND_BOUND_NS,
};
use weir_result::Callback;
use weir_result::document::{
    ClientOverhead, Document, Phases, ProveClientSection, RatioEstimate, Rule, RuleOutcome,
    RuleUnit, Subject,
};
use weir_text::setting::{AGENTS, RATE, THREADS};
use weir_text::units;

pub(crate) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    rules.push(client_overhead(document));
    rules.push(cpu_contention(document));
    rules.push(client_cpu(document));
    if document.plan.list.is_some() {
        rules.push(list_reader(document));
    }
    match document.plan.has_due_times() {
        false => rules.push(idle_connections(document)),
        true => rules.push(late_sends(document)),
    }
    if document.witness.is_some() {
        rules.push(probe_thread(document));
    }
    rules.extend(document.prove_client.as_ref().map(|proof| more_threads(document, proof)));
    rules.extend(noise_floor(document));
    rules.push(little(document));
}

fn measure(id: &'static str, what: &'static str, unit: RuleUnit) -> Measure {
    Measure::new(id, what, Subject::Client, unit)
}

/// Judges the percentile with the greatest client overhead, among those that the client inflated;
/// else among all.
fn client_overhead(document: &Document) -> Rule {
    let measure =
        measure("client-overhead", "client overhead", RuleUnit::Share).finding_at(OVERHEAD_SHARE);
    let known = overhead::of_all(document);
    let heaviest = |of: &mut dyn Iterator<Item = &ClientOverhead>| {
        of.max_by(|a, b| a.share.total_cmp(&b.share)).copied()
    };
    let Some(any) = heaviest(&mut known.iter()) else {
        return measure.unknown("no kernel timestamps, or too few requests");
    };
    let summary = &document.results.response_time.ok;
    let inflated = |of: &&ClientOverhead| {
        summary.percentile(of.p).is_some_and(|value| overhead::inflates(of, value))
    };
    match heaviest(&mut known.iter().filter(inflated)) {
        Some(of) => {
            let evidence = overhead_in_words(&of);
            measure.weight(of.share).judge(of.share, &evidence, &more_cpu(document))
        }
        // The share may be large because the time itself is short.
        None => measure.pass(Some(any.share), overhead_in_words(&any)),
    }
}

fn overhead_in_words(of: &ClientOverhead) -> String {
    let ns = units::duration(of.ns);
    let client_ns = units::duration(of.client_ns);
    format!("{client_ns} of the {ns} p{}, {}", of.p, units::percent(of.share))
}

/// Judges the thread that waited longest for a CPU.
fn cpu_contention(document: &Document) -> Rule {
    let measure = measure("cpu-contention", "CPU contention", RuleUnit::Share)
        .finding_at(CPU_CONTENTION_FINDING);
    let Some((share, worst)) = greatest(document, |phases| phases.usage.run_delay_ns) else {
        return measure.unknown("this kernel does not count the time that threads wait for a CPU");
    };
    let evidence = format!(
        "{} was runnable but not running {} of the time",
        worker(document, worst),
        units::percent(share),
    );
    measure.weight(share).judge(share, &evidence, &more_cpu(document))
}

/// Judges the share of the time in which the busiest thread needed a CPU: running without spinning
/// idly, or runnable and not running.
fn client_cpu(document: &Document) -> Rule {
    let measure = measure("client-cpu", "client CPU", RuleUnit::Share)
        .finding_at(CLIENT_CPU_FINDING)
        .bound_at_in_long_windows(CLIENT_CPU_BOUND, document);
    let needed_ns = |phases: &Phases| {
        let usage = &phases.usage;
        let busy_ns = usage.cpu_ns.saturating_sub(usage.spun_ns);
        Some(busy_ns + usage.run_delay_ns.unwrap_or(0))
    };
    let Some((share, busiest)) = greatest(document, needed_ns) else {
        return measure.unknown("the threads' CPU time is not known");
    };
    let share = share.min(1.0);
    let evidence =
        format!("{} needed a CPU {} of the time", worker(document, busiest), units::percent(share));
    measure.weight(share).judge(share, &evidence, &more_cpu(document))
}

/// Remedy against a lack of CPU time on this machine, or on the machines of all parts.
pub(crate) fn more_cpu(document: &Document) -> String {
    if !document.parts.is_empty() {
        return format!("use more machines ({AGENTS}), or lower the load");
    }
    // A number of threads that was tried is better advice than a rule of thumb.
    if let Some(threads) = proven_threads(document) {
        return format!("use {THREADS} {threads}");
    }
    let plan = &document.plan;
    let cpus = document.environment.cpus_usable.unwrap_or(u32::MAX);
    let is_local = document.health.and_then(|health| health.is_server_local) == Some(true);
    let threads = plan.own_threads();
    if threads < cpus.min(plan.own_connections()) && !is_local {
        return format!("use more threads ({THREADS})");
    }
    // Each part has its share of -t. More threads than CPUs leave the server none.
    if is_local && threads > 1 && cpus > 1 && plan.part.is_none() {
        let fewer = (threads - 1).min(cpus - 1);
        return format!(
            "leave the server a CPU ({THREADS} {fewer}), or use another machine for it"
        );
    }
    // Fewer connections would contradict a limit by connections.
    let is_open = plan.load.is_open_loop();
    match (is_local, is_open) {
        (true, true) => "use another machine for the server, or lower the load".to_owned(),
        (true, false) => "use another machine for the server".to_owned(),
        (false, true) => format!("lower {RATE}, or use a machine with more CPUs"),
        (false, false) => "use a machine with more CPUs".to_owned(),
    }
}

/// Returns the number of threads with which a trial carried more, or the same sooner.
fn proven_threads(document: &Document) -> Option<u32> {
    let proof = document.prove_client.as_ref().filter(|proof| proof.is_client_limited)?;
    let cpus = document.environment.cpus_usable.unwrap_or(u32::MAX);
    (cpus > document.plan.threads).then_some(proof.more_threads)
}

/// Judges the time in which connections had room for requests, by the integral of the requests in
/// flight. The integral of the streams that the connections allow was measured too: it leaves out
/// the time of renewals, and follows the server's limit.
fn idle_connections(document: &Document) -> Rule {
    let measure = measure("idle-connections", "idle connections", RuleUnit::Share);
    let limited = measure.clone().finding_at(GAP_FINDING).bound_at(GAP_BOUND);
    let Some(occupancy) = document.occupancy else {
        return limited.unknown("the requests in flight were not counted over time");
    };
    if let Some(why) = why_gaps_are_not_the_clients(document) {
        return limited.unknown(why);
    }
    let busy_ns = occupancy.integral_ns as f64;
    let connections = &document.connections;
    let was_renewed = connections.connects_of_load() > connections.requested
        || connections.were_renewed()
        || !connections.failures.is_empty();
    // Up to half of the pipeline's places are left free on purpose, until they are filled together.
    let places = f64::from(document.plan.load.pipeline / 2 + 1);
    let (noun, whole_ns) = match occupancy.capacity_ns {
        0 if was_renewed => {
            return limited.unknown("connections were renewed, and renewing takes time");
        }
        0 => {
            let window_ns = document.throughput.window_s * 1e9;
            ("connections", connections.open_at_t0 as f64 * places * window_ns)
        }
        capacity_ns if document.plan.load.connections.stages().is_empty() => {
            ("streams", capacity_ns as f64)
        }
        capacity_ns => {
            let depth = f64::from(document.plan.depth());
            ("connections", capacity_ns as f64 / depth * places)
        }
    };
    let completed = document.results.completed as f64;
    if whole_ns <= 0.0 || completed <= 0.0 {
        return limited.unknown("nothing was measured");
    }
    let gap = (1.0 - busy_ns / whole_ns).max(0.0);
    let turnaround_ns = gap * whole_ns / completed;
    let evidence = format!(
        "{noun} waited for the client {} of the time, {} after each response",
        units::percent(gap),
        units::duration(turnaround_ns as u64),
    );
    // Against a fast server the few microseconds between a response and the next request are a
    // large share; only a turnaround that is slow in itself counts.
    if turnaround_ns <= OVERHEAD_NS {
        return limited.pass(Some(gap), evidence);
    }
    let judged =
        if turnaround_ns > TURNAROUND_BOUND_NS { limited } else { measure.finding_at(GAP_FINDING) };
    judged.weight(gap).judge(gap, &evidence, &more_cpu(document))
}

/// Reason why gaps are not caused by the client: the server, the script or the end of the run.
fn why_gaps_are_not_the_clients(document: &Document) -> Option<&'static str> {
    let script = document.script.as_ref();
    let delays = script.and_then(|script| script.callbacks.get(&Callback::Delay));
    if delays.is_some_and(|usage| usage.calls > 0) {
        return Some("the script's delay() pauses connections");
    }
    if document.run.interrupted || script.is_some_and(|script| script.stopped > 0) {
        return Some("the window was cut short");
    }
    if document.plan.load.requests.is_some() {
        return Some("connections are idle once the last requests are sent");
    }
    None
}

/// Judges the client's lateness, without waiting for connections.
fn late_sends(document: &Document) -> Rule {
    let p50_ns = document.results.service_time.ok.percentile(50.0).map_or(0.0, |v| v.ns as f64);
    let measure = measure("late-sends", "late sends", RuleUnit::Ns)
        .finding_at(LATE_NS.max(LATE_SHARE * p50_ns))
        .bound_at(LATE_BOUND_NS.max(LATE_BOUND_SHARE * p50_ns));
    let Some(p99_ns) = document.latency.sched_lag.times.ok.percentile(99.0) else {
        return measure.unknown("nothing was sent by plan");
    };
    let evidence =
        format!("the client itself delayed 1% of requests by {} or more", units::duration(p99_ns));
    let weight = p99_ns as f64 / (p50_ns + p99_ns as f64).max(1.0);
    measure.weight(weight).judge(p99_ns as f64, &evidence, &more_cpu(document))
}

/// Compares the load's median with the probe thread's.
fn probe_thread(document: &Document) -> Rule {
    let measure = measure("probe-thread", "client queueing", RuleUnit::Ratio)
        .finding_at(PROBE_THREAD_FINDING);
    let limited = measure.clone().bound_at(PROBE_THREAD_BOUND);
    let seen = document.witness.as_ref();
    let Some((probe, main, ratio)) =
        seen.and_then(|seen| Some((seen.p50?, seen.main_p50?, seen.ratio?)))
    else {
        return limited.unknown("the probe thread had too few responses");
    };
    let more_ns = main.ns.saturating_sub(probe.ns) as f64;
    let evidence = format!(
        "median service time is {} in the load, {} in the probe thread, {:.2} times",
        units::duration(main.ns),
        units::duration(probe.ns),
        ratio.ratio,
    );
    if ratio.low <= 1.0 || more_ns <= OVERHEAD_NS {
        return limited.pass(Some(ratio.ratio), evidence);
    }
    let judged = if more_ns > TURNAROUND_BOUND_NS { limited } else { measure };
    let judged = judged.weight(1.0 - 1.0 / ratio.ratio.max(1.0));
    judged.judge(ratio.ratio, &evidence, &more_cpu(document))
}

/// Compares the same load with one more thread.
fn more_threads(document: &Document, proof: &ProveClientSection) -> Rule {
    let measure = measure("more-threads", "client CPU", RuleUnit::Ratio);
    let figures = [("throughput", proof.throughput), ("p99", proof.p99)];
    let figures = figures.into_iter().filter_map(|(name, of)| {
        let RatioEstimate { ratio, low, high } = of?;
        Some(format!("{name} {ratio:.2} times ({low:.2} to {high:.2})"))
    });
    let figures: Vec<String> = figures.collect();
    if figures.is_empty() {
        return measure.unknown("the trials with one thread more had too few responses");
    }
    let value = proof.throughput.or(proof.p99).map(|of| of.ratio);
    let evidence = format!("with {} threads {}", proof.more_threads, figures.join(", "));
    if !proof.is_client_limited {
        return measure.pass(value, evidence);
    }
    measure.weight(1.0).fired(RuleOutcome::Bound, value, &evidence, &more_cpu(document))
}

/// Judges times so short that weir measures itself (METHOD 1.17).
fn noise_floor(document: &Document) -> Option<Rule> {
    let floor_ns = document.selfcheck.as_ref()?.service_time.p50_ns;
    let p50_ns = document.results.service_time.ok.percentile(50.0)?.ns;
    let measure = measure("noise-floor", "near the noise floor", RuleUnit::Ratio)
        .fires_below()
        .finding_at(NOISE_FLOOR_FINDING);
    let multiple = p50_ns as f64 / floor_ns.max(1) as f64;
    let evidence = format!(
        "p50 {} is {multiple:.2} times weir's own {}",
        units::duration(p50_ns),
        units::duration(floor_ns),
    );
    let remedy = "compare it only with runs of the same client";
    Some(measure.weight(1.0 / multiple.max(1.0)).judge(multiple, &evidence, remedy))
}

/// Checks Little's law: two counts of the same requests (METHOD 1.7).
fn little(document: &Document) -> Rule {
    let measure = measure("littles-law", "requests miscounted", RuleUnit::Share)
        .finding_at(LITTLE_FINDING)
        .void_at(LITTLE_VOID);
    let Some(occupancy) = document.occupancy else {
        return measure.unknown("the requests in flight were not counted over time");
    };
    let difference = occupancy.difference;
    let evidence =
        format!("two counts of the requests in flight differ by {}", units::percent(difference));
    measure.weight(difference).judge(difference, &evidence, "this is a bug of weir: report it")
}

/// Judges the worker whose slots waited longest for the rows of a list.
fn list_reader(document: &Document) -> Rule {
    let measure = measure("list-reader", "list reader", RuleUnit::Share)
        .finding_at(LIST_READER_FINDING)
        .bound_at(LIST_READER_BOUND);
    let waited = greatest(document, |phases| Some(phases.usage.list_wait_ns));
    let Some((share, worst)) = waited else {
        return measure.unknown("the window has no length");
    };
    let evidence = format!(
        "requests of {} waited {} of the time for rows of the list that were not read yet",
        worker(document, worst),
        units::percent(share)
    );
    let remedy = "use a list of URLs, or at most 4,096 requests, or lower the load";
    measure.weight(share).judge(share, &evidence, remedy)
}

/// Returns the worker with the greatest figure as a share of its window; workers without it are
/// left out.
fn greatest(
    document: &Document,
    figure_ns: impl Fn(&Phases) -> Option<u64>,
) -> Option<(f64, &Phases)> {
    let known = document.phases.iter().filter(|phases| phases.usage.wall_ns > 0);
    let shares = known.filter_map(|phases| {
        Some((figure_ns(phases)? as f64 / phases.usage.wall_ns as f64, phases))
    });
    shares.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Names a worker: `worker 1`, or `worker 1 of part 2` if there are several parts.
pub(crate) fn worker(document: &Document, phases: &Phases) -> String {
    let has_parts = document.phases.iter().any(|other| other.part != phases.part);
    match has_parts {
        true => format!("worker {} of {}", phases.worker, document.part_in_words(phases.part)),
        false => format!("worker {}", phases.worker),
    }
}

//! Rules about the client's machine: stops, CPU time taken by others, losses, clocks (METHOD 1.9).

use weir_result::document::{Rule, RuleOutcome, RuleUnit, Subject};
use weir_result::{ClientHealth, Document};
use weir_text::setting::{SOURCE_IP, THREADS};
use weir_text::units;

use super::client::worker;
use crate::rules::measure::Measure;
use crate::thresholds::{
    CLOCK_STEP_NOTE_NS, DROPPED_FINDING, FULL_FINDING, IDLE_EXIT_NOTE, LOSS_FINDING, LOSSES_LEAST,
    PRESSURE_FINDING, QUOTA_BOUND, QUOTA_FINDING, SHORT_STOP_FINDING_NS, STEAL_FINDING,
    STOP_BOUND_NS, STOP_BOUND_SHARE, STOP_FINDING_NS, STOP_VOID_SHARE,
};

/// Clock sources that are read without a system call, and never stop.
const FAST_CLOCKS: [&str; 4] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

pub(crate) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    let health = document.health.as_ref();
    rules.push(client_stopped(document));
    rules.push(steal(health));
    rules.push(quota(document));
    rules.push(pressure(health));
    if let Some(health) = health {
        losses(document, health, rules);
        rules.extend(shared_host(health));
        rules.extend(idle_states(document, health));
        rules.extend(clock_step(health));
    }
    rules.extend(governor(document));
    rules.push(clock(document));
}

fn measure(id: &'static str, what: &'static str, unit: RuleUnit) -> Measure {
    Measure::new(id, what, Subject::Machine, unit)
}

/// Judges CPU time that the hypervisor took.
fn steal(health: Option<&ClientHealth>) -> Rule {
    let measure =
        measure("cpu-steal", "CPU time stolen", RuleUnit::Share).finding_at(STEAL_FINDING);
    let Some(steal) = health.and_then(|health| health.steal) else {
        return measure.unknown("this machine does not count the time that its hypervisor takes");
    };
    let evidence = format!("the hypervisor took {} of weir's CPUs", units::percent(steal));
    measure.weight(steal).judge(steal, &evidence, "use a machine with dedicated CPUs")
}

/// Judges CPU time that the cgroup's quota withheld.
fn quota(document: &Document) -> Rule {
    let health = document.health.as_ref();
    let measure = measure("cpu-quota", "CPU quota", RuleUnit::Share)
        .finding_at(QUOTA_FINDING)
        .bound_at_in_long_windows(QUOTA_BOUND, document);
    let watched = health.filter(|health| health.watched_ns > 0);
    let Some(share) =
        watched.and_then(|health| Some(health.throttled_ns? as f64 / health.watched_ns as f64))
    else {
        return measure.unknown("this cgroup does not count throttled time");
    };
    let evidence = format!("the cgroup throttled weir {} of the time", units::percent(share));
    let remedy = format!("raise the cgroup's quota, or use fewer threads ({THREADS})");
    measure.weight(share).judge(share, &evidence, &remedy)
}

/// Judges runnable tasks that waited for a CPU. If the server shares the machine they may be the
/// server's, and a slow server must not count against the client.
fn pressure(health: Option<&ClientHealth>) -> Rule {
    let plain = measure("cpu-pressure", "busy machine", RuleUnit::Share);
    let measure = plain.clone().finding_at(PRESSURE_FINDING);
    let Some((health, share)) = health.and_then(|health| Some((health, health.cpu_pressure?)))
    else {
        return measure.unknown("this kernel does not count the time that tasks wait for a CPU");
    };
    let evidence =
        format!("some task of this machine waited for a CPU {} of the time", units::percent(share));
    match health.is_server_local {
        Some(true) => plain.note(Some(share), evidence),
        _ => measure.weight(share / 10.0).judge(share, &evidence, "stop what else runs here"),
    }
}

/// Judges lost packets, segments and connections.
fn losses(document: &Document, health: &ClientHealth, rules: &mut Vec<Rule>) {
    let requests = document.accounting.sent.total.max(1) as f64;
    let plain = |id, what| measure(id, what, RuleUnit::Share).finding_at(LOSS_FINDING);
    let mut judge = |measure: Measure, count: Option<u64>, evidence: &str, remedy: &str| {
        let Some(count) = count else {
            return;
        };
        let share = count as f64 / requests;
        let evidence =
            format!("{} {evidence}, {} of requests", units::count(count), units::percent(share));
        rules.push(match count {
            0..LOSSES_LEAST => measure.pass(Some(share), evidence),
            _ => measure.weight(share).judge(share, &evidence, remedy),
        });
    };
    let dropped =
        measure("packets-dropped", "packets dropped", RuleUnit::Share).finding_at(DROPPED_FINDING);
    judge(dropped, health.softnet_dropped, "dropped by this machine", "lower the rate");
    // Counted on this run's sockets; the machine's counters include all programs.
    let network = document.network.as_ref();
    let retransmitted = network.map(|network| network.retransmitted_segments);
    let remedy = "check the network: retransmissions are in the latencies";
    judge(plain("retransmissions", "packet loss"), retransmitted, "TCP segments resent", remedy);
    let timed_out = network.and_then(|network| network.retransmission_timeouts);
    let timeouts = plain("tcp-timeouts", "packet loss");
    judge(timeouts, timed_out, "TCP retransmission timeouts", remedy);
    // Counted on this machine: the server's overflows if it runs here, else unrelated to this run.
    let overflows = health.listen_overflows.filter(|_| health.is_server_local == Some(true));
    let listen = plain("listen-overflows", "connections refused").subject(Subject::Server);
    let remedy = "raise the server's listen backlog and net.core.somaxconn";
    judge(listen, overflows, "connections overflowed the listen queue", remedy);
    if let Some(squeezed) = health.softnet_squeezed {
        let text = format!("packet processing was cut short {} times", units::count(squeezed));
        let measure = measure("softirq-squeezed", "softirq budget", RuleUnit::Count);
        rules.push(measure.note(Some(squeezed as f64), text));
    }
    let full = |id, what| measure(id, what, RuleUnit::Share).finding_at(FULL_FINDING);
    if let Some(share) = health.ephemeral_ports {
        let evidence = format!("{} of the ephemeral ports are in use", units::percent(share));
        let remedy = format!("keep connections alive, or add source addresses ({SOURCE_IP})");
        let measure = full("ephemeral-ports", "ephemeral ports");
        rules.push(measure.weight(share - FULL_FINDING).judge(share, &evidence, &remedy));
    }
    if let Some(share) = health.interface_use {
        let evidence = format!("{} of the interface's speed is in use", units::percent(share));
        let measure = full("interface-use", "network interface");
        rules.push(measure.weight(share).judge(share, &evidence, "use a faster interface"));
    }
}

/// Notes that client and server share CPUs, whatever the figures.
fn shared_host(health: &ClientHealth) -> Option<Rule> {
    let measure = measure("shared-host", "shared host", RuleUnit::Count);
    let text = "client and server share CPUs: weir itself slows the target";
    (health.is_server_local == Some(true)).then(|| measure.note(None, text))
}

/// Notes CPUs that may run slower under low load.
fn governor(document: &Document) -> Option<Rule> {
    let governor = document.environment.cpu_governor.as_ref()?;
    let measure = measure("cpu-governor", "CPU governor", RuleUnit::Count);
    (governor != "performance")
        .then(|| measure.note(None, format!("the CPU governor is '{governor}', not 'performance'")))
}

/// Notes the exit latency of the deepest idle state.
fn idle_states(document: &Document, health: &ClientHealth) -> Option<Rule> {
    let exit_ns = health.idle_exit_ns?;
    let p50_ns = document.results.service_time.ok.percentile(50.0)?.ns;
    let is_long = exit_ns as f64 > IDLE_EXIT_NOTE * p50_ns as f64;
    let measure = measure("idle-states", "CPU idle states", RuleUnit::Ns);
    is_long.then(|| {
        let text = format!(
            "leaving the deepest CPU idle state takes {} of the {} p50",
            units::duration(exit_ns),
            units::duration(p50_ns),
        );
        measure.note(Some(exit_ns as f64), text)
    })
}

/// Notes steps of the wall clock, which spoil kernel time stamps and nothing else.
fn clock_step(health: &ClientHealth) -> Option<Rule> {
    let step_ns = health.clock_step_ns? as f64;
    let measure = measure("clock-step", "clock step", RuleUnit::Ns);
    (step_ns > CLOCK_STEP_NOTE_NS).then(|| {
        let step = units::duration(step_ns as u64);
        measure.note(Some(step_ns), format!("the wall clock was set by {step} during the run"))
    })
}

/// Judges clocks that cost a system call, or tick too coarsely (METHOD 1.1).
fn clock(document: &Document) -> Rule {
    let measure = measure("slow-clock", "slow clock", RuleUnit::Ns);
    let Some(source) = &document.environment.clock_source else {
        return measure.unknown("the clock's source is not known");
    };
    let read_ns = document.environment.clock_read_ns.filter(|ns| ns.is_finite());
    let evidence = format!("the clock source is {source}");
    if FAST_CLOCKS.contains(&source.as_str()) {
        return measure.pass(read_ns, evidence);
    }
    let cost = read_ns.map_or_else(String::new, |ns| format!(" of {}", units::duration(ns as u64)));
    let evidence = format!("{evidence}, which takes a system call{cost} to read");
    let remedy = "choose tsc or kvm-clock, if the machine has it";
    measure.weight(0.05).fired(RuleOutcome::Finding, read_ns, &evidence, remedy)
}

/// Judges the time for which the program, or one of its threads, could not run.
fn client_stopped(document: &Document) -> Rule {
    let measure = Measure::new("client-stopped", "client stopped", Subject::Client, RuleUnit::Ns);
    let Some(lost) = lost(document) else {
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

/// Returns when the client lost the time that `client-stopped` is about, in seconds from t0; of
/// several stops the longest counts.
pub(crate) fn stopped_at_s(document: &Document) -> Option<f64> {
    lost(document).map(|lost| lost.at_ns as f64 / 1e9)
}

/// Returns the time that the client lost; `None` if that was not watched.
fn lost(document: &Document) -> Option<Lost> {
    // Short stretches of one thread are no findings, and hide no stop of the program.
    let mut of_thread = of_threads(document);
    let long = of_thread.take_if(|lost| lost.ns as f64 > lost.finding_ns);
    let lost = of_program(document).into_iter().chain(long).max_by_key(|lost| lost.ns);
    lost.or(of_thread)
}

/// Time that the client lost.
struct Lost {
    /// Begin of the longest part, in nanoseconds from t0.
    at_ns: i64,
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
    let length = units::duration(ns);
    let at = units::duration(at_ns);
    Some(Lost {
        at_ns: at_ns as i64,
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
    let whole = units::duration(ns);
    let longest = units::duration(stops.longest_ns);
    let evidence = match stops.count {
        1 => format!("weir could not run for {whole}, {place}"),
        count => format!(
            "weir could not run for {whole}, in {count} stops, the longest {longest}, {place}"
        ),
    };
    Some(Lost {
        at_ns: stops.longest_at_ns,
        ns,
        effective_ns: stops.effective_ns,
        window_ns: stops.window_ns,
        finding_ns: SHORT_STOP_FINDING_NS,
        evidence,
    })
}

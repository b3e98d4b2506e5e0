//! C3, C8 to C11 and C13: what the client's machine did to it (METHOD 1.9).

use super::super::Document;
use super::client::worker;
use super::thresholds::{
    CLOCK_STEP_NOTE_NS, DROPPED_INVALID, FULL_CAVEAT, IDLE_EXIT_NOTE, LOSS_CAVEAT, LOSSES_LEAST,
    PRESSURE_CAVEAT, STEAL_CAVEAT, STEAL_INVALID, STOP_CAVEAT_NS, STOP_INVALID_NS,
    STOP_INVALID_SHARE, THROTTLED_CAVEAT, THROTTLED_INVALID,
};
use super::{Measure, Rule, RuleOutcome, Subject, Unit};
use crate::evidence::ClientHealth;
use crate::units;

/// Clock sources that are read without a system call, and never stand still.
const FAST_CLOCKS: [&str; 4] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

pub(super) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    let health = document.health.as_ref();
    rules.push(stops(document));
    rules.push(steal(health));
    rules.push(quota(health));
    rules.push(pressure(health));
    if let Some(health) = health {
        losses(document, health, rules);
        rules.extend(same_host(health));
        rules.extend(idle_states(document, health));
        rules.extend(clock_step(health));
    }
    rules.extend(governor(document));
    rules.push(clock(document));
}

fn measure(id: &'static str, name: &'static str, unit: Unit) -> Measure {
    Measure::new(id, name, Subject::Machine, unit)
}

/// C13: the longest stretch in which the program, or one of its threads, could not act.
fn stops(document: &Document) -> Rule {
    let window_ns = document.throughput.window_s * 1e9;
    let measure = Measure::new("C13", "stops", Subject::Client, Unit::Ns)
        .caveat_at(STOP_CAVEAT_NS)
        .invalid_at(STOP_INVALID_NS.max(STOP_INVALID_SHARE * window_ns));
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
    let Some((gap_ns, at_ns, who)) = of_worker.chain(of_program).max_by_key(|gap| gap.0) else {
        return measure.unknown("nobody watched whether weir was stopped");
    };
    let fact = format!(
        "{who} stood still for {}, {} into the window",
        units::duration(gap_ns),
        units::duration(at_ns),
    );
    measure.judge(gap_ns as f64, &fact, "something stopped it; run again on a quiet machine")
}

/// C3: what the hypervisor took.
fn steal(health: Option<&ClientHealth>) -> Rule {
    let measure =
        measure("C3", "steal", Unit::Share).caveat_at(STEAL_CAVEAT).invalid_at(STEAL_INVALID);
    let Some(steal) = health.and_then(|health| health.steal) else {
        return measure.unknown("this machine does not tell what its hypervisor took");
    };
    let fact = format!("the hypervisor took {} of weir's CPUs", units::percent(steal));
    measure.judge(steal, &fact, "use a machine of your own")
}

/// C3: what the cgroup's quota took.
fn quota(health: Option<&ClientHealth>) -> Rule {
    let measure = measure("C3", "quota", Unit::Share)
        .caveat_at(THROTTLED_CAVEAT)
        .invalid_at(THROTTLED_INVALID);
    let watched = health.filter(|health| health.watched_ns > 0);
    let Some(share) =
        watched.and_then(|health| Some(health.throttled_ns? as f64 / health.watched_ns as f64))
    else {
        return measure.unknown("this cgroup does not tell whether it was throttled");
    };
    let fact = format!("the CPU quota held weir back for {} of the time", units::percent(share));
    measure.judge(share, &fact, "raise the cgroup's quota, or use fewer threads (-t)")
}

/// C3: whether anything waited for a CPU. Where the server shares the machine it may be the server,
/// and a server that is slow must not accuse the client.
fn pressure(health: Option<&ClientHealth>) -> Rule {
    let plain = measure("C3", "pressure", Unit::Share);
    let measure = plain.caveat_at(PRESSURE_CAVEAT);
    let Some((health, share)) = health.and_then(|health| Some((health, health.cpu_pressure?)))
    else {
        return measure.unknown("this kernel does not tell whether tasks waited for a CPU");
    };
    let fact =
        format!("tasks of this machine waited for a CPU {} of the time", units::percent(share));
    match health.is_server_local {
        Some(true) => plain.note(Some(share), fact),
        _ => measure.judge(share, &fact, "end what else runs here"),
    }
}

/// C8: what was lost on the way. Only what this machine threw away can be the client's fault.
fn losses(document: &Document, health: &ClientHealth, rules: &mut Vec<Rule>) {
    let requests = document.accounting.sent.total.max(1) as f64;
    let plain = |name| measure("C8", name, Unit::Share).caveat_at(LOSS_CAVEAT);
    let mut judge = |measure: Measure, count: Option<u64>, what: &str, remedy: &str| {
        let Some(count) = count else {
            return;
        };
        let share = count as f64 / requests;
        let fact =
            format!("{what}: {} ({} of requests)", units::count(count), units::percent(share));
        rules.push(match count {
            0..LOSSES_LEAST => measure.rule(RuleOutcome::Pass, Some(share), fact),
            _ => measure.judge(share, &fact, remedy),
        });
    };
    let dropped = plain("packets_dropped").invalid_at(DROPPED_INVALID);
    let network = document.network.as_ref();
    let retransmitted = network.map(|network| network.retransmitted_segments);
    let timeouts = network.and_then(|network| network.retransmission_timeouts);
    judge(dropped, health.softnet_dropped, "packets dropped by this machine", "lower the rate");
    let network = "the network loses packets, and the times have it";
    judge(plain("retransmits"), retransmitted, "TCP segments sent again", network);
    judge(plain("tcp_timeouts"), timeouts, "TCP timeouts", network);
    // Of this machine; they are the server's where it is here, and nobody's otherwise.
    let overflows = health.listen_overflows.filter(|_| health.is_server_local == Some(true));
    let listen = Measure { subject: Subject::Server, ..plain("listen_overflows") };
    judge(listen, overflows, "connections turned away", "the server's accept queue is too short");
    if let Some(squeezed) = health.softnet_squeezed {
        let text = format!("packet processing was cut short: {}", units::count(squeezed));
        rules.push(measure("C8", "squeezed", Unit::Count).note(Some(squeezed as f64), text));
    }
    let full = |name| measure("C8", name, Unit::Share).caveat_at(FULL_CAVEAT);
    let in_use = |what: &str, share| format!("{what} in use: {}", units::percent(share));
    if let Some(share) = health.ephemeral_ports {
        let fact = in_use("ephemeral ports", share);
        let remedy = "keep connections alive, or add source addresses (--source-ip)";
        rules.push(full("ephemeral_ports").judge(share, &fact, remedy));
    }
    if let Some(share) = health.interface_use {
        let fact = in_use("the network interface's speed", share);
        let remedy = "the interface is the limit";
        rules.push(full("interface_use").judge(share, &fact, remedy));
    }
}

/// C9.
fn same_host(health: &ClientHealth) -> Option<Rule> {
    let measure = measure("C9", "same_host", Unit::Count);
    let is_local = health.is_server_local == Some(true);
    is_local.then(|| measure.note(None, "the server is on this machine: they share its CPUs"))
}

/// C10: whether CPUs may run slower when little is asked of them.
fn governor(document: &Document) -> Option<Rule> {
    let governor = document.environment.cpu_governor.as_ref()?;
    let measure = measure("C10", "governor", Unit::Count);
    (governor != "performance")
        .then(|| measure.note(None, format!("the CPU governor is '{governor}', not 'performance'")))
}

/// C10: how long the deepest idle state takes to leave.
fn idle_states(document: &Document, health: &ClientHealth) -> Option<Rule> {
    let exit_ns = health.idle_exit_ns?;
    let p50_ns = document.latency.service_time.ok.percentile(50.0)?.ns;
    let is_long = exit_ns as f64 > IDLE_EXIT_NOTE * p50_ns as f64;
    let measure = measure("C10", "idle_exit", Unit::Ns);
    is_long.then(|| {
        let text = format!(
            "CPUs slept so deeply that waking takes {}; p50 is {}",
            units::duration(exit_ns),
            units::duration(p50_ns),
        );
        measure.note(Some(exit_ns as f64), text)
    })
}

/// C11: steps of the wall clock spoil kernel stamps, and nothing else.
fn clock_step(health: &ClientHealth) -> Option<Rule> {
    let step_ns = health.clock_step_ns? as f64;
    let measure = measure("C11", "clock_step", Unit::Ns);
    (step_ns > CLOCK_STEP_NOTE_NS).then(|| {
        let step = units::duration(step_ns as u64);
        measure.note(Some(step_ns), format!("the wall clock was set by {step} during the run"))
    })
}

/// Clocks that cost a system call, or tick too coarsely (METHOD 1.1).
fn clock(document: &Document) -> Rule {
    let measure = measure("SLOW_CLOCK", "slow_clock", Unit::Ns);
    let Some(source) = &document.environment.clock_source else {
        return measure.unknown("the clock's source is not known");
    };
    let read_ns = document.environment.clock_read_ns.filter(|ns| ns.is_finite());
    let fact = format!("the clock is {source}");
    if FAST_CLOCKS.contains(&source.as_str()) {
        return measure.rule(RuleOutcome::Pass, read_ns, fact);
    }
    let text = format!("{fact}, which is slow to read: times and rates are worse for it");
    measure.rule(RuleOutcome::Caveat, read_ns, text)
}

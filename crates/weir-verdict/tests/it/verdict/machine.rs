//! Rules about the client's machine and its network.

use weir_result::document::RuleOutcome::{Bound, Finding, Note, Pass, Unknown};
use weir_result::document::{Grade, Subject};

use super::run::{MS, S, US, check, health, network, rule, says};

#[test]
fn what_the_hypervisor_and_the_cgroup_took() {
    check("cpu-steal", Pass, health(|health| health.steal = Some(0.019)));
    check("cpu-steal", Finding, health(|health| health.steal = Some(0.03)));
    let document = check("cpu-steal", Unknown, |parts| parts.beside.health = None);
    assert_eq!(
        (document.verdict.grade, document.verdict.not_judged()),
        (Grade::Clean, vec!["cpu-steal"])
    );
    check("cpu-quota", Pass, health(|health| health.throttled_ns = Some(9 * MS)));
    check("cpu-quota", Finding, health(|health| health.throttled_ns = Some(50 * MS)));
    check("cpu-quota", Bound, health(|health| health.throttled_ns = Some(S)));
    // In half a second a share of CPU time rests on a few scheduler ticks.
    check("cpu-quota", Finding, |parts| {
        parts.given.plan.load.duration_ns = Some(S / 2);
        health(|health| health.throttled_ns = Some(S))(parts);
    });
    says(
        "cpu-quota",
        health(|health| health.throttled_ns = Some(S)),
        "CPU quota: the cgroup throttled weir 10.0% of the time (limit: 1%); raise the cgroup's \
         quota, or use fewer threads (`engine.threads`)",
    );
}

#[test]
fn waiting_tasks_of_a_local_server_are_a_note() {
    check("cpu-pressure", Finding, health(|health| health.cpu_pressure = Some(0.5)));
    check(
        "cpu-pressure",
        Note,
        health(|health| {
            health.cpu_pressure = Some(0.5);
            health.is_server_local = Some(true);
        }),
    );
}

#[test]
fn losses() {
    let id = "packets-dropped";
    check(id, Finding, health(|health| health.softnet_dropped = Some(9)));
    // A few may have another cause on this machine.
    check(id, Pass, health(|health| health.softnet_dropped = Some(4)));
    let id = "retransmissions";
    check(id, Pass, network(|network| network.retransmitted_segments = 3));
    check(id, Finding, network(|network| network.retransmitted_segments = 9_000));
    // The machine's counters include all programs.
    check(id, Pass, health(|health| health.retransmitted_segments = Some(9_000)));
    check("tcp-timeouts", Pass, network(|network| network.retransmission_timeouts = Some(2)));
    check("tcp-timeouts", Finding, network(|network| network.retransmission_timeouts = Some(30)));
    let overflows = health(|health| {
        health.listen_overflows = Some(90);
        health.is_server_local = Some(true);
    });
    let document = check("listen-overflows", Finding, overflows);
    assert_eq!(rule(&document, "listen-overflows").subject, Subject::Server);
}

#[test]
fn full_resources() {
    check("ephemeral-ports", Pass, health(|health| health.ephemeral_ports = Some(0.89)));
    check("ephemeral-ports", Finding, health(|health| health.ephemeral_ports = Some(0.95)));
    check("interface-use", Pass, health(|health| health.interface_use = Some(0.89)));
    check("interface-use", Finding, health(|health| health.interface_use = Some(0.95)));
}

#[test]
fn notes_do_not_lower_the_grade() {
    let document = check("shared-host", Note, health(|health| health.is_server_local = Some(true)));
    assert_eq!(document.verdict.grade, Grade::Clean);
    check("idle-states", Note, health(|health| health.idle_exit_ns = Some(200 * US)));
    check("clock-step", Note, health(|health| health.clock_step_ns = Some(2 * MS)));
    check("softirq-squeezed", Note, health(|health| health.softnet_squeezed = Some(7)));
    check("cpu-governor", Note, |parts| {
        parts.given.environment.cpu_governor = Some("powersave".into())
    });
}

#[test]
fn slow_clocks() {
    check("slow-clock", Pass, |parts| {
        parts.given.environment.clock_source = Some("kvm-clock".into())
    });
    check("slow-clock", Finding, |parts| {
        parts.given.environment.clock_source = Some("hpet".into())
    });
    check("slow-clock", Unknown, |parts| parts.given.environment.clock_source = None);
}

//! Checks of clocks and timers.

use weir_doctor::Severity::{Problem, Warning};

use crate::machine::{Machine, unreadable};

#[test]
fn clock_sources_that_read_devices_are_slow() {
    const SOURCES: &str = "sys/devices/system/clocksource/clocksource0";
    let machine = Machine::healthy();
    machine.check_ok("clock-source", "tsc, read in 25 ns");
    let guest = machine.clone().file(&format!("{SOURCES}/current_clocksource"), "kvm-clock\n");
    guest.check_ok("clock-source", "kvm-clock");
    let hpet = machine.clone().file(&format!("{SOURCES}/current_clocksource"), "hpet\n");
    let hpet = hpet.facts(|facts| facts.clock_read_ns = 1_500.0);
    let command = "echo tsc | sudo tee /sys/devices/system/clocksource/*/current_clocksource";
    hpet.check("clock-source", Problem, "hpet, read in 2 µs", command);
    let distrusted = hpet.file(&format!("{SOURCES}/available_clocksource"), "hpet acpi_pm\n");
    let advice = "the kernel distrusts the TSC (dmesg | grep -i tsc): use another machine";
    distrusted.check("clock-source", Problem, "hpet", advice);
    let called = machine.clone().facts(|facts| facts.clock_read_ns = 300.0);
    let advice = "each reading is a system call: use another kernel or container";
    called.check("clock-source", Warning, "tsc, read in 300 ns", advice);
    machine.without(SOURCES).check_unknown("clock-source", "current_clocksource does not exist");
}

#[test]
fn timers_need_a_fine_resolution() {
    let machine = Machine::healthy();
    machine.check_ok("timer-resolution", "resolution 1 ns");
    let coarse = machine.clone().facts(|facts| facts.clock_resolution_ns = Ok(4_000_000));
    let advice = "boot without highres=off and nohz=off, with CONFIG_HIGH_RES_TIMERS";
    coarse.check("timer-resolution", Problem, "resolution 4 ms", advice);
    let refused = machine.facts(|facts| facts.clock_resolution_ns = unreadable("clock_getres"));
    refused.check_unknown("timer-resolution", "clock_getres");
}

#[test]
fn slack_is_harmless_if_it_can_be_lowered() {
    let machine = Machine::healthy();
    machine.check_ok("timer-slack", "50 µs, which weir lowers to 1 ns");
    machine.clone().facts(|facts| facts.timer_slack_ns = Ok(1)).check_ok("timer-slack", "1 ns");
    let advice = "allow prctl in the container's seccomp profile";
    let stuck = machine.clone().facts(|facts| facts.lowered_slack_ns = Ok(50_000));
    stuck.check("timer-slack", Problem, "50 µs, and weir cannot lower it here", advice);
    let denied = machine.clone().facts(|facts| facts.lowered_slack_ns = unreadable("denied"));
    denied.check("timer-slack", Problem, "weir cannot lower it here", advice);
    let hidden = machine.facts(|facts| facts.timer_slack_ns = unreadable("PR_GET_TIMERSLACK"));
    hidden.check_unknown("timer-slack", "PR_GET_TIMERSLACK");
}

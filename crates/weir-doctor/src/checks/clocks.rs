//! The clock that stamps requests, and the timers that wake weir for them.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// The kernel's clock source: reading some of them takes a device access or a system call.
pub(super) fn clock_source(subject: &ExaminedSystem<'_>) -> Examined {
    const CURRENT: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    const AVAILABLE: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    /// The same file for a shell, short enough for a narrow terminal.
    const SWITCH: &str = "/sys/devices/system/clocksource/*/current_clocksource";
    /// Sources that read a device, at about 1 µs each.
    const DEVICES: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
    /// Cost of a reading from which it is a system call, in nanoseconds.
    const SLOW_NS: f64 = 200.0;
    let current = subject.root.text(CURRENT)?;
    let cost_ns = subject.facts.clock_read_ns;
    let evidence = format!("{current}, read in {}", units::duration(cost_ns.round() as u64));
    let is_device = DEVICES.contains(&current.as_str());
    let effect = "each timestamp costs CPU time, which delays requests";
    let outcome = Outcome::judged(is_device, cost_ns >= SLOW_NS, evidence, effect);
    let available = subject.root.text(AVAILABLE).unwrap_or_default();
    let is_offered = available.split_whitespace().any(|name| name == "tsc") && current != "tsc";
    Ok(Some(match is_offered {
        true => outcome.command(format!("echo tsc | sudo tee {SWITCH}")),
        false if is_device => outcome
            .advice("the kernel distrusts the TSC (dmesg | grep -i tsc): use another machine"),
        false => outcome.advice("each reading is a system call: use another kernel or container"),
    }))
}

/// Resolution that timers of the processor reach, and slack that cannot be seen in send times, in
/// nanoseconds.
const FINE_NS: u64 = 1_000;

pub(super) fn resolution(subject: &ExaminedSystem<'_>) -> Examined {
    let resolution_ns = subject.facts.clock_resolution_ns.clone()?;
    let resolution = units::short_duration(resolution_ns);
    let evidence = format!("resolution {resolution}");
    let outcome = Outcome::judged(resolution_ns > FINE_NS, false, evidence, late_by(&resolution));
    Ok(Some(outcome.advice("boot without highres=off and nohz=off, with CONFIG_HIGH_RES_TIMERS")))
}

pub(super) fn slack(subject: &ExaminedSystem<'_>) -> Examined {
    let slack_ns = subject.facts.timer_slack_ns.clone()?;
    let slack = units::short_duration(slack_ns);
    Ok(Some(match &subject.facts.lowered_slack_ns {
        _ if slack_ns <= FINE_NS => Outcome::ok(slack),
        Ok(lowered_ns) if *lowered_ns <= FINE_NS => {
            let lowered = units::short_duration(*lowered_ns);
            Outcome::ok(format!("{slack}, which weir lowers to {lowered}"))
        }
        Ok(_) | Err(_) => {
            let evidence = format!("{slack}, and weir cannot lower it here");
            let advice = "allow prctl in the container's seccomp profile";
            Outcome::problem(evidence, late_by(&slack)).advice(advice)
        }
    }))
}

fn late_by(time: &str) -> String {
    format!("requests with --rate leave up to {time} late")
}

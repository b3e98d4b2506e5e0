//! The kernel's clock source: reading some of them takes a device access or a system call.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

const CURRENT: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";

/// The same file for a shell, short enough for a narrow terminal.
const SWITCH: &str = "/sys/devices/system/clocksource/*/current_clocksource";

/// Sources that read a device, at about 1 µs each.
const DEVICES: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];

/// Cost of a reading from which it is a system call, in nanoseconds.
const SLOW_NS: f64 = 200.0;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let current = subject.root.text(CURRENT)?;
    let cost_ns = subject.facts.clock_read_ns;
    let evidence = format!("{current}, read in {}", units::duration(cost_ns.round() as u64));
    let is_device = DEVICES.contains(&current.as_str());
    if !is_device && cost_ns < SLOW_NS {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = "each timestamp costs CPU time, which delays requests";
    let outcome = Outcome::harm(is_device, evidence, effect);
    let available = subject.root.text(AVAILABLE).unwrap_or_default();
    let is_offered = available.split_whitespace().any(|name| name == "tsc") && current != "tsc";
    Ok(Some(match is_offered {
        true => outcome.command(format!("echo tsc | sudo tee {SWITCH}")),
        false if is_device => outcome
            .advice("the kernel distrusts the TSC (dmesg | grep -i tsc): use another machine"),
        false => outcome.advice("each reading is a system call: use another kernel or container"),
    }))
}

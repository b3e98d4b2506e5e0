//! The frequency policy of the usable CPUs: governor and energy preference.

use std::collections::BTreeSet;

use weir_machine::Unreadable;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;
use crate::virtualisation::is_virtual;

/// Drivers whose `powersave` chooses frequencies by load. With other drivers it is the lowest
/// frequency.
const ACTIVE_DRIVERS: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

/// Energy preferences that trade speed away.
const SAVING: [&str; 2] = ["power", "balance_power"];

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let cpus = subject.usable_cpus()?;
    let read = |cpu: &u32, name: &str| {
        subject.root.text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}"))
    };
    let governors: Result<BTreeSet<String>, Unreadable> =
        cpus.iter().map(|cpu| read(cpu, "scaling_governor")).collect();
    let governors = match governors {
        Err(_) if is_virtual(subject.root) == Some(true) => {
            let reason = "set by the host of this virtual machine, not visible here";
            return Err(Unreadable(reason.to_owned()));
        }
        governors => governors?,
    };
    let optional = |name: &str| -> BTreeSet<String> {
        cpus.iter().filter_map(|cpu| read(cpu, name).ok()).collect()
    };
    let drivers = optional("scaling_driver");
    let preferences = optional("energy_performance_preference");
    let names = joined(&governors);
    if governors.iter().all(|governor| governor == "performance") {
        return Ok(Some(Outcome::ok(names)));
    }
    let is_active = drivers.iter().any(|driver| ACTIVE_DRIVERS.contains(&driver.as_str()));
    let is_slow = governors.contains("powersave") && !is_active;
    let evidence = match preferences.iter().any(|name| SAVING.contains(&name.as_str())) {
        true => format!("{names}, energy preference {}", joined(&preferences)),
        false => names,
    };
    let effect = match is_slow {
        true => "the CPUs stay at their lowest frequency",
        false => "clocks rise only under load: low rates look slower than they are",
    };
    let command = "sudo cpupower frequency-set -g performance";
    Ok(Some(Outcome::harm(is_slow, evidence, effect).command(command)))
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

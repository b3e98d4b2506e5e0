//! CPU time that the hypervisor gave to other machines (METHOD 1.9, `cpu-steal`).

use weir_machine::{CpuTicks, Unreadable};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;
use crate::virtualisation::is_virtual;

/// Share of stolen time from which a run is bounded (METHOD 1.9).
const PROBLEM_SHARE: f64 = 0.02;

/// Share since boot that shows a busy host.
const WARNING_SHARE_SINCE_BOOT: f64 = 0.005;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let is_virtual = is_virtual(subject.root);
    if is_virtual == Some(false) {
        return Ok(Some(Outcome::ok("this is no virtual machine")));
    }
    let cpus = subject.usable_cpus()?;
    let (before, after) = subject.sample.cpu_ticks(cpus)?;
    let share = |ticks: CpuTicks| ticks.stolen as f64 / ticks.total.max(1) as f64;
    let (now, since_boot) = (share(after.since(before)), share(after));
    if after.stolen == 0 {
        let reason = "none since boot; this hypervisor may not report it";
        return Err(Unreadable(reason.to_owned()));
    }
    let evidence = format!(
        "{} of CPU time now, {} since boot, taken by the hypervisor",
        units::short_percent(now),
        units::short_percent(since_boot)
    );
    if now == 0.0 && since_boot < WARNING_SHARE_SINCE_BOOT {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = "pauses that look like a slow server";
    let outcome = Outcome::harm(now >= PROBLEM_SHARE, evidence, effect);
    Ok(Some(outcome.advice("use dedicated CPUs, or repeat runs and compare them")))
}

//! The CPUs that weir may use: who shares them, who takes their time, how fast they run.

use std::collections::BTreeSet;

use weir_machine::{
    CpuTicks, Group, ListeningSocket, Root, Unreadable, cpu_list, groups, holders, listeners,
    processes, throttled_periods, word,
};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;
use crate::virtualisation::{is_container, is_virtual};

/// A server on this machine, which shares the CPUs with weir.
pub(super) fn shared_cpus(subject: &ExaminedSystem<'_>) -> Examined {
    let Some(target) = subject.target else { return Ok(None) };
    match target.is_local {
        Some(false) => return Ok(Some(Outcome::ok("the server is on another machine"))),
        None => {
            let reason = "this machine accepts every address (ip_nonlocal_bind)";
            return Err(Unreadable(reason.to_owned()));
        }
        Some(true) => {}
    }
    let cpus = subject.usable_cpus()?;
    let listeners = listeners(subject.root, target.address).unwrap_or_default();
    let served = server_cpus(subject.root, &listeners);
    if !served.is_empty() && !served.iter().any(|cpu| cpus.contains(cpu)) {
        let ours = cpu_list::named(cpus);
        let theirs = cpu_list::named(&served);
        return Ok(Some(Outcome::ok(format!("weir on {ours}, the server on {theirs}"))));
    }
    let (theirs, ours) = cpus.split_at(cpus.len() / 2);
    let effect = "each slows the other: latencies are upper bounds";
    if theirs.is_empty() {
        let evidence = "the server is on this machine, which has one usable CPU";
        return Ok(Some(Outcome::problem(evidence, effect).advice("use another machine for weir")));
    }
    let evidence = format!("weir and the server are on this machine ({} CPUs)", cpus.len());
    let advice = format!(
        "use another machine, or taskset -c {} SERVER and taskset -c {} weir URL",
        cpu_list::format(theirs),
        cpu_list::format(ours),
    );
    Ok(Some(Outcome::warning(evidence, effect).advice(advice)))
}

/// CPU time that the hypervisor gave to other machines (METHOD 1.9, `cpu-steal`).
pub(super) fn steal(subject: &ExaminedSystem<'_>) -> Examined {
    /// Share of stolen time from which a run is bounded (METHOD 1.9).
    const PROBLEM_SHARE: f64 = 0.02;
    /// Share since boot that shows a busy host.
    const WARNING_SHARE_SINCE_BOOT: f64 = 0.005;
    let is_virtual = is_virtual(subject.root);
    if is_virtual == Some(false) {
        return Ok(Some(Outcome::ok("this is no virtual machine")));
    }
    let cpus = subject.usable_cpus()?;
    let (before, after) = subject.sample.cpu_ticks(cpus)?;
    let share = |ticks: CpuTicks| ticks.stolen as f64 / ticks.total.max(1) as f64;
    let now = share(after.since(before));
    let since_boot = share(after);
    if after.stolen == 0 {
        let reason = "none since boot; this hypervisor may not report it";
        return Err(Unreadable(reason.to_owned()));
    }
    let evidence = format!(
        "{} of CPU time now, {} since boot, taken by the hypervisor",
        units::short_percent(now),
        units::short_percent(since_boot)
    );
    let effect = "pauses that look like a slow server";
    let is_warning = now > 0.0 || since_boot >= WARNING_SHARE_SINCE_BOOT;
    let outcome = Outcome::judged(now >= PROBLEM_SHARE, is_warning, evidence, effect);
    Ok(Some(outcome.advice("use dedicated CPUs, or repeat runs and compare them")))
}

/// A limit on CPU time by control groups, and its effect now.
pub(super) fn quota(subject: &ExaminedSystem<'_>) -> Examined {
    let groups = groups(subject.root);
    if groups.is_empty() {
        return Err(Unreadable("no control group with the cpu controller is visible".to_owned()));
    }
    let with_quota =
        groups.iter().filter_map(|group| Some((group, group.quota_cpus(subject.root)?)));
    let Some((group, quota)) = with_quota.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(Some(Outcome::ok("none")));
    };
    let cpus = subject.usable_cpus()?.len();
    let mut evidence = format!("{} of {cpus} usable CPUs", units::number(quota));
    let throttled = throttled(subject, group);
    if throttled > 0 {
        evidence += &format!("; throttled in {throttled} periods within the last second");
    }
    let effect = "weir stops for up to 100 ms whenever the quota is used up";
    let is_problem = quota < cpus as f64 || throttled > 0;
    let outcome = Outcome::judged(is_problem, false, evidence, effect);
    Ok(Some(match is_container(subject.root) {
        true => {
            outcome.advice("no CPU limit on the container (docker --cpus, Kubernetes limits.cpu)")
        }
        false => outcome.command(group.unlimited()),
    }))
}

/// Returns the periods of the sample in which the group was throttled.
fn throttled(subject: &ExaminedSystem<'_>, group: &Group) -> u64 {
    let periods = |groups: &std::collections::BTreeMap<String, String>| {
        groups.get(&group.directory).and_then(|stat| throttled_periods(stat)).unwrap_or(0)
    };
    periods(&subject.sample.after.groups).saturating_sub(periods(&subject.sample.before.groups))
}

/// A restriction of this process to a part of the CPUs.
pub(super) fn affinity(subject: &ExaminedSystem<'_>) -> Examined {
    const ONLINE: &str = "sys/devices/system/cpu/online";
    let usable = subject.usable_cpus()?;
    let online = cpu_list::parse(&subject.root.text(ONLINE)?);
    let online = online.ok_or_else(|| Unreadable::form(ONLINE))?;
    if usable.len() >= online.len() {
        return Ok(Some(Outcome::ok(format!("all {} CPUs are usable", online.len()))));
    }
    let evidence = format!("{} of {} online", cpu_list::named(usable), online.len());
    let effect = "weir starts fewer threads; programs on these CPUs delay it";
    let command = format!("taskset -cp {} $$", cpu_list::format(&online));
    // CPUs split between weir and a server here are advised; `shared-cpus` judges the split.
    let outcome = Outcome::judged(false, !subject.serves(), evidence, effect);
    Ok(Some(outcome.command(command)))
}

/// Usable CPUs that are hardware threads of one core.
pub(super) fn siblings(subject: &ExaminedSystem<'_>) -> Examined {
    const CONTROL: &str = "sys/devices/system/cpu/smt/control";
    let usable = subject.usable_cpus()?;
    let mut cores = BTreeSet::new();
    for cpu in usable {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = cpu_list::parse(&subject.root.text(&path)?);
        let mut siblings = siblings.ok_or_else(|| Unreadable::form(&path))?;
        siblings.retain(|cpu| usable.contains(cpu));
        cores.insert(siblings);
    }
    let shared = cores.iter().filter(|core| core.len() > 1).count();
    let Some(core) = cores.iter().find(|core| core.len() > 1) else {
        return Ok(Some(Outcome::ok(format!("each of {} CPUs is a core", usable.len()))));
    };
    let evidence = match shared {
        1 => format!("{} share a core", cpu_list::named(core)),
        _ => format!("{shared} cores have several CPUs each: {} share one", cpu_list::named(core)),
    };
    let effect = "each slows down while the other is busy, so runs differ";
    let outcome = Outcome::warning(evidence, effect);
    if subject.root.text(CONTROL).is_ok_and(|control| control == "on") {
        return Ok(Some(outcome.command(format!("echo off | sudo tee /{CONTROL}"))));
    }
    let firsts: Vec<u32> = cores.iter().filter_map(|core| core.first().copied()).collect();
    let advice = format!("run one thread on each core: weir --pin={}", cpu_list::format(&firsts));
    Ok(Some(outcome.advice(advice)))
}

/// The frequency policy of the usable CPUs: governor and energy preference.
pub(super) fn governor(subject: &ExaminedSystem<'_>) -> Examined {
    /// Drivers whose `powersave` chooses frequencies by load. That of others is the lowest
    /// frequency.
    const ACTIVE_DRIVERS: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];
    /// Energy preferences that trade speed away.
    const SAVING: [&str; 2] = ["power", "balance_power"];
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
    Ok(Some(Outcome::judged(is_slow, true, evidence, effect).command(command)))
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Clock frequencies above the nominal one, which depend on temperature and on other cores.
pub(super) fn turbo(subject: &ExaminedSystem<'_>) -> Examined {
    /// The switches of intel_pstate and of other drivers, and their texts for on and off.
    const SWITCHES: [(&str, &str, &str); 2] = [
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"),
        ("sys/devices/system/cpu/cpufreq/boost", "1", "0"),
    ];
    let found = SWITCHES.into_iter().find(|(path, ..)| subject.root.has(path));
    let Some((path, on, off)) = found else {
        return Err(Unreadable(match is_virtual(subject.root) {
            Some(true) => "set by the host of this virtual machine, not visible here".to_owned(),
            _ => "the frequency driver has no switch for it".to_owned(),
        }));
    };
    let state = subject.root.text(path)?;
    match state.as_str() {
        _ if state == off => Ok(Some(Outcome::ok("off"))),
        _ if state == on => {
            let effect = "clocks depend on temperature and on other cores, so runs differ";
            let command = format!("echo {off} | sudo tee /{path}");
            Ok(Some(Outcome::warning("on", effect).command(command)))
        }
        _ => Err(Unreadable::form(path)),
    }
}

/// Maximum descriptors that are looked at, at about 2 µs each.
const DESCRIPTORS_MAX: usize = 200_000;

/// Returns the CPUs of all processes that hold one of the sockets, in ascending order; none if no
/// process is visible.
fn server_cpus(root: &Root, listeners: &[ListeningSocket]) -> Vec<u32> {
    let inodes: Vec<u64> = listeners.iter().map(|listener| listener.inode).collect();
    let mut left = DESCRIPTORS_MAX;
    let goes_on = || {
        left = left.saturating_sub(1);
        left > 0
    };
    let mut cpus = Vec::new();
    for process in holders(root, processes(root), &inodes, goes_on) {
        let status = root.text(&format!("proc/{process}/status")).unwrap_or_default();
        let allowed = word(&status, "Cpus_allowed_list").and_then(cpu_list::parse);
        cpus.extend(allowed.unwrap_or_default());
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

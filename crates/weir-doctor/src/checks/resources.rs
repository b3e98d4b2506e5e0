//! Memory, io_uring and descriptors.

use std::io::ErrorKind;

use weir_machine::{PressureStall, Unreadable, value};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// Free memory, swapping and memory pressure.
pub(super) fn memory(subject: &ExaminedSystem<'_>) -> Examined {
    /// Share of the memory below which the kernel soon has to free some.
    const LOW_SHARE: f64 = 0.05;
    /// Shares of time in which a program waits for memory.
    const WARNING_PRESSURE: f64 = 0.01;
    const PROBLEM_PRESSURE: f64 = 0.10;
    /// Pages swapped in the sample that stall programs for a visible time: 4 MiB.
    const PROBLEM_PAGES: u64 = 1_024;
    let meminfo = subject.root.text("proc/meminfo")?;
    let bytes = |name: &str| {
        let kib = value(&meminfo, name).ok_or_else(|| Unreadable::form("proc/meminfo"))?;
        Ok(kib.saturating_mul(1024))
    };
    let total = bytes("MemTotal")?;
    let available = bytes("MemAvailable")?;
    let swapped = swapped_pages(subject)?;
    // Kernels may lack pressure files; the other two values suffice then.
    let waiting = subject.root.text("proc/pressure/memory").ok();
    let waiting = waiting
        .and_then(|text| PressureStall::parse(&text))
        .map_or(0.0, |waits| waits.recent_share);
    let mut evidence = format!("{} of {} available", units::bytes(available), units::bytes(total));
    if swapped > 0 {
        evidence += &format!(", {} pages swapped in the last second", units::count(swapped));
    }
    if waiting >= WARNING_PRESSURE {
        evidence += &format!(", {} of time spent waiting", units::short_percent(waiting));
    }
    let effect = "programs wait for the disk: single responses stall";
    let is_problem = swapped >= PROBLEM_PAGES || waiting >= PROBLEM_PRESSURE;
    let is_low = (available as f64) < LOW_SHARE * total as f64;
    let is_warning = is_low || swapped > 0 || waiting >= WARNING_PRESSURE;
    let outcome = Outcome::judged(is_problem, is_warning, evidence, effect);
    Ok(Some(outcome.advice("end the largest programs: ps aux --sort=-rss | head")))
}

/// Returns the pages that were written to swap, or read from it, during the sample.
fn swapped_pages(subject: &ExaminedSystem<'_>) -> Result<u64, Unreadable> {
    let pages = |vmstat: &Result<String, Unreadable>| {
        let text = vmstat.as_ref().map_err(Unreadable::clone)?;
        // A kernel without swap has neither line.
        let of = |name| value(text, name).unwrap_or(0);
        Ok(of("pswpin") + of("pswpout"))
    };
    let before = &subject.sample.before.vmstat;
    let after = &subject.sample.after.vmstat;
    Ok(pages(after)?.saturating_sub(pages(before)?))
}

/// The faster I/O engine, which kernels and containers may refuse.
pub(super) fn io_uring(subject: &ExaminedSystem<'_>) -> Examined {
    /// `Seccomp` in /proc/self/status: system calls pass a filter.
    const FILTERED: u64 = 2;
    let refusal = match &subject.facts.uring {
        Ok(()) => return Ok(Some(Outcome::ok("works"))),
        Err(refusal) => refusal,
    };
    let effect = "weir uses epoll: valid numbers, but more CPU time per request";
    let disabled = subject.root.number("proc/sys/kernel/io_uring_disabled").unwrap_or(0);
    let status = subject.root.text("proc/self/status").unwrap_or_default();
    let is_filtered = value(&status, "Seccomp") == Some(FILTERED);
    let is_denied = matches!(refusal.kind, ErrorKind::PermissionDenied | ErrorKind::Unsupported);
    Ok(Some(if disabled > 0 && is_denied {
        Outcome::warning(format!("denied by kernel.io_uring_disabled = {disabled}"), effect)
            .command("sudo sysctl -w kernel.io_uring_disabled=0")
    } else if is_filtered && is_denied {
        Outcome::warning("denied by a seccomp filter", effect)
            .advice("docker run --security-opt seccomp=unconfined, or a profile with io_uring")
    } else {
        Outcome::warning(refusal.message.clone(), effect).advice("use Linux 6.1 or later")
    }))
}

/// The limit on open descriptors: each connection holds one.
pub(super) fn descriptors(subject: &ExaminedSystem<'_>) -> Examined {
    /// Limit below which common loads fail: the connections of a small test.
    const PROBLEM_BELOW: u64 = 1_024;
    /// Limit below which large loads fail.
    const WARNING_BELOW: u64 = 10_000;
    let limit = subject.facts.descriptors.clone()?;
    let hard = match limit.hard {
        u64::MAX => "unlimited".to_owned(),
        hard => units::count(hard),
    };
    let evidence = match limit.soft < limit.hard {
        true => format!("limit {}, which weir raises to {hard}", units::count(limit.soft)),
        false => format!("limit {hard}"),
    };
    let effect = format!("at most about {hard} connections (-c) for each thread");
    let is_problem = limit.hard < PROBLEM_BELOW;
    let is_warning = limit.hard < WARNING_BELOW;
    let outcome = Outcome::judged(is_problem, is_warning, evidence, effect);
    Ok(Some(outcome.command("sudo prlimit --pid $$ --nofile=65536:65536")))
}

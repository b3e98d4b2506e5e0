//! The faster I/O engine, which kernels and containers may refuse.

use std::io::ErrorKind;

use weir_machine::value;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// `Seccomp` in /proc/self/status: system calls pass a filter.
const FILTERED: u64 = 2;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
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

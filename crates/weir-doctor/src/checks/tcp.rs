//! Congestion control and slow start of connections from here.

use weir_machine::Unreadable;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

const AFTER_IDLE: &str = "proc/sys/net/ipv4/tcp_slow_start_after_idle";

pub(super) fn congestion_control(subject: &ExaminedSystem<'_>) -> Examined {
    let name = subject.facts.congestion_control.clone();
    let name = name.ok_or_else(|| Unreadable("TCP_CONGESTION cannot be read".to_owned()))?;
    if !(name.starts_with("bbr") && subject.serves()) {
        return Ok(Some(Outcome::ok(name)));
    }
    let evidence = format!("{name}, and the server is on this machine");
    let effect = "BBR paces packets by timers: CPU time that gains nothing here";
    let outcome = Outcome::warning(evidence, effect);
    Ok(Some(outcome.command("sudo sysctl -w net.ipv4.tcp_congestion_control=cubic")))
}

/// Examines slow start on connections that were idle, for a server elsewhere. Only requests of more
/// than ten segments notice it, so it is told and never judged.
pub(super) fn slow_start(subject: &ExaminedSystem<'_>) -> Examined {
    if subject.target.is_none_or(|target| target.is_local != Some(false)) {
        return Ok(None);
    }
    Ok(Some(Outcome::ok(match subject.root.number(AFTER_IDLE)? {
        0 => "off on idle connections",
        1 => "on idle connections: slows requests over 14 kB at low rates",
        _ => return Err(Unreadable::form(AFTER_IDLE)),
    })))
}

//! Local ports for connections to the target, and those that are held already.

use weir_machine::{EphemeralPorts, SocketCounts, sockets_to};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

const REUSE: &str = "proc/sys/net/ipv4/tcp_tw_reuse";

/// Free ports below which a load with a connection per request fails soon.
const WARNING_BELOW: u64 = 10_000;

/// Free ports below which common loads fail.
const PROBLEM_BELOW: u64 = 1_000;

/// Ports that the default range has.
const DEFAULT_PORTS: u64 = 28_232;

/// Maximum sockets that are listed one by one, at about 1 µs each.
const LISTED_MAX: u64 = 300_000;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let ports = EphemeralPorts::read(subject.root)?;
    let all = ports.usable();
    let SocketCounts { in_use, time_wait: waiting } = SocketCounts::read(subject.root)?;
    // A port serves once for each server, so only connections to the target hold ports.
    let held = match subject.target {
        Some(target) if waiting + in_use <= LISTED_MAX => {
            Some(sockets_to(subject.root, target.address)?)
        }
        _ => None,
    };
    let free = all.saturating_sub(held.unwrap_or(0));
    let mut evidence = format!("{} ports ({} to {})", units::count(all), ports.low, ports.high);
    match held {
        Some(0) => {}
        Some(held) => evidence += &format!(", {} held by this target", units::count(held)),
        None => evidence += &format!(", {} connections in TIME_WAIT", units::count(waiting)),
    }
    if free >= WARNING_BELOW {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect =
        format!("connects fail (EADDRNOTAVAIL) once {} are open or closing", units::count(free));
    let outcome = Outcome::harm(free < PROBLEM_BELOW, evidence, effect);
    let reuse = subject.root.number(REUSE).unwrap_or(0);
    let is_reused = reuse == 1 || reuse == 2 && subject.serves();
    Ok(Some(match all {
        ..=DEFAULT_PORTS => {
            outcome.command("sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'")
        }
        _ if !is_reused => outcome.command("sudo sysctl -w net.ipv4.tcp_tw_reuse=1"),
        _ => outcome.advice("wait 60 s until the closed connections are gone"),
    }))
}

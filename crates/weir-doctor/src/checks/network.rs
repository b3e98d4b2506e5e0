//! Ports, the server's queues, connection tracking and the settings of TCP.

use weir_machine::{EphemeralPorts, SocketCounts, Unreadable, listeners, named, sockets_to};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// Local ports for connections to the target, and those that are held already.
pub(super) fn local_ports(subject: &ExaminedSystem<'_>) -> Examined {
    const REUSE: &str = "proc/sys/net/ipv4/tcp_tw_reuse";
    /// Free ports below which a load with a connection per request fails soon.
    const WARNING_BELOW: u64 = 10_000;
    /// Free ports below which common loads fail.
    const PROBLEM_BELOW: u64 = 1_000;
    /// Ports that the default range has.
    const DEFAULT_PORTS: u64 = 28_232;
    /// Maximum sockets that are listed one by one, at about 1 µs each.
    const LISTED_MAX: u64 = 300_000;
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
    let effect =
        format!("connects fail (EADDRNOTAVAIL) once {} are open or closing", units::count(free));
    let outcome = Outcome::judged(free < PROBLEM_BELOW, free < WARNING_BELOW, evidence, effect);
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

/// The server's listening socket, if it is on this machine: its accept queue now, and connections
/// that such queues dropped.
pub(super) fn listener(subject: &ExaminedSystem<'_>) -> Examined {
    let Some(target) = subject.target.filter(|target| target.is_local == Some(true)) else {
        return Ok(None);
    };
    let listeners = listeners(subject.root, target.address)?;
    if listeners.is_empty() {
        let reason =
            format!("no socket listens on {}: not started, or in a container", target.address);
        return Err(Unreadable(reason));
    }
    let waiting: u64 = listeners.iter().map(|listener| listener.waiting).sum();
    let before = &subject.sample.before.netstat;
    let after = &subject.sample.after.netstat;
    let overflows = |table: &Result<String, Unreadable>| {
        let table = table.as_ref().map_err(Unreadable::clone)?;
        named(table, "TcpExt", "ListenOverflows")
            .ok_or_else(|| Unreadable::form("proc/net/netstat"))
    };
    let since_boot = overflows(after)?;
    let now = since_boot.saturating_sub(overflows(before)?);
    let evidence = format!(
        "{} connections wait to be accepted; {} dropped now, {} since boot",
        units::count(waiting),
        units::count(now),
        units::count(since_boot),
    );
    let effect = "the server is under load already: connects wait or are repeated";
    let advice = "stop the other load, or give the server a greater backlog";
    Ok(Some(Outcome::judged(now > 0, waiting > 0, evidence, effect).advice(advice)))
}

/// Queue that takes as many connects at once as common loads have connections.
const ENOUGH: u64 = 1_024;

/// Examines the limit on queues of connections to be accepted.
pub(super) fn accept(subject: &ExaminedSystem<'_>) -> Examined {
    queue(subject, "net.core.somaxconn", ", read when a server starts", |most| {
        format!("of more than {most} connects at once, some take 1 s longer")
    })
}

/// Examines the limit on connections that are being opened.
pub(super) fn syn(subject: &ExaminedSystem<'_>) -> Examined {
    queue(subject, "net.ipv4.tcp_max_syn_backlog", "", |_| {
        "many connects at once are dropped, or get SYN cookies".to_owned()
    })
}

fn queue(
    subject: &ExaminedSystem<'_>,
    setting: &str,
    when: &str,
    effect: fn(&str) -> String,
) -> Examined {
    if !subject.may_serve() {
        return Ok(None);
    }
    let most = subject.root.number(&format!("proc/sys/{}", setting.replace('.', "/")))?;
    let limit = units::count(most);
    let evidence = format!("{setting} = {limit}{when}");
    let outcome = Outcome::judged(false, most < ENOUGH, evidence, effect(&limit));
    Ok(Some(outcome.command(format!("sudo sysctl -w {setting}=4096"))))
}

/// The firewall's table of connections: each connection takes an entry, also on loopback.
pub(super) fn conntrack(subject: &ExaminedSystem<'_>) -> Examined {
    const COUNT: &str = "proc/sys/net/netfilter/nf_conntrack_count";
    const MAX: &str = "proc/sys/net/netfilter/nf_conntrack_max";
    /// Free entries below which a load with a connection per request fills the table: entries stay
    /// for
    /// minutes after the connection has ended.
    const WARNING_BELOW: u64 = 30_000;
    /// Free entries below which common loads fail.
    const PROBLEM_BELOW: u64 = 1_000;
    /// Least maximum that is advised.
    const ADVISED: u64 = 262_144;
    if !subject.root.has(MAX) && subject.root.has("proc/sys/net/ipv4") {
        return Ok(Some(Outcome::ok("not loaded in this network namespace")));
    }
    let count = subject.root.number(COUNT)?;
    let max = subject.root.number(MAX)?;
    let evidence = format!("{} of {} entries in use", units::count(count), units::count(max));
    let free = max.saturating_sub(count);
    let effect = format!("packets are dropped after {} new connections", units::count(free));
    let outcome = Outcome::judged(free < PROBLEM_BELOW, free < WARNING_BELOW, evidence, effect);
    let advised = ADVISED.max(max.saturating_mul(2));
    Ok(Some(outcome.command(format!("sudo sysctl -w net.netfilter.nf_conntrack_max={advised}"))))
}

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

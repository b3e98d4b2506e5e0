//! The firewall's table of connections: each connection takes an entry, also on loopback.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

const COUNT: &str = "proc/sys/net/netfilter/nf_conntrack_count";
const MAX: &str = "proc/sys/net/netfilter/nf_conntrack_max";

/// Free entries below which a load with a connection per request fills the table: entries stay for
/// minutes after the connection has ended.
const WARNING_BELOW: u64 = 30_000;

/// Free entries below which common loads fail.
const PROBLEM_BELOW: u64 = 1_000;

/// Least maximum that is advised.
const ADVISED: u64 = 262_144;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    if !subject.root.has(MAX) && subject.root.has("proc/sys/net/ipv4") {
        return Ok(Some(Outcome::ok("not loaded in this network namespace")));
    }
    let (count, max) = (subject.root.number(COUNT)?, subject.root.number(MAX)?);
    let evidence = format!("{} of {} entries in use", units::count(count), units::count(max));
    let free = max.saturating_sub(count);
    if free >= WARNING_BELOW {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = format!("packets are dropped after {} new connections", units::count(free));
    let outcome = Outcome::harm(free < PROBLEM_BELOW, evidence, effect);
    let advised = ADVISED.max(max.saturating_mul(2));
    Ok(Some(outcome.command(format!("sudo sysctl -w net.netfilter.nf_conntrack_max={advised}"))))
}

//! The server's listening socket, if it is on this machine: its accept queue now, and connections
//! that such queues dropped.

use weir_machine::{Unreadable, listeners, named};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
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
    let (before, after) = (&subject.sample.before.netstat, &subject.sample.after.netstat);
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
    if now == 0 && waiting == 0 {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = "the server is under load already: connects wait or are repeated";
    let advice = "stop the other load, or give the server a greater backlog";
    Ok(Some(Outcome::harm(now > 0, evidence, effect).advice(advice)))
}

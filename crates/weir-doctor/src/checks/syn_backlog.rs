//! The limit on connections that are being opened, if the server may be on this machine.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::Subject;

/// Queue that takes as many connects at once as common loads have connections.
const ENOUGH: u64 = 1_024;

pub(super) fn examine(subject: &Subject<'_>) -> Examined {
    if !subject.may_serve() {
        return Ok(None);
    }
    let most = subject.root.number("proc/sys/net/ipv4/tcp_max_syn_backlog")?;
    let evidence = format!("net.ipv4.tcp_max_syn_backlog = {}", units::count(most));
    if most >= ENOUGH {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = "many connects at once are dropped, or get SYN cookies";
    let outcome = Outcome::warning(evidence, effect);
    Ok(Some(outcome.command("sudo sysctl -w net.ipv4.tcp_max_syn_backlog=4096")))
}

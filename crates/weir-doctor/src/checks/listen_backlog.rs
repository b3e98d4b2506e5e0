//! The limit on accept queues, if the server may be on this machine.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::Subject;

/// Queue that takes as many connects at once as common loads have connections.
const ENOUGH: u64 = 1_024;

pub(super) fn examine(subject: &Subject<'_>) -> Examined {
    if !subject.may_serve() {
        return Ok(None);
    }
    let most = subject.root.number("proc/sys/net/core/somaxconn")?;
    let evidence =
        format!("net.core.somaxconn = {}, read when a server starts", units::count(most));
    if most >= ENOUGH {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect =
        format!("of more than {} connects at once, some take 1 s longer", units::count(most));
    let outcome = Outcome::warning(evidence, effect);
    Ok(Some(outcome.command("sudo sysctl -w net.core.somaxconn=4096")))
}

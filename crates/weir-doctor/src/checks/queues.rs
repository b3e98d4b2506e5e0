//! The limits on queues of connections, if the server may be on this machine.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// Queue that takes as many connects at once as common loads have connections.
const ENOUGH: u64 = 1_024;

/// Examines the limit on queues of connections to be accepted.
pub(super) fn accept(subject: &ExaminedSystem<'_>) -> Examined {
    examine(subject, "net.core.somaxconn", ", read when a server starts", |most| {
        format!("of more than {most} connects at once, some take 1 s longer")
    })
}

/// Examines the limit on connections that are being opened.
pub(super) fn syn(subject: &ExaminedSystem<'_>) -> Examined {
    examine(subject, "net.ipv4.tcp_max_syn_backlog", "", |_| {
        "many connects at once are dropped, or get SYN cookies".to_owned()
    })
}

fn examine(
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
    if most >= ENOUGH {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let outcome = Outcome::warning(evidence, effect(&limit));
    Ok(Some(outcome.command(format!("sudo sysctl -w {setting}=4096"))))
}

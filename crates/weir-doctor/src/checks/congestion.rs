//! The congestion control of connections from here.

use weir_machine::Unreadable;

use crate::check::{Examined, Outcome};
use crate::subject::Subject;

pub(super) fn examine(subject: &Subject<'_>) -> Examined {
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

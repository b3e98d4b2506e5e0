//! Slow start on connections that were idle, for a server elsewhere. Only requests of more than ten
//! segments notice it, so it is told and never judged.

use weir_machine::Unreadable;

use crate::check::{Examined, Outcome};
use crate::subject::Subject;

const AFTER_IDLE: &str = "proc/sys/net/ipv4/tcp_slow_start_after_idle";

pub(super) fn examine(subject: &Subject<'_>) -> Examined {
    if subject.target.is_none_or(|target| target.is_local != Some(false)) {
        return Ok(None);
    }
    Ok(Some(Outcome::ok(match subject.root.number(AFTER_IDLE)? {
        0 => "off on idle connections",
        1 => "on idle connections: slows requests over 14 kB at low rates",
        _ => return Err(Unreadable::form(AFTER_IDLE)),
    })))
}

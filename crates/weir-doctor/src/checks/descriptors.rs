//! The limit on open descriptors: each connection holds one.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// Limit below which common loads fail: the connections of a small test.
const PROBLEM_BELOW: u64 = 1_024;

/// Limit below which large loads fail.
const WARNING_BELOW: u64 = 10_000;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let limit = subject.facts.descriptors.clone()?;
    let hard = match limit.hard {
        u64::MAX => "unlimited".to_owned(),
        hard => units::count(hard),
    };
    let evidence = match limit.soft < limit.hard {
        true => format!("limit {}, which weir raises to {hard}", units::count(limit.soft)),
        false => format!("limit {hard}"),
    };
    if limit.hard >= WARNING_BELOW {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = format!("at most about {hard} connections (-c) for each thread");
    let outcome = Outcome::harm(limit.hard < PROBLEM_BELOW, evidence, effect);
    Ok(Some(outcome.command("sudo prlimit --pid $$ --nofile=65536:65536")))
}

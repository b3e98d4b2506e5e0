//! The resolution of timers, by which requests are sent at their planned times.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::Subject;

/// Resolution that timers of the processor reach, in nanoseconds.
const FINE_NS: u64 = 1_000;

pub(super) fn examine(subject: &Subject<'_>) -> Examined {
    let resolution_ns = subject.facts.clock_resolution_ns.clone()?;
    let evidence = format!("resolution {}", units::short_duration(resolution_ns));
    if resolution_ns <= FINE_NS {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let late = units::short_duration(resolution_ns);
    let effect = format!("requests with --rate leave up to {late} late");
    let outcome = Outcome::problem(evidence, effect);
    Ok(Some(outcome.advice("boot without highres=off and nohz=off, with CONFIG_HIGH_RES_TIMERS")))
}

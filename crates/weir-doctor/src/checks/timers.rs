//! The timers by which requests are sent at their planned times: their resolution, and the delay
//! that the kernel may add, which weir lowers for its threads.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// Resolution that timers of the processor reach, and slack that cannot be seen in send times, in
/// nanoseconds.
const FINE_NS: u64 = 1_000;

pub(super) fn resolution(subject: &ExaminedSystem<'_>) -> Examined {
    let resolution_ns = subject.facts.clock_resolution_ns.clone()?;
    let resolution = units::short_duration(resolution_ns);
    let evidence = format!("resolution {resolution}");
    if resolution_ns <= FINE_NS {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let outcome = Outcome::problem(evidence, late_by(&resolution));
    Ok(Some(outcome.advice("boot without highres=off and nohz=off, with CONFIG_HIGH_RES_TIMERS")))
}

pub(super) fn slack(subject: &ExaminedSystem<'_>) -> Examined {
    let slack_ns = subject.facts.timer_slack_ns.clone()?;
    let slack = units::short_duration(slack_ns);
    Ok(Some(match &subject.facts.lowered_slack_ns {
        _ if slack_ns <= FINE_NS => Outcome::ok(slack),
        Ok(lowered_ns) if *lowered_ns <= FINE_NS => {
            let lowered = units::short_duration(*lowered_ns);
            Outcome::ok(format!("{slack}, which weir lowers to {lowered}"))
        }
        Ok(_) | Err(_) => {
            let evidence = format!("{slack}, and weir cannot lower it here");
            let advice = "allow prctl in the container's seccomp profile";
            Outcome::problem(evidence, late_by(&slack)).advice(advice)
        }
    }))
}

fn late_by(time: &str) -> String {
    format!("requests with --rate leave up to {time} late")
}

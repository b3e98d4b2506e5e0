//! The delay that the kernel may add to timers of this process. weir lowers it for its threads.

use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::Subject;

/// Slack that cannot be seen in send times, in nanoseconds.
const FINE_NS: u64 = 1_000;

pub(super) fn examine(subject: &Subject<'_>) -> Examined {
    let slack_ns = subject.facts.timer_slack_ns.clone()?;
    let slack = units::short_duration(slack_ns);
    match &subject.facts.lowered_slack_ns {
        _ if slack_ns <= FINE_NS => Ok(Some(Outcome::ok(slack))),
        Ok(lowered_ns) if *lowered_ns <= FINE_NS => {
            let lowered = units::short_duration(*lowered_ns);
            Ok(Some(Outcome::ok(format!("{slack}, which weir lowers to {lowered}"))))
        }
        Ok(_) | Err(_) => {
            let effect = format!("requests with --rate leave up to {slack} late");
            let outcome =
                Outcome::problem(format!("{slack}, and weir cannot lower it here"), effect);
            Ok(Some(outcome.advice("allow prctl in the container's seccomp profile")))
        }
    }
}

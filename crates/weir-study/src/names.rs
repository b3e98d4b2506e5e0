//! The names of requests that a design is about.

use weir_result::Plan;
use weir_result::study::Design;
use weir_verdict::AssertionError;

use crate::primary::named;
use crate::search::Objective;

/// Checks that a plan has requests with each name of a design's metrics or objective. A plan
/// without a list has none.
///
/// # Errors
/// When it has not; the message has the nearest name.
pub fn check_names(design: &Design, plan: &Plan) -> Result<(), AssertionError> {
    match design {
        Design::Repeat { metrics, .. }
        | Design::Ab { metrics, .. }
        | Design::Sweep { metrics, .. } => {
            named(metrics).iter().try_for_each(|metric| metric.check(plan))
        }
        Design::Search { objective, .. } => match objective.parse::<Objective>() {
            Ok(objective) => objective.check(plan),
            // A design that cannot be read ends elsewhere.
            Err(_) => Ok(()),
        },
    }
}

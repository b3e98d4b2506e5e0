//! The time to the first token against the length of the prompt.

use weir_result::Document;
use weir_result::document::FirstByPrompt;

use crate::view::{Axis, AxisUnit, Mark, Plot, Role};

/// Percentiles with a line of their own.
const LINES: [(&str, f64, Role); 2] = [("p50", 50.0, Role::Main), ("p99", 99.0, Role::Second)];

/// Plots percentiles of the time to the first token by the length of the prompt; `None` if there
/// are fewer than two lengths.
pub(super) fn first_token(document: &Document) -> Option<Plot> {
    let tokens = document.messages.as_ref()?.tokens.as_ref()?;
    let lengths = &tokens.first_by_prompt;
    if lengths.len() < 2 {
        return None;
    }
    let line = |(name, p, role): (&str, f64, Role)| {
        let at = |length: &FirstByPrompt| {
            let value = length.first.headline().percentile(p);
            (length.least.max(1) as f64, value.map(|value| value.ns.max(1) as f64))
        };
        let points: Vec<_> = lengths.iter().map(at).collect();
        let is_there = points.iter().any(|(_, time)| time.is_some());
        is_there.then(|| Mark::line(name, role, points))
    };
    let marks = LINES.into_iter().filter_map(line).collect();
    let about = "The time to the first token of ok requests, by the tokens of the prompt in \
                 classes of twice the length. Where a line rises, longer prompts cost time.";
    let axes = [
        Axis::log("Tokens of the prompt", AxisUnit::Number),
        Axis::log("Time", AxisUnit::Nanoseconds),
    ];
    let title = "First token by prompt length";
    Some(Plot::new(["first-token-by-prompt", title], about, axes, marks))
}

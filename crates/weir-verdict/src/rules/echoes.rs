//! Echoes of WebSocket messages that are told apart by their order alone (METHOD 1.22): a message
//! that the server pushes takes the place of an echo.

use weir_result::document::{Document, Rule, RuleUnit, Subject};
use weir_text::setting::{DATA_MATCH, WS_ACK};
use weir_text::units;

use crate::rules::measure::Measure;

pub(super) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    if document.plan.echoes_in_order() {
        rules.push(unmatched_pushes(document));
    }
}

/// Judges the messages beyond the echoes. One that came while a message was in flight counted as
/// its echo, and left the true one over: which of them did is not known.
fn unmatched_pushes(document: &Document) -> Rule {
    let pushed = document.connections.pushed;
    let are = if pushed == 1 { "message is" } else { "messages are" };
    let pushes = units::count(pushed);
    let evidence = format!("{pushes} {are} no echo, so that any echo may be one");
    let remedy = format!("match by {DATA_MATCH}, or take a greeting by {WS_ACK}");
    Measure::new("unmatched-pushes", "pushed messages", Subject::Workload, RuleUnit::Count)
        .void_at(0.0)
        .weight(1.0)
        .judge(pushed as f64, &evidence, &remedy)
}

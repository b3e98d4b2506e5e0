//! The line `Knee` of a load in stages: the rate at which the target stopped to keep up, of ramps
//! with its interval, of steps between two of them (METHOD 1.24).

use weir_result::Document;
use weir_result::document::{LimitedBy, RampKnee, StageSection};
use weir_text::units;
use weir_verdict::RateSteps;

use super::{Block, Detail, Entry, Fact, Line, Tone, stages};

/// Returns the knees of ramps, and of all steps.
pub(super) fn blocks(document: &Document, detail: &Detail) -> Option<Block> {
    let ramps = document.stages.iter().enumerate().filter_map(|(index, stage)| {
        Some(format!("stage {}: {}", index + 1, of_ramp(stage, &stage.knee?)))
    });
    let steps = weir_verdict::steps(document).map(|steps| of_steps(document, &steps));
    let mut knees: Vec<String> = steps.into_iter().chain(ramps).collect();
    match knees.len() {
        1 => knees.pop().map(|knee| Block::sentence("Knee", Fact::text(knee))),
        _ => stages::entry("Knee", knees, detail),
    }
}

/// Returns the rates of the knee in a few words: `150 to 250/s`, `none up to 250/s`. Of several
/// ramps the first one with a knee counts.
pub(super) fn highlight(document: &Document) -> Option<Entry> {
    let ramps = || document.stages.iter().filter_map(|stage| stage.knee);
    let knee = ramps().find(|knee| knee.low_rps.is_some()).or_else(|| ramps().next_back());
    let text = match (weir_verdict::steps(document), knee) {
        (Some(RateSteps { met_rps, missed_rps: Some(missed), .. }), _) => match met_rps {
            Some(met) => range(met, missed),
            None => format!("below {}", units::round_rate(missed)),
        },
        (Some(RateSteps { met_rps: Some(met), .. }), _) => {
            format!("none up to {}", units::round_rate(met))
        }
        (_, Some(RampKnee { low_rps: Some(low), high_rps: Some(high), .. })) => range(low, high),
        (_, Some(knee)) => format!("none up to {}", units::round_rate(knee.searched_rps)),
        (_, None) => return None,
    };
    let lines = vec![Line::facts(vec![Fact::text(text).toned(Tone::Main)])];
    Some(Entry { label: "Knee".to_owned(), lines })
}

/// Formats `kept up at 150/s, fell behind at 250/s (stage 3); limit server`.
fn of_steps(document: &Document, steps: &RateSteps) -> String {
    let rate = units::round_rate;
    let met = steps.met_rps.map(|met| format!("kept up at {}", rate(met)));
    let Some((missed, index)) = steps.missed_rps.zip(steps.missed_in) else {
        return format!("none: {}", met.unwrap_or_default());
    };
    let how = if steps.has_failed { "failed requests" } else { "fell behind" };
    let missed = format!("{how} at {} (stage {})", rate(missed), index + 1);
    let limit = document.stages.get(index).map_or_else(String::new, limit);
    match met {
        Some(met) => format!("{met}, {missed}{limit}"),
        None => format!("{missed}{limit}, the least rate"),
    }
}

/// Formats `998 to 1,003/s (95% interval): response times left 1.02 ms; limit server`, or
/// `none up to 5,000/s`.
fn of_ramp(stage: &StageSection, knee: &RampKnee) -> String {
    let Some((low, high)) = knee.low_rps.zip(knee.high_rps) else {
        return format!("none up to {}", units::round_rate(knee.searched_rps));
    };
    let range = range(low, high);
    let floor = units::duration(knee.floor_ns);
    format!("{range} (95% interval): response times left {floor}{}", limit(stage))
}

/// Formats `998 to 1,003/s`.
fn range(low_rps: f64, high_rps: f64) -> String {
    let low = units::round_rate(low_rps);
    format!("{} to {}", low.trim_end_matches("/s"), units::round_rate(high_rps))
}

/// Formats `; limit server`; empty if it is not known, or the rate itself.
fn limit(stage: &StageSection) -> String {
    let limit = stage.verdict.as_ref().map(|verdict| verdict.limit.by);
    let limit = limit.filter(|by| !matches!(by, LimitedBy::Unknown | LimitedBy::Rate));
    limit.map_or_else(String::new, |by| format!("; limit {}", by.in_words()))
}

//! The fixed wording of verdicts (METHOD 1.15).

use weir_result::study::{Answer, Comparison, MetricComparison, Pairing};
use weir_text::setting::{DURATION, METRIC, PAIRS};
use weir_text::units;
use weir_verdict::NamedMetric;

/// Value of a side that has none.
pub(crate) const UNKNOWN: &str = "–";

/// Returns the verdict on a metric as a sentence.
pub(crate) fn sentence(
    metric: &NamedMetric,
    entry: &MetricComparison,
    comparison: &Comparison,
    why: Option<&str>,
) -> String {
    let name = metric.title();
    let new = &comparison.new.name;
    let change = change(entry);
    let evidence = evidence(entry, comparison);
    if comparison.pairing == Pairing::Single {
        return single(&name, entry, comparison);
    }
    if !comparison.not_comparable.is_empty() {
        return "not comparable".to_owned();
    }
    match (entry.verdict.answer, why) {
        (Answer::Better, _) => format!("{new} is faster: {name} {change}, {evidence}"),
        (Answer::Worse, _) => format!("{new} is slower: {name} {change}, {evidence}"),
        (Answer::Different, _) => format!("{new} differs: {name} {change}, {evidence}"),
        (Answer::BelowThreshold, _) => format!(
            "{new} differs by less than the threshold of {}: {name} {change}, {evidence}",
            units::short_percent(comparison.threshold)
        ),
        (Answer::Equivalent, _) => format!(
            "no difference larger than {}: {name} {change}, {evidence}",
            percent(entry.verdict.excluded.unwrap_or_default())
        ),
        (Answer::Undecided, Some(why)) => {
            format!("undecided: {name} {change}, {evidence}; {why}")
        }
        (Answer::Undecided, None) => {
            format!("undecided: {name} {change}, {evidence}; {}", remedy(entry, comparison))
        }
        (Answer::None, Some(why)) => format!("no verdict: {name} {change}, but {why}"),
        (Answer::None, None) => format!(
            "no verdict: {name} has no value above 0 in some run; use longer runs ({DURATION}), or \
             another metric ({METRIC})"
        ),
    }
}

/// The facts of too few runs.
fn single(name: &str, entry: &MetricComparison, comparison: &Comparison) -> String {
    let runs = comparison.base.runs.min(comparison.new.runs);
    let facts = format!("{name} {}", least(entry));
    match runs {
        0 | 1 => format!(
            "{facts}: two runs cannot decide, since the variation between runs is unknown; compare \
             at least 6 runs of each, or use weir ab"
        ),
        runs => format!(
            "{facts}: {runs} runs of each cannot decide; compare at least 6 of each, or use weir ab"
        ),
    }
}

/// Formats `−12.3% [−15.1%, −9.2%]`.
fn change(entry: &MetricComparison) -> String {
    match (entry.change, entry.low, entry.high) {
        (Some(change), Some(low), Some(high)) => {
            format!("{} [{}, {}]", units::change(change), units::change(low), units::change(high))
        }
        (Some(change), ..) => units::change(change),
        _ => format!("{} and {}", entry.base, entry.new),
    }
}

/// Formats the change without a test: `−12.3%`, `≥ +8.1%`, or both values.
fn least(entry: &MetricComparison) -> String {
    match entry.change {
        Some(change) if entry.is_least && change < 0.0 => format!("≤ {}", units::change(change)),
        Some(change) if entry.is_least => format!("≥ {}", units::change(change)),
        Some(change) => units::change(change),
        None if entry.base == UNKNOWN && entry.new == UNKNOWN => "is not known".to_owned(),
        None => format!("{} and {}", entry.base, entry.new),
    }
}

/// Formats `98.2% CI, 8 interleaved pairs, p = 0.002`.
fn evidence(entry: &MetricComparison, comparison: &Comparison) -> String {
    let runs = comparison.base.runs.min(comparison.new.runs);
    let runs = match comparison.pairing {
        Pairing::Pairs => format!("{runs} interleaved pairs"),
        _ => format!("{} and {} runs", comparison.base.runs, comparison.new.runs),
    };
    let p = match entry.p {
        Some(p) if p < 0.001 => ", p < 0.001".to_owned(),
        Some(p) => format!(", p = {p:.3}"),
        None => String::new(),
    };
    format!("{} CI, {runs}{p}", units::short_percent(comparison.confidence))
}

/// Largest number of pairs, or of runs of each, that is worth a recommendation.
const RUNS_MAX: u64 = 100;

/// Returns what would decide an undecided metric: more runs, or others if that takes very many.
fn remedy(entry: &MetricComparison, comparison: &Comparison) -> String {
    let threshold = units::short_percent(comparison.threshold);
    let runs = match comparison.pairing {
        Pairing::Pairs => "pairs",
        _ => "runs of each",
    };
    match entry.verdict.runs_needed {
        Some(needed) if needed <= RUNS_MAX => {
            let how = match comparison.pairing {
                Pairing::Pairs => format!(" ({PAIRS} {needed})"),
                _ => String::new(),
            };
            format!("about {needed} {runs} in all can show a change of {threshold}{how}")
        }
        _ => {
            let ends = [entry.low, entry.high].into_iter().flatten();
            let excluded = ends.map(f64::abs).fold(comparison.threshold, f64::max);
            format!(
                "the runs vary too much to show a change of {threshold}, only one above {}: use \
                 longer runs ({DURATION}), or a quieter machine",
                percent(excluded)
            )
        }
    }
}

/// Formats a share with one decimal.
fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

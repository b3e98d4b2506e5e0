//! Pairs of an A/B study: the runs of both systems that were made next to each other.

use weir_result::study::{Design, Trial};
use weir_result::{Document, Study};
use weir_stats::{look, pairs_needed};
use weir_text::setting::{METRIC, PAIRS};
use weir_verdict::NamedMetric;

use crate::primary::{self, named};

/// Error level of a comparison that is made once.
pub(crate) const LEVEL: f64 = 0.05;

/// Returns the documents of A and B of each complete pair, in order.
pub(crate) fn pairs_of(study: &Study) -> Vec<(&Document, &Document)> {
    let measured: Vec<(&Trial, &Document)> = study.measured().collect();
    let rounds = 1..=measured.iter().map(|(trial, _)| trial.round).max().unwrap_or(0);
    let of = |cell, round| {
        let found = measured.iter().find(|(trial, _)| trial.cell == cell && trial.round == round);
        found.map(|(_, document)| *document)
    };
    rounds.filter_map(|round| Some((of(0, round)?, of(1, round)?))).collect()
}

/// True if an A/B study has enough pairs.
pub(crate) fn is_decided(study: &Study) -> bool {
    let Design::Ab { metrics, threshold, pairs } = &study.design else { return false };
    let made = pairs_of(study);
    if let Some(pairs) = pairs {
        return made.len() >= *pairs as usize;
    }
    let (metrics, _) = primary::of_pairs(&named(metrics), &made);
    let Some(primary) = metrics.first() else { return true };
    look(&values(primary, &made), *threshold).is_some()
}

/// Returns a note on the metrics that the pairs asked for can never decide; `None` if there are
/// none.
pub fn undecidable(study: &Study) -> Option<String> {
    match &study.design {
        Design::Ab { metrics, pairs: Some(pairs), .. } => too_few(metrics.len(), *pairs, LEVEL),
        _ => None,
    }
}

/// Returns a note on the metrics beside the primary one, if so many pairs cannot decide them at
/// this error level, whatever their values.
pub(crate) fn too_few(metrics: usize, pairs: u32, level: f64) -> Option<String> {
    let others = metrics.saturating_sub(1);
    let needed = pairs_needed(level, others.max(1));
    (others > 0 && (pairs as usize) < needed).then(|| {
        let rest = match others {
            1 => "the other metric takes".to_owned(),
            others => format!("the other {others} metrics take"),
        };
        format!(
            "{pairs} pairs can show a difference in the first metric alone: {rest} {needed} \
             ({PAIRS} {needed}), or name fewer ({METRIC})"
        )
    })
}

/// Returns the values of a metric in each pair. A run without a value has NaN, which no comparison
/// accepts.
pub(crate) fn values(metric: &NamedMetric, pairs: &[(&Document, &Document)]) -> Vec<(f64, f64)> {
    let value = |document: &Document| metric.measure(document).map_or(f64::NAN, |it| it.value);
    pairs.iter().map(|(a, b)| (value(a), value(b))).collect()
}

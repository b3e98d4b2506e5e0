//! Pairs of an A/B study: the runs of both systems that were made next to each other.

use weir_result::study::{Design, Trial};
use weir_result::{Document, NamedMetric, Study};
use weir_stats::{GroupSequential, Look};

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
    let primary = metrics.first().and_then(|name| name.parse::<NamedMetric>().ok());
    let Some(primary) = primary else { return true };
    let look = GroupSequential::new(*threshold).look(&values(&primary, &made));
    matches!(look, Look::Done { .. })
}

/// Returns the values of a metric in each pair. A run without a value has NaN, which no comparison
/// accepts.
pub(crate) fn values(metric: &NamedMetric, pairs: &[(&Document, &Document)]) -> Vec<(f64, f64)> {
    let value = |document: &Document| metric.measure(document).map_or(f64::NAN, |it| it.value);
    pairs.iter().map(|(a, b)| (value(a), value(b))).collect()
}

//! Result of `weir repeat`.

use weir_result::Study;
use weir_result::study::Repetition;
use weir_verdict::NamedMetric;

use crate::spread::spread;

/// Returns the spread of each metric over all measured runs.
pub(crate) fn repetition(study: &Study, metrics: &[NamedMetric]) -> Repetition {
    let runs = || study.measured().map(|(trial, document)| (trial.number, document));
    Repetition {
        runs: runs().count() as u32,
        metrics: metrics.iter().filter_map(|metric| spread(metric, runs())).collect(),
    }
}

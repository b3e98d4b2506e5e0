//! The primary metric of a comparison: the one whose verdict counts.

use weir_result::Document;
use weir_result::document::{LimitedBy, Note};
use weir_stats::LOOKS;
use weir_text::setting::DURATION;
use weir_verdict::NamedMetric;

use crate::difference::{Ranges, Runs};

/// Metrics of a comparison, the primary one first, and the reason why that is not the first that
/// was named.
type Ordered = (Vec<NamedMetric>, Option<Note>);

/// Orders the metrics of pairs. The pairs of the first look choose the primary metric, by their
/// bounds and not by their differences, and later pairs do not change it.
pub(crate) fn of_pairs(metrics: &[NamedMetric], pairs: &[(&Document, &Document)]) -> Ordered {
    let first = &pairs[..pairs.len().min(LOOKS[0])];
    let (a, b): (Vec<&Document>, Vec<&Document>) = first.iter().copied().unzip();
    of_runs(metrics, Runs { a: &a, b: &b })
}

/// Orders the metrics of two sets of runs. The first metric named is the primary one, unless a run
/// has too few requests for it, so that the median takes its place. Nor is it one if it is a rate
/// that something other than the server limits: it is a lower bound of what the server can do, and
/// however much two such rates differ, the servers may be equal. The first time that both sides
/// have then takes its place: at the same load a slower server has longer times.
pub(crate) fn of_runs(metrics: &[NamedMetric], runs: Runs<'_>) -> Ordered {
    let named = (metrics.to_vec(), None);
    if let Some(in_place) = metrics.first().and_then(|first| scarce(first, metrics, runs)) {
        return in_place;
    }
    let Some(first) = metrics.first().filter(|metric| metric.is_rate()) else { return named };
    if !Ranges::of(first, runs).is_some_and(|ranges| ranges.have_bounds()) {
        return named;
    }
    let can_decide = |metric: &NamedMetric| {
        metric.is_time() && Ranges::of_all(metric, runs).is_some_and(|ranges| ranges.are_finite())
    };
    let Some(at) = metrics.iter().position(can_decide) else { return named };
    let mut metrics = metrics.to_vec();
    let time = metrics.remove(at);
    let text = format!(
        "{} cannot decide, since {}; {} decides instead",
        first.title(),
        limits(runs),
        time.title()
    );
    metrics.insert(0, time);
    (metrics, Some(Note::new("PRIMARY_METRIC", text)))
}

/// Returns the metrics with the median before a first one that is a percentile and has no value in
/// some run; `None` if it has one in each, or the median has none either.
fn scarce(first: &NamedMetric, metrics: &[NamedMetric], runs: Runs<'_>) -> Option<Ordered> {
    let mut all = runs.a.iter().chain(runs.b);
    let why = all.find_map(|run| first.measure(run).err())?;
    let median = first.median()?;
    let has_value = |run: &&Document| median.measure(run).is_ok();
    if !runs.a.iter().chain(runs.b).all(has_value) {
        return None;
    }
    let mut ordered: Vec<NamedMetric> = vec![median.clone()];
    ordered.extend(metrics.iter().filter(|metric| **metric != median).cloned());
    let text = format!(
        "{} has no value in some run ({why}); {} decides instead; use longer runs ({DURATION})",
        first.title(),
        median.title()
    );
    Some((ordered, Some(Note::new("PRIMARY_METRIC", text))))
}

/// Parses the names of metrics. A design holds only names that were parsed before.
pub(crate) fn named(metrics: &[String]) -> Vec<NamedMetric> {
    metrics.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Names the limit of the rate.
fn limits(runs: Runs<'_>) -> &'static str {
    let all = || runs.a.iter().chain(runs.b);
    let count = |by: LimitedBy| all().filter(|run| run.verdict.limit.by == by).count();
    match (count(LimitedBy::Connections), count(LimitedBy::ClientCpu)) {
        (0, 0) => "it is a lower bound",
        (connections, client) if connections >= client => {
            "the number of connections limits it, not the server"
        }
        _ => "the client's CPU limits it, not the server",
    }
}

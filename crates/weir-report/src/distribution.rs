//! A time over all requests as other load generators count it: a failure has the age that it
//! reached. Their formats have one number for each figure, so the certainty of each is a word
//! beside it.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_result::Histogram;
use weir_result::document::{Metric, Summary};
use weir_result::quantile::{Bound, rank_of};

/// A time over all requests; there is at least one.
pub(crate) struct Distribution<'d> {
    summary: &'d Summary,
    /// All requests, failures at their age.
    all: Histogram,
    /// True if a request got no response, so that its time is a lower bound.
    is_cut: bool,
}

/// A figure in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeFigure {
    /// Value.
    pub(crate) ns: u64,
    /// Relation of the value to the true one.
    pub(crate) certainty: Certainty,
}

/// Relation of a figure to the true value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Certainty {
    /// Too few independent requests lie beyond the percentile.
    Uncertain,
    /// The figure is the value, or a bound of it.
    #[serde(untagged)]
    Of(Bound),
}

impl<'d> Distribution<'d> {
    /// Takes the distribution of a time; `None` if no request has it.
    pub(crate) fn of(metric: &'d Metric) -> Option<Distribution<'d>> {
        let classes = &metric.times;
        let is_cut = !classes.failed_at.is_empty() || !classes.censored.is_empty();
        let mut all = classes.ok.clone();
        for class in [&classes.bad, &classes.failed_at, &classes.censored] {
            all.add(class);
        }
        let summary = metric.headline();
        (!all.is_empty()).then_some(Distribution { summary, all, is_cut })
    }

    /// Returns the times of all requests, failures at their age.
    pub(crate) fn all(&self) -> &Histogram {
        &self.all
    }

    /// Returns the least time of a response, or the least age without one.
    pub(crate) fn min(&self) -> TimeFigure {
        match self.summary.min_ns {
            Some(ns) => TimeFigure { ns, certainty: Certainty::Of(Bound::Exact) },
            None => {
                TimeFigure { ns: self.all.exact().min_ns, certainty: Certainty::Of(Bound::Lower) }
            }
        }
    }

    /// Returns the greatest time.
    pub(crate) fn max(&self) -> TimeFigure {
        let bound = self.summary.percentile(100.0).map_or(Bound::Exact, |value| value.bound);
        TimeFigure { ns: self.all.exact().max_ns, certainty: Certainty::Of(bound) }
    }

    /// Returns the sum of all times.
    pub(crate) fn total(&self) -> TimeFigure {
        let ns = u64::try_from(self.all.exact().sum_ns).unwrap_or(u64::MAX);
        let bound = match (self.is_cut, self.summary.mean_bound) {
            (false, bound) => bound,
            (true, Bound::Exact | Bound::Lower) => Bound::Lower,
            (true, Bound::Upper | Bound::Unknown) => Bound::Unknown,
        };
        TimeFigure { ns, certainty: Certainty::Of(bound) }
    }

    /// Returns the mean, which has the certainty of the sum.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.all.exact().sum_ns as f64 / self.all.count() as f64
    }

    /// Returns percentile `p`, also if no request lies beyond it.
    pub(crate) fn percentile(&self, p: f64) -> TimeFigure {
        match self.summary.percentile(p) {
            Some(found) if found.bound == Bound::Exact && found.imprecise => {
                TimeFigure { ns: found.ns, certainty: Certainty::Uncertain }
            }
            Some(found) => TimeFigure { ns: found.ns, certainty: Certainty::Of(found.bound) },
            None => {
                let rank = rank_of(p, self.all.count());
                let ns = self.all.value_at_rank(rank).unwrap_or(self.all.exact().max_ns);
                TimeFigure { ns, certainty: Certainty::Uncertain }
            }
        }
    }
}

/// Returns the certainty of the figures that are not exact, by their names.
pub(crate) fn uncertain<N: ToString>(
    figures: impl IntoIterator<Item = (N, TimeFigure)>,
) -> BTreeMap<String, Certainty> {
    let uncertain =
        figures.into_iter().filter(|(_, of)| of.certainty != Certainty::Of(Bound::Exact));
    uncertain.map(|(name, of)| (name.to_string(), of.certainty)).collect()
}

//! The result of a search for documents and reports.

use weir_result::study::{SearchBound, SearchEnd, SearchResult};
use weir_stats::{End, Found, IntervalBound, Limiter, Search};

use super::{SearchRun, growth};

impl SearchRun {
    /// Returns the result so far of a search that is not done; `None` before the first trial at a
    /// rate.
    pub(super) fn unfinished(&self) -> Option<SearchResult> {
        let search = self.search.as_ref().filter(|_| self.trials.len() > 1)?;
        Some(SearchResult { end: SearchEnd::Unfinished, ..self.result(search, search.give_up()) })
    }

    pub(super) fn result(&self, search: &Search, found: Found) -> SearchResult {
        SearchResult {
            claims: self.objective.to_result(),
            effort: self.effort,
            support: found.support(search.goal()),
            lower: found.lower.map(bound),
            upper: found.upper.map(bound),
            end: self.end(found.end),
            undecided_rps: found.undecided_rps,
            trials: self.trials.clone(),
        }
    }

    fn end(&self, end: End) -> SearchEnd {
        match end {
            End::WithinGoal => SearchEnd::WithinGoal,
            End::Indistinct => SearchEnd::Indistinct,
            End::AboveRange => SearchEnd::AboveRange,
            End::BelowRange => SearchEnd::BelowRange,
            End::OutOfTrials => SearchEnd::OutOfTrials,
            End::Limited(limiter, rate_rps) => {
                let mut at = self.trials.iter().rev().filter(|t| t.rate_rps == Some(rate_rps));
                let trial = at.next();
                let text = trial.map_or_else(String::new, |trial| trial.text.clone());
                match limiter {
                    Limiter::Client => SearchEnd::LimitedByClient { rate_rps, text },
                    Limiter::Connections => SearchEnd::LimitedByConnections {
                        rate_rps,
                        connections: trial.map_or(0, |trial| trial.connections),
                        waits: trial.and_then(|trial| trial.waits).unwrap_or(0.0),
                    },
                }
            }
        }
    }
}

fn bound(bound: IntervalBound) -> SearchBound {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    SearchBound {
        rate_rps: bound.rate_rps,
        reach_rps: Some(bound.reach_rps).filter(|reach_rps| *reach_rps != bound.rate_rps),
        good: count(bound.good),
        bad: count(bound.bad),
        requests: bound.requests,
        claim: count(bound.claim),
        share: bound.share.share,
        share_low: bound.share.low,
        share_high: bound.share.high,
        growth: bound.rise.map(growth::in_result),
    }
}

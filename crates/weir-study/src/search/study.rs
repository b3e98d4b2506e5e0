//! The search as a study: its state follows from the design and the trials so far, so that an
//! interrupted one can be resumed.

use weir_result::Study;
use weir_result::study::{Design, SearchResult};

use super::{Next, SearchError, SearchOptions, SearchRun, TrialPlan};

impl SearchRun {
    /// Returns the search of a study with all of its measured trials; `None` if the study is no
    /// search.
    ///
    /// # Errors
    /// When the objective cannot be read, or a document is of another run than the trial that was
    /// due.
    pub fn of_study(study: &Study) -> Option<Result<SearchRun, SearchError>> {
        let Design::Search {
            objective, effort, connections, connections_max, rate_max_rps, ..
        } = &study.design
        else {
            return None;
        };
        let Ok(objective) = objective.parse() else { return Some(Err(SearchError::Objective)) };
        let mut run = SearchRun::new(SearchOptions {
            objective,
            effort: *effort,
            connections: *connections,
            connections_max: *connections_max,
            rate_max_rps: rate_max_rps.unwrap_or(f64::INFINITY),
        });
        let recorded = study.measured().try_for_each(|(_, document)| run.record(document));
        Some(recorded.map(|()| run))
    }
}

/// Returns the next trial of a search; `None` if it is done, or the study is no search.
pub fn next_plan(study: &Study) -> Option<TrialPlan> {
    match SearchRun::of_study(study)?.ok()?.next() {
        Next::Run(plan) => Some(plan),
        Next::Done(_) => None,
    }
}

/// Returns the result of a search so far; `None` if there is no trial at a rate yet.
pub(crate) fn result_of(study: &Study) -> Option<SearchResult> {
    let run = SearchRun::of_study(study)?.ok()?;
    match run.next() {
        Next::Done(result) => Some(*result),
        Next::Run(_) => run.unfinished(),
    }
}

//! The search as a study: its state follows from the design and the trials so far, so that an
//! interrupted one can be resumed.

use weir_result::Study;
use weir_result::study::SearchResult;

use super::{Next, SearchRun, TrialPlan};

impl SearchRun {
    /// Returns the search of a study with all of its measured trials; `None` if the study is no
    /// search, its objective cannot be read, or a document is of another run than the trial that
    /// was due.
    pub fn of_study(study: &Study) -> Option<SearchRun> {
        let mut run = SearchRun::new(&study.design)?;
        study.measured().try_for_each(|(_, document)| run.record(document))?;
        Some(run)
    }
}

/// Returns the next trial of a search; `None` if it is done, or the study is no search.
pub fn next_plan(study: &Study) -> Option<TrialPlan> {
    match SearchRun::of_study(study)?.next() {
        Next::Run(plan) => Some(plan),
        Next::Done(_) => None,
    }
}

/// Returns the result of a search so far; `None` if there is no trial at a rate yet.
pub(crate) fn result_of(study: &Study) -> Option<SearchResult> {
    let run = SearchRun::of_study(study)?;
    match run.next() {
        Next::Done(result) => Some(*result),
        Next::Run(_) => run.unfinished(),
    }
}

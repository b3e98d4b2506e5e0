//! The result of a study, as a function of its trials.

use weir_result::Study;
use weir_result::study::{Cell, Design, StudyResult};
use weir_stats::LOOK_LEVEL;

use crate::compare::{Question, compare_pairs};
use crate::pairs::{LEVEL, pairs_of};
use crate::primary::named;
use crate::repeat::repetition;
use crate::search;
use crate::sweep::sweep;

/// Returns the result of the trials so far; `None` if nothing was measured.
pub fn evaluate(study: &Study) -> Option<StudyResult> {
    study.measured().next()?;
    match &study.design {
        Design::Repeat { metrics, .. } => {
            Some(StudyResult::Repeat(repetition(study, &named(metrics))))
        }
        Design::Ab { metrics, threshold, pairs } => {
            let question = Question { metrics: named(metrics), threshold: *threshold };
            let level = if pairs.is_some() { LEVEL } else { LOOK_LEVEL };
            let made = pairs_of(study);
            let names = [0, 1].map(|cell| study.cells.get(cell).map_or("", name).to_owned());
            (!made.is_empty())
                .then(|| StudyResult::Comparison(compare_pairs(&question, &made, names, level)))
        }
        Design::Sweep { factors, metrics, ratio, .. } => {
            Some(StudyResult::Sweep(sweep(study, factors, &named(metrics), ratio.as_deref())))
        }
        Design::Search { .. } => search::result_of(study).map(StudyResult::Search),
    }
}

fn name(cell: &Cell) -> &str {
    &cell.name
}

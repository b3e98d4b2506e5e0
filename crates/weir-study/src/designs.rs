//! Decisions of a study's design, as functions of the study so far: the trial that comes next,
//! the number of trials, and the result.

use weir_result::Study;
use weir_result::study::{Design, Repetition, StudyResult};
use weir_stats::{LOOK_LEVEL, LOOKS, Shuffle};
use weir_verdict::NamedMetric;

use crate::compare::{Question, compare_pairs};
use crate::pairs::{LEVEL, is_decided, pairs_of};
use crate::primary::named;
use crate::search;
use crate::spread::spread;
use crate::sweep::sweep;

/// A trial to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// Number of the trial, from 1.
    pub number: u32,
    /// Index of its cell.
    pub cell: u32,
    /// Number of its pair or repetition, from 1.
    pub round: u32,
}

/// Returns the next trial; `None` if the design has enough.
pub fn next_trial(study: &Study) -> Option<Upcoming> {
    let (cell, round) = match &study.design {
        Design::Repeat { runs, .. } => {
            let made = study.documents_of(0).count() as u32;
            (made < *runs).then_some((0, made + 1))
        }
        Design::Ab { .. } => next_of_pairs(study),
        Design::Sweep { repetitions, .. } => next_of_sweep(study, *repetitions),
        Design::Search { .. } => {
            let made = study.measured().count() as u32;
            search::next_plan(study).map(|_| (0, made + 1))
        }
    }?;
    Some(Upcoming { number: study.trials.len() as u32 + 1, cell, round })
}

/// Returns the number of trials that the design plans: the least and the greatest.
pub fn trials_planned(study: &Study) -> (u32, u32) {
    match &study.design {
        Design::Repeat { runs, .. } => (*runs, *runs),
        Design::Ab { pairs: Some(pairs), .. } => (2 * pairs, 2 * pairs),
        Design::Ab { pairs: None, .. } => (2 * LOOKS[0] as u32, 2 * LOOKS[LOOKS.len() - 1] as u32),
        Design::Sweep { repetitions, .. } => {
            let all = study.cells.len() as u32 * repetitions;
            (all, all)
        }
        // Two trials at either bound, and one at each of the rates that lead to them.
        Design::Search { effort, .. } => (8, effort.trials_max),
    }
}

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
            let names =
                [0, 1].map(|cell| study.cells.get(cell).map_or("", |cell| &cell.name).to_owned());
            (!made.is_empty())
                .then(|| StudyResult::Comparison(compare_pairs(&question, &made, names, level)))
        }
        Design::Sweep { factors, metrics, ratio, .. } => {
            Some(StudyResult::Sweep(sweep(study, factors, &named(metrics), ratio.as_deref())))
        }
        Design::Search { .. } => search::result_of(study).map(StudyResult::Search),
    }
}

/// The half of a pair that comes next. Which of both systems begins is random in each pair.
fn next_of_pairs(study: &Study) -> Option<(u32, u32)> {
    let is_half = |round| study.measured().filter(|(trial, _)| trial.round == round).count() == 1;
    let complete = pairs_of(study).len() as u32;
    let round = complete + 1;
    let first = u32::from(Shuffle::seeded(mixed(study.seed, round)).below(2) == 1);
    match is_half(round) {
        true => Some((1 - first, round)),
        false => (!is_decided(study)).then_some((first, round)),
    }
}

/// The first cell without a run in the first round that lacks one. The order of the cells is random
/// in each round.
fn next_of_sweep(study: &Study, repetitions: u32) -> Option<(u32, u32)> {
    (1..=repetitions).find_map(|round| {
        let is_made = |cell: &u32| {
            study.measured().any(|(trial, _)| trial.round == round && trial.cell == *cell)
        };
        let mut cells: Vec<u32> = (0..study.cells.len() as u32).collect();
        Shuffle::seeded(mixed(study.seed, round)).shuffle(&mut cells);
        cells.into_iter().find(|cell| !is_made(cell)).map(|cell| (cell, round))
    })
}

/// Returns a seed for one round.
fn mixed(seed: u64, round: u32) -> u64 {
    seed.wrapping_add(u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns the spread of each metric over all measured runs.
fn repetition(study: &Study, metrics: &[NamedMetric]) -> Repetition {
    let runs = || study.measured().map(|(trial, document)| (trial.number, document));
    Repetition {
        runs: runs().count() as u32,
        metrics: metrics.iter().filter_map(|metric| spread(metric, runs())).collect(),
    }
}

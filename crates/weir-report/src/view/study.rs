//! The report of a study: its design and state, its result, and trials that failed.

mod comparison;
mod repeat;
pub(crate) mod search;
mod sweep;

use weir_result::study::{Comparison, Design, StudyResult, StudyState, Trial, TrialOutcome};
use weir_result::{Document, Study};

use super::plot::study as plot;
use super::{Block, Fact, Line, Notice, Report, Section, Tone};

/// Builds the report of a study.
pub(super) fn report(study: &Study) -> Report {
    let title = format!("{} {}", study.tool.name, study.tool.version);
    let about = vec![Fact::text(subject(study)), Fact::text(to_the_second(&study.started))];
    let mut sections = vec![Section { title: "Study", blocks: design(study) }];
    match &study.result {
        Some(StudyResult::Repeat(repetition)) => {
            let mut blocks = repeat::blocks(repetition);
            let first = repetition.metrics.first();
            blocks.extend(first.and_then(|first| plot::runs(study, &first.metric)));
            sections.push(Section { title: "Results", blocks });
        }
        Some(StudyResult::Comparison(comparison)) => {
            let primary = comparison.primary();
            let runs = primary.and_then(|primary| plot::runs(study, &primary.metric));
            sections.extend(comparison::sections(comparison, runs));
        }
        Some(StudyResult::Sweep(sweep)) => {
            sections.extend(sweep::sections(study, sweep));
        }
        Some(StudyResult::Search(found)) => sections.extend(search::sections(found)),
        None => {}
    }
    sections.push(Section { title: "Notes", blocks: notes(study) });
    Report { title, about, highlights: Vec::new(), sections }
}

/// Builds the report of a comparison of files.
pub(super) fn comparison_report(found: &Comparison) -> Report {
    Report {
        title: "Comparison".to_owned(),
        about: vec![Fact::text(format!("A {}, B {}", found.base.name, found.new.name))],
        highlights: Vec::new(),
        sections: comparison::sections(found, None),
    }
}

/// Shortens a time as RFC 3339 to the second: `2026-11-24 08:55:18 UTC`.
fn to_the_second(time: &str) -> String {
    match (time.get(..10), time.get(11..19), time.ends_with('Z')) {
        (Some(day), Some(second), true) => format!("{day} {second} UTC"),
        _ => time.to_owned(),
    }
}

/// Formats `A/B comparison of http://a/`, `sweep of http://a/ and 2 other targets`; without a run
/// the kind of the study alone.
fn subject(study: &Study) -> String {
    let kind = match study.design {
        Design::Repeat { .. } => "repeated runs",
        Design::Ab { .. } => "A/B comparison",
        Design::Sweep { .. } => "sweep",
        Design::Search { .. } => "search for the highest rate",
    };
    let mut targets: Vec<&str> = Vec::new();
    for (_, document) in study.measured() {
        if !targets.contains(&document.plan.url.as_str()) {
            targets.push(&document.plan.url);
        }
    }
    match targets[..] {
        [] => kind.to_owned(),
        [one] => format!("{kind} of {one}"),
        [one, other] => format!("{kind} of {one} and {other}"),
        [one, ref others @ ..] => format!("{kind} of {one} and {} other targets", others.len()),
    }
}

/// The runs of the study, and its state if it is not complete.
fn design(study: &Study) -> Vec<Block> {
    let measured = study.measured().count() as u64;
    let runs = match &study.design {
        Design::Repeat { runs, .. } => {
            Fact::counted(measured, "run").then(&of(measured, u64::from(*runs)))
        }
        Design::Ab { .. } => Fact::counted(measured / 2, "interleaved pair"),
        Design::Sweep { repetitions, .. } => {
            let all = study.cells.len() as u64 * u64::from(*repetitions);
            Fact::counted(measured, "run").then(&of(measured, all))
        }
        Design::Search { .. } => Fact::counted(measured, "trial"),
    };
    let mut blocks = vec![Block::Line(Line::facts(vec![runs.toned(Tone::Main)]))];
    for cell in study.cells.iter().filter(|_| study.cells.len() <= CELLS_MAX) {
        let label = if study.cells.len() == 1 { "Run" } else { cell.name.as_str() };
        let command = format!("weir {}", cell.words.join(" "));
        blocks.push(Block::sentence(label, Fact::text(command)));
    }
    blocks.extend(state(study).map(|text| Block::sentence("State", text)));
    blocks
}

/// Number of cells whose command lines are listed; those of a sweep are in its table.
const CELLS_MAX: usize = 2;

fn of(measured: u64, planned: u64) -> String {
    if measured == planned { String::new() } else { format!(" of {planned}") }
}

/// A report does not know if its study is in a file.
const RESUME: &str = "weir resume FILE continues it, if -o FILE kept the study";

fn state(study: &Study) -> Option<Fact> {
    let text = match &study.state {
        StudyState::Complete => return None,
        StudyState::Running => format!("incomplete; {RESUME}"),
        StudyState::Interrupted => format!("interrupted; {RESUME}"),
        StudyState::Stopped { reason } => format!("stopped at {reason}"),
    };
    Some(Fact::text(text).toned(Tone::Bad))
}

/// Trials that did not count, and the notes of the study.
fn notes(study: &Study) -> Vec<Block> {
    let unsettled = study
        .trials
        .iter()
        .filter(|trial| trial.settling.is_some_and(|it| it.is_incomplete))
        .count();
    let mut notes: Vec<String> = study.trials.iter().filter_map(failed).collect();
    if unsettled > 0 {
        notes.push(format!(
            "{unsettled} of {} trials began before the target was idle as before the first one",
            study.trials.len()
        ));
    }
    notes.extend(with_failures(study));
    notes.extend(study.notes.iter().map(|note| note.text.clone()));
    notes.into_iter().map(|text| Block::Note(Notice::OfRun(text))).collect()
}

/// Names the runs with failed requests or connections: a server may have died within one. In a
/// search they are its results.
fn with_failures(study: &Study) -> Option<String> {
    if matches!(study.design, Design::Search { .. }) {
        return None;
    }
    let has_failures = |run: &Document| run.failed() > 0 || !run.connections.failures.is_empty();
    let found = study.measured().filter(|(_, run)| has_failures(run));
    let numbers: Vec<String> = found.map(|(trial, _)| trial.number.to_string()).collect();
    let shown = numbers.iter().take(TRIALS_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = match numbers.len().saturating_sub(TRIALS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let trials = if numbers.len() == 1 { "trial" } else { "trials" };
    (!numbers.is_empty()).then(|| {
        format!("requests or connections failed in {trials} {shown}{more}; counted like all others")
    })
}

/// Number of trials that a note names.
const TRIALS_MAX: usize = 10;

fn failed(trial: &Trial) -> Option<String> {
    match &trial.outcome {
        TrialOutcome::Failed { reason, .. } => {
            Some(format!("trial {} is in no result: {reason}", trial.number))
        }
        TrialOutcome::Measured(_) if trial.is_superseded => Some(format!(
            "trial {} is in no result: its pair was begun again when the study was resumed",
            trial.number
        )),
        TrialOutcome::Measured(_) => None,
    }
}

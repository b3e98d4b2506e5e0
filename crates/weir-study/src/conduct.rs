//! Conducting a study: trial after trial, kept after each, until the design has enough.

use weir_result::study::{Design, HookRun, Settling, StudyState, Trial, TrialOutcome};
use weir_result::{Document, Study};
use weir_text::Setting;
use weir_text::setting::{AFTER, BEFORE, HOOK_TIMEOUT};

use crate::designs::{Upcoming, evaluate, next_trial};

/// A machine that carries out trials.
pub trait TrialRunner {
    /// Error of keeping the study.
    type Error;

    /// Announces a trial.
    fn announce(&mut self, study: &Study, upcoming: &Upcoming);

    /// Waits until the machine and the target have recovered from the trial before. `None` if there
    /// is nothing to wait for.
    ///
    /// # Errors
    /// The reason why the trial cannot be made.
    fn settle(&mut self, upcoming: &Upcoming) -> Result<Option<Settling>, String>;

    /// Runs the command of a hook.
    ///
    /// # Errors
    /// The reason why the command could not be started.
    fn hook(&mut self, kind: HookKind, upcoming: &Upcoming) -> Result<HookRun, String>;

    /// Carries out a run of the trial's cell.
    ///
    /// # Errors
    /// The reason why nothing was measured.
    fn run(&mut self, study: &Study, upcoming: &Upcoming) -> Result<Document, String>;

    /// Keeps the study as it is now.
    ///
    /// # Errors
    /// When it cannot be written. The study ends then.
    fn keep(&mut self, study: &Study) -> Result<(), Self::Error>;

    /// Returns the time as RFC 3339.
    fn now(&self) -> String;

    /// True if a signal arrived: the study ends after the trial in progress.
    fn is_interrupted(&self) -> bool;
}

/// Moment of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// Before the trial.
    Before,
    /// After the trial.
    After,
}

impl HookKind {
    /// Returns the flag that names the command.
    pub fn setting(self) -> Setting {
        match self {
            HookKind::Before => BEFORE,
            HookKind::After => AFTER,
        }
    }
}

/// Makes trials until the design has enough, a trial cannot be made, or a signal arrives.
///
/// # Errors
/// When the study cannot be kept. It is valid as far as it got.
pub fn conduct<L: TrialRunner>(study: &mut Study, runner: &mut L) -> Result<(), L::Error> {
    study.state = StudyState::Running;
    while let Some(upcoming) = next_trial(study) {
        if runner.is_interrupted() {
            study.state = StudyState::Interrupted;
            break;
        }
        runner.announce(study, &upcoming);
        let (trial, failure) = make(study, &upcoming, runner);
        study.trials.push(trial);
        if let Some(reason) = failure {
            study.state = match runner.is_interrupted() {
                true => StudyState::Interrupted,
                false => {
                    StudyState::Stopped { reason: format!("trial {}: {reason}", upcoming.number) }
                }
            };
            break;
        }
        if let Err(error) = runner.keep(study) {
            let reason = format!("trial {}: the study cannot be written", upcoming.number);
            study.state = StudyState::Stopped { reason };
            study.result = evaluate(study);
            return Err(error);
        }
    }
    if study.state == StudyState::Running {
        study.state = StudyState::Complete;
    }
    study.result = evaluate(study);
    runner.keep(study)
}

/// Prepares a study of a file for more trials. A half of a pair is made again, since its other half
/// would be made at another time.
pub fn reopen(study: &mut Study) {
    let is_paired = matches!(study.design, Design::Ab { .. });
    let last = study.trials.iter().map(|trial| trial.round).max().unwrap_or(0);
    let is_half = study.measured().filter(|(trial, _)| trial.round == last).count() == 1;
    if is_paired && is_half {
        let left = study.trials.iter_mut().filter(|trial| trial.round == last);
        left.for_each(|trial| trial.is_superseded = true);
    }
}

/// Makes one trial. Returns it, and the reason why the study ends with it.
fn make<L: TrialRunner>(
    study: &Study,
    upcoming: &Upcoming,
    runner: &mut L,
) -> (Trial, Option<String>) {
    let mut trial = Trial {
        number: upcoming.number,
        cell: upcoming.cell,
        round: upcoming.round,
        started: runner.now(),
        settling: None,
        before: None,
        after: None,
        is_superseded: false,
        outcome: TrialOutcome::Failed { reason: String::new(), document: None },
    };
    let before = hook(HookKind::Before, &mut trial, study, upcoming, runner);
    let measured = before.and_then(|()| {
        trial.settling = runner.settle(upcoming)?;
        runner.run(study, upcoming)
    });
    let failure = match &measured {
        Ok(document) => failure_of(document, study, upcoming),
        Err(reason) => Some(reason.clone()),
    };
    let failure =
        failure.or_else(|| hook(HookKind::After, &mut trial, study, upcoming, runner).err());
    // Nothing that was measured is lost.
    trial.outcome = match (measured.ok().map(Box::new), &failure) {
        (Some(document), None) => TrialOutcome::Measured(document),
        (document, reason) => {
            TrialOutcome::Failed { reason: reason.clone().unwrap_or_default(), document }
        }
    };
    (trial, failure)
}

/// Runs the command of a hook, if there is one.
fn hook<L: TrialRunner>(
    kind: HookKind,
    trial: &mut Trial,
    study: &Study,
    upcoming: &Upcoming,
    runner: &mut L,
) -> Result<(), String> {
    let (command, kept) = match kind {
        HookKind::Before => (&study.hooks.before, &mut trial.before),
        HookKind::After => (&study.hooks.after, &mut trial.after),
    };
    match command {
        Some(_) => check_hook(kind, kept.insert(runner.hook(kind, upcoming)?)),
        None => Ok(()),
    }
}

/// Returns the reason why a run ends the study: it was interrupted, or nothing succeeded.
fn failure_of(document: &Document, study: &Study, upcoming: &Upcoming) -> Option<String> {
    if document.run.interrupted {
        return Some("the run was interrupted".to_owned());
    }
    // In a search, a rate at which nothing succeeds is a result; the closed loop at its start is
    // not.
    let is_rate = matches!(study.design, Design::Search { .. }) && study.measured().count() > 0;
    let has_success = is_rate || document.results.outcomes.ok > 0 || document.results.good > 0;
    let name = study.cells.get(upcoming.cell as usize).map_or("", |cell| cell.name.as_str());
    let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
    let reason = &document.verdict.reason;
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    (!has_success).then(|| format!("no request{of} got a successful response{why}"))
}

fn check_hook(kind: HookKind, run: &HookRun) -> Result<(), String> {
    if run.is_success() {
        return Ok(());
    }
    let setting = kind.setting();
    let why = match run.status {
        _ if run.timed_out => format!("it was ended after {HOOK_TIMEOUT}"),
        Some(status) => format!("it ended with {status}"),
        None => "a signal ended it".to_owned(),
    };
    let last = run.output.lines().rev().find(|line| !line.trim().is_empty());
    let reported = last.map(|line| format!(": {}", line.trim())).unwrap_or_default();
    Err(format!("the command of {setting} failed: {why}{reported}"))
}

//! Exit codes, in one place.

use std::process::ExitCode;

use weir_doctor::Diagnosis;
use weir_machine::sys::Signal;
use weir_result::document::{Aborted, FleetSection, Grade};
use weir_result::study::Gate;
use weir_result::{AssertionOutcome, AssertionResult, Document};
use weir_runner::{ErrorCause, Finished};
use weir_text::units;

use crate::errors::NotWritten;

/// Wrong command line or input.
pub(crate) const USAGE: u8 = 2;
/// wrk's code for wrong usage, `--help` and failed scripts. Any measurements end with 0, as in wrk.
pub(crate) const COMPAT_FAILED: u8 = 1;
/// No successful response.
pub(crate) const NO_SUCCESS: u8 = 1;
/// A violated assertion, or a grade that `--strict` refuses.
pub(crate) const FAILED_CHECK: u8 = 3;
/// A merged document that lacks parts of the run, or a fleet that lost an agent.
const MISSING_PART: u8 = 4;
/// A comparison that leaves open what `--fail-on slower` asks.
const OPEN: u8 = 5;
/// A load that a condition of `--abort` ended.
const ABORTED: u8 = 6;
/// Inconsistent numbers, or another internal error: no output would be true.
const BROKEN: u8 = 70;
/// A system resource that weir could not get: a thread, an io_uring instance.
const MACHINE: u8 = 71;
/// A result that could not be written.
pub(crate) const NOT_WRITTEN: u8 = 74;

/// The end without memory: a limit of the machine or of the user, and no failure of weir's.
pub(crate) const OUT_OF_MEMORY: (&str, i32) = (
    "error: out of memory: the limit of this process is too small; raise it (ulimit -v, \
     memory.max), or use fewer connections (-c) and threads (-t)\n",
    MACHINE as i32,
);

/// The code of an error that prevented a report. An error without its own kind is a usage error,
/// which the user can correct.
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    let of_runner = error.downcast_ref::<weir_runner::Error>().map(|error| error.kind);
    match of_runner.unwrap_or_else(|| ErrorCause::of(error)) {
        ErrorCause::Usage if error.is::<NotWritten>() => NOT_WRITTEN,
        ErrorCause::Usage => USAGE,
        ErrorCause::NoServer | ErrorCause::NotStarted => NO_SUCCESS,
        ErrorCause::Unreported => MISSING_PART,
        ErrorCause::Machine => MACHINE,
        ErrorCause::Internal => BROKEN,
        ErrorCause::Interrupted(signal) => of_signal(signal),
    }
}

/// True if an error is nothing but the end of the run by a signal.
pub(crate) fn is_of_signal(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<weir_runner::Error>();
    error.is_some_and(|error| matches!(error.kind, ErrorCause::Interrupted(_)))
}

/// The code of an error in a run of wrk or wrk2, whose users expect 1 for every error of their own.
pub(crate) fn of_compat_error(error: &anyhow::Error) -> ExitCode {
    let code = of_error(error);
    ExitCode::from(if code == USAGE { COMPAT_FAILED } else { code })
}

/// The code of a run that was reported: 2 for a script or a list that failed, then a signal, then 1
/// without any success, then 6 for a load that `--abort` ended, then 3 for an assertion that was
/// violated or a grade worse than `--strict` allows.
pub(crate) fn of_run(finished: &Finished, strict: Option<Grade>) -> ExitCode {
    match finished.signal() {
        _ if finished.has_source_failed() => ExitCode::from(USAGE),
        Some(signal) => of_signalled(signal),
        None => of_document(&finished.document, strict),
    }
}

/// The code of a document, measured now or loaded.
pub(crate) fn of_document(document: &Document, strict: Option<Grade>) -> ExitCode {
    failure(document, strict).map_or(ExitCode::SUCCESS, |(code, _)| ExitCode::from(code))
}

/// Returns the code of a document's failure, and its reason in one sentence: 4 if parts are missing
/// or an agent of a fleet was lost, since no check of the others says anything about the whole;
/// then 1 without any success; then 6 for a load that `--abort` ended; then 3.
pub(crate) fn failure(document: &Document, strict: Option<Grade>) -> Option<(u8, String)> {
    let missing = document.missing_parts().count();
    if missing > 0 {
        let text = match &document.fleet {
            Some(_) => format!("{missing} of the run's parts missing: their agents were lost"),
            None => format!("{missing} of the run's parts missing: name their documents too"),
        };
        return Some((MISSING_PART, text));
    }
    if let Some(agent) = document.fleet.iter().flat_map(FleetSection::lost).next() {
        return Some((MISSING_PART, agent.end_in_words()));
    }
    // Connections that are only held get no response.
    let is_held = document.plan.websocket().is_some_and(|websocket| websocket.idle)
        && document.connections.open_at_t0 > 0;
    // A stream that delivers has no end to be judged by.
    let is_alive = is_held || document.results.open_streams() > 0;
    if document.results.outcomes.ok == 0 && document.results.good == 0 && !is_alive {
        let why = document.verdict.target.text.as_str();
        let separator = if why.is_empty() { "" } else { ": " };
        let text = format!("no successful response{separator}{why}");
        return Some((NO_SUCCESS, text));
    }
    if let Some(aborted) = aborted(document) {
        return Some(aborted);
    }
    let mut failed = document.assertions.iter().filter(|it| it.outcome != AssertionOutcome::Pass);
    let text = match failed.next() {
        Some(first) => {
            let AssertionResult { assertion, measured, .. } = first;
            let reason = first.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let more = match failed.count() {
                0 => String::new(),
                count => format!("; {count} more failed"),
            };
            format!("--assert '{assertion}' failed: {measured}{reason}{more}")
        }
        None if is_refused(document, strict) => {
            let verdict = &document.verdict;
            format!("--strict: the grade is {}: {}", verdict.grade.in_words(), verdict.reason)
        }
        None => return None,
    };
    Some((FAILED_CHECK, text))
}

/// Returns the code of a load that a condition of `--abort` ended, and the reason in one sentence.
pub(crate) fn aborted(document: &Document) -> Option<(u8, String)> {
    let Aborted { condition, at_s, measured, .. } = document.run.aborted.as_ref()?;
    let at = units::duration_of_seconds(*at_s);
    Some((ABORTED, format!("--abort '{condition}' ended the load after {at}: {measured}")))
}

/// The code of a diagnosis: 3 if `--strict` refuses its problems and warnings.
pub(crate) fn of_diagnosis(diagnosis: &Diagnosis, is_strict: bool) -> ExitCode {
    ExitCode::from(if is_strict && !diagnosis.is_clean() { FAILED_CHECK } else { 0 })
}

/// The code of a comparison: 3 for a verdict that `--fail-on` names, 5 if it is open.
pub(crate) fn of_comparison(gate: Gate) -> ExitCode {
    ExitCode::from(match gate {
        Gate::Passed => 0,
        Gate::Failed => FAILED_CHECK,
        Gate::Open => OPEN,
    })
}

/// True if `--strict` refuses the grade.
pub(crate) fn is_refused(document: &Document, strict: Option<Grade>) -> bool {
    strict.is_some_and(|worst| document.verdict.grade > worst)
}

/// The code of a run that a signal ended.
pub(crate) fn of_signalled(signal: Signal) -> ExitCode {
    ExitCode::from(of_signal(signal))
}

/// The code for a signal: 128 plus its number, as in shells.
pub(crate) fn of_signal(signal: Signal) -> u8 {
    (128 + signal.number()) as u8
}

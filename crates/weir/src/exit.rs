//! Exit codes, in one place.

use std::process::ExitCode;

use weir_engine::RunError;
use weir_io::Signal;
use weir_run::Document;
use weir_run::document::BrokenInvariant;

use crate::commands::run::NotWritten;

/// The command line or its input is wrong.
const USAGE: u8 = 2;
/// Not one measured request was answered.
const NO_ANSWER: u8 = 1;
/// The numbers do not add up, or weir failed otherwise: nothing it could print would be true.
const BROKEN: u8 = 70;
/// The machine failed under weir: no thread, no ring.
const MACHINE: u8 = 71;
/// A result could not be written.
const NOT_WRITTEN: u8 = 74;

/// The code of what kept weir from reporting. Without a kind of its own it is the user's to mend.
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    if error.is::<BrokenInvariant>() {
        return BROKEN;
    }
    match error.downcast_ref::<RunError>() {
        Some(RunError::Panicked { .. }) => BROKEN,
        Some(_) => MACHINE,
        None if error.is::<NotWritten>() => NOT_WRITTEN,
        None => USAGE,
    }
}

/// The code of a run that was reported.
pub(crate) fn of_run(document: &Document, signal: Option<Signal>) -> ExitCode {
    match signal {
        Some(signal) => ExitCode::from(of_signal(signal)),
        None if document.answered() == 0 => ExitCode::from(NO_ANSWER),
        None => ExitCode::SUCCESS,
    }
}

/// 128 and the signal's number, as shells count.
pub(crate) fn of_signal(signal: Signal) -> u8 {
    match signal {
        Signal::Interrupt => 130,
        Signal::Terminate => 143,
    }
}

//! Exit codes, in one place.

use std::process::ExitCode;

use weir_io::Signal;
use weir_run::Document;

/// The command line or its input is wrong.
pub(crate) const USAGE: u8 = 2;
/// Not one measured request was answered.
pub(crate) const NO_ANSWER: u8 = 1;
/// The numbers do not add up, or weir failed otherwise: nothing it could print would be true.
pub(crate) const BROKEN: u8 = 70;
/// A result could not be written.
pub(crate) const NOT_WRITTEN: u8 = 74;

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

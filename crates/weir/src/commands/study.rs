//! Studies: `weir repeat`, `ab`, `sweep` and `search`, and the steps that `weir resume` shares with
//! them.

mod ab;
pub(crate) mod consent;
mod keeper;
mod making;
mod repeat;
mod search;
mod settings;
mod sweep;
mod unfinished;
mod variant;

use std::process::ExitCode;

use anyhow::Result;

pub(crate) use making::{
    check_formats, conduct, gate, metrics, primary_metric, print, publish, report, report_gate,
    text_options,
};
pub(crate) use settings::StudySettings;

use crate::args::StudyCommand;

/// Makes a new study.
///
/// # Errors
/// When the command line is wrong, or the study cannot be kept.
pub(crate) fn study(command: &StudyCommand) -> Result<ExitCode> {
    match command {
        StudyCommand::Repeat(args) => repeat::repeat(args),
        StudyCommand::Ab(args) => ab::ab(args),
        StudyCommand::Sweep(args) => sweep::sweep(args),
        StudyCommand::Search(args) => search::search(args),
    }
}

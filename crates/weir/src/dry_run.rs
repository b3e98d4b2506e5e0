//! Dry run of a command line: from its words to a plan or an error. It reads no file, resolves no
//! name, sends nothing and prints nothing.

use std::ffi::OsString;

use anyhow::Result;
use weir_result::Plan;
use weir_runner::{LocalRunner, RunSpec};

use crate::args::Cli;
use crate::compat;

/// Returns the plan of a command line, whose first word is the program's name; `None` if it runs no
/// load. The plan lacks everything that is read from files: the script, the body and the
/// certificates.
///
/// # Errors
/// When the command line is wrong.
pub fn dry_run(argv: &[OsString]) -> Result<Option<Plan>> {
    let spec = match compat::command_line_of(argv)? {
        Some(line) => compat::spec_of(&line)?,
        None => spec_of(argv)?,
    };
    Ok(spec.map(|spec| LocalRunner::dry_run(&spec)).transpose()?)
}

fn spec_of(argv: &[OsString]) -> Result<Option<RunSpec>> {
    let cli = Cli::of_words(argv)?;
    Ok(cli.command.is_none().then(|| cli.run.spec(argv.iter().cloned())))
}

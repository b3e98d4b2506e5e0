//! The `weir` program: flags, subcommands, terminal, exit codes. It is a library so that the fuzz
//! targets and their replay can reach its parsers; it has no other users.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod compat;
mod dry_run;
mod errors;
mod exit;
#[cfg(feature = "fleet")]
mod fleet;
mod github;
mod history;
mod interrupts;
mod live;
mod names;
#[cfg(not(feature = "fleet"))]
mod no_fleet;
#[cfg(not(feature = "otlp"))]
mod no_otlp;
#[cfg(not(feature = "tui"))]
mod no_tui;
mod observers;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
mod runner;
mod screen;
mod terminal;
#[cfg(feature = "tui")]
mod tui;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use weir_machine::sys::{self, Signals};
use weir_text::name_settings;

use crate::args::{Cli, Command};

#[cfg(not(feature = "fleet"))]
use no_fleet as fleet;
#[cfg(not(feature = "otlp"))]
use no_otlp as otlp;
#[cfg(not(feature = "tui"))]
use no_tui as tui;

pub use dry_run::dry_run;

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    Signals::ignore_failed_writes();
    let (line, status) = exit::OUT_OF_MEMORY;
    // Without it the end is SIGABRT, as before.
    let _not_set = sys::end_without_memory(line, status);
    name_settings(names::flag);
    let argv: Vec<OsString> = env::args_os().collect();
    let result = match compat::command_line_of(&argv) {
        Ok(Some(line)) => Ok(compat::run(&line)),
        Ok(None) => match Cli::of_words(&argv) {
            Ok(cli) => run(&cli),
            Err(error) => Ok(terminal::print_parse_result(&error)),
        },
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| {
        let prefix = if exit::is_of_signal(&error) { "" } else { "error: " };
        terminal::eprint_lines(format_args!("{prefix}{error:#}"));
        ExitCode::from(exit::of_error(&error))
    })
}

fn run(cli: &Cli) -> Result<ExitCode> {
    match &cli.command {
        Some(Command::Serve(args)) => commands::serve::serve(args),
        Some(Command::Agent(args)) => commands::agent(args),
        Some(Command::Fleet(args)) => commands::fleet(&args.command),
        Some(Command::Report(args)) => commands::report::report(args),
        Some(Command::Study(command)) => commands::study::study(command),
        Some(Command::Compare(args)) => commands::compare::compare(args),
        Some(Command::Rerun(args)) => commands::rerun::rerun(args),
        Some(Command::Resume(args)) => commands::resume::resume(args),
        Some(Command::History(args)) => commands::history::history(args),
        Some(Command::Scenario(args)) => commands::scenario::scenario(args),
        Some(Command::Doctor(args)) => commands::doctor::doctor(args),
        Some(Command::Completions(args)) => commands::completions::completions(args),
        Some(Command::Man(args)) => commands::man::man(args),
        None => commands::run::run(&cli.run),
    }
}

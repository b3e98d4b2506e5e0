//! The `weir` program: flags, subcommands, terminal, exit codes.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod environment;
mod exit;
mod live;
mod output;
mod plan;
mod preflight;
mod target;

use std::process::ExitCode;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::of_command_line();
    let result = match &cli.command {
        Some(Command::Serve(args)) => commands::serve::serve(args),
        Some(Command::Report(args)) => commands::report::report(args),
        None => commands::run::run(&cli.run),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(exit::of_error(&error))
    })
}

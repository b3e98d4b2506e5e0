//! The runner of this program: its commit, and its end if a script never returns.

use std::fmt::Display;
use std::path::Path;

use anyhow::Result;
use weir_runner::{LocalRunner, MachineAccess, RunSpec, Runner};

use crate::args::fleet::FleetArgs;
use crate::{exit, fleet, terminal};

/// Returns the runner that the flags choose: that of this machine, or a fleet that plans with it.
/// The agents of a fleet write the rows of their requests to files like `rows`.
///
/// # Errors
/// When the fleet cannot be reached or started.
pub(crate) fn chosen(
    local: LocalRunner,
    args: &FleetArgs,
    rows: Option<&Path>,
) -> Result<Box<dyn Runner>> {
    match args.agents {
        Some(count) => fleet::runner(count, args, rows, local),
        None => Ok(Box::new(local)),
    }
}

/// Returns the runner of this machine for a specification.
pub(crate) fn of(spec: &RunSpec) -> LocalRunner {
    here(spec.compat.is_some())
}

/// Returns the runner of this machine. `is_compat`: errors have the form of wrk.
pub(crate) fn here(is_compat: bool) -> LocalRunner {
    LocalRunner {
        commit: Some(env!("WEIR_COMMIT").to_owned()).filter(|commit| !commit.is_empty()),
        on_stuck: Some(match is_compat {
            true => |error| end("", error, exit::COMPAT_FAILED),
            false => |error| end("error: ", error, exit::USAGE),
        }),
        gate: None,
        access: MachineAccess::Full,
    }
}

fn end(prefix: &str, error: impl Display, code: u8) {
    terminal::eprint_lines(format_args!("{prefix}{error}"));
    // Flushes the script's output.
    std::process::exit(code.into())
}

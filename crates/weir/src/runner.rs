//! The runner of this program: its commit, and its end if a script never returns.

use weir_runner::{RunSpec, Runner};

use crate::{exit, terminal};

/// Returns the runner for a specification.
pub(crate) fn of(spec: &RunSpec) -> Runner {
    let is_compat = spec.compat.is_some();
    let prefix = if is_compat { "" } else { "error: " };
    Runner::new().commit(env!("WEIR_COMMIT")).on_stuck_script(move |error| {
        terminal::eprint_lines(format_args!("{prefix}{error}"));
        // Flushes the script's output.
        std::process::exit(exit::of_endless_script(is_compat).into())
    })
}

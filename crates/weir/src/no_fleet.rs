//! In place of a fleet's runner and of its commands, in a build without them.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use weir_runner::{LocalRunner, Runner};

use crate::args::fleet::{AgentArgs, AgentCount, FleetArgs, FleetCommand};

/// Fails: this build carries out no run on several machines.
///
/// # Errors
/// Always.
pub(crate) fn runner(
    _: AgentCount,
    _: &FleetArgs,
    _: Option<&Path>,
    _: LocalRunner,
) -> Result<Box<dyn Runner>> {
    bail!("--agents: this build has no fleets: build weir with --features fleet");
}

/// Fails: `weir agent` needs a fleet.
///
/// # Errors
/// Always.
pub(crate) fn agent(_: &AgentArgs) -> Result<ExitCode> {
    bail!("weir agent: this build has no fleets: build weir with --features fleet");
}

/// Fails: `weir fleet` needs one.
///
/// # Errors
/// Always.
pub(crate) fn fleet(_: &FleetCommand) -> Result<ExitCode> {
    bail!("weir fleet: this build has no fleets: build weir with --features fleet");
}

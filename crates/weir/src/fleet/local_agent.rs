//! Agents on this machine, and their ends.

use std::env;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use weir_machine::sys;

/// Environment variable with the address of the bus.
pub(crate) const BUS: &str = "WEIR_BUS";

/// An agent that was started on this machine, and ends with this value.
#[derive(Debug)]
pub(crate) struct LocalAgent {
    _process: HelperProcess,
}

impl LocalAgent {
    /// Starts an agent for the bus at an address.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(name: &str, bus: &str) -> Result<LocalAgent> {
        let program = env::current_exe().context("this program is not found")?;
        let mut command = Command::new(program);
        // Its bus has this command alone, whose user may do all that it asks for.
        command.args(["agent", "--quiet", "--insecure-bus", "--allow", "any", "--permit", "all"]);
        command.args(["--name", name]);
        command.env(BUS, bus).stdin(Stdio::null()).stdout(Stdio::null());
        let child = sys::end_with_this_thread(&mut command).spawn();
        let child = child.context("an agent cannot be started")?;
        Ok(LocalAgent { _process: HelperProcess(child) })
    }
}

/// A process that holds nothing of value, and is killed with this value.
#[derive(Debug)]
pub(crate) struct HelperProcess(pub(crate) Child);

impl Drop for HelperProcess {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

//! Real agents, each a process.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use xtask::shell::need_program;

use super::bus::CountingBus;
use super::course::peak_mib;
use crate::rig::Fixture;

/// Longest time for all agents to be on the bus, and time between two looks.
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A process of weir agent, which ends with this value and with this program.
pub(super) struct RealAgent(Child);

impl RealAgent {
    fn start(fixture: &Fixture, number: u32, bus: &CountingBus) -> Result<RealAgent> {
        let mut command = Command::new(need_program("setpriv", "bench")?);
        command.args(["--pdeathsig", "KILL"]).arg(&fixture.weir);
        command.args(["agent", "--quiet", "--bus", &bus.address]);
        command.arg("--name").arg(format!("gen-{number}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Ok(RealAgent(child.context("failed to start an agent")?))
    }

    /// Returns the peak of its resident memory in MiB.
    pub(super) fn peak_mib(&self) -> Result<f64> {
        peak_mib(self.0.id())
    }
}

impl Drop for RealAgent {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts all agents, and waits until they are connected.
pub(super) fn start(fixture: &Fixture, bus: &CountingBus, count: u32) -> Result<Vec<RealAgent>> {
    eprintln!("bench: {count} times weir agent");
    let agents = (1..=count).map(|number| RealAgent::start(fixture, number, bus));
    let agents = agents.collect::<Result<_>>()?;
    let since = Instant::now();
    while bus.connections()? < u64::from(count) {
        ensure!(since.elapsed() < PATIENCE, "not all agents are on the bus");
        thread::sleep(LOOK_EVERY);
    }
    Ok(agents)
}

//! A fleet: the runner of `--agents`, with the processes that it starts on this machine, and
//! `weir agent`.

mod local_agent;
mod private_bus;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use weir_fleet::{
    AgentProcess, AgentSettings, FleetRunner, FleetSettings, OnLoss, without_userinfo,
};
use weir_runner::{
    Error, Interrupts, LocalRunner, NoThread, Observer, PreparedRun, RunSpec, Runner,
};
use weir_sys::Signals;

use crate::args::fleet::{AgentArgs, AgentCount, FleetArgs, LossChoice};
use crate::{runner, terminal};

use local_agent::LocalAgent;
use private_bus::PrivateBus;

/// Version that all parts of a fleet must have: also its commit, where it is known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("WEIR_COMMIT"));

/// Returns the runner of a fleet, and starts what the flags want on this machine.
///
/// # Errors
/// When the bus cannot be reached or started.
pub(crate) fn runner(
    count: AgentCount,
    args: &FleetArgs,
    local: LocalRunner,
) -> Result<Box<dyn Runner>> {
    let given = args.bus.clone().or_else(|| env::var(local_agent::BUS).ok());
    let private = match &given {
        None if count.is_one_local => bail!("--agents local+N: the others need --bus URL"),
        None => Some(PrivateBus::start()?),
        Some(address) => {
            check_bus(address, args.insecure_bus)?;
            None
        }
    };
    let bus = private.as_ref().map(|bus| bus.address.clone()).or(given).unwrap_or_default();
    let started = match private {
        Some(_) => count.all,
        None => count.is_one_local.into(),
    };
    let agents =
        (1..=started).map(|number| LocalAgent::start(number, &bus)).collect::<Result<_>>()?;
    let on_loss = match args.on_loss {
        LossChoice::Stop => OnLoss::Stop,
        LossChoice::Continue => OnLoss::Continue,
    };
    let runner = FleetRunner::connect(FleetSettings {
        bus,
        agents: count.all,
        gather_ns: args.agents_within,
        on_loss,
        version: VERSION.trim_end().to_owned(),
        local,
    })?;
    Ok(Box::new(Fleet { runner, _agents: agents, _bus: private }))
}

/// A fleet, with its processes on this machine.
struct Fleet {
    runner: FleetRunner,
    // In this order they end.
    _agents: Vec<LocalAgent>,
    _bus: Option<PrivateBus>,
}

impl Runner for Fleet {
    fn prepare(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer,
    ) -> Result<Box<dyn PreparedRun>, Error> {
        self.runner.prepare(spec, observer)
    }

    fn idle_latency(&self, spec: &RunSpec, interrupts: &Interrupts) -> Result<Option<u64>, Error> {
        self.runner.idle_latency(spec, interrupts)
    }
}

/// Checks that passwords and requests do not cross a network in the clear.
///
/// # Errors
/// When they would.
fn check_bus(address: &str, is_insecure: bool) -> Result<()> {
    let host = without_userinfo(address);
    let host = host.split_once("://").map_or(host.as_str(), |(_, host)| host);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let is_loopback = name == "localhost"
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_loopback || is_insecure || address.starts_with("tls://") {
        return Ok(());
    }
    bail!(
        "--bus {}: requests and passwords would cross the network unencrypted; use tls://, or \
         allow it with --insecure-bus",
        without_userinfo(address)
    );
}

/// Serves as an agent until a signal comes.
///
/// # Errors
/// When the bus cannot be reached, or a flag is wrong.
pub(crate) fn serve_agent(args: &AgentArgs) -> Result<ExitCode> {
    let bus = args.bus.clone().or_else(|| env::var(local_agent::BUS).ok());
    let bus = bus.context("give the address of the bus: weir agent --bus nats://HOST")?;
    check_bus(&bus, args.insecure_bus)?;
    let name = args.name.clone().or_else(host_name).context("give a name: --name NAME")?;
    let signals = Signals::block().context("signals cannot be waited for")?;
    let received = Arc::new(OnceLock::new());
    let theirs = Arc::clone(&received);
    let wait = move || {
        while let Ok(signal) = signals.wait() {
            let _first = theirs.set(signal);
        }
    };
    let builder = thread::Builder::new().name("weir-signals".to_owned());
    let _detached = builder.spawn(wait).map_err(NoThread)?;
    let cpus = weir_sys::usable_cpus().map_or(1, |cpus| cpus.len() as u32);
    let shown = without_userinfo(&bus);
    let (version, runner) = (VERSION.trim_end().to_owned(), runner::here(false));
    let settings = AgentSettings { name: name.clone(), bus, version, cpus, runner };
    let agent = AgentProcess::start(settings)?;
    if !args.quiet {
        terminal::eprint_line(format_args!("agent {name} waits for runs on {shown}"));
    }
    agent.serve(|| received.get().map(|signal| signal.name().to_owned()));
    Ok(ExitCode::SUCCESS)
}

/// Returns the host's name with what a subject of the bus may have.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    Some(name.trim().chars().map(fit).collect()).filter(|name: &String| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_elsewhere_is_encrypted_or_allowed() {
        for (address, is_insecure, is_fine) in [
            ("nats://127.0.0.1:4222", false, true),
            ("nats://me:secret@[::1]:4222", false, true),
            ("localhost", false, true),
            ("nats://lab0:4222", false, false),
            ("nats://127.0.0.1@lab0", false, false),
            ("nats://lab0", true, true),
            ("tls://lab0", false, true),
        ] {
            assert_eq!(check_bus(address, is_insecure).is_ok(), is_fine, "{address}");
        }
    }
}

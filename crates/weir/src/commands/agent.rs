//! `weir agent`: takes part in the runs of a fleet.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use weir_fleet::{AgentProcess, AgentSettings, Identity, Role, clock_name, on_this_machine};
use weir_machine::Root;
use weir_machine::sys::{self, Signal, Signals};
use weir_runner::credentials::split_userinfo;
use weir_runner::{LocalRunner, MachineAccess, NoThread};

use crate::args::fleet::AgentArgs;
use crate::fleet::{VERSION, access, within};
use crate::{exit, runner, terminal};

/// Serves as an agent until a signal comes, or for one run.
///
/// # Errors
/// When the bus cannot be reached, or a flag is wrong.
pub(crate) fn agent(args: &AgentArgs) -> Result<ExitCode> {
    let bus = access(&args.bus, &[Role::Agent])?;
    let name = name_of(args.name.clone(), bus.identity.as_ref())?;
    let received = await_signal()?;
    let cpus = sys::usable_cpus().map_or(1, |cpus| cpus.len() as u32);
    // In a container the cgroup may grant fewer than the mask has.
    let quota = weir_machine::cpu_quota(&Root::machine());
    let cpus = quota.map_or(cpus, |quota| cpus.min(quota.ceil() as u32).max(1));
    let shown = split_userinfo(&bus.address).0;
    let permissions = args.permissions.permissions();
    let targets = permissions.targets.to_string();
    let access = MachineAccess::Limited(Arc::new(permissions));
    let local = LocalRunner { access, ..runner::here(false) };
    let settings = AgentSettings {
        name: name.clone(),
        bus,
        version: VERSION.trim_end().to_owned(),
        cpus,
        clock: clock_name(),
        runner: on_this_machine(&name, local),
        may_write_rows: args.permissions.may_write_rows(),
        is_once: args.once,
    };
    let is_ended = || received.get().is_some();
    let mut agent = within(args.bus_within, is_ended, || AgentProcess::start(settings.clone()))?;
    if !args.quiet {
        agent.log_to(Arc::new(|line| {
            terminal::eprint_line(format_args!("{} {line}", weir_runner::now()));
        }));
        terminal::eprint_line(format_args!("agent {name} waits for runs on {shown}"));
        terminal::eprint_line(format_args!("targets: {targets}"));
    }
    agent.serve(|| received.get().map(|signal| signal.name().to_owned()))?;
    match received.get().filter(|_| args.once) {
        // A job of one run has not done it.
        Some(signal) => Ok(exit::of_signal(*signal).into()),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Starts the thread that waits for signals, and returns the place of the first one.
fn await_signal() -> Result<Arc<OnceLock<Signal>>> {
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
    Ok(received)
}

/// Returns the agent's name: the bus takes from an identity what is said in its own alone.
fn name_of(given: Option<String>, identity: Option<&Identity>) -> Result<String> {
    match (given, identity) {
        (Some(name), Some(identity)) if name != identity.name => {
            bail!("--name {name}: the identity is that of {}; leave --name out", identity.name)
        }
        (_, Some(identity)) => Ok(identity.name.clone()),
        (given, None) => given.or_else(host_name).context("give a name: --name NAME"),
    }
}

/// Returns the host's name with what a subject of the bus may have.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    Some(name.trim().chars().map(fit).collect()).filter(|name: &String| !name.is_empty())
}

//! `weir fleet`: the agents of a bus, their identities, and runs that have lost their coordinator.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use weir_fleet::{AgentFacts, AgentPresence, FleetPlan, KeptRun, Role};
use weir_machine::sys;
use weir_report::{TextOptions, exporters, json};
use weir_runner::InterruptStage;
use weir_text::{printable, units};

use crate::args::PrintForm;
use crate::args::fleet::{
    BusArgs, FleetAddArgs, FleetCommand, FleetInitArgs, FleetRemoveArgs, FleetResumeArgs, NewAgents,
};
use crate::commands::manifest::manifest;
use crate::commands::run::{print, print_failure};
use crate::fleet::access;
use crate::interrupts::SignalState;
use crate::output::ResultFile;
use crate::{exit, terminal};

/// Carries out a command of `weir fleet`.
///
/// # Errors
/// When the bus cannot be reached, or keeps no such run.
pub(crate) fn fleet(command: &FleetCommand) -> Result<ExitCode> {
    match command {
        FleetCommand::Status(bus) => status(bus),
        FleetCommand::Init(args) => init(args),
        FleetCommand::Add(args) => add(args),
        FleetCommand::Remove(args) => remove(args),
        FleetCommand::Manifest(args) => manifest(args),
        FleetCommand::Resume(args) => resume(args),
    }
}

/// Makes the identities of a fleet, and prints what to do with them.
fn init(args: &FleetInitArgs) -> Result<ExitCode> {
    let NewAgents(agents) = &args.agents;
    let valid = days(args.days);
    let plan = FleetPlan { agents: agents.clone(), hosts: args.host.clone(), valid };
    plan.make(&args.directory)?;
    let directory = terminal::shown(&args.directory);
    let host = args.host.first().map_or("localhost", String::as_str);
    let count = agents.len();
    let first = &agents[0];
    terminal::print(|out| {
        writeln!(
            out,
            "{count} agents, for {} days. Each directory is for one machine:",
            args.days
        )?;
        writeln!(out, "  bus      cd {directory}/server && nats-server -c nats.conf")?;
        let flags = format!("--bus tls://{host} --identity {directory}/{first} --allow CIDR:PORTS");
        writeln!(out, "  agents   weir agent {flags}")?;
        let flags = format!("--bus tls://{host} --identity {directory}/coordinator");
        writeln!(out, "  runs     weir --agents {count} {flags} URL")?;
        writeln!(out, "{directory}/ca.key makes further identities: keep it from all of them.")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Adds agents to a fleet.
fn add(args: &FleetAddArgs) -> Result<ExitCode> {
    weir_fleet::add_agents(&args.directory, &args.names, days(args.days))?;
    let directory = terminal::shown(&args.directory);
    let made: Vec<String> = args.names.iter().map(|name| format!("{directory}/{name}")).collect();
    print_changed(&directory, &format!("made {}", made.join(", ")))
}

/// Removes identities from a fleet.
fn remove(args: &FleetRemoveArgs) -> Result<ExitCode> {
    weir_fleet::remove_identities(&args.directory, &args.names)?;
    let directory = terminal::shown(&args.directory);
    print_changed(&directory, &format!("removed {}", args.names.join(", ")))
}

fn print_changed(directory: &str, change: &str) -> Result<ExitCode> {
    terminal::print(|out| {
        writeln!(out, "{change}")?;
        writeln!(out, "copy {directory}/server/users.conf to the bus: nats-server --signal reload")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn days(count: u32) -> Duration {
    Duration::from_hours(24 * u64::from(count))
}

/// Prints the agents of a bus, and the runs that it keeps.
fn status(bus: &BusArgs) -> Result<ExitCode> {
    let (agents, runs) = weir_fleet::status(&access(bus, &[Role::Coordinator, Role::Viewer])?)?;
    let mut lines: Vec<String> = agents.iter().map(agent_line).collect();
    if lines.is_empty() {
        lines.push("no agents: start them with weir agent".to_owned());
    }
    lines.extend(runs.iter().map(run_line));
    terminal::print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(ExitCode::SUCCESS)
}

fn agent_line(agent: &AgentPresence) -> String {
    let AgentPresence { name, facts, run } = agent;
    let name = printable(name);
    let run = printable(run.as_deref().unwrap_or("unknown"));
    match facts {
        Some(AgentFacts { cpus, version, .. }) => {
            format!("agent {name}   free   {cpus} CPUs   weir {}", printable(version))
        }
        None => format!("agent {name}   in run {run}"),
    }
}

fn run_line(kept: &KeptRun) -> String {
    let KeptRun { run, begun_unix_ns, agents } = kept;
    let run = printable(run);
    let agents = agents.join(", ");
    match begun_unix_ns {
        None => format!("run {run}   not begun"),
        Some(ns) => {
            let ago = units::duration(sys::realtime_ns().saturating_sub(*ns));
            format!("run {run}   begun {ago} ago on {}", printable(&agents))
        }
    }
}

/// Reports a run whose coordinator has ended.
fn resume(args: &FleetResumeArgs) -> Result<ExitCode> {
    let bus = access(&args.bus, &[Role::Coordinator])?;
    let interrupts = SignalState::await_signals()?;
    interrupts.runs.begin_wait();
    let is_stopped = || interrupts.runs.received().is_some();
    let document = weir_fleet::resume(&bus, &args.run, is_stopped)?;
    if let Some(path) = &args.output {
        let file = ResultFile::at("--output", path, &interrupts.temporaries)?;
        file.write(|mut out| json::write(&document, &mut out))?;
    }
    interrupts.runs.enter(InterruptStage::Printing);
    print(&document, &PrintForm { format: exporters::TEXT, options: TextOptions::default() })?;
    print_failure(&document, None);
    Ok(exit::of_document(&document, None))
}

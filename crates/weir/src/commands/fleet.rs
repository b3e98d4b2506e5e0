//! `weir fleet`: the agents of a bus, and runs that have lost their coordinator.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use weir_fleet::{AgentFacts, AgentPresence, KeptRun};
use weir_report::{TextOptions, exporters, json};
use weir_runner::InterruptStage;
use weir_text::units;

use crate::args::PrintForm;
use crate::args::fleet::{BusArgs, FleetCommand, FleetResumeArgs};
use crate::commands::run::{print, print_failure};
use crate::fleet::address;
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
        FleetCommand::Resume(args) => resume(args),
    }
}

/// Prints the agents of a bus, and the runs that it keeps.
fn status(bus: &BusArgs) -> Result<ExitCode> {
    let (agents, runs) = weir_fleet::status(&address(bus)?)?;
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
    match facts {
        Some(AgentFacts { cpus, version, .. }) => {
            format!("agent {name}   free   {cpus} CPUs   weir {version}")
        }
        None => format!("agent {name}   in run {}", run.as_deref().unwrap_or("unknown")),
    }
}

fn run_line(kept: &KeptRun) -> String {
    let KeptRun { run, begun_unix_ns, agents } = kept;
    match begun_unix_ns {
        None => format!("run {run}   not begun"),
        Some(ns) => {
            let ago = units::duration(weir_sys::realtime_ns().saturating_sub(*ns));
            format!("run {run}   begun {ago} ago on {}", agents.join(", "))
        }
    }
}

/// Reports a run whose coordinator has ended.
fn resume(args: &FleetResumeArgs) -> Result<ExitCode> {
    let bus = address(&args.bus)?;
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

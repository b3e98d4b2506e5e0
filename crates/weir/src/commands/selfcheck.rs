//! `weir --selfcheck` without a URL: measures and prints the noise floor alone.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use weir_report::exporters;
use weir_result::document::SelfcheckSection;
use weir_runner::{LocalRunner, NoiseFloor, RunSpec};
use weir_text::units;

use crate::args::RunArgs;
use crate::interrupts::SignalState;
use crate::{exit, terminal};

/// Measures and prints the noise floor.
///
/// # Errors
/// When it cannot be measured, or the format is for a load's report.
pub(crate) fn run(args: &RunArgs, spec: &RunSpec) -> Result<ExitCode> {
    let output = &args.result.output;
    if ![exporters::TEXT, exporters::JSON].contains(&output.format) {
        bail!("--selfcheck alone prints text or JSON: use --format json, or add a URL");
    }
    let interrupts = SignalState::await_signals()?;
    let Some(floor) = LocalRunner::noise_floor(spec, &interrupts.runs)? else {
        terminal::eprint_line("interrupted: the noise floor was not measured");
        let signal = interrupts.runs.received();
        return Ok(signal.map_or(ExitCode::SUCCESS, exit::of_signalled));
    };
    if !output.quiet {
        match output.format == exporters::JSON {
            true => terminal::print_json(serde_json::to_string_pretty(&floor.section))?,
            false => terminal::print(|out| writeln!(out, "{}", table(&floor)))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The noise floor as a table.
fn table(floor: &NoiseFloor) -> String {
    let SelfcheckSection { rate, connections, threads, service_time, send_lag, .. } = floor.section;
    let rate = rate.to_string();
    let io = floor.io;
    let row = |name, p50_ns, p99_ns| {
        format!("  {name:10}{:>12}{:>12}\n", units::duration(p50_ns), units::duration(p99_ns))
    };
    format!(
        "noise floor: {rate} to a server within weir\n\
         {threads} threads, {connections} connections, {io}\n\n  {:10}{:>12}{:>12}\n{}{}\n{}",
        "",
        "p50",
        "p99",
        row("service", service_time.p50_ns, service_time.p99_ns),
        row("send lag", send_lag.p50_ns, send_lag.p99_ns),
        floor.advice,
    )
}

//! `weir scenario`: writes files of scenarios.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use weir_runner::{DATA_MAX_BYTES, ImportRules, ImportedScenario, credentials, read_text_input};

use crate::args::scenario::{ScenarioArgs, ScenarioCommand, ScenarioFromArgs};
use crate::interrupts::SignalState;
use crate::output::{ResultFile, is_same_file, is_stdout};
use crate::terminal::{self, shown};

/// Carries out an action.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn scenario(args: &ScenarioArgs) -> Result<ExitCode> {
    match &args.action {
        ScenarioCommand::From(args) => from(args),
    }
}

/// Writes a scenario made from requests of another program.
fn from(args: &ScenarioFromArgs) -> Result<ExitCode> {
    let interrupts = SignalState::await_signals()?;
    let output = args.output.as_deref().filter(|path| !is_stdout(path));
    if let Some(path) = output {
        check_output(args, path)?;
    }
    let is_stdin = args.file.as_os_str() == "-";
    let path = if is_stdin { Path::new("/dev/stdin") } else { &args.file };
    let text = read_text_input("the file", path, DATA_MAX_BYTES)?;
    let name = match is_stdin {
        true => "standard input".to_owned(),
        false => shown(path.file_name().unwrap_or_default()),
    };
    let stem = if is_stdin { None } else { path.file_stem() };
    let rules = ImportRules {
        format: args.format,
        file: &name,
        name: &stem.map(shown).unwrap_or_default(),
        origin: args.origin.as_deref(),
        has_resources: args.resources,
        is_secret: (!args.with_secrets).then_some(credentials::is_secret),
    };
    let imported = ImportedScenario::of(&text, rules);
    let imported = imported.map_err(|error| anyhow!("{}: {}", shown(path), error.of_file()))?;
    match output {
        None => terminal::print(|out| out.write_all(imported.text.as_bytes()))?,
        Some(path) => {
            let file = ResultFile::at("--output", path, &interrupts.temporaries)?;
            file.write(|out| out.write_all(imported.text.as_bytes()))?;
        }
    }
    for note in &imported.notes {
        terminal::eprint_line(format_args!("note: {note}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that the file of `-o` replaces none that was written by hand.
fn check_output(args: &ScenarioFromArgs, path: &Path) -> Result<()> {
    ensure!(
        !is_same_file(path, &args.file),
        "--output {} is the file with the requests: name another",
        shown(path)
    );
    ensure!(
        args.force || !path.is_file(),
        "--output {} exists: name another file, or replace it with --force",
        shown(path)
    );
    Ok(())
}

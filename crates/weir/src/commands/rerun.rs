//! `weir rerun`: the run of a document once more.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use weir_result::study::Hooks;
use weir_result::{Document, Study};

use super::study::{consent, spec_of};
use super::{recorded, run};
use crate::args::live::LiveArgs;
use crate::args::study::RerunArgs;
use crate::args::{Cli, RunArgs};
use crate::github::StepSummary;
use crate::observers::Observers;
use crate::runner;
use crate::terminal::shown;

/// Repeats the run.
///
/// # Errors
/// When the document cannot be read, the run would be another one, or it fails.
pub(crate) fn rerun(args: &RerunArgs) -> Result<ExitCode> {
    let summary = StepSummary::of(args.github)?;
    let document = Document::load(&args.file)
        .with_context(|| format!("{} cannot be repeated", shown(&args.file)));
    if document.is_err() && Study::load(&args.file).is_ok() {
        let file = shown(&args.file);
        bail!(
            "{file} is a study of several runs, and rerun repeats a single one: weir resume {file} \
             continues a study"
        );
    }
    let document = document?;
    if document.plan.part.is_some() || !document.parts.is_empty() {
        bail!("{} is of a run in parts: repeat its parts", shown(&args.file));
    }
    let command = document.run.command.as_deref().unwrap_or_default();
    let words = command.get(1..).filter(|words| !words.is_empty());
    let words = words.with_context(|| format!("{} has no command line", shown(&args.file)))?;
    let mut run_args = parsed(words)?;
    let hooks = Hooks::default();
    consent::check(&args.file, &consent::of_run(&run_args), &args.consent, &hooks, args.quiet)?;
    run_args.output.clone_from(&args.output);
    run_args.quiet = args.quiet;
    let mut spec = spec_of(parsed(words)?, command, &args.secrets)?;
    recorded::settle_choices(&mut spec, &document);
    let mut observers = Observers::of(&run_args)?;
    let prepared = runner::of(&spec).prepare(&spec, &mut observers.all)?;
    recorded::check_same(&document, &prepared)
        .with_context(|| format!("{} cannot be repeated", shown(&args.file)))?;
    run::carry_out(&run_args, prepared, summary.as_ref(), &mut observers)
}

/// Parses a recorded command line, without the files that it wrote, its screen and its
/// endpoint.
fn parsed(words: &[String]) -> Result<RunArgs> {
    let argv = std::iter::once("weir").chain(words.iter().map(String::as_str));
    let cli = Cli::of_recorded(argv.map(OsString::from))
        .map_err(|error| anyhow!("the recorded command line cannot be read: {error}"))?;
    let (output, exports) = (Vec::new(), Vec::new());
    let (raw, junit, save) = (None, None, None);
    let live = LiveArgs::default();
    Ok(RunArgs { raw, junit, output, save, exports, tui: false, live, ..cli.run })
}

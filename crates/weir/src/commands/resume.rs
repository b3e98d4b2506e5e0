//! `weir resume`: continues a study.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_result::study::{Design, Hooks, StudyError, TrialOutcome};
use weir_result::{Load, Study};
use weir_runner::{REDACTED, Runner};
use weir_study::Variant;

use super::study::{self, StudySettings, consent};
use super::{recorded, secrets};
use crate::args::study::{Consent, ResumeArgs};
use crate::github::StepSummary;
use crate::live::Progress;
use crate::output::{Outputs, all_exports, is_same_file};
use crate::runner;
use crate::terminal::{self, shown};

/// Continues the study.
///
/// # Errors
/// When the study cannot be read, or its runs would be others.
pub(crate) fn resume(args: &ResumeArgs) -> Result<ExitCode> {
    // Before the target is reached.
    StepSummary::of(args.others.github)?;
    let mut study = load(&args.file)?;
    let new = args.output.documents().next();
    let settings = StudySettings {
        output: new.or(Some(&args.file)),
        resumed: Some(&args.file),
        ..args.others.settings(&args.output, !args.no_settle, args.fail_on)
    };
    if !study.is_resumable() {
        terminal::eprint_line(format_args!("note: {} is complete", shown(&args.file)));
        // FILE is whole, and the others get all of it.
        let others = args.output.all_exports();
        let others = others.filter(|export| !is_same_file(&export.path, &args.file));
        let exports = all_exports(&args.others.exports, others, None);
        return study::report(&study, StudySettings { exports, ..settings });
    }
    check_commands(&study, args)?;
    check_rows(&study, settings.rows)?;
    weir_study::reopen(&mut study);
    let mut variants = Vec::new();
    let mut redacted = 0;
    for (index, cell) in (0..).zip(&study.cells) {
        let mut spec = recorded::spec_of(cell.spec.as_ref(), Some(&cell.words))
            .with_context(|| format!("{} cannot be resumed", shown(&args.file)))?;
        redacted += u32::from(!spec.missing_secrets().is_empty());
        secrets::restore(&mut spec, &args.secrets)?;
        spec.command = Some(cell.words.clone());
        let variant = Variant { cell: cell.clone(), spec };
        check(&study, index, &variant, &args.consent)?;
        variants.push(variant);
    }
    if redacted > 1 && !args.others.quiet {
        terminal::eprint_line(
            "note: all variants get the same values in the place of redacted ones",
        );
    }
    let hook = |flag, recorded: &Option<String>, given: &Option<String>| {
        restored_hook(flag, recorded.as_deref(), given.as_deref(), &variants)
    };
    let hooks = Hooks {
        before: hook("--before", &study.hooks.before, &args.hooks.before)?,
        after: hook("--after", &study.hooks.after, &args.hooks.after)?,
        ..study.hooks
    };
    study::conduct(study, hooks, variants, settings)
}

/// Reads the study.
fn load(file: &Path) -> Result<Study> {
    match Study::load(file) {
        Err(StudyError::SingleRun) => bail!(
            "{0} is the document of one run, and resume continues a study of several: \
             weir rerun {0} repeats the run",
            shown(file)
        ),
        study => study.with_context(|| format!("{} cannot be resumed", shown(file))),
    }
}

/// Checks that the file for rows is not the file of the earlier trials, whose rows would be lost: a
/// Parquet file ends with its index, so nothing can be appended.
fn check_rows(study: &Study, rows: Option<(&str, &Path)>) -> Result<()> {
    let Some((flag, path)) = rows.filter(|(_, path)| path.is_file()) else { return Ok(()) };
    let documents = study.trials.iter().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured(document) => Some(document),
        TrialOutcome::Failed { document, .. } => document.as_ref(),
    });
    let mut named = documents.flat_map(|document| &document.raw);
    if named.any(|raw| is_same_file(Path::new(&raw.file), path)) {
        bail!(
            "{flag} {} has the rows of the trials so far, and Parquet cannot be continued: name \
             another file for the further trials",
            shown(path)
        );
    }
    Ok(())
}

/// Checks that the user wants the commands of the study.
fn check_commands(study: &Study, args: &ResumeArgs) -> Result<()> {
    let named = consent::of_study(study)?;
    // A hook that is given again takes the place of the recorded one, which may be redacted.
    let again = |given: &Option<String>, recorded: &Option<String>| {
        given.as_ref().and_then(|_| recorded.clone())
    };
    let hooks = Hooks {
        before: again(&args.hooks.before, &study.hooks.before),
        after: again(&args.hooks.after, &study.hooks.after),
        ..Hooks::default()
    };
    consent::check(&args.file, &named, &args.consent, &hooks, args.others.quiet)
}

/// Returns the command of a hook, which is given again if it is redacted.
///
/// # Errors
/// When it is redacted and not given, or another one is given.
fn restored_hook(
    flag: &str,
    recorded: Option<&str>,
    given: Option<&str>,
    variants: &[Variant],
) -> Result<Option<String>> {
    match (recorded, given) {
        (Some(command), None) if command.contains(REDACTED) => {
            bail!("the study has {command:?} for {flag}: give the command again with {flag}")
        }
        (_, Some(given)) if recorded != Some(&*weir_study::redacted(variants, given)) => {
            bail!("{flag} is not the command of the study, {:?}", recorded.unwrap_or("none"))
        }
        (recorded, given) => Ok(given.or(recorded).map(str::to_owned)),
    }
}

/// Checks that the runs of a cell are the same as before, or read no other files than the study's
/// runs did.
fn check(study: &Study, cell: u32, variant: &Variant, consent: &Consent) -> Result<()> {
    let Some(document) = study.documents_of(cell).next() else {
        return check_inputs(study, variant, consent);
    };
    let mut spec = variant.spec.clone();
    if matches!(study.design, Design::Search { .. }) {
        // The search sets the load of each trial, within the limits of the specification.
        let own = spec.load;
        spec.load = Load {
            in_flight_max: own.in_flight_max,
            pipeline: own.pipeline,
            timeout_ns: own.timeout_ns,
            connect_timeout_ns: own.connect_timeout_ns,
            abort: own.abort,
            ..document.plan.load.clone()
        };
    }
    recorded::settle_choices(&mut spec, &document.plan);
    let prepared = runner::of(&spec).prepare(&spec, &mut Progress::new(true, false))?;
    recorded::check_same(document, &*prepared, &[])
}

/// Checks the files of a cell without a run: one that no run has read is a file that the study
/// names and its reader may not know.
fn check_inputs(study: &Study, variant: &Variant, consent: &Consent) -> Result<()> {
    if consent.run_commands {
        return Ok(());
    }
    let prepared =
        runner::of(&variant.spec).prepare(&variant.spec, &mut Progress::new(true, false))?;
    let documents = study.measured().map(|(_, document)| document);
    let recorded: Vec<_> = documents.flat_map(|document| document.run.inputs.clone()).collect();
    match recorded::new_inputs(&recorded, prepared.inputs())[..] {
        [] => Ok(()),
        [path, ..] => {
            bail!("no run of the study has read {path} yet: add --run-commands to read it")
        }
    }
}

//! `weir resume`: continues a study.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_result::Study;
use weir_result::study::{Design, Hooks};
use weir_runner::{LoadSpec, REDACTED, Warmup};

use super::recorded;
use super::study::{self, Manner, Variant, restored};
use crate::args::study::ResumeArgs;
use crate::github::StepSummary;
use crate::live::Progress;
use crate::runner;
use crate::terminal::{self, shown};

/// Continues the study.
///
/// # Errors
/// When the study cannot be read, or its runs would be others.
pub(crate) fn resume(args: &ResumeArgs) -> Result<ExitCode> {
    // Before the target is reached.
    StepSummary::of(args.github)?;
    let mut study = Study::load(&args.file)
        .with_context(|| format!("{} cannot be resumed", shown(&args.file)))?;
    let manner = Manner {
        output: Some(&args.file),
        exports: args.exports.clone(),
        format: args.format,
        quiet: args.quiet,
        github: args.github,
        settles: !args.no_settle,
        fail_on: args.fail_on,
    };
    if !study.is_resumable() {
        terminal::eprint_line(format_args!("note: {} is complete", shown(&args.file)));
        return study::report(&study, manner);
    }
    weir_study::reopen(&mut study);
    let mut variants = Vec::new();
    for (index, cell) in (0..).zip(&study.cells) {
        let spec = restored(&cell.words, &args.secrets)?;
        let variant = Variant { cell: cell.clone(), spec };
        check(&study, index, &variant)?;
        variants.push(variant);
    }
    let is_redacted =
        |variant: &&Variant| variant.cell.words.iter().any(|word| word.contains(REDACTED));
    if variants.iter().filter(is_redacted).count() > 1 && !args.quiet {
        terminal::eprint_line(
            "note: all variants get the same values in the place of redacted ones",
        );
    }
    let hook = |flag, recorded: &Option<String>, given: &Option<String>| {
        restored_hook(flag, recorded.as_deref(), given.as_deref(), &variants)
    };
    let hooks = Hooks {
        before: hook("--before", &study.hooks.before, &args.before)?,
        after: hook("--after", &study.hooks.after, &args.after)?,
        ..study.hooks
    };
    study::conduct(study, hooks, variants, manner)
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
        (_, Some(given)) if recorded != Some(&*study::redacted(variants, given)) => {
            bail!("{flag} is not the command of the study, {:?}", recorded.unwrap_or("none"))
        }
        (recorded, given) => Ok(given.or(recorded).map(str::to_owned)),
    }
}

/// Checks that the runs of a cell are the same as before.
fn check(study: &Study, cell: u32, variant: &Variant) -> Result<()> {
    let Some(document) = study.documents_of(cell).next() else { return Ok(()) };
    let mut spec = variant.spec.clone();
    if matches!(study.design, Design::Search { .. }) {
        // The search sets the load of each trial.
        let plan = &document.plan;
        spec.load = LoadSpec {
            model: plan.load,
            connections: plan.connections,
            warmup: Warmup { span_ns: plan.warmup_ns, is_auto: plan.warmup_is_auto },
            duration_ns: plan.duration_ns,
            requests: plan.requests,
            drain_ns: plan.drain_ns,
            ..spec.load
        };
    }
    recorded::settle_choices(&mut spec, document);
    let prepared = runner::of(&spec).prepare(&spec, &mut Progress::new(true))?;
    recorded::check_same(document, &prepared)
}

//! `weir resume`: continues a study.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_result::Study;
use weir_result::study::Design;
use weir_runner::{LoadSpec, REDACTED, Warmup};

use super::recorded;
use super::study::{self, Manner, Variant, restored};
use crate::args::study::ResumeArgs;
use crate::live::Progress;
use crate::runner;
use crate::terminal::{self, shown};

/// Continues the study.
///
/// # Errors
/// When the study cannot be read, or its runs would be others.
pub(crate) fn resume(args: &ResumeArgs) -> Result<ExitCode> {
    let mut study = Study::load(&args.file)
        .with_context(|| format!("{} cannot be resumed", shown(&args.file)))?;
    if !study.is_resumable() {
        terminal::eprint_line(format_args!("note: {} is complete", shown(&args.file)));
        study::print(&study, args.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let hooks = study.hooks.clone();
    if [&hooks.before, &hooks.after].into_iter().flatten().any(|hook| hook.contains(REDACTED)) {
        bail!("the commands of --before and --after have redacted values: begin the study anew");
    }
    weir_study::reopen(&mut study);
    let mut variants = Vec::new();
    for (index, cell) in (0..).zip(&study.cells) {
        let spec = restored(&cell.words, &args.secrets)?;
        let variant = Variant { cell: cell.clone(), spec };
        check(&study, index, &variant)?;
        variants.push(variant);
    }
    let manner = Manner {
        output: Some(&args.file),
        format: args.format,
        quiet: args.quiet,
        github: false,
        settles: !args.no_settle,
        fail_on: None,
    };
    study::conduct(study, hooks, variants, manner)
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

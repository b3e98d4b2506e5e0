//! `weir repeat`: the same run several times.

use std::process::ExitCode;

use anyhow::Result;
use weir_result::study::{Design, Hooks};

use super::study;
use crate::args::study::RepeatArgs;

/// Metrics of the result.
const METRICS: [&str; 10] =
    ["rate", "bytes", "mean", "p50", "p75", "p90", "p99", "p99.9", "max", "errors"];

/// Makes the study.
///
/// # Errors
/// When the command line is wrong, or the study cannot be kept.
pub(crate) fn repeat(args: &RepeatArgs) -> Result<ExitCode> {
    let variant = study::of_words("", &args.run)?;
    let metrics = match args.study.metrics.is_empty() {
        true => METRICS.map(str::to_owned).to_vec(),
        false => args.study.metrics.clone(),
    };
    let design = Design::Repeat { runs: args.runs, metrics };
    let own = ["repeat".to_owned(), "-n".to_owned(), args.runs.to_string()];
    let words = study::command(&own, &variant.cell);
    let variants = vec![variant];
    let study = study::new(&args.study, design, &variants, words);
    study::conduct(study, hooks(&args.study), variants, args.study.settings(None))
}

/// The commands of the hooks as given.
pub(crate) fn hooks(flags: &crate::args::study::StudyFlags) -> Hooks {
    Hooks {
        before: flags.before.clone(),
        after: flags.after.clone(),
        timeout_ns: flags.hook_timeout,
    }
}

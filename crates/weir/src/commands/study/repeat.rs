//! `weir repeat`: the same run several times.

use std::process::ExitCode;

use anyhow::Result;
use weir_result::study::Design;

use super::making::{command, make, metrics};
use super::variant::of_words;
use crate::args::study::RepeatArgs;

/// Metrics of the result.
const METRICS: [&str; 10] =
    ["rate", "bytes", "mean", "p50", "p75", "p90", "p99", "p99.9", "max", "errors"];

/// Makes the study.
///
/// # Errors
/// When the command line is wrong, or the study cannot be kept.
pub(crate) fn repeat(args: &RepeatArgs) -> Result<ExitCode> {
    let variant = of_words("", &args.run)?;
    let metrics = metrics(&args.study.metrics, None, &METRICS);
    let design = Design::Repeat { runs: args.runs, metrics };
    let own = ["repeat".to_owned(), "-n".to_owned(), args.runs.to_string()];
    let words = command(&own, &variant.cell);
    make(&args.study, design, vec![variant], words, None)
}

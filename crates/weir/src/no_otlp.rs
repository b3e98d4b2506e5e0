//! In place of the push of `--otlp`, in a build without it.

use anyhow::{Result, bail};
use weir_runner::{Observer, TlsSpec};

use crate::live::SharedTotals;

/// Fails: this build pushes no metrics.
///
/// # Errors
/// Always.
pub(crate) fn observer(
    _: &str,
    _: &TlsSpec,
    _: bool,
    _: SharedTotals,
) -> Result<Box<dyn Observer>> {
    bail!("--otlp: this build has no OpenTelemetry: build weir with --features otlp");
}

//! The flags of the figures while a load runs: on the terminal, and for programs that read them.

use clap::Args;

/// The flags.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LiveArgs {
    /// While the load runs, show rate, percentiles, heat map and errors on the whole terminal
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub(crate) tui: bool,
    /// Serve metrics to Prometheus while weir runs, at http://ADDRESS:PORT/metrics; port 0 takes a
    /// free one
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Output")]
    pub(crate) listen: Option<String>,
    /// Push metrics to this OpenTelemetry collector while the load runs, as OTLP over HTTP:
    /// http://127.0.0.1:4318; headers for it go into OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "URL", help_heading = "Output")]
    pub(crate) otlp: Option<String>,
}

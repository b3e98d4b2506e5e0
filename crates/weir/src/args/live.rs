//! The flags of the figures that programs read while a run goes.

use clap::Args;

/// The flags.
#[derive(Debug, Default, Args)]
pub(crate) struct LiveArgs {
    /// Serve metrics to Prometheus while weir runs, at http://ADDRESS:PORT/metrics; port 0 takes a
    /// free one
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        conflicts_with = "print_plan",
        help_heading = "Output"
    )]
    pub(crate) listen: Option<String>,
    /// Push metrics to this OpenTelemetry collector while the load runs, as OTLP over HTTP:
    /// http://127.0.0.1:4318; headers for it go into OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "URL", conflicts_with = "print_plan", help_heading = "Output")]
    pub(crate) otlp: Option<String>,
}

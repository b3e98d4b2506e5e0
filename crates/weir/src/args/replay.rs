//! The flags of a replayed log.

use std::path::{Path, PathBuf};

use clap::Args;
use weir_result::Speed;
use weir_runner::{InputFile, ReplaySpec};

/// Heading of the flags.
const HEADING: &str = "Load";

/// The flags of a replayed log.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ReplayArgs {
    /// Send the requests of this log at its times, once each, to the server of the URL; -: standard
    /// input. An access log of nginx or Apache, JSON lines with a time, or a HAR file. Requests
    /// with unsafe methods (POST, PUT, ...) are left out and counted
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["rate", "stages", "duration", "requests", "arrivals", "warmup",
                                "pipeline", "from", "order", "body_lines", "rows", "script",
                                "method", "body", "body_size", "form_fields"])]
    pub(crate) replay: Option<PathBuf>,
    /// Format of the log: common, combined, jsonl, har, or nginx's log_format string, as in '$msec
    /// "$request"' [default: recognised by its content]
    #[arg(long, value_name = "FORMAT", requires = "replay")]
    replay_format: Option<String>,
    /// Send requests with unsafe methods too, without a body: they may change the server's data
    #[arg(long, requires = "replay")]
    replay_unsafe: bool,
    /// Speed of the replay: 2x sends twice as fast as the log, 0.5x half as fast [default: 1x]
    #[arg(long, value_name = "FACTOR", requires = "replay")]
    speed: Option<Speed>,
}

impl ReplayArgs {
    /// True if the log is standard input, which can be read once.
    pub(crate) fn is_stream(&self) -> bool {
        self.replay.as_deref() == Some(Path::new("-"))
    }

    /// Returns the log of the specification; `groups` are patterns of requests that share a name.
    pub(super) fn spec(&self, groups: &[String]) -> Option<ReplaySpec> {
        let path = self.replay.as_ref()?;
        let path = if self.is_stream() { Path::new("/dev/stdin") } else { path };
        Some(ReplaySpec {
            file: InputFile::at(path),
            format: self.replay_format.clone(),
            speed: self.speed.unwrap_or_default(),
            sends_unsafe: self.replay_unsafe,
            groups: groups.to_vec(),
        })
    }
}

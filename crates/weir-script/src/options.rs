//! What a script is told about the run before it starts.

use std::path::PathBuf;
use std::sync::Arc;

use crate::calling::Calling;

/// What drives the load; it decides the one question on which wrk and wrk2 contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As wrk: `#statistics` is the number of distinct values.
    ClosedLoop,
    /// As wrk2 with its rate: `#statistics` is the number of samples.
    ConstantRate,
}

/// The script, the target and the words of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The script.
    pub file: PathBuf,
    /// Its content, if it is a pipe, which can be read only once. Otherwise each state reads it.
    pub source: Option<Arc<[u8]>>,
    /// The target as it was given; `args[0]` of `init`.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// A name or an address, IPv6 without brackets.
    pub host: String,
    /// As given in the URL; none if it had none.
    pub port: Option<String>,
    /// Path and query.
    pub path: String,
    /// Names and values of the user's header fields; the last of one name wins.
    pub headers: Vec<(String, String)>,
    /// The words after the URL; `args[1]` and on of `init`.
    pub args: Vec<String>,
    /// What drives the load.
    pub mode: Mode,
    /// How much one state may hold, garbage included; 0 is no limit.
    pub memory_limit_bytes: usize,
    /// Records the current call for a watchdog thread.
    pub calling: Arc<Calling>,
}

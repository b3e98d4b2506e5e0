//! Options of a script: the file, the target and the arguments, fixed before the run starts.

use std::path::PathBuf;
use std::sync::Arc;

use crate::calling::Calling;

/// Load mode. It selects wrk's or wrk2's meaning of `#statistics`, in which the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As wrk: `#statistics` is the number of distinct values.
    ClosedLoop,
    /// As wrk2 with its rate: `#statistics` is the number of samples.
    ConstantRate,
}

/// The script, the target and the command line's arguments.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the script.
    pub file: PathBuf,
    /// Content of the script, if it is a pipe, which can be read only once. Otherwise each state
    /// reads `file`.
    pub source: Option<Arc<[u8]>>,
    /// URL of the target as given; `args[0]` of `init`.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// Port as given in the URL; none if it had none.
    pub port: Option<String>,
    /// Family of the addresses that `wrk.lookup` returns: true for IPv4; none is either.
    pub is_ipv4: Option<bool>,
    /// Path and query.
    pub path: String,
    /// Names and values of the user's header fields; the last of one name wins.
    pub headers: Vec<(String, String)>,
    /// Arguments after the URL; `args[1]` and on of `init`.
    pub args: Vec<String>,
    /// True if a request has a Content-Length beside a Transfer-Encoding, as wrk sends it.
    pub sends_both_lengths: bool,
    /// Load mode.
    pub mode: Mode,
    /// Memory limit of one state in bytes, garbage included; 0 is no limit.
    pub memory_limit_bytes: usize,
    /// Records the current call for a watchdog thread.
    pub calling: Arc<Calling>,
}

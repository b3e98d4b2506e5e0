//! Failed connections by kind.

use serde::{Deserialize, Serialize};

use crate::errno;
use crate::failures::{FailureCause, FailureKind, FailurePhase};

/// Number of connections that failed in one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionFailure {
    /// State of the connection when it failed: `connect`, `idle` or `in_use`.
    pub phase: FailurePhase,
    /// Cause: `errno`, `timeout`, `closed`, `protocol_` and the rule that the peer broke, or `tls_`
    /// and the failure's code.
    pub cause: String,
    /// Name of the error number, `ECONNREFUSED` (its digits if it has no usual name); null for
    /// other causes.
    pub errno: Option<String>,
    /// Description of the cause in words.
    pub text: String,
    /// Number of failed connections.
    pub count: u64,
}

impl ConnectionFailure {
    /// Creates the entry for `count` failures of a kind.
    pub fn of(kind: FailureKind, count: u64) -> ConnectionFailure {
        let (cause, number, text) = match kind.cause {
            FailureCause::Errno(number) => ("errno".into(), Some(number), errno::text(number)),
            FailureCause::Timeout => ("timeout".into(), None, "timed out".into()),
            FailureCause::Closed => ("closed".into(), None, "closed by the peer".into()),
            FailureCause::Protocol(rule) => (format!("protocol_{rule}"), None, broken(rule)),
            FailureCause::Tls(code) => {
                (format!("tls_{code}"), None, format!("TLS: {}", code.replace('_', " ")))
            }
        };
        let errno = number.map(errno::name);
        ConnectionFailure { phase: kind.phase, cause, errno, text, count }
    }

    fn is_same_kind(&self, other: &ConnectionFailure) -> bool {
        (self.phase, &self.cause, &self.errno) == (other.phase, &other.cause, &other.errno)
    }
}

/// Describes what the peer did against a rule of the protocol.
fn broken(rule: &str) -> String {
    if rule == "bad_deflate" {
        return "a compressed message cannot be inflated".to_owned();
    }
    let field = match rule {
        "upgrade_accept" => Some("Sec-WebSocket-Accept is missing, there twice or wrong"),
        "upgrade_extension" => Some("Sec-WebSocket-Extensions has what was not offered"),
        "upgrade_protocol" => Some("Sec-WebSocket-Protocol has what was not offered"),
        _ => None,
    };
    if let Some(field) = field {
        return format!("no upgrade to WebSocket: {field}");
    }
    match (rule.strip_prefix("upgrade_"), rule.strip_prefix("upgrade_refused_")) {
        (_, Some(status)) => format!("upgrade to WebSocket refused: status {status}"),
        (Some(end), _) => format!("upgrade to WebSocket {end}"),
        _ => format!("broke HTTP: {rule}"),
    }
}

/// Adds failures of the same kind together, and sorts by phase, cause and errno.
pub(crate) fn add_failures(mine: &mut Vec<ConnectionFailure>, theirs: &[ConnectionFailure]) {
    for failure in theirs {
        match mine.iter_mut().find(|known| known.is_same_kind(failure)) {
            Some(known) => known.count += failure.count,
            None => mine.push(failure.clone()),
        }
    }
    mine.sort();
}

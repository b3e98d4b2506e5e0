//! Identity and circumstances of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::Input;

/// Program that wrote a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Name of the program: `weir`.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// Identity and circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Identifier of the run; each part has one of its own.
    pub id: String,
    /// Wall-clock time of the epoch, RFC 3339.
    pub epoch: String,
    /// Wall-clock time of the epoch in nanoseconds since 1970, UTC. The monotonic times of this
    /// document count from the epoch.
    pub epoch_unix_ns: u64,
    /// Number of this part of the run, from 1; 1 for a whole run and a merged one.
    pub part: u32,
    /// Number of parts of the run; 1 for a whole run and a merged one.
    pub parts: u32,
    /// True if a signal ended the run before its plan did, or the condition in `aborted`.
    pub interrupted: bool,
    /// Condition that ended the run; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// True if the warm-up waited for a steady load and ended at its time limit instead; absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
    /// The command line, word by word, with `[redacted]` for credentials.
    pub command: Option<Vec<String>>,
    /// Specification of the run, as `weir --print-spec` writes it and `weir --spec` runs it, with
    /// `[redacted]` for credentials and without the content of files; absent in merged documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<serde_json::Value>,
    /// Files that the run read; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Facts about the run that the user gave (`--note`), by name; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// SHA-256 of the plan, in hexadecimal: of its JSON without blanks, the names of each object in
    /// ascending order, with 0 for `request.wire_bytes`, which depends on the secrets; absent in
    /// merged documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    /// Response of the URL before the load, if a preflight was sent.
    pub preflight: Option<Preflight>,
    /// CPU time and memory that weir used.
    pub client: ClientUsage,
}

/// A condition of `--abort` that ended a run (METHOD 1.5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Aborted {
    /// The condition: `errors > 5% for 5s`.
    pub condition: String,
    /// End of the last interval in which it held, in seconds from t0.
    pub at_s: f64,
    /// Values of its metric in the intervals for which it held, usually one per second: a share of
    /// 1, nanoseconds, per second, or a count.
    pub values: Vec<f64>,
    /// The least and the greatest of `values`, in words.
    pub measured: String,
}

/// Response to the request sent before the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preflight {
    /// The status code.
    pub status: u16,
    /// Protocol of the response: `HTTP/1.1`.
    pub http_version: String,
    /// The `Server` header.
    pub server: Option<String>,
    /// The `Location` header of a redirect.
    pub location: Option<String>,
    /// Length of the response's body in bytes, if it was read to its end.
    pub body_bytes: Option<u64>,
    /// Address that responded.
    pub address: String,
    /// Time from the send to the last byte, in nanoseconds.
    pub elapsed_ns: u64,
}

/// CPU time and memory that weir used; over all parts after a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientUsage {
    /// CPU time in user space, in nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub cpu_system_ns: u64,
    /// Peak resident memory in bytes.
    pub max_resident_bytes: u64,
}

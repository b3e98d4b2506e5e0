//! Kinds of failure: of a request, and of a connection. Closed sets, each with a stable name.

use serde::{Deserialize, Serialize};

use crate::errno;

/// Reason why a slot ended as `transport_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The peer closed before the first byte of the response.
    ClosedBeforeAnswer,
    /// The peer closed inside the response.
    ClosedInAnswer,
    /// The response broke HTTP; the stable code of the rule it broke.
    Protocol(&'static str),
    /// A system call failed with this errno (errno(3)).
    Errno(i32),
    /// TLS failed; a stable code.
    Tls(&'static str),
}

impl ErrorKind {
    /// Returns the name in a document: `closed_before_answer`, `ECONNRESET`, `protocol_bad_chunk`,
    /// `errno_999`.
    pub fn name(&self) -> String {
        match self {
            ErrorKind::ClosedBeforeAnswer => "closed_before_answer".to_owned(),
            ErrorKind::ClosedInAnswer => "closed_in_answer".to_owned(),
            ErrorKind::Protocol(rule) => format!("protocol_{rule}"),
            ErrorKind::Tls(code) => format!("tls_{code}"),
            ErrorKind::Errno(number) => {
                let name = errno::name(*number);
                if name.starts_with('E') { name } else { format!("errno_{name}") }
            }
        }
    }
}

/// Reason why a response counts as `bad_response`, in a run with expectations or with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissKind {
    /// The status code is not an expected one.
    Status,
    /// The status of a call of gRPC is not an expected one, or missing; the name in a document,
    /// `grpc_UNAVAILABLE`.
    Grpc(&'static str),
    /// A header is missing, or has another value.
    Header,
    /// The body has no match.
    Body,
    /// The body is not JSON, or has no such value at the place.
    Json,
    /// The body is not that of the first response.
    Same,
    /// The body is longer than the limit of decoded bodies, or than the memory that was left.
    BodyTooLarge,
    /// The body cannot be decoded.
    BodyUndecodable,
    /// A value that a step captures is missing.
    Capture,
    /// A redirect leads to another origin.
    RedirectElsewhere,
    /// The redirects are more than may be followed.
    RedirectLimit,
    /// An error is among the messages.
    StreamError,
    /// No message carries a token.
    StreamWithoutToken,
    /// The stream ended without the end mark that others had.
    StreamWithoutEnd,
}

impl MissKind {
    /// Returns the name in a document: `expect_status`, `grpc_UNAVAILABLE`, `stream_error`.
    pub fn name(self) -> &'static str {
        match self {
            MissKind::Status => "expect_status",
            MissKind::Grpc(name) => name,
            MissKind::Header => "expect_header",
            MissKind::Body => "expect_body",
            MissKind::Json => "expect_json",
            MissKind::Same => "expect_same",
            MissKind::BodyTooLarge => "body_too_large",
            MissKind::BodyUndecodable => "body_not_decodable",
            MissKind::Capture => "capture_missing",
            MissKind::RedirectElsewhere => "redirect_elsewhere",
            MissKind::RedirectLimit => "redirect_limit",
            MissKind::StreamError => "stream_error",
            MissKind::StreamWithoutToken => "stream_without_token",
            MissKind::StreamWithoutEnd => "stream_without_end",
        }
    }
}

/// A response that missed an expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissExample {
    /// Status code of the response.
    pub status: u16,
    /// The expectation, as it was written.
    pub expected: String,
    /// The header, the value, or the beginning of the body that was found in its place. In a
    /// document at most 200 characters, without credentials.
    pub found: String,
}

/// Phase and cause of a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureKind {
    /// Phase in which it failed.
    pub phase: FailurePhase,
    /// Cause of the failure.
    pub cause: FailureCause,
}

/// State of a connection when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    /// Connecting.
    Connect,
    /// Open, with nothing in flight.
    Idle,
    /// Open, with requests in flight.
    InUse,
}

/// Cause of a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureCause {
    /// A system call failed with this errno.
    Errno(i32),
    /// Connecting, or a response, took longer than allowed.
    Timeout,
    /// The peer closed at a point that the protocol does not allow.
    Closed,
    /// The peer broke HTTP; the stable code of the rule.
    Protocol(&'static str),
    /// TLS failed; a stable code.
    Tls(&'static str),
}

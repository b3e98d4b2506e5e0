//! A text that is no expectation.

use thiserror::Error;

/// The forms of expectations, for messages.
const FORMS: &str = "status=CODES, grpc-status=CODES, header:NAME, header:NAME=VALUE, body~REGEX, \
                     json:POINTER=VALUE, json:POINTER or same";

/// A text that is no expectation, or expectations that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpectError {
    /// It has none of the forms.
    #[error("{0:?} is no expectation: give {FORMS}")]
    Form(String),
    /// A status code or range that does not exist.
    #[error("{0:?} is no status code: give codes and ranges from 100 to 999, as in 200-299,304")]
    Status(String),
    /// A status of gRPC that does not exist.
    #[error("{0:?} is no status of gRPC: give numbers from 0 to 16, or names, as in 0,NOT_FOUND")]
    GrpcStatus(String),
    /// A header name that RFC 9110 §5.1 does not allow.
    #[error("{0:?} is no name of a header: use letters, digits and !#$%&'*+-.^_`|~")]
    HeaderName(String),
    /// A regular expression that cannot be used; with the reason.
    #[error("{expression:?} is no regular expression: {reason}")]
    Regex {
        /// The expression.
        expression: String,
        /// The reason, in one line.
        reason: String,
    },
    /// A JSON pointer that RFC 6901 does not allow.
    #[error("{0:?} is no JSON pointer: begin it with /, and write ~0 for ~ and ~1 for / in a name")]
    Pointer(String),
    /// Several rules for the status code.
    #[error("`{0}` and `{1}` are two rules for the status code: join their codes with a comma")]
    TwoStatuses(String, String),
}

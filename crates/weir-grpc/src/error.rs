//! Errors of schemas and messages, for the user.

use thiserror::Error;

/// A schema that cannot be used, or a message that does not fit it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// A text that is no name of a method.
    #[error("{0:?} is no method: write package.Service/Method")]
    MethodForm(String),
    /// A service that the schema does not have; with those that it has.
    #[error("no service {service:?} in {place}{}", listed(found))]
    NoService {
        /// The service.
        service: String,
        /// The place of the schema.
        place: String,
        /// Services that exist.
        found: Vec<String>,
    },
    /// A method that its service does not have; with those that it has.
    #[error("no method {method:?} in service {service:?}{}", listed(found))]
    NoMethod {
        /// The method.
        method: String,
        /// Its service.
        service: String,
        /// Methods that exist.
        found: Vec<String>,
    },
    /// A file that cannot be compiled or decoded, with the reason.
    #[error("{0}")]
    Compile(String),
    /// A body that is no JSON of the messages of a method.
    #[error("it is no JSON of {message}: {reason}")]
    Json {
        /// Name of the message.
        message: String,
        /// The reason, in one line.
        reason: String,
    },
    /// A number of messages that the kind of a method does not allow.
    #[error("it has {count} messages, and the method takes one")]
    Messages {
        /// Their number.
        count: usize,
    },
    /// Bytes that are no protobuf of a message.
    #[error("the message is no {message}: {reason}")]
    Protobuf {
        /// Name of the message.
        message: String,
        /// The reason, in one line.
        reason: String,
    },
    /// A build without the feature `schema`.
    #[error("this build has no schemas: build weir with its feature grpc")]
    Absent,
    /// A response of the reflection service that reports an error.
    #[error("reflection: {0}")]
    Reflection(String),
}

/// Most names that a message lists.
const LISTED_MAX: usize = 10;

/// Returns the end of a message that lists names.
fn listed(names: &[String]) -> String {
    let shown = &names[..names.len().min(LISTED_MAX)];
    match (shown, names.len() - shown.len()) {
        ([], _) => String::new(),
        (shown, 0) => format!("; it has: {}", shown.join(", ")),
        (shown, more) => format!("; it has: {}, and {more} more", shown.join(", ")),
    }
}

/// Returns a text of several lines as one.
#[cfg(feature = "schema")]
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

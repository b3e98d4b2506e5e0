//! Names and kinds of methods. Independent of schemas.

use std::str::FromStr;

use crate::error::SchemaError;

/// Name of a method: `package.Service/Method`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodName {
    /// Service with its package.
    pub service: String,
    /// Method of the service.
    pub method: String,
}

/// Kind of a method: the sides that send any number of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// Neither.
    Unary,
    /// The client.
    ClientStreaming,
    /// The server.
    ServerStreaming,
    /// Both.
    Bidirectional,
}

impl MethodName {
    /// Returns the request target.
    pub fn path(&self) -> String {
        format!("/{}/{}", self.service, self.method)
    }
}

impl FromStr for MethodName {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<MethodName, SchemaError> {
        let name = text.strip_prefix('/').unwrap_or(text);
        let is_name = |part: &str| {
            let is_char = |char: char| char.is_ascii_alphanumeric() || char == '_';
            !part.is_empty() && part.chars().all(is_char)
        };
        let parts = name
            .split_once('/')
            .filter(|(service, method)| is_name(method) && service.split('.').all(is_name));
        let (service, method) = parts.ok_or_else(|| SchemaError::MethodForm(text.to_owned()))?;
        Ok(MethodName { service: service.to_owned(), method: method.to_owned() })
    }
}

impl MethodKind {
    /// True if requests may have any number of messages.
    pub fn streams_requests(self) -> bool {
        matches!(self, MethodKind::ClientStreaming | MethodKind::Bidirectional)
    }

    /// True if responses may have any number of messages.
    pub fn streams_responses(self) -> bool {
        matches!(self, MethodKind::ServerStreaming | MethodKind::Bidirectional)
    }
}

//! One expectation, and its text.

use std::fmt;
use std::str::FromStr;

use regex::bytes::Regex;
use weir_http::grpc::GrpcStatus;

use crate::expect::ExpectError;
use crate::expect::json::{Expected, Pointer};
use crate::expect::status::StatusCodes;

/// An expectation of responses.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The expectation as it was written.
    text: String,
    pub(super) condition: Condition,
}

/// The condition of an expectation.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// `status=CODES`: the status code is one of these.
    Status(StatusCodes),
    /// `grpc-status=CODES`: the call of gRPC ended with one of these.
    Grpc(Vec<GrpcStatus>),
    /// `header:NAME` and `header:NAME=VALUE`: a field with this name exists, with this value.
    Header {
        /// Name, in any case.
        name: String,
        /// Value; `None` for any.
        value: Option<String>,
    },
    /// `body~REGEX`: the decoded body has a match.
    Body(Regex),
    /// `json:POINTER` and `json:POINTER=VALUE`: the decoded body is JSON and has this value.
    Json {
        /// Place of the value (RFC 6901).
        pointer: Pointer,
        /// The value; `None` for any.
        value: Option<Expected>,
    },
    /// `same`: the decoded body equals that of the first response.
    Same,
}

impl Condition {
    /// True if the body decides.
    pub(super) fn reads_body(&self) -> bool {
        matches!(self, Condition::Body(_) | Condition::Json { .. } | Condition::Same)
    }

    /// True if fields decide.
    pub(super) fn reads_fields(&self) -> bool {
        matches!(self, Condition::Grpc(_) | Condition::Header { .. })
    }
}

impl Expectation {
    /// True if it reads bodies as JSON.
    pub fn reads_json(&self) -> bool {
        matches!(self.condition, Condition::Json { .. })
    }

    /// True if it is about the status of a call of gRPC.
    pub fn is_of_grpc(&self) -> bool {
        matches!(self.condition, Condition::Grpc(_))
    }
}

impl FromStr for Expectation {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<Expectation, ExpectError> {
        let text = text.trim();
        let condition = if text == "same" {
            Condition::Same
        } else if let Some(codes) = text.strip_prefix("status=") {
            Condition::Status(StatusCodes::parse(codes)?)
        } else if let Some(codes) = text.strip_prefix("grpc-status=") {
            Condition::Grpc(grpc_statuses(codes)?)
        } else if let Some(field) = text.strip_prefix("header:") {
            header(field)?
        } else if let Some(expression) = text.strip_prefix("body~") {
            Condition::Body(regex(expression)?)
        } else if let Some(place) = text.strip_prefix("json:") {
            // An equals sign in a name of the pointer cannot be written.
            let (pointer, value) = match place.split_once('=') {
                Some((pointer, value)) => (pointer, Some(Expected::of(value))),
                None => (place, None),
            };
            Condition::Json { pointer: Pointer::parse(pointer)?, value }
        } else {
            return Err(ExpectError::Form(text.to_owned()));
        };
        Ok(Expectation { text: text.to_owned(), condition })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn grpc_statuses(text: &str) -> Result<Vec<GrpcStatus>, ExpectError> {
    let of_code = |code: &str| GrpcStatus::of_text(code.trim());
    let statuses: Option<Vec<GrpcStatus>> = text.split(',').map(of_code).collect();
    statuses.ok_or_else(|| ExpectError::GrpcStatus(text.to_owned()))
}

fn header(field: &str) -> Result<Condition, ExpectError> {
    let (name, value) = match field.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
        None => (field.trim(), None),
    };
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_tchar) {
        return Err(ExpectError::HeaderName(name.to_owned()));
    }
    Ok(Condition::Header { name: name.to_owned(), value })
}

/// Compiles a regular expression.
pub(crate) fn regex(expression: &str) -> Result<Regex, ExpectError> {
    Regex::new(expression).map_err(|error| {
        let reason = match &error {
            // Its text draws the expression over several lines; the last one is the reason.
            regex::Error::Syntax(text) => text.lines().last().unwrap_or_default().trim(),
            regex::Error::CompiledTooBig(_) => "it is too large",
            _ => "it cannot be compiled",
        };
        let reason = reason.trim_start_matches("error: ").to_owned();
        ExpectError::Regex { expression: expression.to_owned(), reason }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_written_as_they_are_read() {
        for text in [
            "status=200-299",
            "grpc-status=0,NOT_FOUND",
            "header:etag",
            "header:Content-Type=text/html; charset=utf-8",
            "body~^ok$",
            "body~",
            "json:/status=done",
            "json:/a~1b/0",
            "json:=1",
            "same",
        ] {
            let read: Expectation = text.parse().expect(text);
            assert_eq!(read.to_string(), text);
        }
        let padded: Expectation = " same ".parse().expect("blanks around it");
        assert_eq!(padded.to_string(), "same");
    }

    #[test]
    fn errors_name_the_forms_and_the_reason() {
        let check = |text: &str, part: &str| {
            let error = text.parse::<Expectation>().expect_err(text).to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
        };
        check("", "is no expectation: give status=CODES");
        check("200", "is no expectation");
        check("Same", "is no expectation");
        check("status=2xx", "\"2xx\" is no status code");
        check("grpc-status=", "\"\" is no status of gRPC: give numbers from 0 to 16");
        check("grpc-status=17", "\"17\" is no status of gRPC");
        check("header:", "is no name of a header");
        check("header:a b=c", "\"a b\" is no name of a header");
        check("body~(", "\"(\" is no regular expression: unclosed group");
        check("body~(a{1000}){1000}", "it is too large");
        check("json:status", "\"status\" is no JSON pointer");
        check("json:/a~2", "is no JSON pointer");
    }

    #[test]
    fn the_parts_of_an_expectation_end_where_they_should() {
        let check = |text: &str, expected: &str| {
            let read: Expectation = text.parse().expect(text);
            let Condition::Header { name, value } = read.condition else {
                panic!("{text} is of a header")
            };
            assert_eq!(format!("{name}|{value:?}"), expected);
        };
        check("header:etag", "etag|None");
        check("header:etag=", "etag|Some(\"\")");
        check("header: x-a = b=c ", "x-a|Some(\"b=c\")");
    }
}

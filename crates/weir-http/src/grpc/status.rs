//! The statuses of calls, by number and name. Independent of where they stand.

use std::fmt;

/// Status of a call: a number, of which 17 have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrpcStatus(pub u32);

/// Declares the statuses with a name, each with its name in documents.
macro_rules! statuses {
    ($($number:literal $name:literal,)+) => {
        /// Names of the statuses, and their names in documents, by number.
        const NAMES: &[(&str, &str)] = &[$(($name, concat!("grpc_", $name))),+];

        /// Numbers of the statuses, in their order.
        #[cfg(test)]
        const NUMBERS: &[u32] = &[$($number),+];
    };
}

statuses! {
    0 "OK",
    1 "CANCELLED",
    2 "UNKNOWN",
    3 "INVALID_ARGUMENT",
    4 "DEADLINE_EXCEEDED",
    5 "NOT_FOUND",
    6 "ALREADY_EXISTS",
    7 "PERMISSION_DENIED",
    8 "RESOURCE_EXHAUSTED",
    9 "FAILED_PRECONDITION",
    10 "ABORTED",
    11 "OUT_OF_RANGE",
    12 "UNIMPLEMENTED",
    13 "INTERNAL",
    14 "UNAVAILABLE",
    15 "DATA_LOSS",
    16 "UNAUTHENTICATED",
}

impl GrpcStatus {
    /// The status of a call that succeeded.
    pub const OK: GrpcStatus = GrpcStatus(0);

    /// Parses the value of a `grpc-status` field.
    pub fn of_field(value: &[u8]) -> Option<GrpcStatus> {
        let text = str::from_utf8(value).ok()?;
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number).map(GrpcStatus)
    }

    /// Parses a number below 17 or a name, in any case.
    pub fn of_text(text: &str) -> Option<GrpcStatus> {
        let named = NAMES.iter().position(|(name, _)| name.eq_ignore_ascii_case(text));
        let number = || GrpcStatus::of_field(text.as_bytes()).filter(|status| status.is_known());
        named.and_then(|at| u32::try_from(at).ok()).map(GrpcStatus).or_else(number)
    }

    /// Returns its name, `UNAVAILABLE`; `None` for a number without one.
    pub fn name(self) -> Option<&'static str> {
        self.names().map(|(name, _)| *name)
    }

    /// Returns the name in documents of a call that ended with it, `grpc_UNAVAILABLE`. Numbers
    /// without a name share one.
    pub fn code(self) -> &'static str {
        self.names().map_or("grpc_other", |(_, code)| code)
    }

    fn is_known(self) -> bool {
        self.names().is_some()
    }

    fn names(self) -> Option<&'static (&'static str, &'static str)> {
        NAMES.get(usize::try_from(self.0).ok()?)
    }
}

impl fmt::Display for GrpcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "status {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_numbers_and_names() {
        assert!(NUMBERS.iter().copied().eq(0..17));
        let check = |text: &str, expected: Option<u32>| {
            assert_eq!(GrpcStatus::of_text(text).map(|status| status.0), expected, "{text}");
        };
        check("0", Some(0));
        check("16", Some(16));
        check("unavailable", Some(14));
        check("NOT_FOUND", Some(5));
        for text in ["", "17", "-1", "+1", "NOT FOUND", "99999999999"] {
            check(text, None);
        }
        assert_eq!(GrpcStatus(14).to_string(), "UNAVAILABLE (14)");
        assert_eq!(GrpcStatus(99).to_string(), "status 99");
        assert_eq!(
            (GrpcStatus(14).code(), GrpcStatus(17).code()),
            ("grpc_UNAVAILABLE", "grpc_other")
        );
        assert_eq!(GrpcStatus::of_field(b"99"), Some(GrpcStatus(99)));
        assert_eq!(GrpcStatus::of_field(b"OK"), None);
    }
}

//! Reasons why a body cannot be decoded.

use thiserror::Error;
use weir_result::MissKind;

/// Codings of one body at most; each is decoded up to the limit.
pub(super) const CODINGS_MAX: usize = 4;

/// A body that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// It is longer than the limit.
    #[error("it has more than {0} bytes")]
    TooLarge(usize),
    /// The memory for the bodies of all connections was used up before its end.
    #[error("the memory for bodies of all connections was used up")]
    NoMemory,
    /// Its coding is not known.
    #[error("its coding {0:?} is none of gzip, deflate, br, zstd")]
    UnknownCoding(String),
    /// It has too many codings.
    #[error("it has more than {CODINGS_MAX} codings")]
    TooManyCodings,
    /// It breaks the format of its coding.
    #[error("it is not valid {coding}: {reason}")]
    Damaged {
        /// Name of the coding.
        coding: &'static str,
        /// Reason.
        reason: String,
    },
    /// Its messages of gRPC cannot be read.
    #[error("its messages: {0}")]
    Messages(String),
}

impl DecodeError {
    /// Returns the kind of the miss of a response whose body was to be read.
    pub(crate) fn miss_kind(&self) -> MissKind {
        match self {
            DecodeError::TooLarge(_) | DecodeError::NoMemory => MissKind::BodyTooLarge,
            _ => MissKind::BodyUndecodable,
        }
    }
}

//! Errors in requests that a server receives: a closed set, each with its status. Independent of
//! the parser.

use thiserror::Error;

use crate::error::ProtocolError;

/// Reason why bytes from a client are not a valid request. The connection cannot be used after it,
/// because the start of the next request is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestFault {
    /// The first line is not a request line (RFC 9112 §3).
    #[error("the request line is malformed")]
    BadRequestLine,
    /// The version is neither HTTP/1.1 nor HTTP/1.0.
    #[error("this server speaks HTTP/1.1 and HTTP/1.0")]
    UnsupportedVersion,
    /// A line of the header or trailer section is not a field (RFC 9112 §5): no colon, whitespace
    /// in or after the name, NUL or a bare CR in the value, or a line folded in the head.
    #[error("a header line is malformed")]
    BadHeader,
    /// The head is longer than 64 KiB, with the empty lines before it.
    #[error("the head of the request is longer than 64 KiB")]
    HeadTooLarge,
    /// `Content-Length` is not one number that fits in 64 bits.
    #[error("the Content-Length is not a number")]
    BadContentLength,
    /// Different lengths, a length beside a transfer coding, or chunked applied twice (RFC 9112
    /// §6.1, §6.3).
    #[error("the length of the request is told in two ways")]
    ConflictingFraming,
    /// A transfer coding other than chunked.
    #[error("the only transfer coding known here is chunked")]
    UnsupportedTransferEncoding,
    /// A transfer coding in a request of HTTP/1.0, whose framing is thus faulty (RFC 9112 §6.1).
    #[error("a request of HTTP/1.0 has a transfer coding")]
    TransferEncodingInHttp10,
    /// A chunk's size, or the line end after its data, is malformed (RFC 9112 §7.1).
    #[error("the chunked body is malformed")]
    BadChunk,
    /// A chunk-size line is longer than 4 KiB, or the trailers are longer than 64 KiB.
    #[error("the framing of a chunked body is too long")]
    ChunkFramingTooLong,
}

impl RequestFault {
    /// Returns the status code of the response to such a request (RFC 9110 §15.5, §15.6; 431 is RFC
    /// 6585 §5).
    pub fn status(self) -> u16 {
        match self {
            RequestFault::HeadTooLarge => 431,
            RequestFault::UnsupportedTransferEncoding => 501,
            RequestFault::UnsupportedVersion => 505,
            _ => 400,
        }
    }

    /// Returns the fault of a body whose chunks or trailers have `error`.
    #[cold]
    pub(super) fn in_body(error: ProtocolError) -> RequestFault {
        match error {
            ProtocolError::ChunkLineTooLong | ProtocolError::TrailersTooLarge => {
                RequestFault::ChunkFramingTooLong
            }
            ProtocolError::BadHeader => RequestFault::BadHeader,
            _ => RequestFault::BadChunk,
        }
    }
}

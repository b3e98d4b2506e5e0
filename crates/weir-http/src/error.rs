//! Errors in responses and requests: two closed sets. Each error has a message for the user and, if
//! a run counts it, a name for documents. Independent of the parser.

use thiserror::Error;

/// Reason why bytes from a server are not a valid response. After such an error the connection
/// cannot be used, because the start of the next response is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ProtocolError {
    /// The first line is not a status line of HTTP/1 (RFC 9112 §4), or its code is below 100.
    #[error("the response does not begin with a status line of HTTP/1")]
    BadStatusLine,
    /// The response begins like a TLS record with an alert (RFC 8446 §5.1): the server speaks TLS.
    #[error("the response is a TLS record: the server speaks TLS; use https://")]
    TlsRecord,
    /// A line of the header or trailer section is not a field (RFC 9112 §5): no colon, whitespace
    /// in or after the name, NUL or a bare CR in the value.
    #[error("a header line is malformed")]
    BadHeader,
    /// A field that determines the end of the response is folded over two lines (RFC 9112 §5.2).
    #[error("a framing header is folded over several lines")]
    FoldedHeader,
    /// The header section, with its status line, is larger than 64 KiB.
    #[error("the head is larger than 64 KiB")]
    HeadTooLarge,
    /// The trailer section is larger than 64 KiB.
    #[error("the trailers are larger than 64 KiB")]
    TrailersTooLarge,
    /// `Content-Length` is not a number of bytes that fits in 64 bits (RFC 9110 §8.6).
    #[error("Content-Length is not a number")]
    BadContentLength,
    /// `Content-Length` has several values that differ (RFC 9112 §6.3, rule 5).
    #[error("Content-Length has several values that differ")]
    ConflictingContentLength,
    /// Both `Transfer-Encoding` and `Content-Length` are present (RFC 9112 §6.3, rule 3).
    #[error("both Transfer-Encoding and Content-Length are present")]
    ConflictingFraming,
    /// `Transfer-Encoding` is malformed, applies chunked twice or with parameters (RFC 9112 §7.1),
    /// or occurs in an HTTP/1.0 message (RFC 9112 §6.1).
    #[error("Transfer-Encoding is not one that can be read")]
    BadTransferEncoding,
    /// A chunk-size line is malformed or its size does not fit in 64 bits (RFC 9112 §7.1).
    #[error("a chunk size is malformed")]
    BadChunkSize,
    /// A chunk-size line with its extensions is longer than 4 KiB.
    #[error("a chunk-size line is longer than 4 KiB")]
    ChunkLineTooLong,
    /// The data of a chunk is not followed by CRLF (RFC 9112 §7.1).
    #[error("chunk data is not followed by a line end")]
    BadChunkEnd,
    /// Status 101: the server switched to another protocol, which is not supported (RFC 9110
    /// §15.2.2).
    #[error("the server switched protocols unasked")]
    SwitchingProtocols,
    /// Bytes arrived while no request was in flight.
    #[error("bytes came that no request asked for")]
    UnsolicitedBytes,
    /// The server closed the connection within a header section (RFC 9112 §8).
    #[error("the connection was closed within the head of a response")]
    ClosedInHead,
    /// The server closed the connection before the announced end of a body (RFC 9112 §8).
    #[error("the connection was closed within the body of a response")]
    ClosedInBody,
    /// A frame of a multiplexed protocol is malformed, or not allowed where it stands.
    #[error("a frame is malformed or out of place")]
    BadFrame,
    /// The peer did not begin with the settings of HTTP/2 (RFC 9113 §3.4).
    #[error("the peer did not begin with the settings of HTTP/2")]
    BadPreface,
    /// A frame is larger than the limit announced, or does not have the length of its type (RFC
    /// 9113 §4.2).
    #[error("a frame is too large or does not have the length of its type")]
    FrameTooLarge,
    /// A header block cannot be decoded (RFC 9113 §4.3).
    #[error("a header block cannot be decoded")]
    BadCompression,
    /// The peer sent more than its window, or made a window too large (RFC 9113 §6.9).
    #[error("the peer broke the limits of flow control")]
    FlowControl,
    /// A frame arrived on a stream that had ended (RFC 9113 §5.1).
    #[error("a frame came on a stream that had ended")]
    StreamClosed,
    /// A body is longer or shorter than its `Content-Length` (RFC 9113 §8.1.1).
    #[error("the body is not as long as Content-Length")]
    BodyLengthMismatch,
    /// The peer sent too many frames without content, or too many parts of one header block.
    #[error("the peer sent too many frames without content")]
    TooManyFrames,
    /// The peer did not acknowledge a keep-alive probe in time.
    #[error("the peer did not acknowledge a keep-alive probe")]
    KeepAliveTimeout,
    /// The peer returned the request unprocessed each time it was sent.
    #[error("the peer returned the request unprocessed each time it was sent")]
    Returned,
}

impl ProtocolError {
    /// Every error, in the order used in documents.
    pub const ALL: [ProtocolError; 27] = [
        ProtocolError::BadStatusLine,
        ProtocolError::TlsRecord,
        ProtocolError::BadHeader,
        ProtocolError::FoldedHeader,
        ProtocolError::HeadTooLarge,
        ProtocolError::TrailersTooLarge,
        ProtocolError::BadContentLength,
        ProtocolError::ConflictingContentLength,
        ProtocolError::ConflictingFraming,
        ProtocolError::BadTransferEncoding,
        ProtocolError::BadChunkSize,
        ProtocolError::ChunkLineTooLong,
        ProtocolError::BadChunkEnd,
        ProtocolError::SwitchingProtocols,
        ProtocolError::UnsolicitedBytes,
        ProtocolError::ClosedInHead,
        ProtocolError::ClosedInBody,
        ProtocolError::BadFrame,
        ProtocolError::BadPreface,
        ProtocolError::FrameTooLarge,
        ProtocolError::BadCompression,
        ProtocolError::FlowControl,
        ProtocolError::StreamClosed,
        ProtocolError::BodyLengthMismatch,
        ProtocolError::TooManyFrames,
        ProtocolError::KeepAliveTimeout,
        ProtocolError::Returned,
    ];

    /// Returns the error's name in documents. Stable: changing a name changes the document format.
    pub fn code(self) -> &'static str {
        match self {
            ProtocolError::BadStatusLine => "bad_status_line",
            ProtocolError::TlsRecord => "tls_record",
            ProtocolError::BadHeader => "bad_header",
            ProtocolError::FoldedHeader => "folded_header",
            ProtocolError::HeadTooLarge => "head_too_large",
            ProtocolError::TrailersTooLarge => "trailers_too_large",
            ProtocolError::BadContentLength => "bad_content_length",
            ProtocolError::ConflictingContentLength => "conflicting_content_length",
            ProtocolError::ConflictingFraming => "conflicting_framing",
            ProtocolError::BadTransferEncoding => "bad_transfer_encoding",
            ProtocolError::BadChunkSize => "bad_chunk_size",
            ProtocolError::ChunkLineTooLong => "chunk_line_too_long",
            ProtocolError::BadChunkEnd => "bad_chunk_end",
            ProtocolError::SwitchingProtocols => "switching_protocols",
            ProtocolError::UnsolicitedBytes => "unsolicited_bytes",
            ProtocolError::ClosedInHead => "closed_in_head",
            ProtocolError::ClosedInBody => "closed_in_body",
            ProtocolError::BadFrame => "bad_frame",
            ProtocolError::BadPreface => "bad_preface",
            ProtocolError::FrameTooLarge => "frame_too_large",
            ProtocolError::BadCompression => "bad_compression",
            ProtocolError::FlowControl => "flow_control",
            ProtocolError::StreamClosed => "stream_closed",
            ProtocolError::BodyLengthMismatch => "body_length_mismatch",
            ProtocolError::TooManyFrames => "too_many_frames",
            ProtocolError::KeepAliveTimeout => "keep_alive_timeout",
            ProtocolError::Returned => "returned",
        }
    }
}

/// Reason why a request cannot be sent as specified. It is the user's error, found before the run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The method is not a token (RFC 9110 §9.1).
    #[error("method {0:?} has a character that a method cannot have")]
    BadMethod(String),
    /// The method is CONNECT, which turns the connection into a tunnel (RFC 9110 §9.3.6).
    #[error("method CONNECT makes a tunnel, not a request")]
    Connect,
    /// The target is empty or has a character that must be percent-encoded (RFC 9112 §3.2).
    #[error("request target {0:?} is empty or has a character that must be percent-encoded")]
    BadTarget(String),
    /// The host is not a field value (RFC 9110 §7.2).
    #[error("host {0:?} has a character that a host cannot have")]
    BadHost(String),
    /// The header's name is not a token (RFC 9110 §5.1).
    #[error("header name {0:?} is empty or has a character that a name cannot have")]
    BadHeaderName(String),
    /// The header's value has a control character (RFC 9110 §5.5).
    #[error("value of header {0:?} has a control character")]
    BadHeaderValue(String),
    /// A header that is allowed once is given twice.
    #[error("header {0:?} is given twice")]
    RepeatedHeader(String),
    /// The `Content-Length` given is not the body's length.
    #[error("Content-Length {given:?} is not the body's length, {body_bytes}; leave it out")]
    WrongContentLength {
        /// Value of the header.
        given: String,
        /// Length of the body, in bytes.
        body_bytes: usize,
    },
    /// A `Transfer-Encoding` other than chunked, or one together with `Content-Length`.
    #[error("Transfer-Encoding {0:?} cannot be sent: only chunked can, without Content-Length")]
    BadTransferEncoding(String),
    /// A chunked body in a request of HTTP/1.0, which does not know it (RFC 9112 §7).
    #[error("HTTP/1.0 has no chunked bodies: drop Transfer-Encoding")]
    ChunkedInHttp10,
}

#[cfg(test)]
mod tests {
    use super::ProtocolError;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_distinct_and_in_snake_case() {
        let codes: BTreeSet<_> = ProtocolError::ALL.iter().map(|error| error.code()).collect();
        assert_eq!(codes.len(), ProtocolError::ALL.len());
        for code in codes {
            assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
        }
    }
}

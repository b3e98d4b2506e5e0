//! Errors in responses and requests: two closed sets. Each error has a message for the user and, if
//! a run counts it, a name for documents. Independent of the parser.

use thiserror::Error;

/// Declares the errors, in the order used in documents: a sentence, the name in documents, and the
/// message.
macro_rules! protocol_errors {
    ($($(#[$about:meta])+ $Name:ident = $code:literal, $message:literal;)+) => {
        /// Reason why bytes from a server are not a valid response. After such an error the
        /// connection cannot be used, because the start of the next response is unknown.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
        pub enum ProtocolError {
            $($(#[$about])+ #[error($message)] $Name,)+
        }

        impl ProtocolError {
            /// Every error, in the order used in documents.
            pub const ALL: &[ProtocolError] = &[$(ProtocolError::$Name),+];

            /// Returns the error's name in documents. Stable: changing a name changes the document
            /// format.
            pub fn code(self) -> &'static str {
                match self {
                    $(ProtocolError::$Name => $code,)+
                }
            }
        }
    };
}

protocol_errors! {
    /// The first line is not a status line of HTTP/1 (RFC 9112 §4), or its code is below 100.
    BadStatusLine = "bad_status_line", "the response does not begin with a status line of HTTP/1";
    /// The response begins like a TLS record with an alert (RFC 8446 §5.1): the server speaks TLS.
    TlsRecord = "tls_record", "the response is a TLS record: the server speaks TLS; use https://";
    /// A line of the header or trailer section is not a field (RFC 9112 §5): no colon, whitespace
    /// in or after the name, NUL or a bare CR in the value.
    BadHeader = "bad_header", "a header line is malformed";
    /// A field that determines the end of the response is folded over two lines (RFC 9112 §5.2).
    FoldedHeader = "folded_header", "a framing header is folded over several lines";
    /// The header section, with its status line, is larger than 64 KiB.
    HeadTooLarge = "head_too_large", "the head is larger than 64 KiB";
    /// The trailer section is larger than 64 KiB.
    TrailersTooLarge = "trailers_too_large", "the trailers are larger than 64 KiB";
    /// `Content-Length` is not a number of bytes that fits in 64 bits (RFC 9110 §8.6).
    BadContentLength = "bad_content_length", "Content-Length is not a number";
    /// `Content-Length` has several values that differ (RFC 9112 §6.3, rule 5).
    ConflictingContentLength = "conflicting_content_length",
        "Content-Length has several values that differ";
    /// Both `Transfer-Encoding` and `Content-Length` are present (RFC 9112 §6.3, rule 3).
    ConflictingFraming = "conflicting_framing",
        "both Transfer-Encoding and Content-Length are present";
    /// `Transfer-Encoding` is malformed, applies chunked twice or with parameters (RFC 9112 §7.1),
    /// or occurs in an HTTP/1.0 message (RFC 9112 §6.1).
    BadTransferEncoding = "bad_transfer_encoding", "Transfer-Encoding is not one that can be read";
    /// A chunk-size line is malformed or its size does not fit in 64 bits (RFC 9112 §7.1).
    BadChunkSize = "bad_chunk_size", "a chunk size is malformed";
    /// A chunk-size line with its extensions is longer than 4 KiB.
    ChunkLineTooLong = "chunk_line_too_long", "a chunk-size line is longer than 4 KiB";
    /// The data of a chunk is not followed by CRLF (RFC 9112 §7.1).
    BadChunkEnd = "bad_chunk_end", "chunk data is not followed by a line end";
    /// Status 101: the server switched to another protocol, which is not supported (RFC 9110
    /// §15.2.2).
    SwitchingProtocols = "switching_protocols", "the server switched protocols unasked";
    /// Bytes arrived while no request was in flight.
    UnsolicitedBytes = "unsolicited_bytes", "bytes came that no request asked for";
    /// The server closed the connection within a header section (RFC 9112 §8).
    ClosedInHead = "closed_in_head", "the connection was closed within the head of a response";
    /// The server closed the connection before the announced end of a body (RFC 9112 §8).
    ClosedInBody = "closed_in_body", "the connection was closed within the body of a response";
    /// A frame of a multiplexed protocol is malformed, or not allowed where it stands.
    BadFrame = "bad_frame", "a frame is malformed or out of place";
    /// The peer did not begin with the settings of HTTP/2 (RFC 9113 §3.4).
    BadPreface = "bad_preface", "the peer did not begin with the settings of HTTP/2";
    /// A frame is larger than the limit announced, or does not have the length of its type (RFC
    /// 9113 §4.2).
    FrameTooLarge = "frame_too_large",
        "a frame is too large or does not have the length of its type";
    /// A header block cannot be decoded (RFC 9113 §4.3).
    BadCompression = "bad_compression", "a header block cannot be decoded";
    /// The peer sent more than its window, or made a window too large (RFC 9113 §6.9).
    FlowControl = "flow_control", "the peer broke the limits of flow control";
    /// A frame arrived on a stream that had ended (RFC 9113 §5.1).
    StreamClosed = "stream_closed", "a frame came on a stream that had ended";
    /// A body is longer or shorter than its `Content-Length` (RFC 9113 §8.1.1).
    BodyLengthMismatch = "body_length_mismatch", "the body is not as long as Content-Length";
    /// The peer sent too many frames without content, or too many parts of one header block.
    TooManyFrames = "too_many_frames", "the peer sent too many frames without content";
    /// A deflated message of WebSocket cannot be inflated (RFC 7692 §6.2).
    BadDeflate = "bad_deflate", "a compressed message cannot be inflated";
    /// The response to the upgrade to WebSocket has status 101 without the fields `Upgrade` and
    /// `Connection` that it needs (RFC 6455 §4.1).
    BadUpgrade = "bad_upgrade", "status 101 comes without Upgrade: websocket, Connection: Upgrade";
    /// `Sec-WebSocket-Accept` is missing, there twice, or not that of the key.
    UpgradeAccept = "upgrade_accept",
        "Sec-WebSocket-Accept is missing, there twice, or does not fit the key";
    /// `Sec-WebSocket-Extensions` has an extension, or a parameter, that was not offered.
    UpgradeExtension = "upgrade_extension",
        "Sec-WebSocket-Extensions has what was not offered";
    /// `Sec-WebSocket-Protocol` has a subprotocol that was not offered.
    UpgradeProtocol = "upgrade_protocol", "Sec-WebSocket-Protocol has what was not offered";
    /// The upgrade to WebSocket was answered with status 2xx or 102: the server does not know it.
    UpgradeIgnored = "upgrade_ignored", "the server ignored the upgrade to WebSocket";
    /// The upgrade to WebSocket was answered with status 3xx.
    UpgradeRedirected = "upgrade_redirected", "the server redirects the upgrade to WebSocket";
    /// The upgrade to WebSocket was refused with status 400.
    UpgradeBadRequest = "upgrade_refused_400", "the server refused WebSocket with status 400";
    /// The upgrade to WebSocket was refused with status 401.
    UpgradeUnauthorized = "upgrade_refused_401", "the server refused WebSocket with status 401";
    /// The upgrade to WebSocket was refused with status 403.
    UpgradeForbidden = "upgrade_refused_403", "the server refused WebSocket with status 403";
    /// The upgrade to WebSocket was refused with status 404.
    UpgradeNotFound = "upgrade_refused_404", "the server refused WebSocket with status 404";
    /// The upgrade to WebSocket was refused with status 429.
    UpgradeTooMany = "upgrade_refused_429", "the server refused WebSocket with status 429";
    /// The upgrade to WebSocket was refused with another status 4xx.
    UpgradeClientError = "upgrade_refused_4xx", "the server refused WebSocket with a status 4xx";
    /// The upgrade to WebSocket was refused with status 503.
    UpgradeUnavailable = "upgrade_refused_503", "the server refused WebSocket with status 503";
    /// The upgrade to WebSocket was refused with another status from 500.
    UpgradeServerError = "upgrade_refused_5xx", "the server refused WebSocket with a status 5xx";
    /// A text message, or the reason of a Close frame, is not UTF-8 (RFC 6455 §8.1).
    BadText = "bad_text", "a text message is not UTF-8";
    /// A message is larger than the limit.
    MessageTooLarge = "message_too_large", "a message is too large";
    /// The peer returned the request unprocessed each time it was sent.
    Returned = "returned", "the peer returned the request unprocessed each time it was sent";
}

impl ProtocolError {
    /// Returns the error of an upgrade that was answered with a status other than 101.
    pub(crate) fn of_refused_upgrade(status: u16) -> ProtocolError {
        match status {
            0..=299 => ProtocolError::UpgradeIgnored,
            300..=399 => ProtocolError::UpgradeRedirected,
            400 => ProtocolError::UpgradeBadRequest,
            401 => ProtocolError::UpgradeUnauthorized,
            403 => ProtocolError::UpgradeForbidden,
            404 => ProtocolError::UpgradeNotFound,
            429 => ProtocolError::UpgradeTooMany,
            _ if status < 500 => ProtocolError::UpgradeClientError,
            503 => ProtocolError::UpgradeUnavailable,
            _ => ProtocolError::UpgradeServerError,
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
            let is_of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            assert!(code.bytes().all(|byte| is_of_name(byte) || byte == b'_'), "{code}");
        }
    }
}

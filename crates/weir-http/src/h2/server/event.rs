//! Events of a server's connection. Independent of the frames that cause them.

use super::RequestFields;
use crate::h2::ErrorCode;

/// An event of a connection or of one of its streams.
#[derive(Clone, Copy, Debug)]
pub enum ServerEvent<'a> {
    /// The client's first settings have arrived.
    Opened,
    /// A request has begun.
    Request {
        /// Number of its stream.
        stream: u32,
        /// Its fields.
        fields: &'a RequestFields,
        /// True if it has no body.
        is_end: bool,
    },
    /// Part of a request's body.
    Data {
        /// Number of the stream.
        stream: u32,
        /// The bytes, perhaps none.
        data: &'a [u8],
        /// True at the end of the request.
        is_end: bool,
    },
    /// The end of a request, with trailers.
    Trailers {
        /// Number of the stream.
        stream: u32,
        /// The trailers.
        fields: &'a RequestFields,
    },
    /// The stream has ended: the client reset it, or broke the rules for messages.
    Reset {
        /// Number of the stream.
        stream: u32,
        /// The reason that the client sent or was sent.
        code: ErrorCode,
    },
    /// The client will open no more streams.
    GoAway {
        /// The reason.
        code: ErrorCode,
    },
}

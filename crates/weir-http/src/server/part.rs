//! The parts of a request's head, in the order in which they arrive. Borrowed, so that a request
//! costs no allocation; independent of the parser.

/// A part of a request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPart<'a> {
    /// The request line: a new request begins.
    Line(RequestLine<'a>),
    /// A field of the head. Fields of trailers are skipped.
    Field {
        /// The name as received.
        name: &'a [u8],
        /// The value without whitespace around it.
        value: &'a [u8],
    },
    /// The end of the head.
    Head(RequestHead),
}

/// A request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLine<'a> {
    /// The method, a token (RFC 9110 §9.1).
    pub method: &'a [u8],
    /// The request target: not empty, without blanks and control characters except DEL.
    pub target: &'a [u8],
    /// The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0.
    pub minor: u8,
}

impl RequestLine<'_> {
    /// True if the method is HEAD: the response has no body.
    pub fn is_head(&self) -> bool {
        self.method == b"HEAD"
    }
}

/// Properties of a request that are known at the end of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0.
    pub minor: u8,
    /// True if it has `Connection: close`.
    pub wants_close: bool,
    /// True if it has `Connection: keep-alive`.
    pub wants_keep_alive: bool,
    /// True if it has `Expect: 100-continue` (RFC 9110 §10.1.1).
    pub expects_continue: bool,
    /// The body that follows.
    pub body: RequestBody,
}

impl RequestHead {
    /// True if the connection ends after the response (RFC 9112 §9.3).
    pub fn closes(&self) -> bool {
        self.wants_close || (self.minor == 0 && !self.wants_keep_alive)
    }
}

/// The body of a request, as its head announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBody {
    /// No body, or one of no bytes.
    None,
    /// This number of bytes, at least one.
    Length(u64),
    /// Chunks.
    Chunked,
}

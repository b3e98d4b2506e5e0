//! Frames made by hand, and frames read back one by one, for peers that break the protocol.

use std::sync::Arc;

use weir_http::Request;
use weir_http::h2::frame::{self, FrameKind, HEADER_BYTES, PREFACE, Settings};
use weir_http::h2::hpack::Encoder;

/// Lengths of the pieces in which bytes are passed on; the result must be the same for each.
pub(super) const PIECES: [usize; 7] = [1, 2, 3, 8, 9, 10, usize::MAX];

/// Bytes of one side, with its own header compression.
pub(super) struct Raw {
    pub(super) bytes: Vec<u8>,
    pub(super) encoder: Encoder,
}

impl Raw {
    pub(super) fn new() -> Raw {
        Raw { bytes: Vec::new(), encoder: Encoder::new(4096) }
    }

    /// Begins with the preface of a client and settings.
    pub(super) fn client() -> Raw {
        let mut raw = Raw::new();
        raw.bytes.extend(PREFACE);
        frame::push_settings(&mut raw.bytes, &Settings::default(), &Settings::default());
        raw
    }

    pub(super) fn frame(&mut self, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
        frame::push_frame(&mut self.bytes, kind, flags, stream, payload);
    }

    pub(super) fn block(&mut self, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            self.encoder.field(name.as_bytes(), value.as_bytes(), &mut block);
        }
        block
    }

    pub(super) fn headers(&mut self, stream: u32, fields: &[(&str, &str)], is_end: bool) {
        let block = self.block(fields);
        frame::push_headers(&mut self.bytes, stream, &block, is_end, 16_384);
    }

    pub(super) fn data(&mut self, stream: u32, data: &[u8], is_end: bool) {
        frame::push_data(&mut self.bytes, stream, data, is_end);
    }

    pub(super) fn window_update(&mut self, stream: u32, bytes: u32) {
        frame::push_window_update(&mut self.bytes, stream, bytes);
    }
}

/// A frame as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) kind: FrameKind,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Sent {
    /// Returns the number at a position of the payload.
    pub(super) fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("four bytes"))
    }
}

/// Splits sent bytes into frames.
pub(super) fn frames(mut bytes: &[u8]) -> Vec<Sent> {
    bytes = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let (payload, after) = rest.split_at(length);
        let kind = FrameKind(header[3]);
        let flags = header[4];
        frames.push(Sent { kind, flags, stream, payload: payload.to_vec() });
        bytes = after;
    }
    assert!(bytes.is_empty(), "half a frame was sent");
    frames
}

/// Returns a request from its HTTP/1 form, without the empty line.
pub(super) fn request(text: &str) -> Arc<Request> {
    Arc::new(Request::parse(text.as_bytes(), "http").expect("a complete request"))
}

/// Returns a GET.
pub(super) fn get() -> Arc<Request> {
    request("GET /path HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n")
}

/// Returns a POST with a body of this length.
pub(super) fn post(body_bytes: usize) -> Arc<Request> {
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {body_bytes}\r\n\r\n");
    request(&(head + &"x".repeat(body_bytes)))
}

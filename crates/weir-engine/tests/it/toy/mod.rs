//! A toy multiplexing protocol: its frames, its client and its server. It has what HTTP/2 has and
//! HTTP/1 lacks, and nothing else: an opening exchange, streams that fail alone, a limit that the
//! server changes at any time, requests returned unprocessed, cancellation, retirement.

mod client;
mod server;

pub(crate) use client::ToyClient;
pub(crate) use server::{Counts, Habits, ToyServer};

/// Length of a frame on the wire, in bytes.
pub(crate) const FRAME_BYTES: usize = 9;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    /// Number of the stream; 0 for the connection.
    pub(crate) stream: u32,
    /// A status, a limit, the number of a stream, or nothing.
    pub(crate) value: u32,
}

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The client opens the connection.
    Hello,
    /// A request.
    Request,
    /// The client gives up a request.
    Cancel,
    /// The server sets the greatest number of streams. The first one completes the opening.
    Limit,
    /// A response has begun.
    Began,
    /// A response is complete.
    Response,
    /// A stream has failed.
    Failed,
    /// A request was not processed.
    Returned,
    /// The server takes no more requests; those above the stream in `value` are not processed.
    Retire,
}

const KINDS: [Kind; 9] = [
    Kind::Hello,
    Kind::Request,
    Kind::Cancel,
    Kind::Limit,
    Kind::Began,
    Kind::Response,
    Kind::Failed,
    Kind::Returned,
    Kind::Retire,
];

impl Frame {
    pub(crate) fn bytes(self) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        let kind = KINDS.iter().position(|kind| *kind == self.kind).expect("all are listed");
        bytes[0] = u8::try_from(kind).expect("few kinds");
        bytes[1..5].copy_from_slice(&self.stream.to_le_bytes());
        bytes[5..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }
}

/// Puts frames together from bytes in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    rest: Vec<u8>,
}

impl Frames {
    /// Adds bytes and returns the complete frames; `None` if one of them is none.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<Vec<Frame>> {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() / FRAME_BYTES * FRAME_BYTES;
        let frames = self.rest[..whole].chunks(FRAME_BYTES).map(|bytes| {
            let number =
                |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let kind = *KINDS.get(usize::from(bytes[0]))?;
            Some(Frame { kind, stream: number(1), value: number(5) })
        });
        let frames = frames.collect();
        self.rest.drain(..whole);
        frames
    }
}

//! Frames (RFC 9113 §4 and §6): their types, a parser of received bytes and functions that write
//! them. Independent of the states of streams and of the content of header blocks.

mod data_rest;
mod header;
mod reader;
mod settings;
mod sizes;
mod writer;

pub(crate) use reader::FrameReader;
pub use settings::Settings;
pub use sizes::{
    FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, HEADER_BYTES, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX,
};
pub use writer::{
    push_data, push_frame, push_goaway, push_headers, push_ping, push_reset, push_settings,
    push_settings_ack, push_window_update,
};

use super::fault::{ErrorCode, H2Fault};

/// First bytes of a client (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Type of a frame (RFC 9113 §6). Any number may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameKind(pub u8);

impl FrameKind {
    /// A part of a body.
    pub const DATA: FrameKind = FrameKind(0x0);
    /// The start of a header block.
    pub const HEADERS: FrameKind = FrameKind(0x1);
    /// A priority, which has no meaning any more.
    pub const PRIORITY: FrameKind = FrameKind(0x2);
    /// The immediate end of a stream.
    pub const RST_STREAM: FrameKind = FrameKind(0x3);
    /// Settings, or their acknowledgement.
    pub const SETTINGS: FrameKind = FrameKind(0x4);
    /// The announcement of a response without a request.
    pub const PUSH_PROMISE: FrameKind = FrameKind(0x5);
    /// A probe, or its acknowledgement.
    pub const PING: FrameKind = FrameKind(0x6);
    /// The end of new streams.
    pub const GOAWAY: FrameKind = FrameKind(0x7);
    /// An addition to a window.
    pub const WINDOW_UPDATE: FrameKind = FrameKind(0x8);
    /// More of a header block.
    pub const CONTINUATION: FrameKind = FrameKind(0x9);
}

/// Flags of frames.
pub mod flags {
    /// DATA, HEADERS: the last frame of the stream in this direction.
    pub const END_STREAM: u8 = 0x1;
    /// SETTINGS, PING: an acknowledgement.
    pub const ACK: u8 = 0x1;
    /// HEADERS, CONTINUATION: the last frame of the block.
    pub const END_HEADERS: u8 = 0x4;
    /// DATA, HEADERS: padding follows.
    pub const PADDED: u8 = 0x8;
    /// HEADERS: a priority precedes the block.
    pub const PRIORITY: u8 = 0x20;
}

/// A received frame, or a part of one. Header blocks are complete; DATA may come in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum H2Frame<'a> {
    Data {
        stream: u32,
        data: &'a [u8],
        /// Bytes that the frame takes from the windows, with padding: in its first part.
        flow_bytes: u32,
        /// True in the last part of the stream's last frame.
        is_end: bool,
    },
    Headers {
        stream: u32,
        block: &'a [u8],
        is_end: bool,
    },
    Reset {
        stream: u32,
        code: ErrorCode,
    },
    Settings(&'a [u8]),
    SettingsAck,
    PushPromise,
    Ping([u8; 8]),
    GoAway {
        last_stream: u32,
        code: ErrorCode,
    },
    WindowUpdate {
        stream: u32,
        bytes: u32,
    },
    /// A frame that needs no answer: PRIORITY, the acknowledgement of PING, or one of an unknown
    /// type (RFC 9113 §5.5).
    Ignored,
    /// A frame that is a fault of its stream alone.
    Malformed {
        stream: u32,
        fault: H2Fault,
    },
}

//! Options of a client: its settings and windows.

use super::super::frame::{
    FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, Settings, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX,
};
use super::super::hpack::TABLE_BYTES_DEFAULT;

/// Window of streams and of the connection by default: so large that the peer never waits for it.
/// The value that h2load uses.
const WINDOW_BYTES: u32 = (1 << 30) - 1;

/// Greatest size of a list of fields, with 32 bytes of overhead each. HTTP/1 has the same limit on
/// the bytes of a head.
const HEADER_LIST_BYTES: u32 = 64 * 1024;

/// Options of an [`H2Client`](super::H2Client), which replaces values out of range by the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H2Options {
    /// First window of each stream for responses, in bytes: 0 to 2^31 - 1.
    pub stream_window_bytes: u32,
    /// Window of the connection for responses, in bytes: at least 65,535, which every connection
    /// has, and at most 2^31 - 1.
    pub connection_window_bytes: u32,
    /// Greatest size of the table with which the server compresses, in bytes. 0 switches it off.
    pub decoder_table_bytes: u32,
    /// Greatest size of the table with which the client compresses, in bytes, if the server permits
    /// it. 0 switches it off.
    pub encoder_table_bytes: u32,
    /// Greatest length of a received frame's payload, in bytes: 16,384 to 2^24 - 1.
    pub frame_bytes_max: u32,
    /// Greatest size of the fields of a response, in bytes, with 32 bytes of overhead for each.
    pub header_list_bytes_max: u32,
}

impl Default for H2Options {
    fn default() -> H2Options {
        H2Options {
            stream_window_bytes: WINDOW_BYTES,
            connection_window_bytes: WINDOW_BYTES,
            decoder_table_bytes: TABLE_BYTES_DEFAULT,
            encoder_table_bytes: TABLE_BYTES_DEFAULT,
            frame_bytes_max: FRAME_BYTES_DEFAULT,
            header_list_bytes_max: HEADER_LIST_BYTES,
        }
    }
}

impl H2Options {
    /// Returns the options within the ranges of the protocol.
    pub(super) fn in_range(self) -> H2Options {
        H2Options {
            stream_window_bytes: self.stream_window_bytes.min(WINDOW_BYTES_MAX),
            connection_window_bytes: self
                .connection_window_bytes
                .clamp(WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX),
            frame_bytes_max: self.frame_bytes_max.clamp(FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX),
            ..self
        }
    }

    /// Returns the settings that announce these options.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            header_table_bytes: self.decoder_table_bytes,
            enable_push: false,
            max_concurrent_streams: None,
            initial_window_bytes: self.stream_window_bytes,
            max_frame_bytes: self.frame_bytes_max,
            max_header_list_bytes: Some(self.header_list_bytes_max),
        }
    }
}

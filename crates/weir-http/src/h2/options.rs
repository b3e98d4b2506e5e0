//! Options of one side of a connection: its settings and windows.

use super::frame::{
    FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, Settings, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX,
};
use super::hpack::TABLE_BYTES_DEFAULT;

/// Windows of a client by default: so large that the peer never waits for them. The value that
/// h2load uses.
const WINDOW_BYTES: u32 = (1 << 30) - 1;

/// Greatest size of a list of fields, with 32 bytes of overhead each, unless the settings have
/// another. HTTP/1 has the same limit on the bytes of a head.
const LIST_BYTES_MAX: u32 = 64 * 1024;

/// Options of an [`H2Client`](super::H2Client), which replaces values out of range by the nearest,
/// or of an [`H2Server`](super::server::H2Server). The default is a client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H2Options {
    /// Settings that this side announces first. Their limit on lists of fields is 64 KiB if there
    /// is none.
    pub settings: Settings,
    /// Window of the connection for received bodies, in bytes: at least 65,535, which every
    /// connection has, and at most 2^31 - 1.
    pub connection_window_bytes: u32,
    /// Greatest size of the table with which this side compresses, in bytes, if the peer permits
    /// it. 0 switches it off.
    pub encoder_table_bytes: u32,
    /// False to leave the windows of a server as they are, once used.
    pub refills_windows: bool,
}

impl Default for H2Options {
    fn default() -> H2Options {
        let settings = Settings {
            enable_push: false,
            initial_window_bytes: WINDOW_BYTES,
            max_header_list_bytes: Some(LIST_BYTES_MAX),
            ..Settings::default()
        };
        H2Options { settings, connection_window_bytes: WINDOW_BYTES, ..H2Options::server() }
    }
}

impl H2Options {
    /// Returns the options of a server with 100 streams and the windows of the protocol.
    pub fn server() -> H2Options {
        H2Options {
            settings: Settings { max_concurrent_streams: Some(100), ..Settings::default() },
            connection_window_bytes: WINDOW_BYTES_DEFAULT,
            encoder_table_bytes: TABLE_BYTES_DEFAULT,
            refills_windows: true,
        }
    }

    /// Returns the options within the ranges of the protocol.
    pub(super) fn in_range(mut self) -> H2Options {
        let Settings { initial_window_bytes, max_frame_bytes, .. } = &mut self.settings;
        *initial_window_bytes = WINDOW_BYTES_MAX.min(*initial_window_bytes);
        *max_frame_bytes = (*max_frame_bytes).clamp(FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX);
        let window_bytes = &mut self.connection_window_bytes;
        *window_bytes = (*window_bytes).clamp(WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX);
        self
    }

    /// Returns the limit on the size of a list of fields, in bytes.
    pub(super) fn list_bytes_max(&self) -> u32 {
        self.settings.max_header_list_bytes.unwrap_or(LIST_BYTES_MAX)
    }
}

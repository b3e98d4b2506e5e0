//! Options of a server: its settings and windows.

use crate::h2::frame::Settings;
use crate::h2::hpack::TABLE_BYTES_DEFAULT;

/// Limit on the size of a list of fields, unless the settings have another.
const LIST_BYTES_MAX: u32 = 64 * 1024;

/// Options of an [`H2Server`](super::H2Server).
#[derive(Clone, Copy, Debug)]
pub struct H2ServerOptions {
    /// Settings that the server announces first. Their limit on lists of fields is 64 KiB if there
    /// is none.
    pub settings: Settings,
    /// Window of the connection for requests, in bytes: at least 65,535.
    pub connection_window_bytes: u32,
    /// Greatest size of the table with which the server compresses, in bytes.
    pub encoder_table_bytes: u32,
    /// False to leave windows for requests as they are, once used.
    pub refills_windows: bool,
}

impl Default for H2ServerOptions {
    /// Returns options with 100 streams and the windows of the protocol.
    fn default() -> H2ServerOptions {
        let settings = Settings { max_concurrent_streams: Some(100), ..Settings::default() };
        H2ServerOptions {
            settings,
            connection_window_bytes: settings.initial_window_bytes,
            encoder_table_bytes: TABLE_BYTES_DEFAULT,
            refills_windows: true,
        }
    }
}

impl H2ServerOptions {
    /// Returns the limit on the size of a list of fields.
    pub(super) fn list_bytes_max(&self) -> u32 {
        self.settings.max_header_list_bytes.unwrap_or(LIST_BYTES_MAX)
    }
}

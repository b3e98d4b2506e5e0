//! The flags of connections: the HTTP version on them, their renewal, and their addresses.

use clap::Args;
use weir_result::{AddressRange, Closer, ConnectionPlan, Rate};
use weir_runner::{HttpChoice, HttpSpec};

use super::choices::{CLOSE, HTTP, one_of};
use super::values::{depth, positive, positive_duration, table, window};

/// Heading of the flags.
pub(super) const HEADING: &str = "Connections";

/// The flags of the HTTP version, of opening and of renewal.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ConnectionArgs {
    /// Requests in flight on each HTTP/2 connection, 1 to 128, if the server permits as many, or
    /// messages on each WebSocket; implies --http 2 with an http URL [default: 1]
    #[arg(long, value_name = "N", value_parser = depth, conflicts_with = "pipeline",
          help_heading = "Load")]
    streams: Option<u16>,
    /// HTTP version; 2 without TLS: by prior knowledge (h2c); auto: over TLS 2 if the server
    /// chooses it, else 1.1
    #[arg(long, value_parser = one_of(HTTP), default_value = "auto", value_name = "1.0|1.1|2|auto")]
    http: HttpChoice,
    /// HTTP/2: flow-control window for responses, of each stream and of the connection; the default
    /// never holds a response up
    #[arg(long, value_name = "BYTES", value_parser = window, default_value = "1Gi")]
    h2_window: u32,
    /// HTTP/2: table size of header compression, in both directions; 0: no table
    #[arg(long, value_name = "BYTES", value_parser = table, default_value = "4Ki")]
    hpack_table: u32,
    /// New connection for each request. server: closed by the server because of "Connection:
    /// close"; client: reset by weir after the response, which frees its port at once
    #[arg(long, value_parser = one_of(CLOSE), value_name = "server|client",
          conflicts_with_all = ["pipeline", "requests_per_connection", "connection_lifetime"])]
    close: Option<Closer>,
    /// Renew a connection after this many requests
    #[arg(long, value_name = "N", value_parser = positive)]
    requests_per_connection: Option<u32>,
    /// Renew a connection at this age, once no request is in flight on it
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    connection_lifetime: Option<u64>,
    /// Connects per second over all threads, renewals included [default: unlimited]
    #[arg(long, value_name = "N")]
    connect_rate: Option<Rate>,
    /// Source addresses, used in turn: 10.0.0.5, 10.0.0.5-10.0.0.20, 127.1.0.0/24; repeatable, or
    /// with commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "unix")]
    source_ip: Vec<AddressRange>,
    /// Connect to this instead of the URL's host; several are used in turn; repeatable, or with
    /// commas
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',', conflicts_with = "unix")]
    connect_to: Vec<String>,
}

impl ConnectionArgs {
    /// Returns the HTTP version of the specification.
    pub(super) fn http(&self) -> HttpSpec {
        HttpSpec {
            version: self.http,
            streams: self.streams,
            window_bytes: self.h2_window,
            header_table_bytes: self.hpack_table,
        }
    }

    /// Returns the connections of the specification.
    pub(super) fn spec(&self) -> ConnectionPlan {
        ConnectionPlan {
            requests: self.requests_per_connection,
            lifetime_ns: self.connection_lifetime,
            close: self.close,
            rate: self.connect_rate,
            sources: self.source_ip.clone(),
            destinations: self.connect_to.clone(),
        }
    }
}

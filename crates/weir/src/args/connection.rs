//! The flags of connections: the HTTP version on them, their renewal, and their addresses.

use clap::Args;
use weir_result::{AddressRange, Closer, ConnectionPlan, Rate};
use weir_runner::{HttpChoice, HttpSpec};

use super::choices::{CloseChoice, HttpVersionChoice};
use super::values::{depth, positive, positive_duration, rate, table, window};

/// Heading of the flags.
pub(super) const HEADING: &str = "Connections";

/// The flags of the HTTP version.
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Requests in flight on each HTTP/2 connection, 1 to 128, if the server permits as many;
    /// implies --http 2 [default: 1]
    #[arg(long, value_name = "N", value_parser = depth, conflicts_with = "pipeline",
          help_heading = "Load")]
    streams: Option<u16>,
    /// HTTP version; 2 without TLS: by prior knowledge (h2c); auto: over TLS 2 if the server
    /// chooses it, else 1.1
    #[arg(long, value_enum, default_value_t = HttpVersionChoice::Auto,
          value_name = "1.0|1.1|2|auto", hide_possible_values = true,
          help_heading = HEADING)]
    http: HttpVersionChoice,
    /// HTTP/2: flow-control window for responses, of each stream and of the connection; the default
    /// never holds a response up
    #[arg(long, value_name = "BYTES", value_parser = window, default_value = "1Gi",
          help_heading = HEADING)]
    h2_window: u32,
    /// HTTP/2: table size of header compression, in both directions; 0: no table
    #[arg(long, value_name = "BYTES", value_parser = table, default_value = "4Ki",
          help_heading = HEADING)]
    hpack_table: u32,
}

impl HttpArgs {
    /// Returns the HTTP version of the specification.
    pub(super) fn spec(&self) -> HttpSpec {
        let version = match self.http {
            HttpVersionChoice::Auto => HttpChoice::Auto,
            HttpVersionChoice::Http10 => HttpChoice::Http10,
            HttpVersionChoice::Http11 => HttpChoice::Http11,
            HttpVersionChoice::Http2 => HttpChoice::Http2,
        };
        HttpSpec {
            version,
            streams: self.streams,
            window_bytes: self.h2_window,
            header_table_bytes: self.hpack_table,
        }
    }
}

/// The flags of opening and renewal.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    /// New connection for each request. server: closed by the server because of "Connection:
    /// close"; client: reset by weir after the response, which frees its port at once
    #[arg(long, value_enum, value_name = "server|client", hide_possible_values = true,
          conflicts_with_all = ["pipeline", "requests_per_connection", "connection_lifetime"],
          help_heading = HEADING)]
    close: Option<CloseChoice>,
    /// Renew a connection after this many requests
    #[arg(long, value_name = "N", value_parser = positive, help_heading = HEADING)]
    requests_per_connection: Option<u32>,
    /// Renew a connection at this age, once no request is in flight on it
    #[arg(long, value_name = "T", value_parser = positive_duration, help_heading = HEADING)]
    connection_lifetime: Option<u64>,
    /// Connects per second over all threads, renewals included [default: unlimited]
    #[arg(long, value_name = "N", value_parser = rate, help_heading = HEADING)]
    connect_rate: Option<Rate>,
    /// Source addresses, used in turn: 10.0.0.5, 10.0.0.5-10.0.0.20, 127.1.0.0/24; repeatable, or
    /// with commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = HEADING)]
    source_ip: Vec<AddressRange>,
    /// Connect to this instead of the URL's host; several are used in turn; repeatable, or with
    /// commas
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        value_delimiter = ',',
        conflicts_with = "unix",
        help_heading = HEADING
    )]
    connect_to: Vec<String>,
}

impl ConnectionArgs {
    /// Returns the connections of the specification.
    pub(super) fn spec(&self) -> ConnectionPlan {
        ConnectionPlan {
            requests: self.requests_per_connection,
            lifetime_ns: self.connection_lifetime,
            close: self.close.map(|choice| match choice {
                CloseChoice::Server => Closer::Server,
                CloseChoice::Client => Closer::Client,
            }),
            rate: self.connect_rate,
            sources: self.source_ip.clone(),
            destinations: self.connect_to.clone(),
        }
    }
}

//! Flags of `weir serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use weir_io::EngineChoice;
use weir_serve::{
    Delay, Drip, EventCut, EventData, EventStall, EventStream, ExtraHeader, Fault, GrpcFault,
    HttpVersion, Mode, ShopOptions, Stall, TlsVersion,
};
use weir_text::units::{parse_bytes, parse_count, parse_duration_ns};

use super::choices::{SWITCH, one_of};

/// `weir serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Delays: 5ms, uniform:1ms..5ms, exp:2ms (mean), lognormal:2ms,0.5 (median, sigma),
  bimodal:1ms,100ms,0.01 (share of slow responses), pareto:1ms,1.5 (scale, alpha).
Faults: reset, close, blackhole, partial, garbage, and in HTTP/2 reset-stream, refuse-stream;
  each with a probability (reset:0.01) or every k-th request (reset:1/100).
Per request: /?delay=5ms&size=10k&status=503&fault=reset, or headers x-delay, x-size,
  x-status, x-fault. /weir/stats returns the counters and is not counted.
Routes: one JSON object a line; the first that fits answers. path: /cart, or /item/* for all
  that begin so. Optional: method; status; body, json or size; content_type; headers;
  events {count, first, gap, data, stall, cut}; encoding (gzip, deflate, br, zstd); delay;
  break_every N, with break_status, break_body.
  {\"path\": \"/item/*\", \"json\": {\"ok\": true}, \"encoding\": \"gzip\", \"break_every\": 100}
Examples:
  weir serve
  weir serve --listen 127.0.0.1:8080 --delay exp:1ms --mode fifo
  weir serve --size 10k --stall 5s+1.4s --fault reset:1/1000
  weir serve --routes routes.jsonl
  weir serve --events 50 --first exp:200ms --gap 20ms --event-data tokens
  weir serve --shop --shop-token-ttl 30s
  weir serve --tls    # and then: weir --cacert weir-serve-ca.pem https://localhost:8080/
  weir serve --http 2 --h2-streams 10 --requests-per-connection 1000")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) response: ResponseArgs,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) shop: ShopArgs,
    #[command(flatten)]
    pub(crate) tls: ServerTlsArgs,
    #[command(flatten)]
    pub(crate) closing: ClosingArgs,
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Print this help
    #[arg(short, long, action = ArgAction::HelpShort, help_heading = "Other")]
    help: Option<bool>,
}

/// The server itself: addresses, threads, protocol.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Address to listen on; port 0 takes a free one; repeatable
    #[arg(short, long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: Vec<String>,
    /// Unix socket to listen on instead
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub(crate) unix: Option<PathBuf>,
    /// Threads, each with its own listening socket
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: usize,
    /// Connections that each thread accepts; others wait in the backlog
    #[arg(short, long, value_name = "N", default_value_t = 16_384)]
    pub(crate) connections: usize,
    /// I/O engine; auto: io_uring where it works, else epoll
    #[arg(long, value_name = EngineChoice::WORDS, default_value = EngineChoice::AUTO)]
    pub(crate) io: EngineChoice,
    /// Pin each thread to a CPU
    #[arg(long)]
    pub(crate) pin: bool,
    /// Never sleep: faster and steadier responses, one whole core per thread
    #[arg(long)]
    pub(crate) spin: bool,
    /// Protocol; auto: HTTP/2 if the client begins with its preface, over TLS by ALPN
    #[arg(long, value_name = "1.1|2|auto", default_value = "auto")]
    pub(crate) http: HttpVersion,
    /// Exit after this time
    #[arg(short, long, value_name = "T", value_parser = span)]
    pub(crate) duration: Option<Duration>,
}

/// Responses.
#[derive(Debug, Args)]
#[command(next_help_heading = "Response")]
pub(crate) struct ResponseArgs {
    /// Status code
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) status: u16,
    /// Body size in bytes [default: 14, and of gRPC the request's message]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) size: Option<u64>,
    /// Chunked transfer coding, with chunks of this size [default size: 16Ki]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, num_args = 0..=1,
          default_missing_value = "16Ki", conflicts_with = "until_close")]
    pub(crate) chunked: Option<u64>,
    /// Delimit the body by closing the connection
    #[arg(long)]
    pub(crate) until_close: bool,
    /// Send the body in K pieces, SPACING apart: 8@10ms
    #[arg(long, value_name = "K@SPACING")]
    pub(crate) drip: Option<Drip>,
    /// Add a header, "Name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<ExtraHeader>,
    /// Responses by path: JSON lines (see below); other paths get the ordinary response
    #[arg(long, value_name = "FILE")]
    pub(crate) routes: Option<PathBuf>,
    /// Respond as an HTTP/1.0 server
    #[arg(long)]
    pub(crate) http10: bool,
    /// Add x-srv-recv-ns and x-srv-send-ns (CLOCK_MONOTONIC), and repeat x-slot
    #[arg(long)]
    pub(crate) stamps: bool,
}

/// Responses that are streams of server-sent events.
#[derive(Debug, Args)]
#[command(next_help_heading = "Events")]
pub(crate) struct EventArgs {
    /// Respond with a stream of N server-sent events (text/event-stream)
    #[arg(long, value_name = "N", conflicts_with_all = ["size", "chunked", "drip"])]
    pub(crate) events: Option<u32>,
    /// Time from the request to the first event: 200ms, exp:200ms, … (see below)
    #[arg(long, value_name = "DELAY", default_value = "0ms", requires = "events")]
    pub(crate) first: Delay,
    /// Time from each event to the next
    #[arg(long, value_name = "DELAY", default_value = "0ms", requires = "events")]
    pub(crate) gap: Delay,
    /// numbers: {"n":1,"sent_ns":…}; tokens: as language models send, and their end mark
    #[arg(
        long,
        value_name = "numbers|tokens|text:TEXT",
        default_value = "numbers",
        requires = "events"
    )]
    pub(crate) event_data: EventData,
    /// Pause every N-th stream after event K: 1/10@20+1.5s
    #[arg(long, value_name = "1/N@K+LENGTH", requires = "events")]
    pub(crate) event_stall: Option<EventStall>,
    /// End every N-th stream after event K, by closing or RST_STREAM: 1/100@20
    #[arg(long, value_name = "1/N@K", requires = "events")]
    pub(crate) event_cut: Option<EventCut>,
}

impl EventArgs {
    /// Returns the streams that the flags describe.
    pub(crate) fn stream(&self) -> Option<EventStream> {
        Some(EventStream {
            events: self.events?,
            first: self.first,
            gap: self.gap,
            data: self.event_data.clone(),
            stall: self.event_stall,
            cut: self.event_cut,
        })
    }
}

/// The test shop.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shop")]
pub(crate) struct ShopArgs {
    /// Respond as a shop with log-in, CSRF tokens, bearer tokens, carts and orders, and count the
    /// rules that clients break
    #[arg(long)]
    pub(crate) shop: bool,
    /// Time that a bearer token holds
    #[arg(long, value_name = "T", value_parser = span, default_value = "15m", requires = "shop")]
    pub(crate) shop_token_ttl: Duration,
}

impl ShopArgs {
    /// Returns the shop that the flags describe.
    pub(crate) fn options(&self) -> Option<ShopOptions> {
        self.shop.then_some(ShopOptions { token_ttl: self.shop_token_ttl })
    }
}

/// Flags of TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct ServerTlsArgs {
    /// Serve https, with a new certificate for localhost and a new authority that signs it
    #[arg(long)]
    pub(crate) tls: bool,
    /// File for the authority's certificate, removed at exit [default: weir-serve-ca.pem]
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Serve https with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Require client certificates signed by an authority in this file (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Oldest version of TLS
    #[arg(long, value_name = "1.2|1.3", default_value = "1.2")]
    pub(crate) tls_min: TlsVersion,
    /// Newest version of TLS
    #[arg(long, value_name = "1.2|1.3", default_value = "1.3")]
    pub(crate) tls_max: TlsVersion,
    /// Give tickets with which clients resume sessions instead of full handshakes
    #[arg(long, value_parser = one_of(SWITCH), value_name = "off|on", default_value = "off",
          action = ArgAction::Set)]
    pub(crate) tls_resume: bool,
}

/// Connections: their ends, limits of HTTP/2, and WebSocket.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ClosingArgs {
    /// Close the connection after every response
    #[arg(long)]
    pub(crate) close: bool,
    /// Close a connection after this many responses; in HTTP/2, GOAWAY after this many requests; in
    /// WebSocket, a Close frame after this many echoes
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_connection: Option<u64>,
    /// Close connections that have been idle for this long
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) idle_timeout: Option<Duration>,
    /// Maximum of open streams on an HTTP/2 connection
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) h2_streams: u32,
    /// Flow-control window of each HTTP/2 stream for request bodies [default: 1Gi-1]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) h2_window: Option<u64>,
    /// Delay of the SETTINGS of HTTP/2, and of all later frames
    #[arg(long, value_name = "T", value_parser = span, default_value = "0ms")]
    pub(crate) h2_settings_delay: Duration,
    /// Send a Ping on each WebSocket connection in this interval
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) ws_ping: Option<Duration>,
    /// Let the echo of a WebSocket message overtake earlier ones
    #[arg(long)]
    pub(crate) ws_unordered: bool,
    /// Accept permessage-deflate where a WebSocket client offers it, unless it limits the window
    #[arg(long)]
    pub(crate) ws_deflate: bool,
}

/// Delays and faults.
#[derive(Debug, Args)]
#[command(next_help_heading = "Delays and faults")]
pub(crate) struct FaultArgs {
    /// Delay of responses: 5ms, exp:2ms, … (see below)
    #[arg(long, value_name = "DELAY", default_value = "0ms")]
    pub(crate) delay: Delay,
    /// concurrent: delays overlap; fifo: one request is served after the other
    #[arg(long, value_name = "concurrent|fifo", default_value = "concurrent")]
    pub(crate) mode: Mode,
    /// Stall: 3s+1.4s is 3 s after the first request, for 1.4 s; repeatable
    #[arg(long, value_name = "AT+LENGTH")]
    pub(crate) stall: Vec<Stall>,
    /// Inject faults: reset:0.01, blackhole:1/1000, … (see below); repeatable
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<Fault>,
    /// Answer every N-th call of gRPC with this status: 14@1/100; repeatable
    #[arg(long, value_name = "STATUS@1/N")]
    pub(crate) grpc_status: Vec<GrpcFault>,
    /// Seed of random delays and faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// The log of requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Write arrival and response times of every request to this file at exit, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Requests to keep for --log; later ones are only counted
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "4M",
          requires = "log")]
    pub(crate) log_max: u64,
}

fn span(text: &str) -> anyhow::Result<Duration> {
    Ok(Duration::from_nanos(parse_duration_ns(text)?))
}

//! Behaviour of the server towards requests: plain data whose fields are flags of `weir serve`, one
//! to one, the syntax of those flags, and the check for consistency.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use weir_http::server::response_has_body;

use crate::content_coding::ContentCoding;
use crate::delay::Delay;
use crate::event_stream::EventStream;
use crate::extra_header::ExtraHeader;
use crate::fault::Fault;
use crate::grpc::GrpcFault;
use crate::http_version::{Http2Options, HttpVersion};
use crate::limits::{BODY_MAX_BYTES, status_is_valid};
use crate::routes::{Route, Routes};
use crate::shop::ShopOptions;
use crate::units::{ParseError, parse_span};
use crate::web_socket_options::WebSocketOptions;

/// Behaviour of the server towards requests. [`Behaviour::default`] responds to every request at
/// once with status 200 and a body of 14 bytes.
///
/// A single request may override status, size, delay and fault by header (`x-status: 503`,
/// `x-size: 10k`, `x-delay: exp:2ms`, `x-delay-ns: 5000000`, `x-fault: reset`) or by query
/// (`/?status=503&size=10k&delay=5ms&delay_ns=5000000&fault=reset`); if both are given, the header
/// takes precedence. `GET /weir/stats` always returns the counters and is not counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// `--http`: protocol of the connections.
    pub http: HttpVersion,
    /// `--h2-streams`, `--h2-window`, `--h2-settings-delay`: settings of HTTP/2.
    pub http2: Http2Options,
    /// `--ws-ping`, `--ws-unordered`, `--ws-deflate`: options of WebSocket.
    pub websocket: WebSocketOptions,
    /// `--status`: 200 to 599. 204 and 304 have no body.
    pub status: u16,
    /// `--size`: body size in bytes, up to [`Behaviour::BODY_MAX_BYTES`].
    pub body_bytes: u64,
    /// `--chunked [BYTES]`, `--until-close`: framing of the body. In HTTP/2 both only leave out
    /// `content-length`.
    pub framing: Framing,
    /// `--drip K@SPACING`: the body is sent in pieces.
    pub drip: Option<Drip>,
    /// `--events`: responses are streams of events, which have neither `body_bytes` nor pieces.
    /// They are framed in chunks, or until the connection closes. A WebSocket connection sends the
    /// data of each event as a message.
    pub events: Option<EventStream>,
    /// `--size`, if it is given: bytes of the message of a call of gRPC, which otherwise is that of
    /// the request.
    pub message_bytes: Option<u64>,
    /// `--grpc-status`, repeatable: calls of gRPC that fail. A call gets the first status that
    /// strikes.
    pub grpc_faults: Vec<GrpcFault>,
    /// `--header`: header lines added to every response, in order.
    pub headers: Vec<ExtraHeader>,
    /// `--routes`: responses by path. They take the place of `status`, `body_bytes`, `headers` and
    /// `delay`; their requests override nothing.
    pub routes: Routes,
    /// `--shop`, `--shop-token-ttl`: a test shop answers all requests. Its responses take the place
    /// of `status`, `body_bytes`, `events`, `routes`, and of WebSocket and gRPC; its requests
    /// override delay and fault alone.
    pub shop: Option<ShopOptions>,
    /// `--close`: every response has `Connection: close` and closes. In HTTP/2 the same as one
    /// request per connection.
    pub close: bool,
    /// `--http10`: respond as an HTTP/1.0 server; connections persist only if the request has
    /// `Connection: keep-alive`. Without HTTP/2.
    pub http10: bool,
    /// `--requests-per-connection`: the N-th response of a connection closes it; at least 1. In
    /// WebSocket, a Close frame follows the echo of the N-th message. In
    /// HTTP/2, GOAWAY with the stream of the N-th request is sent when that request begins; later
    /// ones are not processed.
    pub requests_per_connection: Option<u64>,
    /// `--idle-timeout`: time after which a connection without traffic and without pending
    /// responses is closed (at the latest after twice that time).
    pub idle_timeout: Option<Duration>,
    /// `--delay`: delay of each response, counted from the read of its request's last byte; in
    /// [`Mode::Fifo`] the service time.
    pub delay: Delay,
    /// `--mode`: concurrent or serial service of requests.
    pub mode: Mode,
    /// `--seed`: seed of the delays, of the faults by probability, and of the shop's ids.
    pub seed: u64,
    /// `--stall`, repeatable: spans in which the server neither reads nor sends.
    pub stalls: Vec<Stall>,
    /// `--fault`, repeatable: injected faults. A request suffers the first one that strikes.
    pub faults: Vec<Fault>,
    /// `--stamps`: responses carry `x-srv-recv-ns` and `x-srv-send-ns` (`CLOCK_MONOTONIC`,
    /// absolute, ns) and repeat the request's `x-slot` (up to 32 bytes). Each response is then
    /// submitted by itself, so that its send time stamp is accurate.
    pub stamps: bool,
    /// `--log`, `--log-max`: arrivals to keep in memory per worker (see
    /// [`Stats::arrivals`](crate::Stats::arrivals)); later ones are only counted. Zero keeps none.
    /// If arrivals are kept, each response is submitted by itself, as with `stamps`.
    pub arrivals_max: usize,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            http: HttpVersion::Auto,
            http2: Http2Options::default(),
            websocket: WebSocketOptions::default(),
            status: 200,
            body_bytes: 14,
            framing: Framing::Length,
            drip: None,
            events: None,
            message_bytes: None,
            grpc_faults: Vec::new(),
            headers: Vec::new(),
            routes: Routes::default(),
            shop: None,
            close: false,
            http10: false,
            requests_per_connection: None,
            idle_timeout: None,
            delay: Delay::NONE,
            mode: Mode::Concurrent,
            seed: 1,
            stalls: Vec::new(),
            faults: Vec::new(),
            stamps: false,
            arrivals_max: 0,
        }
    }
}

impl Behaviour {
    /// Largest body: 1 GiB.
    pub const BODY_MAX_BYTES: u64 = BODY_MAX_BYTES;
    /// Largest chunk: 1 MiB.
    pub const CHUNK_MAX_BYTES: u32 = 1 << 20;
    /// Largest number of pieces of a body with `--drip`.
    pub const PIECES_MAX: u32 = 65_536;

    /// Returns the protocol of the connections: HTTP/1 with `--http10`.
    pub(crate) fn version(&self) -> HttpVersion {
        if self.http10 { HttpVersion::Http1 } else { self.http }
    }

    /// Returns the number of requests of HTTP/2 after which a connection ends.
    pub(crate) fn requests_max(&self) -> Option<u64> {
        if self.close { Some(1) } else { self.requests_per_connection }
    }

    /// Returns the headers of responses, by name and value. Those of a route replace those of
    /// `--header`, and both the media type.
    pub(crate) fn fields<'a>(&'a self, route: Option<&'a Route>) -> Vec<(&'a str, &'a str)> {
        let of_route = route.map_or(&[][..], |route| &route.headers);
        let is_of_route =
            |name: &str| of_route.iter().any(|own| own.name.eq_ignore_ascii_case(name));
        let of_all = self.headers.iter().filter(|header| !is_of_route(&header.name));
        let pair = |header: &'a ExtraHeader| (&*header.name, &*header.value);
        let mut fields: Vec<_> = of_all.chain(of_route).map(pair).collect();
        let has_events = self.event_stream(route).is_some();
        let media_type = if has_events { "text/event-stream" } else { "text/plain" };
        let missing = |name: &str| !fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let is_untyped = missing("content-type");
        let is_uncontrolled = missing("cache-control");
        if is_untyped {
            fields.insert(0, ("Content-Type", media_type));
        }
        if is_uncontrolled && has_events {
            fields.push(("Cache-Control", "no-store"));
        }
        let coding = route.map_or(ContentCoding::Identity, |route| route.coding);
        if coding != ContentCoding::Identity {
            fields.push(("Content-Encoding", coding.name()));
        }
        fields
    }

    /// Returns the headers of a response that has these of its own, by name and value. They replace
    /// those of `--header`.
    pub(crate) fn fields_beside<'a>(
        &'a self,
        own: &'a [(&'static str, Cow<'static, str>)],
    ) -> Vec<(&'a str, &'a str)> {
        let is_own = |name: &str| own.iter().any(|(other, _)| name.eq_ignore_ascii_case(other));
        let of_all = self.headers.iter().filter(|header| !is_own(&header.name));
        let of_all = of_all.map(|header| (&*header.name, &*header.value));
        own.iter().map(|(name, value)| (*name, &**value)).chain(of_all).collect()
    }

    /// Returns the behaviour towards requests that get no stream of events.
    pub(crate) fn without_events(&self) -> Behaviour {
        Behaviour { events: None, routes: Routes::default(), ..self.clone() }
    }

    /// Returns the stream of events that responses are: the route's, or the behaviour's if the
    /// route has no body of its own.
    pub(crate) fn event_stream<'a>(&'a self, route: Option<&'a Route>) -> Option<&'a EventStream> {
        let own = route.and_then(|route| route.events.as_ref());
        own.or(self.events.as_ref().filter(|_| route.is_none_or(|route| route.body.is_none())))
    }

    /// Returns the framing of a response, for a client that speaks HTTP/1.0 if `is_http10`.
    #[inline]
    pub(crate) fn response_framing(&self, is_http10: bool, has_events: bool) -> Framing {
        match self.framing {
            framing if has_events => framing.of_events(is_http10 || self.http10),
            Framing::Chunked { .. } if is_http10 => Framing::UntilClose,
            framing => framing,
        }
    }

    /// True if each response is submitted by itself, so that its send time is accurate.
    pub(crate) fn has_true_stamps(&self) -> bool {
        self.stamps || self.arrivals_max > 0
    }
}

/// Framing of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`.
    Length,
    /// Chunked coding. A client that speaks HTTP/1.0 gets [`Framing::UntilClose`] instead.
    Chunked {
        /// Body bytes of every chunk except the last of a piece, 1 to
        /// [`Behaviour::CHUNK_MAX_BYTES`].
        chunk_bytes: u32,
    },
    /// The end of the connection.
    UntilClose,
}

impl Framing {
    /// Returns the framing of a stream of events, whose length is not known ahead.
    pub(crate) fn of_events(self, is_http10: bool) -> Framing {
        match self {
            _ if is_http10 => Framing::UntilClose,
            Framing::Length => Framing::Chunked { chunk_bytes: Behaviour::CHUNK_MAX_BYTES },
            framing => framing,
        }
    }
}

/// A body in pieces: written `8@10ms`, eight pieces ten milliseconds apart, the first together with
/// the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drip {
    /// Number of pieces, 1 to [`Behaviour::PIECES_MAX`].
    pub pieces: u32,
    /// Time from each piece to the next.
    pub spacing: Duration,
}

/// Concurrency of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every request has its own delay, all at the same time: the queue G/G/∞.
    #[default]
    Concurrent,
    /// One worker serves all requests of all connections, one after another, in the order in which
    /// they were read: the queue G/G/1. Needs one thread.
    Fifo,
}

/// A span in which the server stalls, as under SIGSTOP: written `3s+1.4s`, from three seconds after
/// the arrival of the first request, for 1.4 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start of the stall, counted from the read of the first request of the process.
    pub at: Duration,
    /// Length of the stall; above zero.
    pub length: Duration,
}

/// Inconsistent options: a lower-case fragment that includes the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionsError(pub(crate) String);

impl Behaviour {
    /// Checks ranges and combinations.
    ///
    /// # Errors
    /// The first inconsistency, with its remedy.
    pub fn check(&self) -> Result<(), OptionsError> {
        let chunk_bytes = match self.framing {
            Framing::Chunked { chunk_bytes } => Some(chunk_bytes),
            Framing::Length | Framing::UntilClose => None,
        };
        let is_http1 = self.version() == HttpVersion::Http1;
        let of_streams = self.faults.iter().find(|fault| fault.kind.is_of_streams());
        let pieces_max = Behaviour::PIECES_MAX;
        let streams_max = Http2Options::STREAMS_MAX;
        let chunks = 1..=Behaviour::CHUNK_MAX_BYTES;
        let mut of_routes = self.routes.iter().map(|prepared| &prepared.route);
        let has_events = self.events.is_some() || of_routes.any(|route| route.events.is_some());
        let problem = if !status_is_valid(self.status) {
            format!("--status {} is no final status: use 200 to 599", self.status)
        } else if self.body_bytes > Behaviour::BODY_MAX_BYTES {
            format!("a body of {} bytes is too large: 1g is the most", self.body_bytes)
        } else if chunk_bytes.is_some_and(|bytes| !chunks.contains(&bytes)) {
            "the chunk size must be 1 byte to 1m".to_owned()
        } else if chunk_bytes.is_some() && self.http10 {
            "HTTP/1.0 has no chunked coding: leave out one of the two".to_owned()
        } else if self.drip.is_some_and(|drip| !(1..=pieces_max).contains(&drip.pieces)) {
            format!("a drip has 1 to {pieces_max} pieces")
        } else if let Some(Err(error)) = self.events.as_ref().map(EventStream::check) {
            format!("--events: {error}")
        } else if self.events.is_some() && self.drip.is_some() {
            "--events are sent one by one: leave out --drip, or use --gap".to_owned()
        } else if self.events.is_some() && !response_has_body(self.status, false) {
            format!("--status {} has no body for --events: use 200", self.status)
        } else if has_events && self.mode == Mode::Fifo {
            "events have times of their own: use --mode concurrent with --events".to_owned()
        } else if let Some(problem) = self.shop_conflict() {
            problem
        } else if is_http1 && self.http == HttpVersion::Http2 {
            "HTTP/1.0 is not HTTP/2: leave out one of the two".to_owned()
        } else if is_http1 && !self.grpc_faults.is_empty() {
            "--grpc-status needs HTTP/2: use --http auto or 2".to_owned()
        } else if let Some(fault) = of_streams.filter(|_| is_http1) {
            format!("--fault {fault} needs HTTP/2: use --http auto or 2")
        } else if self.http2.streams > streams_max {
            format!("--h2-streams must be at most {streams_max}")
        } else if self.http2.window_bytes > Http2Options::WINDOW_MAX_BYTES {
            "--h2-window must be at most 2147483647 bytes".to_owned()
        } else if self.websocket.ping == Some(Duration::ZERO) {
            "the interval of --ws-ping must be above zero: leave it out for none".to_owned()
        } else if self.requests_per_connection == Some(0) {
            "a connection must be allowed at least 1 request".to_owned()
        } else if self.idle_timeout == Some(Duration::ZERO) {
            "the idle timeout must be above zero: leave it out for none".to_owned()
        } else {
            return Ok(());
        };
        Err(OptionsError(problem))
    }

    /// Returns what makes the options of the shop inconsistent, with its remedy.
    fn shop_conflict(&self) -> Option<String> {
        let shop = self.shop.as_ref()?;
        if shop.token_ttl.is_zero() {
            return Some("--shop-token-ttl must be above zero".to_owned());
        }
        let others = [
            ("--status", self.status != Behaviour::default().status),
            ("--size", self.body_bytes != Behaviour::default().body_bytes),
            ("--size", self.message_bytes.is_some()),
            ("--routes", !self.routes.is_empty()),
            ("--events", self.events.is_some()),
            ("--grpc-status", !self.grpc_faults.is_empty()),
            ("--ws-ping", self.websocket.ping.is_some()),
            ("--ws-unordered", self.websocket.is_unordered),
            ("--ws-deflate", self.websocket.deflates),
        ];
        let (flag, _) = others.into_iter().find(|(_, is_given)| *is_given)?;
        Some(format!("--shop has responses of its own: leave out {flag}, or --shop"))
    }
}

impl FromStr for Mode {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Mode, ParseError> {
        match text {
            "concurrent" => Ok(Mode::Concurrent),
            "fifo" => Ok(Mode::Fifo),
            _ => Err(ParseError(format!("`{text}` is not a mode: choose concurrent or fifo"))),
        }
    }
}

impl FromStr for Drip {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Drip, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not of the form PIECES@SPACING: write for instance 8@10ms for eight \
                 pieces ten milliseconds apart (at most {} pieces)",
                Behaviour::PIECES_MAX
            ))
        };
        let (pieces, spacing) = text.split_once('@').ok_or_else(usage)?;
        let pieces = pieces.parse().ok().filter(|n| (1..=Behaviour::PIECES_MAX).contains(n));
        Ok(Drip { pieces: pieces.ok_or_else(usage)?, spacing: parse_span(spacing)? })
    }
}

impl FromStr for Stall {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Stall, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not of the form AT+LENGTH: write for instance 3s+1.4s for a stall of \
                 1.4 seconds that begins 3 seconds after the first request"
            ))
        };
        let (at, length) = text.split_once('+').ok_or_else(usage)?;
        let stall = Stall { at: parse_span(at)?, length: parse_span(length)? };
        if stall.length.is_zero() { Err(usage()) } else { Ok(stall) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ServeOptions;
    use crate::routes::tests::{route, routes};

    #[test]
    fn the_little_languages() {
        let drip = Drip { pieces: 8, spacing: Duration::from_millis(10) };
        assert_eq!("8@10ms".parse(), Ok(drip));
        for text in ["8", "0@1ms", "65537@1ms", "x@1ms", "8@", "8@x"] {
            assert!(text.parse::<Drip>().is_err(), "{text}");
        }
        let stall = Stall { at: Duration::from_secs(3), length: Duration::from_millis(1400) };
        assert_eq!("3s+1.4s".parse(), Ok(stall));
        for text in ["3s", "3s+0s", "+1s x", "3s+"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
        assert_eq!("fifo".parse(), Ok(Mode::Fifo));
        let error = "lifo".parse::<Mode>().expect_err("no such mode").to_string();
        assert!(error.contains("choose concurrent or fifo"), "{error}");
    }

    #[test]
    fn the_shop_has_responses_of_its_own() {
        let shop = Some(ShopOptions { token_ttl: Duration::ZERO });
        let error = Behaviour { shop, ..Behaviour::default() }.check().expect_err("zero");
        assert_eq!(error.to_string(), "--shop-token-ttl must be above zero");
        let check = |change: fn(&mut Behaviour), flag: &str| {
            let shop = Some(ShopOptions::default());
            let mut behaviour = Behaviour { shop, ..Behaviour::default() };
            assert_eq!(behaviour.check(), Ok(()));
            change(&mut behaviour);
            let error = behaviour.check().expect_err(flag).to_string();
            assert!(error.contains(&format!("leave out {flag}, or --shop")), "{error}");
        };
        check(|p| p.status = 503, "--status");
        check(|p| p.body_bytes = 10, "--size");
        check(|p| p.message_bytes = Some(14), "--size");
        check(|p| p.routes = routes([route("/a")]), "--routes");
        check(|p| p.events = Some(EventStream::of(1)), "--events");
        check(|p| p.grpc_faults = vec!["14@1/2".parse().expect("valid")], "--grpc-status");
        check(|p| p.websocket.ping = Some(Duration::from_secs(1)), "--ws-ping");
        check(|p| p.websocket.is_unordered = true, "--ws-unordered");
        check(|p| p.websocket.deflates = true, "--ws-deflate");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_remedy() {
        let check = |change: fn(&mut ServeOptions), part: &str| {
            let mut options = ServeOptions::default();
            assert_eq!(options.check(), Ok(()));
            change(&mut options);
            let error = options.check().expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        check(|o| o.listen.clear(), "127.0.0.1:8080");
        check(|o| o.threads = 0, "1 to 1024");
        check(|o| o.connections = 0, "1 to 1000000");
        check(
            |o| {
                o.threads = 2;
                o.behaviour.mode = Mode::Fifo;
            },
            "use --threads 1",
        );
        check(|o| o.behaviour.status = 100, "200 to 599");
        check(|o| o.behaviour.body_bytes = 2 << 30, "1g is the most");
        check(|o| o.behaviour.framing = Framing::Chunked { chunk_bytes: 0 }, "1 byte to 1m");
        check(
            |o| {
                o.behaviour.framing = Framing::Chunked { chunk_bytes: 16_384 };
                o.behaviour.http10 = true;
            },
            "leave out one",
        );
        check(|o| o.behaviour.requests_per_connection = Some(0), "at least 1");
        check(|o| o.behaviour.http2.streams = 65_536, "at most 65535");
        check(|o| o.behaviour.http2.window_bytes = u32::MAX, "2147483647");
        check(
            |o| {
                o.behaviour.http = HttpVersion::Http2;
                o.behaviour.http10 = true;
            },
            "leave out one",
        );
        check(
            |o| {
                o.behaviour.http = HttpVersion::Http1;
                o.behaviour.faults = vec!["reset-stream:1/2".parse().expect("valid")];
            },
            "--fault reset-stream:1/2 needs HTTP/2",
        );
        check(|o| o.behaviour.idle_timeout = Some(Duration::ZERO), "leave it out");
        check(|o| o.behaviour.events = Some(EventStream::of(0)), "--events: a stream has 1 to");
        check(
            |o| {
                o.behaviour.events = Some(EventStream::of(1));
                o.behaviour.drip = "2@1ms".parse().ok();
            },
            "leave out --drip",
        );
        check(
            |o| {
                o.behaviour.events = Some(EventStream::of(1));
                o.behaviour.status = 204;
            },
            "--status 204 has no body",
        );
        check(
            |o| {
                o.behaviour.events = Some(EventStream::of(1));
                o.behaviour.mode = Mode::Fifo;
            },
            "use --mode concurrent",
        );
    }
}

//! The contents of a request that its response depends on, collected from what the parsers of
//! weir-http return. Bytes in, values out: no socket, no clock.

use weir_http::grpc::percent_decoded;
use weir_http::h2::server::RequestFields;
use weir_http::server::{
    ReadProgress, RequestBody, RequestFault, RequestHead, RequestLine, RequestParser, RequestPart,
};
use weir_http::ws::handshake::has_token;
use weir_http::ws::{DeflateTerms, UpgradeKey};

use crate::content::RequestContent;
use crate::delay::Delay;
use crate::fault::FaultKind;
use crate::grpc;
use crate::limits::{BODY_MAX_BYTES, status_is_valid};
use crate::routes::Routes;
use crate::units::{parse_bytes, parse_digits};

/// The relevant contents of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ServedRequest {
    /// True if the method is HEAD: the response has no body.
    pub(crate) is_head: bool,
    /// True if the client speaks HTTP/1.0.
    pub(crate) is_http10: bool,
    /// True if the request has `Connection: close`.
    pub(crate) wants_close: bool,
    /// True if the request has `Connection: keep-alive`.
    pub(crate) wants_keep_alive: bool,
    /// True if the request has `Expect: 100-continue`.
    pub(crate) expects_continue: bool,
    /// True if the target is `/weir/stats`.
    pub(crate) is_stats: bool,
    /// True if a body follows the head.
    pub(crate) has_body: bool,
    has_host: bool,
    /// True if it is a call of gRPC, which HTTP/2 alone has.
    pub(crate) is_call: bool,
    /// Fields of an upgrade to WebSocket.
    upgrade: UpgradeFields,
    /// The `x-slot` header.
    pub(crate) slot: Slot,
    /// Index of its route.
    pub(crate) route: Option<u16>,
    /// Settings of the behaviour that this request overrides; none if it has a route.
    pub(crate) overrides: Overrides,
}

/// Fields of a request that make it an upgrade to WebSocket (RFC 6455 §4.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct UpgradeFields {
    is_websocket: bool,
    is_connection: bool,
    is_version_13: bool,
    key: Option<UpgradeKey>,
    /// Terms of permessage-deflate that are offered, and that can be met.
    deflate: Option<DeflateTerms>,
}

impl UpgradeFields {
    /// Reads a field, if it is one of WebSocket. Few other fields are as long.
    #[cold]
    #[inline(never)]
    fn read(&mut self, name: &[u8], value: &[u8]) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("sec-websocket-key") {
            self.key = UpgradeKey::parse(value);
        } else if is("sec-websocket-version") {
            self.is_version_13 = value == b"13";
        } else if is("sec-websocket-extensions") {
            self.deflate = self.deflate.or_else(|| DeflateTerms::of_offers(value));
        }
    }
}

/// Settings of the behaviour that one request overrides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Overrides {
    pub(crate) delay: Option<Delay>,
    pub(crate) status: Option<u16>,
    pub(crate) body_bytes: Option<u64>,
    pub(crate) fault: Option<FaultKind>,
}

/// Value of `x-slot`, kept inline so that a request costs no allocation. Empty if there is none or
/// if it is longer than 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    bytes: [u8; 32],
    length: u8,
}

impl Slot {
    fn new(value: &[u8]) -> Slot {
        let mut slot = Slot::default();
        if let Some(room) = slot.bytes.get_mut(..value.len()) {
            room.copy_from_slice(value);
            slot.length = u8::try_from(value.len()).expect("at most 32");
        }
        slot
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Error for a request that cannot be parsed; the connection ends with this response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadRequest {
    /// Status of the response.
    pub(crate) status: u16,
    /// Body of the response.
    pub(crate) why: String,
}

fn bad(status: u16, why: impl Into<String>) -> BadRequest {
    BadRequest { status, why: why.into() }
}

impl From<RequestFault> for BadRequest {
    fn from(fault: RequestFault) -> BadRequest {
        bad(fault.status(), format!("{fault}\n"))
    }
}

impl ServedRequest {
    /// Makes a request that gets the behaviour's own response.
    pub(crate) fn plain() -> ServedRequest {
        ServedRequest { has_host: true, ..ServedRequest::default() }
    }

    /// True if the request changes nothing about the behaviour's own response.
    pub(crate) fn is_plain(&self) -> bool {
        // Field by field: that costs a third of a comparison with `plain()`.
        let ServedRequest {
            is_head,
            is_http10,
            wants_close,
            wants_keep_alive,
            expects_continue,
            is_stats,
            has_body,
            has_host,
            is_call,
            upgrade,
            slot,
            route,
            overrides: Overrides { delay, status, body_bytes, fault },
        } = self;
        let changes_response = is_head | is_http10 | wants_close | wants_keep_alive | is_stats;
        let is_overridden =
            delay.is_some() | status.is_some() | body_bytes.is_some() | fault.is_some();
        let is_special = expects_continue
            | upgrade.is_websocket
            | has_body
            | !has_host
            | is_call
            | (slot.length > 0)
            | route.is_some();
        !(changes_response | is_overridden | is_special)
    }

    /// True if the client may wait for `100 Continue`, which is not part of HTTP/1.0, before it
    /// sends the body.
    pub(crate) fn awaits_continue(&self) -> bool {
        self.expects_continue && self.has_body && !self.is_http10
    }

    /// Returns the key of an upgrade to WebSocket; `None` if the request is none.
    pub(crate) fn upgrade_key(&self) -> Option<&UpgradeKey> {
        let UpgradeFields { is_websocket, is_connection, is_version_13, ref key, .. } =
            self.upgrade;
        let is_upgrade = is_websocket && is_connection && is_version_13;
        let is_ordinary = !self.is_http10 && !self.is_head && !self.has_body;
        key.as_ref().filter(|_| is_upgrade && is_ordinary)
    }

    /// Returns the terms on which the client of an upgrade offers to deflate messages.
    pub(crate) fn deflate_terms(&self) -> Option<DeflateTerms> {
        self.upgrade.deflate
    }

    /// Reads from the start of `bytes`, as [`RequestParser::read`]. A request that begins there
    /// replaces this one, and its route is one of `routes`.
    ///
    /// # Errors
    /// The bytes are not a request that this server supports.
    pub(crate) fn read(
        &mut self,
        parser: &mut RequestParser,
        bytes: &mut &[u8],
        routes: &Routes,
    ) -> Result<ReadProgress, BadRequest> {
        parser.read(bytes, |part| self.read_part(part, routes))
    }

    /// Does the same, without routes, and keeps the request in `content`.
    ///
    /// # Errors
    /// As in [`ServedRequest::read`].
    #[cold]
    pub(crate) fn read_with_content(
        &mut self,
        parser: &mut RequestParser,
        bytes: &mut &[u8],
        content: &mut RequestContent,
    ) -> Result<ReadProgress, BadRequest> {
        if parser.is_in_body() {
            return Ok(parser.read_body(bytes, |bytes| content.take_body(bytes))?);
        }
        let routes = Routes::default();
        parser.read(bytes, |part| {
            content.take(&part);
            self.read_part(part, &routes)
        })
    }

    #[inline(always)]
    fn read_part(&mut self, part: RequestPart<'_>, routes: &Routes) -> Result<(), BadRequest> {
        match part {
            RequestPart::Line(line) => {
                *self = ServedRequest::default();
                self.read_line(&line, routes)
            }
            RequestPart::Field { name, value } => self.read_header(name, value),
            RequestPart::Head(head) => self.end_head(&head),
        }
    }

    /// Reads a request of HTTP/2 from its fields.
    ///
    /// # Errors
    /// An override is invalid.
    pub(crate) fn from_fields(
        fields: &RequestFields,
        has_body: bool,
        routes: &Routes,
    ) -> Result<ServedRequest, BadRequest> {
        let mut request = ServedRequest {
            is_head: fields.method() == b"HEAD",
            has_body,
            has_host: true,
            ..ServedRequest::default()
        };
        request.read_target(fields.method(), fields.path(), routes)?;
        for (name, value) in fields.fields() {
            request.read_header(name, value)?;
            request.expects_continue |=
                name == b"expect" && value.eq_ignore_ascii_case(b"100-continue");
            request.is_call |= name == b"content-type" && grpc::is_call(value);
        }
        request.is_call &= fields.method() == b"POST";
        Ok(request)
    }

    fn read_line(&mut self, line: &RequestLine<'_>, routes: &Routes) -> Result<(), BadRequest> {
        self.is_head = line.is_head();
        self.is_http10 = line.minor == 0;
        self.read_target(line.method, line.target, routes)
    }

    #[inline]
    fn read_target(
        &mut self,
        method: &[u8],
        target: &[u8],
        routes: &Routes,
    ) -> Result<(), BadRequest> {
        // Most targets are short, for which a call of memchr costs more than the search.
        let (path, query) = match target.iter().position(|&byte| byte == b'?') {
            None => (target, None),
            Some(at) => (&target[..at], Some(&target[at + 1..])),
        };
        self.is_stats = path == b"/weir/stats";
        if !routes.is_empty() {
            self.route = routes.find(method, path);
        }
        query.map_or(Ok(()), |query| self.read_query(query))
    }

    /// Applies each `name=value` of the query; unknown names are ignored.
    fn read_query(&mut self, query: &[u8]) -> Result<(), BadRequest> {
        for pair in query.split(|&c| c == b'&') {
            let Some(equals) = memchr::memchr(b'=', pair) else { continue };
            let knob = match &pair[..equals] {
                b"delay" => Knob::Delay,
                b"delay_ns" | b"delay-ns" => Knob::DelayNs,
                b"status" => Knob::Status,
                b"size" => Knob::Size,
                b"fault" => Knob::Fault,
                _ => continue,
            };
            self.turn(knob, &percent_decoded(&pair[equals + 1..]))?;
        }
        Ok(())
    }

    #[inline]
    fn read_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), BadRequest> {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        // The length is compared first: most headers of most requests match none of these.
        match name.len() {
            4 if is("host") => self.has_host = true,
            6 if is("x-slot") => self.slot = Slot::new(value),
            6 if is("x-size") => self.turn(Knob::Size, value)?,
            7 if is("upgrade") => {
                self.upgrade.is_websocket = value.eq_ignore_ascii_case(b"websocket");
            }
            7 if is("x-delay") => self.turn(Knob::Delay, value)?,
            7 if is("x-fault") => self.turn(Knob::Fault, value)?,
            8 if is("x-status") => self.turn(Knob::Status, value)?,
            10 if is("x-delay-ns") => self.turn(Knob::DelayNs, value)?,
            10 if is("connection") => self.upgrade.is_connection |= has_token(value, b"upgrade"),
            17 | 21 | 24 if matches!(name[0], b'S' | b's') => self.upgrade.read(name, value),
            _ => {}
        }
        Ok(())
    }

    /// Applies an override, unless the request has a route: the parameters in its query are then
    /// those of the service that the route stands for.
    fn turn(&mut self, knob: Knob, value: &[u8]) -> Result<(), BadRequest> {
        match self.route {
            Some(_) => Ok(()),
            None => self.overrides.turn(knob, value),
        }
    }

    fn end_head(&mut self, head: &RequestHead) -> Result<(), BadRequest> {
        // RFC 9112 §3.2.
        if !self.has_host && !self.is_http10 {
            return Err(bad(400, "a request of HTTP/1.1 needs a Host header\n"));
        }
        self.wants_close = head.wants_close;
        self.wants_keep_alive = head.wants_keep_alive;
        self.expects_continue = head.expects_continue;
        self.has_body = head.body != RequestBody::None;
        Ok(())
    }
}

/// A setting of the behaviour that a request may override.
#[derive(Clone, Copy)]
enum Knob {
    Delay,
    DelayNs,
    Status,
    Size,
    Fault,
}

impl Overrides {
    fn turn(&mut self, knob: Knob, value: &[u8]) -> Result<(), BadRequest> {
        let value = str::from_utf8(value).map_err(|_| bad(400, "an override is not text\n"))?;
        let reported = |error: crate::ParseError| bad(400, format!("{error}\n"));
        match knob {
            Knob::Delay => self.delay = Some(value.parse().map_err(reported)?),
            Knob::DelayNs => {
                let ns = parse_digits(value.as_bytes())
                    .ok_or_else(|| bad(400, "the delay in ns is not a whole number\n"))?;
                self.delay = Some(Delay::Fixed(std::time::Duration::from_nanos(ns)));
            }
            Knob::Status => {
                let status = value.parse().ok().filter(|&status| status_is_valid(status));
                self.status =
                    Some(status.ok_or_else(|| bad(400, "the status must be 200 to 599\n"))?);
            }
            Knob::Size => {
                let bytes = parse_bytes(value).map_err(reported)?;
                if bytes > BODY_MAX_BYTES {
                    return Err(bad(400, "the size must be at most 1g\n"));
                }
                self.body_bytes = Some(bytes);
            }
            Knob::Fault => self.fault = Some(value.parse().map_err(reported)?),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Reads the first request of `bytes`. Returns it and the number of bytes read, or `None` if it
    /// is incomplete.
    fn read_first(bytes: &[u8]) -> Result<Option<(ServedRequest, usize)>, BadRequest> {
        let mut parser = RequestParser::default();
        let mut request = ServedRequest::default();
        let mut rest = bytes;
        loop {
            match request.read(&mut parser, &mut rest, &Routes::default())? {
                ReadProgress::Incomplete => return Ok(None),
                ReadProgress::Head => {}
                ReadProgress::End => return Ok(Some((request, bytes.len() - rest.len()))),
            }
        }
    }

    fn read(text: &str) -> ServedRequest {
        let (request, taken) = read_first(text.as_bytes()).expect("well-formed").expect("complete");
        assert_eq!(taken, text.len(), "{text:?}");
        request
    }

    #[test]
    fn a_plain_request() {
        assert!(read("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_plain());
        assert!(read("POST /x?y=z&w HTTP/1.1\r\nhost: a\r\nAccept: */*\r\n\r\n").is_plain());
        assert!(read("\r\nGET / HTTP/1.1\nHost: a\n\n").is_plain());
        assert!(!read("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").is_plain());
        assert!(!read("GET / HTTP/1.0\r\n\r\n").is_plain());
    }

    #[test]
    fn an_incomplete_request_is_none_at_every_split() {
        let text =
            "POST /?delay=5ms HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nx-slot: 7\r\n\r\nabc";
        for split in 0..text.len() {
            assert_eq!(read_first(&text.as_bytes()[..split]), Ok(None), "split at {split}");
            let mut parser = RequestParser::default();
            let mut request = ServedRequest::default();
            let mut progress = Vec::new();
            for mut piece in [&text.as_bytes()[..split], &text.as_bytes()[split..]] {
                while progress.last() != Some(&ReadProgress::End) {
                    match request
                        .read(&mut parser, &mut piece, &Routes::default())
                        .expect("well-formed")
                    {
                        ReadProgress::Incomplete => break,
                        other => progress.push(other),
                    }
                }
            }
            assert_eq!(progress, [ReadProgress::Head, ReadProgress::End], "split at {split}");
            assert_eq!(request, read(text), "split at {split}");
        }
        let longer = format!("{text}GET");
        let (request, taken) = read_first(longer.as_bytes()).expect("fine").expect("complete");
        assert_eq!(taken, text.len());
        assert_eq!(request, read(text));
    }

    #[test]
    fn headers_that_matter() {
        let with = |line: &str| read(&format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"));
        assert!(with("Connection: close").wants_close);
        assert!(with("connection: Upgrade, CLOSE").wants_close);
        assert!(with("Connection: keep-alive").wants_keep_alive);
        assert!(with("Expect: 100-continue").expects_continue);
        let with_body = |line: &str, body: &str| {
            read(&format!("POST / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n{body}")).has_body
        };
        assert!(with_body("Content-Length: 5", "hello"));
        assert!(with_body("Transfer-Encoding: Chunked", "0\r\n\r\n"));
        assert!(!with_body("Content-Length: 0", ""));
        let waits = |version: &str| {
            let fields = "Host: a\r\nContent-Length: 1\r\nExpect: 100-Continue";
            read(&format!("POST / HTTP/{version}\r\n{fields}\r\n\r\nx")).awaits_continue()
        };
        assert!(waits("1.1") && !waits("1.0"));
        assert_eq!(with("x-slot: 00042").slot.as_bytes(), b"00042");
        assert_eq!(with(&format!("X-Slot: {}", "7".repeat(33))).slot.as_bytes(), b"");
        assert_eq!(with(&format!("X-Slot: {}", "7".repeat(32))).slot.as_bytes(), [b'7'; 32]);
    }

    #[test]
    fn overrides_by_header_and_by_query() {
        let by_header = read(
            "GET / HTTP/1.1\r\nHost: a\r\nx-delay: exp:2ms\r\nx-status: 503\r\nx-size: 10k\r\n\
             x-fault: reset\r\n\r\n",
        );
        let query = "delay=exp%3a2ms&status=503&x=1&size=10k&fault=reset";
        let by_query = read(&format!("GET /a/b?{query} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(by_header.overrides, by_query.overrides);
        let mean = Duration::from_millis(2);
        assert_eq!(by_header.overrides.delay, Some(Delay::Exponential { mean }));
        assert_eq!(by_header.overrides.status, Some(503));
        assert_eq!(by_header.overrides.body_bytes, Some(10_240));
        assert_eq!(by_header.overrides.fault, Some(FaultKind::Reset));
        let ns = read("GET /?delay_ns=1500 HTTP/1.1\r\nHost: a\r\nx-delay-ns: 1501\r\n\r\n");
        assert_eq!(ns.overrides.delay, Some(Delay::Fixed(Duration::from_nanos(1501))));
        assert!(read("GET /weir/stats?x HTTP/1.1\r\nHost: a\r\n\r\n").is_stats);
        assert!(!read("GET /weir/statsx HTTP/1.1\r\nHost: a\r\n\r\n").is_stats);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let check = |text: &str, status: u16| {
            let error = read_first(text.as_bytes()).expect_err(text);
            assert_eq!(error.status, status, "{text:?}: {}", error.why);
        };
        check("GET /\r\n\r\n", 400);
        check("GET  / HTTP/1.1\r\n\r\n", 400);
        check("GET / FTP/1.1\r\n\r\n", 400);
        check("PRI * HTTP/2.0\r\n\r\n", 505);
        check("GET / HTTP/1.1\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501);
        check("GET / HTTP/1.1\r\nx-delay: soon\r\n\r\n", 400);
        check("GET /?status=99 HTTP/1.1\r\n\r\n", 400);
        check("GET /?size=2g HTTP/1.1\r\n\r\n", 400);
        check("GET /?fault=boom HTTP/1.1\r\n\r\n", 400);
        check(&"x".repeat(64 * 1024), 431);
        assert_eq!(read_first("x".repeat(64 * 1024 - 1).as_bytes()), Ok(None));
        let post = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{post}x\r\n"), 400);
    }
}

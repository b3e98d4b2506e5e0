//! One request and its response over any version, for callers beside the load: bytes in, bytes and
//! the state of the response out. It does not choose the version. It limits what it keeps, not what
//! it reads: the caller sees how far the response has come, and stops when that is enough.

use std::sync::Arc;

use thiserror::Error;

use crate::client::completed_response;
use crate::client::{Http1, unfinished_response};
use crate::error::ProtocolError;
use crate::h2::H2Client;
use crate::head::{Head, read_head};
use crate::messages::ReceivedMessage;
use crate::multiplexed::{EndReason, Multiplexed, StreamEvent, StreamEventKind};
use crate::received_response::ReceivedResponse;
use crate::request::Request;
use crate::request_id::RequestId;
use crate::request_traits::RequestTraits;
use crate::response_event::ResponseEvent;
use crate::sse;
use crate::ws::WsClient;

/// Most bytes that are kept of those received, for the head of a response of HTTP/1.
const RECEIVED_KEPT: usize = 1 << 20;

/// Client of a connection with one exchange at a time: a request and its response, or the upgrade
/// to WebSocket.
///
/// The caller sends [`take_output`](SingleExchange::take_output), passes what it receives to
/// [`receive`](SingleExchange::receive), and repeats both until the exchange
/// [is complete](ExchangeProgress::is_complete). Times are the caller's, in nanoseconds.
#[derive(Debug)]
pub struct SingleExchange {
    client: ExchangeClient,
    /// The request over HTTP/2, or the message of WebSocket; without one, what is exchanged is the
    /// upgrade, or nothing.
    request: Option<Arc<Request>>,
    id: Option<RequestId>,
    is_upgrade: bool,
    /// True once the stream of received bytes has ended.
    has_ended: bool,
    progress: ExchangeProgress,
}

/// How far an exchange has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeProgress {
    /// True once the request was passed on to be sent.
    pub is_sent: bool,
    /// True once the response is complete.
    pub is_complete: bool,
    /// True if the server returned the request unprocessed.
    pub is_returned: bool,
    /// Arrival of the response's first bytes; over HTTP/2 of its head, unless that completed it,
    /// and over WebSocket of the head that accepts or refuses the upgrade.
    pub begun_ns: Option<u64>,
    /// Number of bytes received on the connection.
    pub received_bytes: usize,
    /// Beginning of these bytes, at most 1 MiB; empty over HTTP/2.
    pub received: Vec<u8>,
    /// Error in the bytes received last, also if they complete a response.
    pub fault: Option<ProtocolError>,
}

/// The protocol of the connection.
#[derive(Debug)]
enum ExchangeClient {
    Http1 { protocol: Http1, request: Arc<[u8]>, response: Option<ResponseEvent> },
    Http2(Box<H2Client>),
    WebSocket(Box<WsClient>),
}

/// Reason why an exchange has no response.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExchangeError {
    /// The peer broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The upgrade has status 101, and the bytes with it are none of WebSocket.
    #[error("{0}")]
    Upgrade(ProtocolError),
    /// The stream of received bytes ended.
    #[error("the connection was closed before a response")]
    Closed,
    /// The peer ended the stream of the request.
    #[error("the server reset the stream: {}", .0.name)]
    Reset(&'static EndReason),
    /// The peer returned the request unprocessed.
    #[error("the server refused the request")]
    Returned,
    /// The peer announced the end of the connection.
    #[error("the server ended the connection ({frame}: {reason})")]
    Ended {
        /// Name of the frame that announces it.
        frame: &'static str,
        /// Name of the reason, and the peer's text, as it sent it.
        reason: String,
    },
    /// The peer allows no streams.
    #[error("the server allows no streams (MAX_CONCURRENT_STREAMS 0)")]
    NoStreams,
    /// The connection retires before the request is sent.
    #[error("the connection takes no request")]
    NoRequest,
}

impl SingleExchange {
    fn new(client: ExchangeClient) -> SingleExchange {
        SingleExchange {
            is_upgrade: matches!(client, ExchangeClient::WebSocket(_)),
            client,
            request: None,
            id: None,
            has_ended: false,
            progress: ExchangeProgress::default(),
        }
    }

    /// Returns the exchange of the bytes of a request over HTTP/1.
    pub fn http1(mut protocol: Http1, request: Arc<[u8]>, traits: RequestTraits) -> SingleExchange {
        protocol.request(traits);
        SingleExchange::new(ExchangeClient::Http1 { protocol, request, response: None })
    }

    /// Opens a connection of HTTP/2, whose client must keep responses. A
    /// [`request`](SingleExchange::request) follows.
    pub fn http2(mut client: H2Client, now_ns: u64) -> SingleExchange {
        client.open(now_ns);
        SingleExchange::new(ExchangeClient::Http2(Box::new(client)))
    }

    /// Returns the exchange that opens a connection of WebSocket. It is complete once that is open,
    /// or the server has refused the upgrade.
    pub fn upgrade(mut client: WsClient, now_ns: u64) -> SingleExchange {
        client.open(now_ns);
        SingleExchange::new(ExchangeClient::WebSocket(Box::new(client)))
    }

    /// Begins the next exchange of the connection: a request over HTTP/2, or a message of WebSocket
    /// and its echo.
    pub fn request(&mut self, request: &Arc<Request>) {
        self.listen();
        self.request = Some(Arc::clone(request));
    }

    /// Ends the exchange before: bytes from now on belong to none, and only a failure ends it.
    pub fn listen(&mut self) {
        self.progress.is_sent = false;
        self.progress.is_complete = false;
        self.is_upgrade = false;
        if let ExchangeClient::Http2(client) = &mut self.client {
            client.forget_responses();
            self.progress.begun_ns = None;
        }
    }

    /// Announces the end of the connection to the peer, where its protocol has a way.
    pub fn close(&mut self) {
        if let Some(client) = self.client.multiplexed_mut() {
            client.close();
        }
    }

    /// Returns the bytes to send now.
    pub fn take_output(&mut self, now_ns: u64) -> Arc<[u8]> {
        if let ExchangeClient::Http1 { request, .. } = &mut self.client {
            self.progress.is_sent = true;
            // Not copied: its body may be long.
            return std::mem::take(request);
        }
        let Some(client) = self.client.multiplexed_mut() else { return Arc::default() };
        if let Some(request) = self.request.as_ref().filter(|_| !self.progress.is_sent)
            && client.capacity() > 0
        {
            self.id = Some(client.request(request, now_ns));
            self.progress.is_sent = true;
        }
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        out.into()
    }

    /// Receives the next bytes; none are the end of the stream. A response that they complete
    /// counts, whatever follows it.
    ///
    /// # Errors
    /// When there will be no response.
    pub fn receive(&mut self, bytes: &[u8], now_ns: u64) -> Result<(), ExchangeError> {
        self.progress.received_bytes += bytes.len();
        self.has_ended = bytes.is_empty();
        let mut events = Vec::new();
        let read = match &mut self.client {
            ExchangeClient::Http1 { protocol, response, .. } => {
                let mut responses = Vec::new();
                let read = match bytes {
                    [] => protocol.end_of_stream(&mut responses),
                    bytes => protocol.receive(bytes, &mut responses),
                };
                *response = responses.pop();
                self.progress.is_complete = response.is_some();
                read
            }
            ExchangeClient::Http2(client) => client.receive(bytes, now_ns, &mut events),
            ExchangeClient::WebSocket(client) => client.receive(bytes, now_ns, &mut events),
        };
        self.progress.fault = read.err();
        match self.client {
            ExchangeClient::Http1 { .. } => {
                self.keep(bytes);
                if !bytes.is_empty() {
                    self.progress.begun_ns.get_or_insert(now_ns);
                }
            }
            ExchangeClient::Http2(_) => {
                events.iter().try_for_each(|event| self.take_event(event.kind, now_ns))?;
            }
            ExchangeClient::WebSocket(_) => {
                self.keep(bytes);
                self.take_frames(&events, now_ns)?;
            }
        }
        if self.progress.is_complete {
            return Ok(());
        }
        read?;
        self.end_of_connection().map_or(Ok(()), Err)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = RECEIVED_KEPT.saturating_sub(self.progress.received.len()).min(bytes.len());
        self.progress.received.extend_from_slice(&bytes[..room]);
    }

    /// Takes an event of the request's stream over HTTP/2.
    fn take_event(&mut self, event: StreamEventKind, now_ns: u64) -> Result<(), ExchangeError> {
        match event {
            StreamEventKind::Began { .. } => self.progress.begun_ns = Some(now_ns),
            StreamEventKind::Response { .. } => self.progress.is_complete = true,
            StreamEventKind::Failed(error) => return Err(error.into()),
            StreamEventKind::Reset(reason) => return Err(ExchangeError::Reset(reason)),
            StreamEventKind::Returned => {
                self.progress.is_returned = true;
                return Err(self.refusal().unwrap_or(ExchangeError::Returned));
            }
        }
        Ok(())
    }

    /// Takes what was received over WebSocket: the response to the upgrade, or messages.
    fn take_frames(&mut self, events: &[StreamEvent], now_ns: u64) -> Result<(), ExchangeError> {
        if self.progress.begun_ns.is_none()
            && let Some(head) = final_head(&self.progress.received)?
        {
            self.progress.is_complete = head.status != 101;
            self.progress.begun_ns = Some(now_ns);
            if let Some(error) = self.progress.fault.filter(|_| !self.progress.is_complete) {
                return Err(ExchangeError::Upgrade(error));
            }
        }
        let Some(client) = self.client.multiplexed().filter(|client| client.goaway().is_none())
        else {
            return Ok(());
        };
        self.progress.is_complete |= match self.is_upgrade {
            true => client.is_open(),
            false => events.iter().any(|event| event.kind.is_last()),
        };
        Ok(())
    }

    /// Returns the error of a connection that ended or takes no request; `None` if it goes on.
    fn end_of_connection(&self) -> Option<ExchangeError> {
        let error = match &self.client {
            ExchangeClient::Http2(client) if self.has_ended && !client.is_open() => {
                return Some(ProtocolError::BadPreface.into());
            }
            // No message follows a Close frame.
            ExchangeClient::WebSocket(client) if client.goaway().is_some() => ExchangeError::Closed,
            _ if self.has_ended => ExchangeError::Closed,
            ExchangeClient::Http2(client) if !self.progress.is_sent && client.is_retiring() => {
                ExchangeError::NoRequest
            }
            _ => return None,
        };
        Some(self.refusal().unwrap_or(error))
    }

    /// Returns the error of a server that ended the connection or allows no streams; `None` if it
    /// did neither.
    pub fn refusal(&self) -> Option<ExchangeError> {
        let client = self.client.multiplexed()?;
        if let Some(reason) = client.goaway() {
            let frame = match self.client {
                ExchangeClient::WebSocket(_) => "Close frame",
                _ => "GOAWAY",
            };
            let reason = format!("{} {}", reason.name, client.goaway_text()).trim().to_owned();
            return Some(ExchangeError::Ended { frame, reason });
        }
        client.allows_no_streams().then_some(ExchangeError::NoStreams)
    }

    /// Returns how far it has come.
    pub fn progress(&self) -> &ExchangeProgress {
        &self.progress
    }

    /// True if the connection can carry another request after a complete response.
    pub fn is_reusable(&self) -> bool {
        let closes = match &self.client {
            ExchangeClient::Http1 { response, .. } => response.is_none_or(|it| it.closes),
            _ => self.client.multiplexed().is_none_or(|client| client.is_retiring()),
        };
        self.progress.is_complete && !closes && !self.has_ended && self.progress.fault.is_none()
    }

    /// Returns the number of interim responses (1xx).
    pub fn interim_responses(&self) -> u64 {
        match &self.client {
            ExchangeClient::Http1 { protocol, .. } => protocol.interim_responses(),
            _ => self.client.multiplexed().map_or(0, |client| client.interim_responses()),
        }
    }

    /// Returns the head of the final response, or of the upgrade; `None` before it is complete. Its
    /// length is that of all bytes up to its end, and 0 over HTTP/2.
    pub fn head(&self) -> Option<Head<'_>> {
        let ExchangeClient::Http2(client) = &self.client else {
            return final_head(&self.progress.received).ok()?;
        };
        let response = match self.progress.is_complete {
            true => client.response(0),
            false => self.progress.begun_ns.map(|_| client.head())?,
        };
        let fields = response.fields();
        let headers = fields.map(|(name, value)| (str::from_utf8(name).unwrap_or(""), value));
        let headers = headers.collect();
        Some(Head { version: "HTTP/2", status: response.status, reason: b"", headers, bytes: 0 })
    }

    /// True if the response is a stream of events that can be split, which may last as long as it
    /// likes.
    pub fn is_event_stream(&self) -> bool {
        self.head().is_some_and(|head| {
            let coding = head.header("content-encoding");
            let is_plain = coding.is_none_or(|coding| coding.eq_ignore_ascii_case(b"identity"));
            head.header("content-type").is_some_and(sse::is_event_stream) && is_plain
        })
    }

    /// Returns the length of the response's body, counted or as its head states it, if it is known.
    pub fn body_bytes(&self) -> Option<u64> {
        match &self.client {
            ExchangeClient::Http1 { response: Some(response), .. } => Some(response.body_bytes),
            ExchangeClient::Http1 { protocol, .. } => {
                let unread = protocol.discardable();
                let arrived = self.progress.received_bytes - self.head()?.bytes;
                (1..u64::MAX).contains(&unread).then(|| unread + arrived as u64)
            }
            ExchangeClient::Http2(_) => {
                str::from_utf8(self.head()?.header("content-length")?).ok()?.parse().ok()
            }
            ExchangeClient::WebSocket(_) => None,
        }
    }

    /// Returns the response as far as it was received, and as the protocol keeps it; `None` before
    /// its body, unless it is complete.
    pub fn response(&self) -> Option<ReceivedResponse<'_>> {
        match &self.client {
            ExchangeClient::Http1 { protocol, response: Some(response), .. } => {
                Some(completed_response(protocol, response.status))
            }
            ExchangeClient::Http1 { protocol, .. } => unfinished_response(protocol),
            ExchangeClient::Http2(client) if self.progress.is_complete => Some(client.response(0)),
            ExchangeClient::Http2(client) => client.unfinished(self.id?),
            ExchangeClient::WebSocket(_) => None,
        }
    }

    /// Returns the messages in the body that the last bytes completed, in order.
    pub fn messages(&self) -> Vec<ReceivedMessage> {
        match &self.client {
            ExchangeClient::Http1 { protocol, .. } => protocol.messages().to_vec(),
            ExchangeClient::Http2(client) => {
                client.messages().iter().map(|it| it.message).collect()
            }
            ExchangeClient::WebSocket(_) => Vec::new(),
        }
    }

    /// Returns the request over HTTP/2, or the message of WebSocket.
    pub fn requested(&self) -> Option<&Arc<Request>> {
        self.request.as_ref()
    }

    /// Returns the messages of WebSocket in the last bytes, if the client keeps them.
    pub fn contents(&self) -> &[Vec<u8>] {
        match &self.client {
            ExchangeClient::WebSocket(client) => client.received(),
            ExchangeClient::Http1 { .. } | ExchangeClient::Http2(_) => &[],
        }
    }
}

impl ExchangeClient {
    fn multiplexed(&self) -> Option<&dyn Multiplexed> {
        match self {
            ExchangeClient::Http1 { .. } => None,
            ExchangeClient::Http2(client) => Some(&**client),
            ExchangeClient::WebSocket(client) => Some(&**client),
        }
    }

    fn multiplexed_mut(&mut self) -> Option<&mut dyn Multiplexed> {
        match self {
            ExchangeClient::Http1 { .. } => None,
            ExchangeClient::Http2(client) => Some(&mut **client),
            ExchangeClient::WebSocket(client) => Some(&mut **client),
        }
    }
}

/// Returns the head of the final response, or of the upgrade, after interim responses.
fn final_head(received: &[u8]) -> Result<Option<Head<'_>>, ProtocolError> {
    let mut begin = 0;
    while let Some(head) = read_head(&received[begin..])? {
        begin += head.bytes;
        if head.status >= 200 || head.status == 101 {
            return Ok(Some(Head { bytes: begin, ..head }));
        }
    }
    Ok(None)
}

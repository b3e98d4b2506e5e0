//! State of one connection: values only, changed by `Responder`.

use weir_http::server::RequestParser;
use weir_io::Nanos;

use crate::content::RequestContent;
use crate::http2::Http2;
use crate::request::ServedRequest;
use crate::shop::ShopRequest;
use crate::web_socket::WebSocket;

/// State of a connection number, which outlives its sockets.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// Sockets that have had this number; identifies queued work of an older socket.
    pub(crate) life: u32,
    /// Sockets that the worker had accepted before this one.
    pub(crate) number: u64,
    pub(crate) is_open: bool,
    pub(crate) protocol: Protocol,
    /// True if a response that closes has been decided or the peer has ended: nothing more is read.
    pub(crate) is_ending: bool,
    /// True if the peer has closed its sending side.
    pub(crate) has_peer_ended: bool,
    /// True after a black-hole fault: due responses are dropped.
    pub(crate) is_muted: bool,
    /// Requests taken from this socket.
    pub(crate) taken: u64,
    /// Responses of every kind in the queue.
    pub(crate) queued: u32,
    /// Counted requests without a response yet.
    pub(crate) owed: u32,
    /// Time at which the last piece of the last queued response is due, [`Nanos::MAX`] for a stream
    /// of events, whose end is not computed. In HTTP/2, time of the
    /// settings, before which no response leaves.
    pub(crate) last_due_at: Nanos,
    pub(crate) last_traffic_at: Nanos,
    pub(crate) parser: RequestParser,
    /// The received part of a head. While the parser is idle, it is equal to the plain head so
    /// far, and the parser reads it only if they differ later.
    pub(crate) begun: Vec<u8>,
    /// The last request that the parser read, or reads.
    pub(crate) request: Option<Box<ServedRequest>>,
}

/// Protocol of a connection, with its state if it is not HTTP/1.
#[derive(Debug, Default)]
pub(crate) enum Protocol {
    /// All bytes so far are the start of the preface of HTTP/2, so many of them.
    Undecided { preface_bytes: usize },
    /// HTTP/1.
    #[default]
    Http1,
    /// HTTP/1 to the shop, with the content of the request that the parser read last, or reads.
    ShopHttp1(Box<RequestContent>),
    /// HTTP/2.
    Http2(Box<Http2>),
    /// WebSocket, after an upgrade of HTTP/1.
    WebSocket(Box<WebSocket>),
}

impl Protocol {
    /// Returns HTTP/1 of a server that has a shop, or not.
    pub(crate) fn http1(has_shop: bool) -> Protocol {
        match has_shop {
            true => Protocol::ShopHttp1(Box::new(RequestContent::Shop(ShopRequest::default()))),
            false => Protocol::Http1,
        }
    }
}

impl Connection {
    /// Returns the state of HTTP/2.
    pub(crate) fn http2(&mut self) -> Option<&mut Http2> {
        match &mut self.protocol {
            Protocol::Http2(http2) => Some(http2),
            _ => None,
        }
    }

    /// Returns the state of WebSocket.
    pub(crate) fn socket(&mut self) -> Option<&mut WebSocket> {
        match &mut self.protocol {
            Protocol::WebSocket(socket) => Some(socket),
            _ => None,
        }
    }

    pub(crate) fn is_http2(&self) -> bool {
        matches!(self.protocol, Protocol::Http2(_))
    }

    /// True if the socket of this `life` is still open.
    pub(crate) fn is_current(&self, life: u32) -> bool {
        self.is_open && self.life == life
    }

    pub(crate) fn is_socket(&self) -> bool {
        matches!(self.protocol, Protocol::WebSocket(_))
    }

    /// True if its peer or a response has ended it, and it gets no more responses.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_open && self.is_ending && self.queued == 0
    }
}

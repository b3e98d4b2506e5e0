//! Invariants for any bytes from a peer of HTTP/2: the results do not depend on the cuts, each
//! request ends once at most, and the output is bounded.

use std::sync::Arc;

use weir_http::h2::server::{H2Server, ServerEvent};
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_http::{Multiplexed, ProtocolError, Request, RequestId, StreamEvent};

/// Requests in flight when the server's bytes arrive.
const REQUESTS: u16 = 4;

/// Feeds a client the bytes of a server: the first byte of an input is the length of the pieces.
pub(crate) fn client(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let whole = run_client(bytes, usize::MAX);
    assert_eq!(run_client(bytes, usize::from(*piece) + 1), whole);
}

/// Feeds a server the bytes of a client: the first byte of an input is the length of the pieces.
pub(crate) fn server(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let whole = run_server(bytes, usize::MAX);
    assert_eq!(run_server(bytes, usize::from(*piece) + 1), whole);
}

/// Results that must not depend on the pieces.
type ClientResult = (Vec<StreamEvent>, Option<ProtocolError>, u32, bool);

fn run_client(bytes: &[u8], piece_bytes: usize) -> ClientResult {
    let mut client = H2Client::new(REQUESTS, &H2Options::default());
    client.open(0);
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    assert_eq!(client.receive(&settings, 0, &mut Vec::new()), Ok(()));
    for text in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let request = Request::parse(text.as_bytes(), "http").expect("complete");
        let request = Arc::new(request);
        for _ in 0..REQUESTS / 2 {
            client.request(&request, 0);
        }
    }
    let mut events = Vec::new();
    let mut error = None;
    let mut out = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        error = client.receive(piece, 0, &mut events).err();
        client.poll_transmit(&mut out);
    }
    assert!(out.len() <= 200 + 2 * bytes.len(), "more is sent than received");
    let mut has_ended = [false; REQUESTS as usize];
    for StreamEvent { id: RequestId(id), kind } in &events {
        let has_ended = &mut has_ended[usize::from(*id)];
        assert!(!*has_ended, "an event after the last one");
        *has_ended = kind.is_last();
    }
    (events, error, client.capacity(), client.is_mid_response())
}

/// A request: its stream, the bytes of its fields, the length of its body, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Received {
    stream: u32,
    fields: Vec<u8>,
    body_bytes: usize,
    is_complete: bool,
    reset: Option<ErrorCode>,
}

/// Results that must not depend on the pieces.
type ServerResult = (Vec<Received>, Option<ProtocolError>, u32);

/// Feeds a server pieces of this length.
pub(super) fn run_server(bytes: &[u8], piece_bytes: usize) -> ServerResult {
    let mut server = H2Server::new(&H2Options::server());
    let mut requests = Vec::new();
    let mut error = None;
    for piece in bytes.chunks(piece_bytes) {
        error = server.receive(piece, |event| collect(&mut requests, event)).err();
        assert!(server.open_streams() <= 100);
    }
    for request in &mut requests {
        // The part of a wrong body that is passed on depends on the pieces.
        let is_wrong = request.reset.is_some() || error.is_some();
        request.body_bytes *= usize::from(!is_wrong);
    }
    (requests, error, server.open_streams())
}

fn collect(requests: &mut Vec<Received>, event: ServerEvent<'_>) {
    if let ServerEvent::Request { stream, fields, is_end } = event {
        assert!(!fields.method().is_empty());
        let fields = fields.fields().flat_map(|(name, value)| [name, value].concat()).collect();
        let body_bytes = 0;
        let is_complete = is_end;
        let reset = None;
        return requests.push(Received { stream, fields, body_bytes, is_complete, reset });
    }
    fn of(requests: &mut [Received], stream: u32) -> &mut Received {
        let known = requests.iter_mut().find(|request| request.stream == stream);
        known.expect("an event of a request that has begun")
    }
    match event {
        ServerEvent::Data { stream, data, is_end } => {
            let request = of(requests, stream);
            assert!(!request.is_complete && request.reset.is_none());
            request.body_bytes += data.len();
            request.is_complete = is_end;
        }
        ServerEvent::Trailers { stream, .. } => of(requests, stream).is_complete = true,
        ServerEvent::Reset { stream, code } => of(requests, stream).reset = Some(code),
        _ => {}
    }
}

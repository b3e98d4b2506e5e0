//! Client and server against each other: random requests and responses, in pieces of random sizes,
//! through windows of any size, with faults that the server announces properly.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_http::h2::frame::Settings;
use weir_http::h2::server::{H2Server, ServerEvent};
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_http::{Multiplexed, Request, RequestId, StreamEvent, StreamEventKind};

use super::raw::request;

/// A request, and what becomes of it.
#[derive(Clone, Debug)]
struct Exchange {
    method: &'static str,
    path: String,
    fields: Vec<(String, String)>,
    body_bytes: usize,
    ending: Ending,
}

#[derive(Clone, Debug)]
enum Ending {
    Response {
        status: u16,
        interims: usize,
        body: Vec<usize>,
        has_length: bool,
    },
    Reset(ErrorCode),
    /// The client cancels it after the request was sent.
    Cancelled,
}

/// Sizes that both sides announce, and of the pieces in which bytes arrive.
#[derive(Clone, Debug)]
struct World {
    client: H2Options,
    server: H2Options,
    streams: u16,
    pieces: Vec<usize>,
    /// Sizes of the table and of the first window that the server announces after each request.
    changes: Vec<(u32, u32)>,
}

impl Exchange {
    fn request(&self) -> Arc<Request> {
        let fields: String =
            self.fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let method = self.method;
        let path = &self.path;
        let length = self.body_bytes;
        let head = format!("{method} /{path} HTTP/1.1\r\nHost: h\r\n{fields}");
        let length = format!("Content-Length: {length}\r\n\r\n{}", "b".repeat(length));
        request(&(head + &length))
    }
}

prop_compose! {
    fn exchange()(
        method in prop::sample::select(vec!["GET", "HEAD", "POST"]),
        path in "[a-c]{0,2}",
        fields in prop::collection::vec(("x-[a-d]", "[a-z]{0,12}"), 0..4),
        body_bytes in prop_oneof![3 => Just(0usize), 1 => 1..200usize, 1 => 1..40_000usize],
        ending in ending(),
    ) -> Exchange {
        Exchange { method, path, fields, body_bytes, ending }
    }
}

fn ending() -> impl Strategy<Value = Ending> {
    let part = prop_oneof![0..50usize, 0..30_000usize];
    let response = (
        prop::sample::select(vec![200u16, 204, 304, 404, 503]),
        0..3usize,
        prop::collection::vec(part, 0..4),
        any::<bool>(),
    );
    let response = response.prop_map(|(status, interims, body, has_length)| Ending::Response {
        status,
        interims,
        body,
        has_length,
    });
    let codes = vec![ErrorCode::REFUSED_STREAM, ErrorCode::INTERNAL_ERROR, ErrorCode::NO_ERROR];
    prop_oneof![
        8 => response,
        1 => prop::sample::select(codes).prop_map(Ending::Reset),
        1 => Just(Ending::Cancelled),
    ]
}

fn change() -> impl Strategy<Value = (u32, u32)> {
    let table_bytes = prop::sample::select(vec![0u32, 50, 4096, 8192]);
    (table_bytes, prop::sample::select(vec![1u32, 1_000, 65_535, 1 << 20]))
}

prop_compose! {
    fn world()(
        table_bytes in prop::array::uniform4(prop::sample::select(vec![0u32, 64, 4096, 10_000])),
        stream_window_bytes in prop::sample::select(vec![1u32, 100, 65_535, 1 << 20]),
        initial_window_bytes in prop::sample::select(vec![1_000u32, 65_535, 1 << 20]),
        frame_bytes_max in prop::sample::select(vec![16_384u32, 50_000]),
        most in prop::sample::select(vec![1u32, 3, 100]),
        streams in 1..8u16,
        pieces in prop::collection::vec(prop_oneof![1..12usize, 1..20_000usize], 1..20),
        changes in prop::collection::vec(change(), 0..6),
    ) -> World {
        let [decoder_table_bytes, encoder_table_bytes, header_table_bytes, server_encoder] =
            table_bytes;
        let connection_window_bytes = 65_535;
        let settings = Settings {
            header_table_bytes: decoder_table_bytes,
            initial_window_bytes: stream_window_bytes,
            max_frame_bytes: frame_bytes_max,
            ..H2Options::default().settings
        };
        let client = H2Options {
            settings,
            connection_window_bytes,
            encoder_table_bytes,
            ..H2Options::default()
        };
        let settings = Settings {
            header_table_bytes,
            initial_window_bytes,
            max_frame_bytes: frame_bytes_max,
            max_concurrent_streams: Some(most),
            ..Settings::default()
        };
        let server = H2Options {
            settings,
            encoder_table_bytes: server_encoder,
            ..H2Options::server()
        };
        World { client, server, streams, pieces, changes }
    }
}

/// The two sides, and the bytes between them.
struct Pair {
    client: H2Client,
    server: H2Server,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    events: Vec<StreamEvent>,
    /// Requests in progress at the server: their exchange, once it is known, and their body.
    received: BTreeMap<u32, (usize, usize)>,
    completed: Vec<(u32, usize)>,
}

impl Pair {
    fn new(world: &World) -> Pair {
        let mut client = H2Client::new(world.streams, &world.client);
        client.open(0);
        Pair {
            client,
            server: H2Server::new(&world.server),
            to_server: Vec::new(),
            to_client: Vec::new(),
            events: Vec::new(),
            received: BTreeMap::new(),
            completed: Vec::new(),
        }
    }

    /// Moves up to `bytes` bytes in both directions. Returns false if there were none.
    fn step(&mut self, bytes: usize) -> bool {
        self.client.poll_transmit(&mut self.to_server);
        self.server.poll_transmit(&mut self.to_client);
        let piece: Vec<u8> = self.to_server.drain(..bytes.min(self.to_server.len())).collect();
        let answer: Vec<u8> = self.to_client.drain(..bytes.min(self.to_client.len())).collect();
        let received = &mut self.received;
        let completed = &mut self.completed;
        let result = self.server.receive(&piece, |event| match event {
            ServerEvent::Request { stream, fields, is_end } => {
                let index = fields.fields().find(|(name, _)| *name == b"x-index").expect("sent").1;
                let index = str::from_utf8(index).expect("a number").parse().expect("a number");
                received.insert(stream, (index, 0));
                if is_end {
                    completed.push((stream, index));
                }
            }
            ServerEvent::Data { stream, data, is_end } => {
                let (index, body_bytes) = received.get_mut(&stream).expect("its head came first");
                *body_bytes += data.len();
                if is_end {
                    completed.push((stream, *index));
                }
            }
            ServerEvent::Reset { stream, .. } => {
                completed.retain(|(other, _)| *other != stream);
            }
            ServerEvent::Opened => {}
            other => panic!("{other:?}"),
        });
        assert_eq!(result, Ok(()));
        assert_eq!(self.client.receive(&answer, 0, &mut self.events), Ok(()));
        !piece.is_empty() || !answer.is_empty()
    }

    /// Sends the ending of a request that is complete at the server.
    fn answer(&mut self, stream: u32, exchange: &Exchange) {
        assert_eq!(self.received[&stream].1, exchange.body_bytes);
        match &exchange.ending {
            Ending::Cancelled => {}
            Ending::Reset(code) => self.server.reset_stream(stream, *code),
            Ending::Response { status, interims, body, has_length } => {
                for _ in 0..*interims {
                    self.server.respond(stream, 103, &[(b"link", b"x")], false);
                }
                let length: usize = body.iter().sum();
                let length = length.to_string();
                let length = [(&b"content-length"[..], length.as_bytes())];
                let fields = if *has_length { &length[..] } else { &[] };
                let has_body = exchange.method != "HEAD" && !matches!(status, 204 | 304);
                let ends = !has_body || body.is_empty();
                assert!(self.server.respond(stream, *status, fields, ends));
                let parts = if has_body { &body[..] } else { &[] };
                for (nth, bytes) in parts.iter().enumerate() {
                    let is_end = nth + 1 == body.len();
                    assert!(self.server.send_data(stream, &vec![b'r'; *bytes], is_end));
                }
            }
        }
    }
}

/// Runs all exchanges, and checks that each ends as it should.
fn run(exchanges: &[Exchange], world: &World) {
    let mut pair = Pair::new(world);
    let mut pieces = world.pieces.iter().cycle();
    let mut in_flight: BTreeMap<u16, usize> = BTreeMap::new();
    let mut next = 0;
    let mut ended = 0;
    let mut interims = 0;
    let mut changes = world.changes.iter();
    while ended < exchanges.len() {
        while next < exchanges.len() && pair.client.capacity() > 0 {
            let mut exchange = exchanges[next].clone();
            exchange.fields.push(("x-index".into(), next.to_string()));
            let RequestId(id) = pair.client.request(&exchange.request(), 0);
            assert!(id < world.streams && in_flight.insert(id, next).is_none());
            next += 1;
        }
        let moved = pair.step(*pieces.next().expect("endless"));
        for (stream, index) in std::mem::take(&mut pair.completed) {
            pair.answer(stream, &exchanges[index]);
            if let Some(&(header_table_bytes, initial_window_bytes)) = changes.next() {
                pair.server.change_settings(&Settings {
                    header_table_bytes,
                    initial_window_bytes,
                    ..world.server.settings
                });
            }
            if matches!(exchanges[index].ending, Ending::Cancelled) {
                let id = *in_flight.iter().find(|(_, other)| **other == index).expect("it is").0;
                pair.client.cancel(RequestId(id), 0);
                in_flight.remove(&id);
                ended += 1;
            }
        }
        for StreamEvent { id: RequestId(id), kind } in std::mem::take(&mut pair.events) {
            if matches!(kind, StreamEventKind::Began { .. }) {
                continue;
            }
            let exchange = &exchanges[in_flight.remove(&id).expect("it is in flight")];
            ended += 1;
            let expected = match &exchange.ending {
                Ending::Response { status, interims: more, .. } => {
                    interims += more;
                    StreamEventKind::Response { status: *status }
                }
                Ending::Reset(ErrorCode::REFUSED_STREAM) => StreamEventKind::Returned,
                Ending::Reset(code) => StreamEventKind::Reset(code.reason()),
                Ending::Cancelled => panic!("a cancelled request has no event"),
            };
            assert_eq!(kind, expected, "{exchange:?}");
        }
        if pair.client.is_retiring() {
            // Too many were cancelled.
            return;
        }
        assert!(moved || ended == exchanges.len() || pair.client.capacity() > 0, "no progress");
    }
    assert_eq!(pair.client.interim_responses(), interims as u64);
    while pair.step(usize::MAX) {}
    assert_eq!(pair.server.open_streams(), 0);
    assert!(!pair.client.is_mid_response());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn exchanges_end_as_they_should(
        exchanges in prop::collection::vec(exchange(), 1..20),
        world in world(),
    ) {
        run(&exchanges, &world);
    }
}

/// Every cut of a conversation in two gives the same result.
#[test]
fn every_cut() {
    let exchanges = |ending: Ending| {
        let fields = vec![("x-a".to_owned(), "b".to_owned())];
        let method = "POST";
        let path = "a".to_owned();
        vec![Exchange { method, path, fields, body_bytes: 30, ending }; 3]
    };
    let body = vec![20, 0, 10];
    let response = Ending::Response { status: 200, interims: 1, body, has_length: true };
    for piece_bytes in 1..400 {
        let world = World {
            client: H2Options::default(),
            server: H2Options::server(),
            streams: 2,
            pieces: vec![piece_bytes],
            changes: vec![(0, 1), (4096, 100)],
        };
        run(&exchanges(response.clone()), &world);
        run(&exchanges(Ending::Reset(ErrorCode::REFUSED_STREAM)), &world);
    }
}

/// After the first requests, a request is the header of a frame and an index for each field.
#[test]
fn equal_requests_are_short() {
    let world = World {
        client: H2Options::default(),
        server: H2Options::server(),
        streams: 1,
        pieces: vec![usize::MAX],
        changes: vec![],
    };
    let mut pair = Pair::new(&world);
    let exchange = Exchange {
        method: "GET",
        path: "path".to_owned(),
        fields: vec![("x-index".to_owned(), "0".to_owned())],
        body_bytes: 0,
        ending: Ending::Cancelled,
    };
    let request = exchange.request();
    while pair.client.capacity() == 0 {
        pair.step(usize::MAX);
    }
    let mut lengths = Vec::new();
    for _ in 0..5 {
        pair.client.request(&request, 0);
        let mut out = Vec::new();
        pair.client.poll_transmit(&mut out);
        lengths.push(out.len());
        pair.to_server.extend(out);
        while pair.step(usize::MAX) {
            for (stream, _) in std::mem::take(&mut pair.completed) {
                pair.server.respond(stream, 200, &[(b"server", b"weir")], true);
            }
        }
        let response = StreamEventKind::Response { status: 200 };
        assert_eq!(pair.events.pop().map(|event| event.kind), Some(response));
    }
    // Method, scheme, authority, path, and two fields.
    assert_eq!(lengths[2..], [9 + 6; 3]);
}

/// A request that was encoded before is encoded anew if the table has changed since.
#[test]
fn known_requests_with_another_table() {
    let mut client = H2Client::new(100, &H2Options::default());
    client.open(0);
    let mut server = H2Server::new(&H2Options::server());
    let get = |path| request(&format!("GET /{path} HTTP/1.1\r\nHost: h\r\nx-path: {path}\r\n\r\n"));
    let known = get("known");
    let other = get("other");
    let mut paths = Vec::new();
    let mut exchange = |server: &mut H2Server, request: Option<&Arc<Request>>| {
        let mut bytes = Vec::new();
        server.poll_transmit(&mut bytes);
        client.receive(&bytes, 0, &mut Vec::new()).expect("valid frames");
        request.map(|request| client.request(request, 0));
        bytes.clear();
        client.poll_transmit(&mut bytes);
        let received = server.receive(&bytes, |event| {
            if let ServerEvent::Request { fields, .. } = event {
                paths.push(String::from_utf8_lossy(fields.path()).into_owned());
            }
        });
        assert_eq!(received, Ok(()));
    };
    for request in [&known, &known, &known, &other, &known, &known] {
        exchange(&mut server, Some(request));
    }
    for header_table_bytes in [0, 4096, 60] {
        server.change_settings(&Settings { header_table_bytes, ..Settings::default() });
        (0..3).for_each(|_| exchange(&mut server, Some(&known)));
    }
    let (other, known): (Vec<_>, Vec<_>) = paths.iter().partition(|path| *path == "/other");
    assert_eq!((other.len(), known.len()), (1, 14));
    assert!(known.iter().all(|path| *path == "/known"), "{known:?}");
}

//! The server's side of HTTP/2 connections as bytes: it reads the frames that the client sends no
//! further than it must to respond, so that it costs next to nothing.

use std::collections::VecDeque;
use std::mem;

/// Length of the client's preface (RFC 9113 §3.4).
const PREFACE_BYTES: usize = 24;
/// Length of a frame's head.
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Content of each response.
const BODY: &[u8; 10] = b"0123456789";

/// The server of all connections.
#[derive(Debug)]
pub(crate) struct Server {
    connections: Vec<Connection>,
    /// Bytes that the next connection has sent.
    received: Vec<u8>,
    /// Responses in the order of sends.
    responses: VecDeque<Vec<u8>>,
    /// The response that was taken last, and buffers for reuse.
    taken: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Server {
    pub(crate) fn new(connections: u32) -> Box<Server> {
        Box::new(Server {
            connections: vec![Connection::default(); connections as usize],
            received: Vec::new(),
            responses: VecDeque::new(),
            taken: Vec::new(),
            spare: Vec::new(),
        })
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Responds to what was received, which a connection sent.
    pub(crate) fn respond(&mut self, connection: usize) {
        let mut out = self.spare.pop().unwrap_or_default();
        self.connections[connection].respond(&self.received, &mut out);
        self.received.clear();
        self.responses.push_back(out);
    }

    /// Returns the response to the oldest send.
    pub(crate) fn next_response(&mut self) -> &mut [u8] {
        let next = self.responses.pop_front().unwrap_or_default();
        let mut last = mem::replace(&mut self.taken, next);
        last.clear();
        self.spare.push(last);
        &mut self.taken
    }
}

/// State of one connection.
#[derive(Clone, Debug, Default)]
struct Connection {
    is_greeted: bool,
    has_responded: bool,
}

impl Connection {
    /// Appends the answer to what the client sent, which are whole frames.
    fn respond(&mut self, mut received: &[u8], out: &mut Vec<u8>) {
        if !mem::replace(&mut self.is_greeted, true) {
            received = &received[PREFACE_BYTES..];
            frame(out, SETTINGS, 0, [0; 4], &[]);
            frame(out, SETTINGS, ACK, [0; 4], &[]);
        }
        while let [a, b, c, kind, _, stream @ ..] = received {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if *kind == HEADERS {
                let stream = [stream[0], stream[1], stream[2], stream[3]];
                self.respond_on(stream, out);
            }
            received = &received[HEAD_BYTES + length..];
        }
    }

    /// Appends a response as nginx sends it: with fields that enter a table of size 0, as the first
    /// one says.
    fn respond_on(&mut self, stream: [u8; 4], out: &mut Vec<u8>) {
        let block = b"\x20\x88\x76\x0cnginx/1.24.0\x61\x1dThu, 01 Jan 1970 00:00:00 GMT\
                      \x5f\x09text/html\x5c\x0210";
        let is_first = !mem::replace(&mut self.has_responded, true);
        let block = if is_first { &block[..] } else { &block[1..] };
        frame(out, HEADERS, END_HEADERS, stream, block);
        frame(out, DATA, END_STREAM, stream, BODY);
    }
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) {
    let [_, a, b, c] = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream);
    out.extend_from_slice(payload);
}

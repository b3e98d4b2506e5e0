//! Servers that mean harm: floods, messages without end, heads without end. Nothing panics, and
//! memory and output stay within the limits stated.

use weir_http::ws::frame::{push_frame, push_header};
use weir_http::ws::{Opcode, WsClient, WsOptions};
use weir_http::{Multiplexed, ProtocolError};

use crate::check::ws::{MESSAGE_BYTES_MAX, opened, options, request};

/// Frames of a flood.
const FLOOD_FRAMES: usize = 100_000;

/// Most memory that a server may cause a client with these options to hold, in bytes.
const HELD_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX + 4_096;

/// Feeds a client again and again. Returns the error that ends it, if one does.
fn flood(bytes: &[u8]) -> Option<ProtocolError> {
    let mut client = opened(&options(false), 1);
    let mut events = Vec::new();
    for _ in 0..FLOOD_FRAMES {
        let read = client.receive(bytes, 0, &mut events);
        assert!(events.is_empty(), "pushed messages are no events");
        assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        assert!(out.len() <= 131, "{}", out.len());
        if let Err(error) = read {
            return Some(error);
        }
    }
    None
}

fn frame(opcode: Opcode, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_frame(&mut out, opcode, is_final, None, payload);
    out
}

#[test]
fn floods_cost_neither_memory_nor_output() {
    assert_eq!(flood(&frame(Opcode::PING, true, &[7; 125])), None);
    assert_eq!(flood(&frame(Opcode::PONG, true, b"")), None);
    assert_eq!(flood(&frame(Opcode::TEXT, true, b"")), None);
    // All Pings of one call have one answer.
    assert_eq!(flood(&frame(Opcode::PING, true, b"").repeat(100)), None);
}

#[test]
fn a_message_without_end_is_an_error() {
    let mut client = opened(&options(false), 1);
    let mut events = Vec::new();
    client.receive(&frame(Opcode::BINARY, false, b"x"), 0, &mut events).expect("a fragment");
    let more = frame(Opcode::CONTINUATION, false, b"xy");
    let error = (0..FLOOD_FRAMES).find_map(|_| client.receive(&more, 0, &mut events).err());
    assert_eq!(error, Some(ProtocolError::MessageTooLarge));
    assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
    let mut client = opened(&options(false), 1);
    client.receive(&frame(Opcode::TEXT, false, b""), 0, &mut events).expect("a fragment");
    let more = frame(Opcode::CONTINUATION, false, b"");
    let error = (0..FLOOD_FRAMES).find_map(|_| client.receive(&more, 0, &mut events).err());
    assert_eq!(error, Some(ProtocolError::TooManyFrames));
    assert!(events.is_empty());
}

/// The length alone allocates nothing.
#[test]
fn a_length_is_refused_before_its_bytes() {
    for length in [MESSAGE_BYTES_MAX as u64 + 1, 1 << 40, i64::MAX as u64] {
        let mut client = opened(&options(false), 1);
        let mut head = Vec::new();
        push_header(&mut head, Opcode::BINARY, true, None, length);
        let read = client.receive(&head, 0, &mut Vec::new());
        assert_eq!(read, Err(ProtocolError::MessageTooLarge), "{length}");
        assert!(client.held_bytes() <= 4_096, "{}", client.held_bytes());
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        assert_eq!(out[..2], [0x88, 0x82], "a Close frame");
    }
}

#[test]
fn a_head_without_end_is_an_error() {
    let options = std::sync::Arc::new(WsOptions::new(&request()));
    let mut client = WsClient::new(1, &options, 0);
    client.open(0);
    let mut events = Vec::new();
    client.receive(b"HTTP/1.1 101 Switching\r\n", 0, &mut events).expect("incomplete");
    let error = (0..FLOOD_FRAMES)
        .find_map(|_| client.receive(b"X-A: 0123456789\r\n", 0, &mut events).err());
    assert_eq!(error, Some(ProtocolError::HeadTooLarge));
    assert!(client.held_bytes() <= 200_000, "{}", client.held_bytes());
}

#[test]
fn a_mask_of_the_server_is_an_error() {
    let mut out = Vec::new();
    push_frame(&mut out, Opcode::TEXT, true, Some([1, 2, 3, 4]), b"hi");
    let mut client = opened(&options(false), 1);
    assert_eq!(client.receive(&out, 0, &mut Vec::new()), Err(ProtocolError::BadFrame));
}

//! Invariants for any bytes on a WebSocket connection: events and errors do not depend on the cuts,
//! and another reading of the frames agrees.

use std::sync::Arc;

use weir_http::ws::{
    CloseCode, DeflateTerms, MessageKey, Opcode, WsClient, WsEvent, WsOptions, WsReader,
};
use weir_http::{Multiplexed, Prepared, ProtocolError, StreamEvent};

use super::XorShift;

/// Limit of messages in these checks: low, so that inputs reach it.
pub(crate) const MESSAGE_BYTES_MAX: usize = 300;

/// An event with a copy of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Message(Opcode, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(CloseCode),
}

/// The events of a reader and the error that ended it.
pub(crate) type Read = (Vec<Seen>, Option<ProtocolError>);

/// Checks an input: two bytes of choices, and frames.
pub(crate) fn frames(input: &[u8]) {
    let Some((&[choices, seed], bytes)) = input.split_first_chunk() else { return };
    let is_masked = choices & 1 == 1;
    let whole = read(is_masked, None, bytes, || bytes.len());
    assert_eq!(whole, plain_reading(bytes, is_masked), "another reading");
    let mut random = XorShift::new(u64::from(seed) + 1);
    for longest in [1, 2, 5, 20, 1_000] {
        let cut = read(is_masked, None, bytes, || 1 + random.below(longest));
        assert_eq!(cut, whole, "pieces of up to {longest}");
    }
    for offer in DEFLATE_OFFERS {
        let whole = read(is_masked, Some(offer), bytes, || bytes.len());
        for longest in [1, 5, 1_000] {
            let cut = read(is_masked, Some(offer), bytes, || 1 + random.below(longest));
            assert_eq!(cut, whole, "{offer}, pieces of up to {longest}");
        }
    }
    if !is_masked {
        let options = options(choices & 2 != 0);
        let depth = 1 + u16::from(choices >> 2) % 8;
        let whole = client(&options, depth, bytes, || bytes.len());
        for longest in [1, 3, 50] {
            let cut = client(&options, depth, bytes, || 1 + random.below(longest));
            assert_eq!(cut, whole, "a client, pieces of up to {longest}");
        }
    }
}

/// Offers of permessage-deflate with shared contexts, and without.
const DEFLATE_OFFERS: [&str; 2] = [
    "permessage-deflate",
    "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
];

/// Reads frames in pieces whose lengths `cut` returns, of a connection with this offer of
/// permessage-deflate if there is one.
pub(crate) fn read(
    is_masked: bool,
    offer: Option<&str>,
    bytes: &[u8],
    cut: impl FnMut() -> usize,
) -> Read {
    let mut reader = WsReader::new(is_masked, MESSAGE_BYTES_MAX);
    let mut held_max = 2 * MESSAGE_BYTES_MAX + 512;
    if let Some(offer) = offer {
        reader.inflate(DeflateTerms::of_offers(offer.as_bytes()).expect("an offer"));
        held_max += 8 * 1024;
    }
    let mut seen = Vec::new();
    let mut error = None;
    pieces(bytes, cut, |piece| {
        let read = reader.read(piece, |event| {
            seen.push(match event {
                WsEvent::Message { opcode, content } => Seen::Message(opcode, content.to_vec()),
                WsEvent::Ping(content) => Seen::Ping(content.to_vec()),
                WsEvent::Pong(content) => Seen::Pong(content.to_vec()),
                WsEvent::Close(code, _) => Seen::Close(code),
            });
        });
        assert!(reader.held_bytes() <= held_max, "{}", reader.held_bytes());
        error = read.err().map(|fault| fault.error);
    });
    (seen, error)
}

fn pieces(mut bytes: &[u8], mut cut: impl FnMut() -> usize, mut take: impl FnMut(&[u8])) {
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(cut().clamp(1, bytes.len()));
        take(piece);
        bytes = rest;
    }
}

/// Reads frames as a whole, rule by rule as in RFC 6455 §5.
fn plain_reading(bytes: &[u8], is_masked: bool) -> Read {
    let mut seen = Vec::new();
    let mut at = 0;
    let mut message: Option<(Opcode, Vec<u8>, u32)> = None;
    loop {
        let frame = match plain_header(&bytes[at..], is_masked) {
            Ok(Some(frame)) => frame,
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error)),
        };
        let PlainFrame { opcode, is_final, length, payload_at } = frame;
        if opcode < 8 {
            if message.is_some() != (opcode == 0) {
                return (seen, Some(ProtocolError::BadFrame));
            }
            let before = message.as_ref().map_or(0, |(_, content, _)| content.len());
            if length > (MESSAGE_BYTES_MAX - before) as u64 {
                return (seen, Some(ProtocolError::MessageTooLarge));
            }
            let (_, _, empty) = message.get_or_insert_with(|| (Opcode(opcode), Vec::new(), 0));
            *empty += u32::from(length == 0 && !is_final);
            if *empty > 1_000 {
                return (seen, Some(ProtocolError::TooManyFrames));
            }
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let payload = bytes[at + payload_at..].get(..length);
        let Some(payload) = payload else { return (seen, None) };
        let mask = if is_masked { &bytes[at + payload_at - 4..][..4] } else { &[0][..] };
        let payload: Vec<u8> =
            payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        at += payload_at + payload.len();
        match opcode {
            9 => seen.push(Seen::Ping(payload)),
            10 => seen.push(Seen::Pong(payload)),
            8 => {
                let code = plain_code(&payload);
                seen.extend(code.ok().map(|code| Seen::Close(CloseCode(code))));
                return (seen, code.err());
            }
            _ => {
                let (_, content, _) = message.as_mut().expect("it has begun");
                content.extend_from_slice(&payload);
                if is_final {
                    let (kind, content, _) = message.take().expect("it has begun");
                    if kind == Opcode::TEXT && std::str::from_utf8(&content).is_err() {
                        return (seen, Some(ProtocolError::BadText));
                    }
                    seen.push(Seen::Message(kind, content));
                }
            }
        }
    }
}

/// A frame up to its payload.
struct PlainFrame {
    opcode: u8,
    is_final: bool,
    length: u64,
    /// Begin of the payload, after the mask.
    payload_at: usize,
}

/// Reads the header at the start of `bytes`.
fn plain_header(bytes: &[u8], is_masked: bool) -> Result<Option<PlainFrame>, ProtocolError> {
    let Some(&[first, second]) = bytes.first_chunk() else { return Ok(None) };
    let opcode = first & 0xf;
    let is_final = first >= 0x80;
    let short = usize::from(second & 0x7f);
    let is_known = [0, 1, 2, 8, 9, 10].contains(&opcode) && first & 0x70 == 0;
    let is_whole = opcode < 8 || (is_final && short <= 125);
    if !is_known || !is_whole || (second >= 0x80) != is_masked {
        return Err(ProtocolError::BadFrame);
    }
    let length_bytes = [0, 2, 8][short.saturating_sub(125)];
    let Some(length) = bytes[2..].get(..length_bytes) else { return Ok(None) };
    let number = length.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let length = if length_bytes == 0 { short as u64 } else { number };
    let is_too_short = (short == 126 && length < 126) || (short == 127 && length < 65_536);
    if is_too_short || length >> 63 == 1 {
        return Err(ProtocolError::BadFrame);
    }
    let payload_at = 2 + length_bytes + if is_masked { 4 } else { 0 };
    let frame = PlainFrame { opcode, is_final, length, payload_at };
    Ok((bytes.len() >= payload_at).then_some(frame))
}

/// Reads the payload of a Close frame.
fn plain_code(payload: &[u8]) -> Result<u16, ProtocolError> {
    let (code, reason) = match payload {
        [] => return Ok(1005),
        [_] => return Err(ProtocolError::BadFrame),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    match matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        false => Err(ProtocolError::BadFrame),
        true if std::str::from_utf8(reason).is_err() => Err(ProtocolError::BadText),
        true => Ok(code),
    }
}

/// Options of a client that matches by the first byte, or in order.
pub(crate) fn options(is_matched: bool) -> Arc<WsOptions> {
    let mut options = WsOptions::new(&request());
    options.message_bytes_max = MESSAGE_BYTES_MAX;
    let first = |content: &[u8]| content.first().map(|byte| vec![*byte]);
    options.key = is_matched.then(|| MessageKey::new(first));
    Arc::new(options)
}

/// A request whose target and fields are those of an upgrade.
pub(crate) fn request() -> Prepared {
    Prepared::http1("GET", "/chat", "h", &[], Some(b"a message")).expect("valid")
}

/// Returns a client whose upgrade was accepted.
pub(crate) fn opened(options: &Arc<WsOptions>, depth: u16) -> WsClient {
    let mut client = WsClient::new(depth, options, 1);
    client.open(0);
    let mut events = Vec::new();
    let acceptance = acceptance(&mut client);
    client.receive(&acceptance, 0, &mut events).expect("the upgrade is accepted");
    assert!(client.is_open() && events.is_empty());
    client
}

/// Takes the upgrade of a client, and returns the response that accepts it.
pub(crate) fn acceptance(client: &mut WsClient) -> Vec<u8> {
    acceptance_with(client, &[])
}

/// The same with further fields.
pub(crate) fn acceptance_with(client: &mut WsClient, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    client.poll_transmit(&mut out);
    let text = String::from_utf8(out).expect("ASCII");
    let (_, key) = text.split_once("Sec-WebSocket-Key: ").expect("an upgrade");
    let key = weir_http::ws::UpgradeKey::parse(&key.as_bytes()[..24]).expect("a key");
    let mut head = Vec::new();
    weir_http::ws::handshake::push_acceptance(&mut head, &key, fields);
    head
}

/// Feeds a client with all its messages in flight. Returns the events, the error and the output.
fn client(
    options: &Arc<WsOptions>,
    depth: u16,
    bytes: &[u8],
    cut: impl FnMut() -> usize,
) -> (Vec<StreamEvent>, Option<ProtocolError>, Option<&'static str>) {
    let mut client = opened(options, depth);
    let message = Arc::new(request().request("ws"));
    for _ in 0..depth {
        client.request(&message, 0);
    }
    assert_eq!(client.capacity(), 0);
    let mut events = Vec::new();
    let mut error = None;
    let mut in_flight = vec![true; usize::from(depth)];
    pieces(bytes, cut, |piece| {
        let before = events.len();
        error = client.receive(piece, 0, &mut events).err();
        for event in &events[before..] {
            assert!(event.kind.is_last(), "{event:?}");
            let place = &mut in_flight[usize::from(event.id.0)];
            assert!(std::mem::replace(place, false), "it has ended twice: {event:?}");
        }
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        assert!(out.len() <= 200 + usize::from(depth) * 20, "{}", out.len());
    });
    (events, error, client.goaway().map(|reason| reason.name))
}

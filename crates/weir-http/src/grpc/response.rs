//! Responses to calls: their messages, decoded, and the faults for which a client of gRPC fails a
//! call whatever its status says. Independent of schemas and of expectations.

use std::fmt;

use super::encoding::{MessageDecoder, MessageEncoding};
use super::framer::{FramedPart, MessageFramer, MessagePrefix};
use super::status::GrpcStatus;
use crate::message::fields::Fields;

/// Rules for the responses to calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRules {
    /// True if a response with the status OK has exactly one message.
    pub expects_one: bool,
    /// Greatest size of a compressed message once it is decoded, in bytes.
    pub decoded_max: usize,
}

/// A reason for which a client fails a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// The body ends within a message, or within its prefix.
    CutMessage,
    /// A message has this flag, and not 0 or 1.
    BadFlag(u8),
    /// A compressed message without an encoding.
    NoEncoding,
    /// The encoding is not identity, gzip or deflate.
    UnknownEncoding,
    /// A compressed message that is damaged, or has bytes behind its end.
    Damaged,
    /// A compressed message that is longer than the limit once it is decoded.
    TooLarge,
    /// A response with the status OK that has this number of messages, and not one.
    MessageCount(u64),
}

/// The messages of a response that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedCall {
    /// Index in its head of the fields that may have the status: its trailers, or a head without a
    /// body.
    trailers_at: usize,
    messages: u64,
    fault: Option<CallFault>,
    expects_one: bool,
}

/// A message of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallMessage<'a> {
    /// Bytes of its content, as it was sent.
    pub(crate) sent_bytes: u32,
    /// Its content, decoded: the beginning, if it is longer than the reader keeps.
    pub(crate) data: &'a [u8],
}

/// Reads the responses to calls, one after the other.
#[derive(Debug)]
pub(crate) struct CallReader {
    rules: CallRules,
    /// Most bytes of a decoded message that are kept.
    kept_max: usize,
    framer: MessageFramer,
    /// The message that has begun.
    message: Option<(MessagePrefix, MessageDecoder)>,
    encoding: MessageEncoding,
    /// Bytes of the fields of the head, once it has arrived.
    head_bytes: Option<usize>,
    has_trailers: bool,
    /// True once the body has begun, though it may be empty.
    has_body: bool,
    messages: u64,
    fault: Option<CallFault>,
}

impl CallFault {
    /// Returns its name in documents. Stable.
    pub fn code(self) -> &'static str {
        match self {
            CallFault::CutMessage => "grpc_cut_message",
            CallFault::BadFlag(_) => "grpc_bad_flag",
            CallFault::NoEncoding | CallFault::UnknownEncoding => "grpc_bad_encoding",
            CallFault::Damaged => "grpc_damaged_message",
            CallFault::TooLarge => "grpc_message_too_large",
            CallFault::MessageCount(_) => "grpc_message_count",
        }
    }
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallFault::CutMessage => f.write_str("the body ends within a message"),
            CallFault::BadFlag(flag) => write!(f, "a message has the flag {flag}"),
            CallFault::NoEncoding => f.write_str("a compressed message without grpc-encoding"),
            CallFault::UnknownEncoding => {
                f.write_str("grpc-encoding is not identity, gzip or deflate")
            }
            CallFault::Damaged => f.write_str("a compressed message is damaged"),
            CallFault::TooLarge => f.write_str("a message is above the limit once it is decoded"),
            CallFault::MessageCount(messages) => write!(f, "it has {messages} messages, not one"),
        }
    }
}

impl ReceivedCall {
    /// Returns the part of a response's head that may have the status.
    pub fn trailers<'a>(&self, head: &'a [u8]) -> &'a [u8] {
        &head[self.trailers_at..]
    }

    /// Returns the fault of a response with this status; `None` if it has none.
    pub fn fault(&self, status: GrpcStatus) -> Option<CallFault> {
        let counts = self.expects_one && status == GrpcStatus::OK && self.messages != 1;
        self.fault.or(counts.then_some(CallFault::MessageCount(self.messages)))
    }
}

impl CallReader {
    /// Makes a reader that keeps at most `kept_max` bytes of a decoded message.
    pub(crate) fn new(rules: CallRules, kept_max: usize) -> CallReader {
        CallReader {
            rules,
            kept_max,
            framer: MessageFramer::default(),
            message: None,
            encoding: MessageEncoding::default(),
            head_bytes: None,
            has_trailers: false,
            has_body: false,
            messages: 0,
            fault: None,
        }
    }

    /// Keeps this number of bytes of each message from now on.
    pub(crate) fn keep(&mut self, kept_max: usize) {
        self.kept_max = kept_max;
    }

    /// Reads the field lines of the head, and later of the trailers.
    pub(crate) fn section(&mut self, lines: &[u8]) {
        if self.head_bytes.is_some() {
            self.has_trailers = true;
            return;
        }
        self.head_bytes = Some(lines.len());
        let mut fields = Fields::of(lines);
        if let Some((_, value)) = fields.find(|(name, _)| *name == b"grpc-encoding") {
            self.encoding = MessageEncoding::of_field(value);
        }
        if self.encoding == MessageEncoding::Unknown {
            self.fault = Some(CallFault::UnknownEncoding);
        }
    }

    /// Reads bytes of the body, and calls `on_message` for each message that they complete, in
    /// order.
    pub(crate) fn body(&mut self, bytes: &[u8], mut on_message: impl FnMut(CallMessage<'_>)) {
        self.has_body = true;
        let CallReader { rules, kept_max, framer, message, encoding, messages, fault, .. } = self;
        framer.receive(bytes, |part| {
            let failed = match (part, &mut *message) {
                (FramedPart::Begin(prefix), message) => {
                    let is_coded = prefix.is_compressed && prefix.bytes > 0;
                    let of = if is_coded { *encoding } else { MessageEncoding::Identity };
                    let decoder = MessageDecoder::new(of, *kept_max, rules.decoded_max);
                    *message = Some((prefix, decoder));
                    let is_bare = prefix.is_compressed && *encoding == MessageEncoding::Identity;
                    is_bare.then_some(CallFault::NoEncoding)
                }
                (FramedPart::Data(data), Some((_, decoder))) if fault.is_none() => {
                    decoder.receive(data).err().map(|_| fault_of(decoder))
                }
                (FramedPart::Data(_), _) | (FramedPart::End, None) => None,
                (FramedPart::End, Some((prefix, decoder))) => {
                    let is_sound = fault.is_some() || decoder.finish().is_ok();
                    let failed = (!is_sound).then(|| fault_of(decoder));
                    let data = match fault.or(failed) {
                        None => &decoder.content().data[..],
                        Some(_) => &[],
                    };
                    on_message(CallMessage { sent_bytes: prefix.bytes, data });
                    *messages += 1;
                    *message = None;
                    failed
                }
            };
            *fault = fault.or(failed);
        });
        if let Some(flag) = self.framer.bad_flag() {
            self.fault.get_or_insert(CallFault::BadFlag(flag));
        }
    }

    /// Ends a response, and prepares for the next one.
    pub(crate) fn finish(&mut self) -> ReceivedCall {
        let is_cut = self.framer.is_incomplete();
        let trailers_at = match self.has_body || self.has_trailers {
            true => self.head_bytes.unwrap_or(0),
            false => 0,
        };
        let call = ReceivedCall {
            trailers_at,
            messages: self.messages,
            fault: self.fault.or(is_cut.then_some(CallFault::CutMessage)),
            expects_one: self.rules.expects_one,
        };
        self.reset();
        call
    }

    /// Forgets an incomplete response.
    pub(crate) fn reset(&mut self) {
        self.framer.reset();
        (self.message, self.encoding) = (None, MessageEncoding::default());
        (self.head_bytes, self.has_trailers, self.has_body) = (None, false, false);
        (self.messages, self.fault) = (0, None);
    }

    /// Returns the memory that the peer has caused it to hold, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.message.as_ref().map_or(0, |(_, decoder)| decoder.held_bytes())
    }
}

/// Returns the fault of a message that its decoder refused.
fn fault_of(decoder: &MessageDecoder) -> CallFault {
    match decoder.content().is_too_large() {
        true => CallFault::TooLarge,
        false => CallFault::Damaged,
    }
}

/// Returns the messages in the body of a response with this head, decoded.
///
/// # Errors
/// If it has a fault, or its messages exceed `limit` bytes together.
pub fn messages_of(head: &[u8], body: &[u8], limit: usize) -> Result<Vec<Vec<u8>>, CallFault> {
    let rules = CallRules { expects_one: false, decoded_max: limit };
    let mut reader = CallReader::new(rules, usize::MAX);
    reader.section(head);
    let mut messages = Vec::new();
    let mut bytes = 0_usize;
    reader.body(body, |message| {
        bytes = bytes.saturating_add(message.data.len());
        if bytes <= limit {
            messages.push(message.data.to_vec());
        }
    });
    match reader.finish().fault(GrpcStatus::OK) {
        Some(fault) => Err(fault),
        None if bytes > limit => Err(CallFault::TooLarge),
        None => Ok(messages),
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;

    use super::super::push_message;
    use super::*;

    const PLAIN: &[u8] = b"\x0a\x02hi";
    const RULES: CallRules = CallRules { expects_one: true, decoded_max: 1_000 };

    fn message(is_compressed: bool, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_message(&mut out, is_compressed, data);
        out
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    fn zlib(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    /// Reads a response with this encoding in pieces of `step` bytes, and returns its messages.
    fn read(encoding: &str, body: &[u8], step: usize) -> (Vec<Vec<u8>>, Option<CallFault>) {
        let mut reader = CallReader::new(RULES, usize::MAX);
        let mut messages = Vec::new();
        reader.section(format!("grpc-encoding: {encoding}\r\n").as_bytes());
        for piece in body.chunks(step.max(1)) {
            reader.body(piece, |message| messages.push(message.data.to_vec()));
        }
        reader.section(b"grpc-status: 0\r\n");
        (messages, reader.finish().fault(GrpcStatus::OK))
    }

    #[track_caller]
    fn check(encoding: &str, body: &[u8], expected: Result<(), CallFault>) {
        for step in [1, 2, 7, body.len()] {
            let (messages, fault) = read(encoding, body, step);
            assert_eq!(fault, expected.err(), "{encoding}, {step} bytes at a time");
            if expected.is_ok() {
                assert_eq!(messages, [PLAIN], "{encoding}, {step} bytes at a time");
            }
        }
    }

    #[test]
    fn messages_are_decoded_in_any_pieces() {
        check("identity", &message(false, PLAIN), Ok(()));
        check("gzip", &message(false, PLAIN), Ok(()));
        check("gzip", &message(true, &gzip(PLAIN)), Ok(()));
        check("deflate", &message(true, &zlib(PLAIN)), Ok(()));
        assert_eq!(read("gzip", &message(true, b""), 9), (vec![Vec::new()], None));
    }

    /// The faults for which grpcio 1.85 for Python fails a call, and cut messages.
    #[test]
    fn faults_are_found_in_any_pieces() {
        let damaged = |mut coded: Vec<u8>, from_end: usize| {
            let at = coded.len() - from_end;
            coded[at] ^= 1;
            message(true, &coded)
        };
        let both = |coded: Vec<u8>, rest: &[u8]| message(true, &[&coded[..], rest].concat());
        let cut = |coded: Vec<u8>| message(true, &coded[..coded.len() - 5]);
        check("identity", &message(true, &gzip(PLAIN)), Err(CallFault::NoEncoding));
        check("snappy", &message(false, PLAIN), Err(CallFault::UnknownEncoding));
        check("GZIP", &message(true, &gzip(PLAIN)), Err(CallFault::UnknownEncoding));
        for body in [
            damaged(gzip(PLAIN), 6),
            both(gzip(PLAIN), b"xyz"),
            both(gzip(PLAIN), &gzip(b"")),
            cut(gzip(PLAIN)),
            message(true, b"not gzip"),
            message(true, &zlib(PLAIN)),
        ] {
            check("gzip", &body, Err(CallFault::Damaged));
        }
        for body in [
            damaged(zlib(PLAIN), 1),
            both(zlib(PLAIN), b"x"),
            cut(zlib(PLAIN)),
            message(true, &gzip(PLAIN)),
        ] {
            check("deflate", &body, Err(CallFault::Damaged));
        }
        check("gzip", &message(true, &gzip(&[0; 1_001])), Err(CallFault::TooLarge));
        check("deflate", &message(true, &zlib(&[0; 100_000])), Err(CallFault::TooLarge));
        let whole = message(false, PLAIN);
        for rest in [&b"\0"[..], b"\0\0\0", b"\0\xff\xff\xff\xffabc"] {
            check("gzip", &[&whole[..], rest].concat(), Err(CallFault::CutMessage));
        }
        check("gzip", b"\0\xff\xff\xff\xffabc", Err(CallFault::CutMessage));
        check("gzip", &[b"\x02", &whole[1..]].concat(), Err(CallFault::BadFlag(2)));
        check("gzip", &[&whole[..], &whole].concat(), Err(CallFault::MessageCount(2)));
        check("gzip", b"", Err(CallFault::MessageCount(0)));
    }

    #[test]
    fn a_status_before_a_body_is_none() {
        let head = b"grpc-status: 0\r\n";
        let status_of = |bodies: &[&[u8]], trailers: Option<&[u8]>| {
            let mut reader = CallReader::new(RULES, 0);
            reader.section(head);
            bodies.iter().for_each(|body| reader.body(body, |_| ()));
            trailers.iter().for_each(|trailers| reader.section(trailers));
            let lines = [head, trailers.unwrap_or_default()].concat();
            String::from_utf8(reader.finish().trailers(&lines).to_vec()).expect("text")
        };
        assert_eq!(status_of(&[], None), "grpc-status: 0\r\n");
        assert_eq!(status_of(&[&message(false, b"")], None), "");
        assert_eq!(status_of(&[b""], None), "");
        assert_eq!(status_of(&[], Some(b"grpc-status: 5\r\n")), "grpc-status: 5\r\n");
        assert_eq!(status_of(&[b""], Some(b"")), "");
    }

    #[test]
    fn memory_is_bounded_by_what_is_kept() {
        let mut reader = CallReader::new(CallRules { decoded_max: 1 << 24, ..RULES }, 100);
        reader.section(b"grpc-encoding: gzip\r\n");
        let body = message(true, &gzip(&vec![0; 1 << 23]));
        let mut kept = 0;
        for piece in body.chunks(1_000) {
            reader.body(piece, |message| kept = message.data.len());
            assert!(reader.held_bytes() < 64 * 1024, "{}", reader.held_bytes());
        }
        assert_eq!((kept, reader.finish().fault(GrpcStatus::OK)), (100, None));
        assert_eq!(reader.held_bytes(), 0);
    }

    #[test]
    fn messages_together_are_limited() {
        let twice = [message(false, &[0; 60]), message(false, &[0; 60])].concat();
        assert_eq!(messages_of(b"", &twice, 119), Err(CallFault::TooLarge));
        assert_eq!(messages_of(b"", &twice, 120).map(|all| all.len()), Ok(2));
        assert_eq!(messages_of(b"", b"\0\0", 120), Err(CallFault::CutMessage));
    }
}

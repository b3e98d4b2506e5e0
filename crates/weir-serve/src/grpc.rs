//! Calls of gRPC: the messages of a request, the status and message of its response, and the
//! faults. A pure function of bytes and counts; reads no clock.

use std::str::FromStr;

use weir_http::grpc::{GrpcSplitter, GrpcStatus, PREFIX_BYTES, push_message};
use weir_http::h2::server::RequestFields;

use crate::event_stream::EventData;
use crate::units::ParseError;

/// Longest message of a request, in bytes; as in other servers.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// A status other than OK for exactly the k-th, 2k-th, … call of the process: written `14@1/100`,
/// or `UNAVAILABLE@1/100`. Its response has trailers alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcFault {
    /// The status.
    pub status: GrpcStatus,
    /// The k; at least 1.
    pub every: u64,
}

impl GrpcFault {
    /// Returns the status of the call with this `number`, from 1, if one of `faults` strikes it:
    /// the first.
    pub(crate) fn strike(faults: &[GrpcFault], number: u64) -> Option<GrpcStatus> {
        let struck = faults.iter().find(|fault| number.is_multiple_of(fault.every));
        struck.map(|fault| fault.status)
    }
}

impl FromStr for GrpcFault {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<GrpcFault, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not of the form STATUS@1/N: write for instance 14@1/100 to answer \
                 every hundredth call with UNAVAILABLE"
            ))
        };
        let (status, every) = text.split_once("@1/").ok_or_else(usage)?;
        let status = GrpcStatus::of_text(status).ok_or_else(usage)?;
        let every = every.parse().ok().filter(|every| *every > 0).ok_or_else(usage)?;
        Ok(GrpcFault { status, every })
    }
}

/// True if the request with this media type is a call.
pub(crate) fn is_call(content_type: &[u8]) -> bool {
    content_type.starts_with(b"application/grpc")
}

/// True if a call is one of server reflection, which this server does not have.
fn is_reflection(path: &[u8]) -> bool {
    path.starts_with(b"/grpc.reflection.")
}

/// The body of a call's request, as far as it has arrived.
#[derive(Debug)]
pub(crate) struct CallBody {
    splitter: GrpcSplitter,
    /// Messages that are complete.
    pub(crate) messages: u64,
    /// The last of them.
    last: Vec<u8>,
    /// True if that is compressed.
    is_compressed: bool,
    /// True if compressed messages are gzip, and returned as they are.
    is_gzip: bool,
    /// Status of a call whose request has a message that is refused.
    refusal: Option<GrpcStatus>,
}

/// The status of a call whose response has been decided, and its only message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallReply {
    pub(crate) status: GrpcStatus,
    /// The message with its prefix; `None` without one, and for a stream of messages.
    pub(crate) message: Option<Box<[u8]>>,
    /// True if that is compressed with gzip.
    pub(crate) is_gzip: bool,
}

impl CallReply {
    /// True if the call succeeds.
    pub(crate) fn is_ok(&self) -> bool {
        self.status == GrpcStatus::OK
    }
}

impl CallBody {
    /// Makes the body of a call with these fields, of which nothing has arrived.
    pub(crate) fn of(fields: &RequestFields) -> CallBody {
        let gzip = (&b"grpc-encoding"[..], &b"gzip"[..]);
        CallBody::new(is_reflection(fields.path()), fields.fields().any(|field| field == gzip))
    }

    fn new(is_reflection: bool, is_gzip: bool) -> CallBody {
        CallBody {
            splitter: GrpcSplitter::new(MESSAGE_BYTES_MAX),
            messages: 0,
            last: Vec::new(),
            is_compressed: false,
            is_gzip,
            refusal: is_reflection.then_some(UNIMPLEMENTED),
        }
    }

    /// Reads a part of the body.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        let CallBody { splitter, messages, last, is_compressed, is_gzip, refusal } = self;
        splitter.receive(bytes, |message| {
            *messages += 1;
            last.clear();
            last.extend_from_slice(message.data);
            let is_too_large = message.data_bytes as usize > MESSAGE_BYTES_MAX;
            *is_compressed = message.is_compressed;
            if message.is_compressed && !*is_gzip {
                refusal.get_or_insert(UNIMPLEMENTED);
            } else if is_too_large {
                refusal.get_or_insert(RESOURCE_EXHAUSTED);
            }
        });
    }

    /// Returns the status of a call whose request ends here: OK unless the body is refused.
    pub(crate) fn status(&self) -> GrpcStatus {
        let is_incomplete = self.splitter.is_incomplete();
        self.refusal.unwrap_or(if is_incomplete { INTERNAL } else { GrpcStatus::OK })
    }

    /// Returns the last message of the request with its prefix: an empty one if there is none.
    pub(crate) fn echo(&self) -> Box<[u8]> {
        prefixed(self.is_compressed, &self.last)
    }

    /// True if that message is compressed with gzip.
    pub(crate) fn is_gzip(&self) -> bool {
        self.is_compressed && self.is_gzip
    }
}

/// A message that is compressed in another way than gzip, or a method that does not exist.
const UNIMPLEMENTED: GrpcStatus = GrpcStatus(12);

/// A message that is too long.
const RESOURCE_EXHAUSTED: GrpcStatus = GrpcStatus(8);

/// A request that ends within a message.
const INTERNAL: GrpcStatus = GrpcStatus(13);

/// Returns a message with its prefix.
pub(crate) fn prefixed(is_compressed: bool, data: &[u8]) -> Box<[u8]> {
    let mut message = Vec::with_capacity(data.len() + PREFIX_BYTES);
    push_message(&mut message, is_compressed, data);
    message.into()
}

/// Appends message `number` of a stream, with its prefix: field 1 is the number and field 2 the
/// send time stamp, or field 1 is the text.
pub(crate) fn push_stream_message(out: &mut Vec<u8>, data: &EventData, number: u32, sent_ns: u64) {
    /// Keys of fields: the number, and the type of the value.
    const VARINT_1: u8 = 1 << 3;
    const VARINT_2: u8 = 2 << 3;
    const TEXT_1: u8 = 1 << 3 | 2;
    let mut message = Vec::new();
    let text = match data {
        EventData::Numbers => {
            message.push(VARINT_1);
            push_varint(&mut message, number.into());
            message.push(VARINT_2);
            push_varint(&mut message, sent_ns);
            return push_message(out, false, &message);
        }
        EventData::Tokens => "x",
        EventData::Text(text) => text,
    };
    message.push(TEXT_1);
    push_varint(&mut message, text.len() as u64);
    message.extend_from_slice(text.as_bytes());
    push_message(out, false, &message);
}

/// Appends a number in groups of seven bits, the lowest first.
fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_exact() {
        let faults = ["14@1/10", "not_found@1/5"].map(|text| text.parse().expect(text));
        let struck: Vec<_> =
            (1..=20).filter_map(|n| Some((n, GrpcFault::strike(&faults, n)?.0))).collect();
        assert_eq!(struck, [(5, 5), (10, 14), (15, 5), (20, 14)]);
        for text in ["", "14", "14@1/0", "17@1/2", "x@1/2", "14@2/5"] {
            let error = text.parse::<GrpcFault>().expect_err(text).to_string();
            assert!(error.contains("14@1/100"), "{error}");
        }
    }

    #[test]
    fn the_last_message_is_returned() {
        let mut body = CallBody::new(false, false);
        assert_eq!((body.status(), &*body.echo()), (GrpcStatus::OK, &b"\0\0\0\0\0"[..]));
        body.receive(b"\0\0\0\0\x01a\0\0\0");
        assert_eq!((body.status(), body.messages), (INTERNAL, 1));
        body.receive(b"\0\x02bc");
        assert_eq!((body.status(), &*body.echo()), (GrpcStatus::OK, &b"\0\0\0\0\x02bc"[..]));
        body.receive(b"\x01\0\0\0\0");
        assert_eq!((body.status(), body.messages), (UNIMPLEMENTED, 3));
        let mut body = CallBody::new(false, true);
        body.receive(b"\x01\0\0\0\x01z");
        assert_eq!((body.status(), &*body.echo()), (GrpcStatus::OK, &b"\x01\0\0\0\x01z"[..]));
        assert!(body.is_gzip());
    }

    #[test]
    fn messages_of_streams_are_protobuf() {
        let check = |data: &str, expected: &[u8]| {
            let mut out = Vec::new();
            push_stream_message(&mut out, &data.parse().expect(data), 300, 1);
            assert_eq!(out[5..], *expected);
            assert_eq!(out[4] as usize, expected.len());
        };
        check("numbers", b"\x08\xac\x02\x10\x01");
        check("tokens", b"\x0a\x01x");
        check("text:ab", b"\x0a\x02ab");
    }
}

//! Messages in bodies, each with its content as it was sent. Independent of the content.

use super::framer::{FramedPart, MessageFramer, MessagePrefix};

/// Splits a body into messages, whatever the sizes of the pieces in which it arrives.
///
/// A message that is incomplete at the end of the body is none. A flag other than 0 and 1 is none
/// of gRPC: the rest of the body has no messages then.
#[derive(Debug)]
pub struct GrpcSplitter {
    /// Most bytes of a message that are kept.
    kept_max: usize,
    framer: MessageFramer,
    /// Content of the message that has begun, as far as it is kept.
    message: PartialMessage,
}

/// A message in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcMessage<'a> {
    /// True if its content is compressed.
    pub is_compressed: bool,
    /// Bytes of its content, as it was sent.
    pub data_bytes: u32,
    /// Its content, as it was sent: the beginning, if it is longer than the splitter keeps.
    pub data: &'a [u8],
}

/// A message that has begun.
#[derive(Debug)]
struct PartialMessage {
    prefix: MessagePrefix,
    data: Vec<u8>,
    /// True once its content was passed on, without a copy.
    is_done: bool,
}

/// Most memory that is kept from message to message, in bytes.
const CAPACITY_KEPT_BYTES: usize = 4096;

impl GrpcSplitter {
    /// Makes a splitter for a body that begins with the next bytes. It keeps at most `kept_max`
    /// bytes of a message that arrives in parts, and shows no more of any.
    pub fn new(kept_max: usize) -> GrpcSplitter {
        let prefix = MessagePrefix { is_compressed: false, bytes: 0 };
        let message = PartialMessage { prefix, data: Vec::new(), is_done: false };
        GrpcSplitter { kept_max, framer: MessageFramer::default(), message }
    }

    /// Reads bytes of the body, and calls `on_message` for each message that they complete, in
    /// order.
    pub fn receive(&mut self, bytes: &[u8], mut on_message: impl FnMut(GrpcMessage<'_>)) {
        let GrpcSplitter { kept_max, framer, message } = self;
        framer.receive(bytes, |part| match part {
            FramedPart::Begin(prefix) => (message.prefix, message.is_done) = (prefix, false),
            // The usual message, which needs no copy.
            FramedPart::Data(data) if message.is_all(data) => {
                on_message(message.with(&data[..data.len().min(*kept_max)]));
                message.is_done = true;
            }
            FramedPart::Data(data) => {
                let room = *kept_max - message.data.len();
                message.data.extend_from_slice(&data[..data.len().min(room)]);
            }
            FramedPart::End => {
                if !message.is_done {
                    on_message(message.with(&message.data));
                }
                message.clear();
            }
        });
    }

    /// True if the bytes so far end within a message, or are none of gRPC.
    pub fn is_incomplete(&self) -> bool {
        self.framer.is_incomplete()
    }

    /// Returns the memory that the peer has caused it to hold, in bytes: at most twice what it
    /// keeps of a message.
    pub fn held_bytes(&self) -> usize {
        self.message.data.capacity()
    }

    /// Forgets an incomplete message: the next bytes are of another body.
    pub fn reset(&mut self) {
        self.framer.reset();
        self.message.clear();
    }
}

impl PartialMessage {
    /// True if these bytes are the whole content.
    fn is_all(&self, data: &[u8]) -> bool {
        u32::try_from(data.len()) == Ok(self.prefix.bytes)
    }

    /// Returns the message with this content.
    fn with<'a>(&self, data: &'a [u8]) -> GrpcMessage<'a> {
        let MessagePrefix { is_compressed, bytes } = self.prefix;
        GrpcMessage { is_compressed, data_bytes: bytes, data }
    }

    fn clear(&mut self) {
        self.data.clear();
        self.data.shrink_to(CAPACITY_KEPT_BYTES);
    }
}

/// Appends a message, with its prefix.
///
/// # Panics
/// If its content has 4 GiB or more.
pub fn push_message(out: &mut Vec<u8>, is_compressed: bool, data: &[u8]) {
    let length = u32::try_from(data.len()).expect("a message is shorter than 4 GiB");
    out.push(is_compressed.into());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(data);
}

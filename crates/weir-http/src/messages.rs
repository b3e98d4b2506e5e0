//! Messages within the body of a response: how a body is split into them, and what is reported of
//! each. Neither times nor streams are known here.

use std::fmt::{self, Debug};
use std::sync::Arc;

use memchr::memmem;

use crate::grpc::{CallMessage, GrpcSplitter};
use crate::sse::{EventName, EventSplitter};

/// The way in which bodies of responses are split into messages.
#[derive(Clone, Debug)]
pub struct MessageFormat {
    /// Form of the messages.
    pub framing: MessageFraming,
    /// Reader of each message's content; `None` if messages count by their framing alone.
    pub reader: Option<MessageReader>,
}

/// The form of the messages in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFraming {
    /// Server-sent events ([`crate::sse`]).
    EventStream,
    /// Messages of gRPC ([`crate::grpc`]).
    Grpc,
}

/// A reader of the content of messages: what each counts as, and the counts of tokens in it.
#[derive(Clone)]
pub struct MessageReader(Arc<ReadContent>);

type ReadContent = dyn Fn(MessageContent<'_>) -> MessageReading + Send + Sync;

/// The content of a message.
#[derive(Clone, Copy, Debug)]
pub struct MessageContent<'a> {
    /// Meaning by its framing: the name of an event.
    pub kind: MessageKind,
    /// Its bytes without framing; only the first [`MessageContent::BYTES_MAX`] of longer ones.
    pub data: &'a [u8],
    /// True if it is longer than `data`.
    pub is_cut: bool,
}

/// The reading of a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageReading {
    /// Meaning for counts and times.
    pub kind: MessageKind,
    /// Counts of tokens that the server states in it.
    pub usage: TokenUsage,
}

/// Counts of a response's tokens, as the server states them so far; `None` for those that it does
/// not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens of the request, with those that the server had in a cache.
    pub input: Option<u32>,
    /// Tokens of the response, with those of its reasoning.
    pub output: Option<u32>,
    /// Of `output`: tokens of the reasoning.
    pub reasoning: Option<u32>,
    /// Of `input`: tokens that the server had in a cache.
    pub cached: Option<u32>,
}

/// A message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// Bytes of its content, without framing.
    pub bytes: u64,
    /// Meaning for counts and times.
    pub kind: MessageKind,
    /// Counts of tokens in it.
    pub usage: TokenUsage,
}

/// Meaning of a message for counts and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// One of the messages that times are measured of.
    Counted,
    /// One of these that carries a part of the reasoning before the answer.
    Reasoning,
    /// A message that carries no token.
    Other,
    /// A message that is longer than what is read of it.
    TooLong,
    /// A mark of the end of the stream, as `[DONE]`.
    EndMark,
    /// An error within the stream.
    Error,
}

/// Splits the bodies of one response after the other.
#[derive(Debug)]
pub(crate) struct MessageSplitter {
    format: MessageFormat,
    body: BodySplitter,
    excerpt: Excerpt,
}

/// State of the splitting of a body.
#[derive(Debug)]
enum BodySplitter {
    Events(EventSplitter),
    Grpc(GrpcSplitter),
}

/// The start of a message that shows why a response is bad: of the first error, else of the first
/// message that does not count.
#[derive(Debug, Default)]
struct Excerpt {
    bytes: Vec<u8>,
    is_error: bool,
}

/// Bytes of a message that an excerpt keeps. More than is shown, so that a credential in the part
/// that is shown is whole, and found.
const EXCERPT_BYTES: usize = 1024;

impl MessageContent<'_> {
    /// Most bytes of a message that are read. A reader sees no more of a longer one.
    pub const BYTES_MAX: usize = crate::sse::DATA_KEPT_BYTES;

    /// True if the data has this word in it.
    pub fn contains(&self, word: &[u8]) -> bool {
        memmem::find(self.data, word).is_some()
    }
}

impl MessageReader {
    /// Returns a reader that `read` makes.
    pub fn new(
        read: impl Fn(MessageContent<'_>) -> MessageReading + Send + Sync + 'static,
    ) -> MessageReader {
        MessageReader(Arc::new(read))
    }
}

impl Debug for MessageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageReader")
    }
}

impl MessageReading {
    /// Returns the reading of a message that states no counts.
    pub fn of_kind(kind: MessageKind) -> MessageReading {
        MessageReading { kind, usage: TokenUsage::default() }
    }
}

impl MessageKind {
    /// True if times are measured of the message.
    pub fn is_counted(self) -> bool {
        matches!(self, MessageKind::Counted | MessageKind::Reasoning)
    }
}

impl MessageFormat {
    /// Returns the number of bytes of a message that its reader sees.
    pub(crate) fn read_bytes(&self) -> usize {
        if self.reader.is_some() { MessageContent::BYTES_MAX } else { 0 }
    }

    /// Reads a message of `bytes` bytes.
    fn read(&self, content: MessageContent<'_>, bytes: u64) -> ReceivedMessage {
        let reading = match &self.reader {
            Some(MessageReader(read)) => read(content),
            None => MessageReading::of_kind(content.kind),
        };
        ReceivedMessage { bytes, kind: reading.kind, usage: reading.usage }
    }
}

impl MessageSplitter {
    /// Makes a splitter for a body that begins with the next bytes.
    pub(crate) fn new(format: &MessageFormat) -> MessageSplitter {
        let body = match format.framing {
            MessageFraming::EventStream => BodySplitter::Events(EventSplitter::new()),
            MessageFraming::Grpc => BodySplitter::Grpc(GrpcSplitter::new(format.read_bytes())),
        };
        MessageSplitter { format: format.clone(), body, excerpt: Excerpt::default() }
    }

    /// Reads bytes of the body, and calls `on_message` for each message that they complete.
    pub(crate) fn receive(&mut self, bytes: &[u8], mut on_message: impl FnMut(ReceivedMessage)) {
        let MessageSplitter { format, body, excerpt } = self;
        match body {
            BodySplitter::Events(events) => events.receive(bytes, |event| {
                if event.is_done() {
                    let MessageReading { kind, usage } =
                        MessageReading::of_kind(MessageKind::EndMark);
                    return on_message(ReceivedMessage { bytes: event.data_bytes, kind, usage });
                }
                let kind = match event.name {
                    EventName::Other => MessageKind::Counted,
                    EventName::Error => MessageKind::Error,
                    EventName::End => MessageKind::EndMark,
                };
                let data = event.data;
                let bytes = event.data_bytes;
                let is_cut = (data.len() as u64) < bytes;
                let message = format.read(MessageContent { kind, data, is_cut }, bytes);
                excerpt.keep(message.kind, event.data);
                on_message(message);
            }),
            BodySplitter::Grpc(messages) => messages.receive(bytes, |message| {
                let kind = MessageKind::Counted;
                let data = message.data;
                let bytes: u64 = message.data_bytes.into();
                let is_cut = (data.len() as u64) < bytes;
                on_message(format.read(MessageContent { kind, data, is_cut }, bytes));
            }),
        }
    }

    /// Returns what is reported of a message that was read by the rules of calls. One that is as
    /// long as what is kept of it counts as longer.
    pub(crate) fn of_call(&self, message: CallMessage<'_>) -> ReceivedMessage {
        let kind = MessageKind::Counted;
        let data = message.data;
        let is_cut = data.len() >= MessageContent::BYTES_MAX;
        self.format.read(MessageContent { kind, data, is_cut }, message.sent_bytes.into())
    }

    /// Returns the start of the first error of the body so far, else of the first message that
    /// does not count; empty if there is neither.
    pub(crate) fn excerpt(&self) -> &[u8] {
        &self.excerpt.bytes
    }

    /// Returns the memory that the peer has caused it to hold, in bytes: at most 129 KiB.
    pub(crate) fn held_bytes(&self) -> usize {
        let body = match &self.body {
            BodySplitter::Events(events) => events.held_bytes(),
            BodySplitter::Grpc(messages) => messages.held_bytes(),
        };
        body + self.excerpt.bytes.capacity()
    }

    /// Forgets an incomplete message: the next bytes are of another body.
    pub(crate) fn reset(&mut self) {
        match &mut self.body {
            BodySplitter::Events(events) => events.reset(),
            BodySplitter::Grpc(messages) => messages.reset(),
        }
    }

    /// Forgets the excerpt of the last body.
    pub(crate) fn forget_excerpt(&mut self) {
        self.excerpt.bytes.clear();
        self.excerpt.is_error = false;
    }
}

impl Excerpt {
    /// Keeps the start of a message of this meaning, if it shows more than what is kept.
    #[inline]
    fn keep(&mut self, kind: MessageKind, data: &[u8]) {
        let is_shown = match kind {
            MessageKind::Error => !self.is_error,
            MessageKind::Other | MessageKind::TooLong => self.bytes.is_empty(),
            MessageKind::Counted | MessageKind::Reasoning | MessageKind::EndMark => false,
        };
        if is_shown {
            self.is_error = kind == MessageKind::Error;
            self.bytes.clear();
            self.bytes.extend_from_slice(&data[..data.len().min(EXCERPT_BYTES)]);
        }
    }
}

//! Messages within the body of a response: how a body is split into them, and what is reported of
//! each. Neither times nor streams are known here.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::grpc::{CallMessage, GrpcSplitter};
use crate::sse::EventSplitter;

/// The way in which bodies of responses are split into messages.
#[derive(Clone, Debug)]
pub struct MessageFormat {
    /// Form of the messages.
    pub framing: MessageFraming,
    /// Test that a message has to pass to be [counted](MessageKind::Counted); `None` if each is.
    pub test: Option<MessageTest>,
}

/// The form of the messages in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFraming {
    /// Server-sent events ([`crate::sse`]).
    EventStream,
    /// Messages of gRPC ([`crate::grpc`]).
    Grpc,
}

/// A test of the content of a message.
#[derive(Clone)]
pub struct MessageTest(Arc<ContentTest>);

type ContentTest = dyn Fn(&[u8]) -> bool + Send + Sync;

/// A message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// Bytes of its content, without framing.
    pub bytes: u64,
    /// Meaning for counts and times.
    pub kind: MessageKind,
}

/// Meaning of a message for counts and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// One of the messages that times are measured of.
    Counted,
    /// A message that does not pass the test of the format.
    Other,
    /// A mark of the end of the stream, as `[DONE]`.
    EndMark,
}

/// Splits the bodies of one response after the other.
#[derive(Debug)]
pub(crate) struct MessageSplitter {
    format: MessageFormat,
    body: BodySplitter,
}

/// State of the splitting of a body.
#[derive(Debug)]
enum BodySplitter {
    Events(EventSplitter),
    Grpc(GrpcSplitter),
}

/// Most bytes of a message of gRPC that its test sees.
const TESTED_BYTES_MAX: usize = 64 * 1024;

impl MessageTest {
    /// Returns a test that `passes` decides, from the content of a message.
    pub fn new(passes: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> MessageTest {
        MessageTest(Arc::new(passes))
    }
}

impl Debug for MessageTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageTest")
    }
}

impl MessageFormat {
    /// Returns the number of bytes of a message that its test sees.
    pub(crate) fn tested_bytes(&self) -> usize {
        if self.test.is_some() { TESTED_BYTES_MAX } else { 0 }
    }

    /// Returns what a message with this content counts as.
    fn kind_of(&self, content: &[u8]) -> MessageKind {
        match &self.test {
            Some(MessageTest(passes)) if !passes(content) => MessageKind::Other,
            _ => MessageKind::Counted,
        }
    }
}

impl MessageSplitter {
    /// Makes a splitter for a body that begins with the next bytes.
    pub(crate) fn new(format: &MessageFormat) -> MessageSplitter {
        let body = match format.framing {
            MessageFraming::EventStream => BodySplitter::Events(EventSplitter::new()),
            MessageFraming::Grpc => BodySplitter::Grpc(GrpcSplitter::new(format.tested_bytes())),
        };
        MessageSplitter { format: format.clone(), body }
    }

    /// Reads bytes of the body, and calls `on_message` for each message that they complete.
    pub(crate) fn receive(&mut self, bytes: &[u8], mut on_message: impl FnMut(ReceivedMessage)) {
        let MessageSplitter { format, body } = self;
        match body {
            BodySplitter::Events(events) => events.receive(bytes, |event| {
                let kind = match event.is_done() {
                    true => MessageKind::EndMark,
                    false => format.kind_of(event.data),
                };
                on_message(ReceivedMessage { bytes: event.data_bytes, kind });
            }),
            BodySplitter::Grpc(messages) => messages.receive(bytes, |message| {
                let kind = format.kind_of(message.data);
                on_message(ReceivedMessage { bytes: message.data_bytes.into(), kind });
            }),
        }
    }

    /// Returns what is reported of a message that was read by the rules of calls.
    pub(crate) fn of_call(&self, message: CallMessage<'_>) -> ReceivedMessage {
        let kind = self.format.kind_of(message.data);
        ReceivedMessage { bytes: message.sent_bytes.into(), kind }
    }

    /// Returns the memory that the peer has caused it to hold, in bytes: at most 128 KiB.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.body {
            BodySplitter::Events(events) => events.held_bytes(),
            BodySplitter::Grpc(messages) => messages.held_bytes(),
        }
    }

    /// Forgets an incomplete message: the next bytes are of another body.
    pub(crate) fn reset(&mut self) {
        match &mut self.body {
            BodySplitter::Events(events) => events.reset(),
            BodySplitter::Grpc(messages) => messages.reset(),
        }
    }
}

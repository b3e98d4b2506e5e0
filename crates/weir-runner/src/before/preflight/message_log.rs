//! The messages within a response of `--debug`: recorded where a run tests them, and made readable.

use std::sync::{Arc, Mutex, PoisonError};

use weir_grpc::{Method, SchemaError};
use weir_http::{
    MessageFormat, MessageFraming, MessageKind, MessageReader, MessageReading, ReceivedMessage,
};
use weir_io::Nanos;
use weir_requests::expect::BodyDecoder;

use super::trace::{ExchangeTrace, KEPT_BYTES};

/// Most messages that are shown.
pub(super) const MESSAGES_MAX: usize = 100;

/// A mark of the end, whose content is not read.
const END_MARK: &[u8] = b"[DONE]";

/// The contents of messages since they were last taken.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageLog(Arc<Mutex<Vec<Vec<u8>>>>);

impl MessageLog {
    /// Returns a format with a reader that records each message.
    pub(super) fn format(&self, framing: MessageFraming) -> MessageFormat {
        let log = Arc::clone(&self.0);
        let reader = MessageReader::new(move |content| {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() < MESSAGES_MAX {
                log.push(content.data.to_vec());
            }
            MessageReading::of_kind(content.kind)
        });
        MessageFormat { framing, reader: Some(reader) }
    }

    /// Moves the messages of a call to the trace; `method` has the schema of those of gRPC. Returns
    /// true if no more are shown.
    pub(super) fn show(
        &self,
        messages: impl Iterator<Item = ReceivedMessage>,
        method: Option<&Method>,
        trace: &mut ExchangeTrace,
        started: Nanos,
        now: Nanos,
    ) -> bool {
        let log = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut contents = log.drain(..);
        for ReceivedMessage { bytes, kind, .. } in messages {
            if trace.messages.len() == MESSAGES_MAX {
                let text = format!("more than {MESSAGES_MAX} messages: the rest is not shown");
                if !trace.remarks.contains(&text) {
                    trace.remarks.push(text);
                }
                return true;
            }
            let content = match kind {
                MessageKind::EndMark => Some(END_MARK.to_vec()),
                _ => contents
                    .next()
                    .filter(|content| method.is_some() || content.len() as u64 == bytes),
            };
            let text = match (content, method) {
                (None, _) => format!("[{bytes} bytes, too long to be shown]").into_bytes(),
                (Some(content), None) => content,
                (Some(content), Some(method)) => of_schema(&content, method),
            };
            trace.message(started, now, false, &text);
        }
        false
    }
}

/// Returns the messages of the body of a call as JSON, each in a line: what is sent, with the
/// values of its fields.
pub(super) fn sent_messages(mut body: &[u8], method: &Method) -> String {
    let mut text = String::new();
    while let Some((&[_, a, b, c, d], rest)) = body.split_first_chunk::<5>() {
        let length = (u32::from_be_bytes([a, b, c, d]) as usize).min(rest.len());
        let (message, after) = rest.split_at(length);
        let json = as_json(message, |bytes| method.request(bytes));
        text += &format!("{}\n", String::from_utf8_lossy(&json));
        body = after;
    }
    text
}

/// Returns a message of a response as JSON, and one that the schema cannot read as it is.
fn of_schema(content: &[u8], method: &Method) -> Vec<u8> {
    as_json(content, |bytes| method.response(bytes))
}

fn as_json(content: &[u8], read: impl Fn(&[u8]) -> Result<String, SchemaError>) -> Vec<u8> {
    let mut decoder = BodyDecoder::new(KEPT_BYTES);
    let inflated = decoder.decode(content, [&b"gzip"[..]].into_iter());
    let json = read(content).or_else(|error| read(inflated.map_err(|_| error)?));
    json.map_or_else(|_| content.to_vec(), String::into_bytes)
}

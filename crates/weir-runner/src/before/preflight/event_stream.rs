//! Streams of events among responses: they may last as long as they like, so that the preflight
//! reads their heads alone.

use weir_http::{ReceivedResponse, sse};

/// True if a response begins with the head of an event stream, which may last as long as it likes.
pub(super) fn begins_events(received: &[u8]) -> bool {
    let mut rest = received;
    while let Ok(Some(head)) = weir_http::read_head(rest) {
        if !(100..200).contains(&head.status) {
            let header = |name| head.header(name);
            return is_event_stream(header("content-type"), header("content-encoding"));
        }
        rest = &rest[head.bytes..];
    }
    false
}

/// True if a body of this type and coding is a stream of events that can be split.
pub(super) fn is_event_stream(content_type: Option<&[u8]>, coding: Option<&[u8]>) -> bool {
    let is_plain = coding.is_none_or(|coding| coding.eq_ignore_ascii_case(b"identity"));
    content_type.is_some_and(sse::is_event_stream) && is_plain
}

/// True if a head is that of an event stream.
pub(super) fn has_events(head: &ReceivedResponse<'_>) -> bool {
    let field =
        |name: &[u8]| head.fields().find(|(known, _)| *known == name).map(|(_, value)| value);
    is_event_stream(field(b"content-type"), field(b"content-encoding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stream_has_its_type_and_no_coding() {
        let begins = |fields: &str| {
            let head = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n{fields}\r\n");
            begins_events(head.as_bytes())
        };
        assert!(begins("Content-Type: text/event-stream\r\n"));
        assert!(begins("content-type: TEXT/Event-Stream; charset=utf-8\r\n"));
        assert!(begins("Content-Type: text/event-stream\r\nContent-Encoding: identity\r\n"));
        assert!(!begins("Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"));
        assert!(
            !begins("Content-Type: text/event-streams\r\n") && !begins("A: text/event-stream\r\n")
        );
        assert!(!begins_events(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
    }
}

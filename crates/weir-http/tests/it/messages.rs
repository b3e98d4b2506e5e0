//! Messages within responses, over HTTP/1: how they are reported does not depend on the pieces in
//! which bytes arrive.

use weir_http::{
    BodyBudget, Http1, Interest, MessageContent, MessageFormat, MessageFraming, MessageKind,
    MessageReader, MessageReading, ReceivedMessage, RequestTraits, TokenUsage,
};

const BODY: &str = "data: one\n\n: comment\n\ndata: 22\ndata: 3\n\ndata: [DONE]\n\ndata: cut";

fn client(reader: Option<MessageReader>) -> Http1 {
    let mut client = Http1::new(1);
    client.set_interest(Interest::Head, &BodyBudget::default());
    client.set_messages(&MessageFormat { framing: MessageFraming::EventStream, reader });
    client
}

/// Returns the messages of a response in pieces of `length` bytes.
fn messages(client: &mut Http1, response: &[u8], length: usize) -> Vec<ReceivedMessage> {
    client.request(RequestTraits::default());
    let mut messages = Vec::new();
    let mut events = Vec::new();
    for piece in response.chunks(length) {
        client.receive(piece, &mut events).expect("a valid response");
        assert_eq!(client.discardable(), 0, "a body that is split is read");
        messages.extend_from_slice(client.messages());
    }
    assert_eq!(events.len(), 1);
    messages
}

fn chunked(body: &str) -> Vec<u8> {
    let mut response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in body.as_bytes().chunks(7) {
        response.extend(format!("{:x}\r\n", chunk.len()).bytes());
        response.extend([chunk, b"\r\n"].concat());
    }
    response.extend(b"0\r\n\r\n");
    response
}

#[test]
fn messages_do_not_depend_on_pieces() {
    let fixed = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len());
    let usage = TokenUsage::default();
    let message = |bytes, kind| ReceivedMessage { bytes, kind, usage };
    let expected = [
        message(3, MessageKind::Counted),
        message(4, MessageKind::Counted),
        message(6, MessageKind::EndMark),
    ];
    let mut client = client(None);
    for length in [1, 2, 3, 7, 1000] {
        // The incomplete event at the end of one body is not part of the next.
        assert_eq!(messages(&mut client, fixed.as_bytes(), length), expected);
        assert_eq!(messages(&mut client, &chunked(BODY), length), expected);
    }
}

#[test]
fn a_reader_decides_which_messages_count() {
    let mut client = client(Some(MessageReader::new(|content| {
        let is_counted = content.data.starts_with(b"2");
        MessageReading::of_kind(if is_counted { content.kind } else { MessageKind::Other })
    })));
    let kinds = messages(&mut client, &chunked(BODY), 1000).into_iter().map(|one| one.kind);
    let expected = [MessageKind::Other, MessageKind::Counted, MessageKind::EndMark];
    assert!(kinds.eq(expected));
}

#[test]
fn an_excerpt_is_of_the_first_error_or_of_the_first_message_that_does_not_count() {
    let long = "l".repeat(MessageContent::BYTES_MAX + 1);
    let mut client = client(Some(MessageReader::new(|content| {
        let kind = match content.data {
            _ if content.is_cut => MessageKind::TooLong,
            b"2" => MessageKind::Other,
            _ => content.kind,
        };
        MessageReading::of_kind(kind)
    })));
    let error = "event: error\ndata: e\n\n";
    for (body, expected, last) in [
        ("data: 1\n\n".to_owned(), "", MessageKind::Counted),
        ("data: 2\n\ndata: 1\n\ndata: 2\n\n".to_owned(), "2", MessageKind::Other),
        (format!("data: 2\n\n{error}event: error\ndata: f\n\n"), "e", MessageKind::Error),
        (format!("{error}data: 2\n\n"), "e", MessageKind::Other),
        (format!("data: {long}\n\n"), &long[..1024], MessageKind::TooLong),
    ] {
        client.request(RequestTraits::default());
        let mut events = Vec::new();
        client.receive(&chunked(&body), &mut events).expect("a valid response");
        let shown = String::from_utf8_lossy(client.response(0).excerpt).into_owned();
        assert_eq!(shown, expected);
        assert_eq!(client.messages().last().map(|message| message.kind), Some(last));
    }
}

#[test]
fn an_error_ends_the_messages_of_its_response() {
    let mut client = client(None);
    client.request(RequestTraits::default());
    let mut events = Vec::new();
    let cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\ndata: a\n\nda\r\n";
    client.receive(cut, &mut events).expect("a valid begin");
    assert_eq!(client.messages().len(), 1);
    client.end_of_stream(&mut events).expect_err("the response is cut");
    client.reset();
    assert_eq!(messages(&mut client, &chunked("ta: b\n\ndata: c\n\n"), 1000).len(), 1);
}

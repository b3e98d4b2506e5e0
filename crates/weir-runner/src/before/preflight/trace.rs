//! The one request of `--debug` as a user looks at it: the text of request and response, messages
//! with their times, and the time of each step.

use weir_http::{Head, ReceivedResponse, Request};
use weir_io::Nanos;
use weir_requests::expect::BodyDecoder;
use weir_text::units;

/// Maximum bytes of a body that are shown, and that are kept.
const SHOWN_BYTES: usize = 4 * 1024;
pub(super) const KEPT_BYTES: usize = 1 << 20;

/// A trace of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeTrace {
    /// Request, with its body; empty if none was sent.
    pub request: String,
    /// Response, with the beginning of its body; empty if there was none.
    pub response: String,
    /// Messages after the head of the response: those of its body, or of the connection.
    pub messages: Vec<TracedMessage>,
    /// Remarks on the parts that are not shown.
    pub remarks: Vec<String>,
    /// Time in which the server's name was resolved, in nanoseconds; `None` for an address.
    pub lookup_ns: Option<u64>,
    /// Steps, each with its end in nanoseconds since the start of the connect.
    pub steps: Vec<(&'static str, u64)>,
    /// Problem of the exchange or of its response, if there is one.
    pub problem: Option<String>,
}

/// A message within an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedMessage {
    /// Nanoseconds since the start of the connect.
    pub at_ns: u64,
    /// True if it was sent, not received.
    pub is_sent: bool,
    /// Its content.
    pub text: String,
}

impl ExchangeTrace {
    /// Adds a step that ended at `now`; only the first of its name counts.
    pub(super) fn step(&mut self, name: &'static str, started: Nanos, now: Nanos) {
        if self.steps.iter().all(|(known, _)| *known != name) {
            self.steps.push((name, now.since(started)));
        }
    }

    /// Sets the request to these bytes of HTTP/1.
    pub(super) fn sent_http1(&mut self, bytes: &[u8]) {
        let end =
            bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        let (head, body) = bytes.split_at(end);
        self.request = message(&String::from_utf8_lossy(head).replace("\r\n", "\n"), body, false);
    }

    /// Sets the request to one of HTTP/2.
    pub(super) fn sent_http2(&mut self, request: &Request) {
        let text = String::from_utf8_lossy;
        let mut head = format!("{} {} HTTP/2\n", text(request.method()), text(request.target()));
        head += &format!(":scheme: {}\n", request.scheme());
        head += &format!(":authority: {}\n", text(request.authority()));
        for (name, value) in request.fields() {
            head += &format!("{}: {}\n", text(name), text(value));
        }
        head.push('\n');
        let is_grpc = request.fields().any(|(name, value)| is_grpc_type(name, value));
        // Its messages are binary; they are shown as they were given.
        let body = if is_grpc { &[][..] } else { request.body() };
        self.request = message(&head, body, false);
    }

    /// Sets the response to that of an upgrade.
    pub(super) fn upgraded(&mut self, response: &Head<'_>) {
        let mut head = format!("{} {}\n", response.version, response.status);
        for (name, value) in &response.headers {
            head += &format!("{name}: {}\n", String::from_utf8_lossy(value));
        }
        self.response = head + "\n";
    }

    /// Sets the response, with its body unless its messages are shown.
    pub(super) fn received(&mut self, version: &str, response: &ReceivedResponse<'_>) {
        let mut head = format!("{version} {}\n", response.status);
        for (name, value) in response.fields() {
            let name = String::from_utf8_lossy(name);
            let value = String::from_utf8_lossy(value);
            head += &format!("{name}: {value}\n");
        }
        self.response = head + "\n";
        if self.messages.is_empty() {
            self.response = decoded(&self.response, response);
        }
    }

    /// Sets the response as far as it was received: from its parts, or from the bytes of a head.
    pub(super) fn received_part(
        &mut self,
        version: &str,
        part: Option<ReceivedResponse<'_>>,
        received: &[u8],
    ) {
        match part {
            Some(response) => {
                self.received(version, &ReceivedResponse { is_cut: true, ..response })
            }
            None => self.response = String::from_utf8_lossy(received).replace('\r', ""),
        }
    }

    /// Notes that no end came within the timeout, which is a problem unless there are messages.
    pub(super) fn end_is_late(&mut self, has_messages: bool, timeout_ns: u64) {
        let within = units::exact_duration(timeout_ns);
        match has_messages {
            true => self.remarks.push(format!("no end of the response within {within}")),
            false => self.problem = Some(format!("no end of the response within {within}")),
        }
    }

    /// Adds a message at `now`.
    pub(super) fn message(&mut self, started: Nanos, now: Nanos, is_sent: bool, content: &[u8]) {
        let text = message("", content, false).trim_end_matches('\n').to_owned();
        self.messages.push(TracedMessage { at_ns: now.since(started), is_sent, text });
    }
}

/// Returns the text of a response with this head: its body without its content codings, which are
/// named with both lengths.
fn decoded(head: &str, response: &ReceivedResponse<'_>) -> String {
    let named = |(name, value): (&'_ [u8], &'_ [u8])| {
        name.eq_ignore_ascii_case(b"content-encoding").then_some(value.to_vec())
    };
    let encodings: Vec<Vec<u8>> = response.fields().filter_map(named).collect();
    let names = String::from_utf8_lossy(&encodings.join(&b", "[..])).into_owned();
    let body = response.body;
    let mut decoder = BodyDecoder::new(KEPT_BYTES);
    let result = decoder.decode(body, encodings.iter().map(Vec::as_slice)).map(<[u8]>::len);
    let text = message(head, decoder.decoded(body), response.is_cut);
    match result {
        _ if names.is_empty() || body.is_empty() => text,
        Ok(length) => format!("{text}[{names}: {} bytes, decoded {length}]\n", body.len()),
        Err(_) if response.is_cut => {
            format!("{text}[{names}: decoded as far as its first {} bytes go]\n", body.len())
        }
        Err(error) => format!("{text}[{names}, {} bytes: {error}]\n", body.len()),
    }
}

/// True for the field that makes a body messages of gRPC.
fn is_grpc_type(name: &[u8], value: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"content-type") && value.starts_with(b"application/grpc")
}

/// Returns the text of a message.
fn message(head: &str, body: &[u8], is_cut: bool) -> String {
    let shown = &body[..body.len().min(SHOWN_BYTES)];
    let length = if is_cut { format!("more than {}", body.len()) } else { body.len().to_string() };
    match std::str::from_utf8(shown) {
        _ if body.is_empty() => head.to_owned(),
        Ok(text) if shown.len() == body.len() && !is_cut => format!("{head}{text}\n"),
        Ok(text) => format!("{head}{text}\n[{length} bytes, the first {} shown]\n", shown.len()),
        // The cut may be within a character.
        Err(error) if error.valid_up_to() + 4 > shown.len() && shown.len() < body.len() => {
            let text = String::from_utf8_lossy(&shown[..error.valid_up_to()]);
            format!("{head}{text}\n[{length} bytes, the first {} shown]\n", error.valid_up_to())
        }
        Err(_) => format!("{head}[{length} bytes, which are no text]\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_shown_if_they_are_text() {
        assert_eq!(message("a\n\n", b"", false), "a\n\n");
        assert_eq!(message("a\n\n", b"body", false), "a\n\nbody\n");
        assert_eq!(message("a\n\n", b"\xff\xfe", false), "a\n\n[2 bytes, which are no text]\n");
        let long = "ä".repeat(SHOWN_BYTES);
        let shown = message("", format!("x{long}").as_bytes(), true);
        assert!(shown.ends_with("[more than 8193 bytes, the first 4095 shown]\n"), "{shown}");
    }

    #[test]
    fn messages_have_their_head() {
        let mut trace = ExchangeTrace::default();
        trace.sent_http1(b"POST / HTTP/1.1\r\nHost: h\r\n\r\nbody");
        assert_eq!(trace.request, "POST / HTTP/1.1\nHost: h\n\nbody\n");
        trace.step("connect", Nanos(5), Nanos(7));
        trace.step("connect", Nanos(5), Nanos(9));
        assert_eq!(trace.steps, [("connect", 2)]);
    }
}

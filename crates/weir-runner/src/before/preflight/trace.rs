//! The one request before the load as a user looks at it: the text of both messages, and the time
//! of each step.

use weir_http::{Head, ReceivedResponse, Request};
use weir_io::Nanos;

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
    /// Steps, each with its end in nanoseconds since the begin of the connect.
    pub steps: Vec<(&'static str, u64)>,
    /// Problem of the exchange or of its response, if there is one.
    pub problem: Option<String>,
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
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut head = format!("{} {} HTTP/2\n", request.method, text(&request.target));
        head += &format!(":scheme: {}\n:authority: {}\n", request.scheme, text(&request.authority));
        for (name, value) in &request.fields {
            head += &format!("{name}: {}\n", text(value));
        }
        self.request = message(&(head + "\n"), request.body(), false);
    }

    /// Sets the response to that of an upgrade.
    pub(super) fn upgraded(&mut self, response: &Head<'_>) {
        let mut head = format!("{} {}\n", response.version, response.status);
        for (name, value) in &response.headers {
            head += &format!("{name}: {}\n", String::from_utf8_lossy(value));
        }
        self.response = head + "\n";
    }

    /// Sets the response.
    pub(super) fn received(&mut self, version: &str, response: &ReceivedResponse<'_>) {
        let mut head = format!("{version} {}\n", response.status);
        for (name, value) in response.fields() {
            let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            head += &format!("{name}: {value}\n");
        }
        self.response = message(&(head + "\n"), response.body, response.is_cut);
    }
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

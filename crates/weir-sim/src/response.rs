//! The bytes of responses, well-formed and malformed. This module depends on neither time nor
//! connections.

use weir_http::server::{LAST_CHUNK, push_chunk_size, response_has_body};

use crate::faults::Breakage;
use crate::random::Random;
use crate::server::{Framing, Responses, Version};

/// A response ready to be sent.
#[derive(Debug)]
pub(crate) struct Response {
    /// A preceding 1xx response, or nothing.
    pub(crate) interim: Vec<u8>,
    /// The final response.
    pub(crate) bytes: Vec<u8>,
    /// Length of the head in `bytes`.
    pub(crate) head_bytes: usize,
    /// HTTP status code.
    pub(crate) status: u16,
    /// True if the connection ends with the response.
    pub(crate) closes: bool,
    /// True if only the end of the connection marks the end of the body.
    pub(crate) ends_by_close: bool,
}

impl Response {
    /// Returns a position to cut the response at so that a client must detect the cut. It is inside
    /// the response, and inside its head if nothing announces the length of the body.
    pub(crate) fn cut(&self, random: &mut Random) -> usize {
        let whole = if self.ends_by_close { self.head_bytes } else { self.bytes.len() };
        usize::try_from(random.between(1, whole as u64 - 1)).expect("inside a buffer")
    }
}

/// Returns the response to a request that is HEAD or not, and numbered or not. `is_last` is true if
/// the connection ends with it in any case.
pub(crate) fn compose(
    responses: &Responses,
    is_head: bool,
    number: Option<u64>,
    is_last: bool,
    random: &mut Random,
) -> Response {
    let status = status(&responses.statuses, random);
    let interim = match responses.interim {
        Some((code, share)) if random.chance(share) => {
            format!("HTTP/1.1 {code} Wait\r\nx-interim: 1\r\n\r\n").into_bytes()
        }
        _ => Vec::new(),
    };
    let bytes = usize::try_from(responses.body_bytes.draw(random)).unwrap_or(usize::MAX);
    let body = body(number, bytes);
    let framing = framing(responses, random);
    let has_body = response_has_body(status, is_head);
    let closes = is_last
        || framing == Framing::Close
        || responses.version == Version::Http10 { keep_alive: false };
    let named = number.map_or_else(String::new, |number| format!("x-number: {number}\r\n"));
    let mut bytes = head(responses.version, status, framing, body.len(), &named, closes);
    let head_bytes = bytes.len();
    if has_body {
        match framing {
            Framing::Chunked { chunk_bytes } => write_chunks(&mut bytes, &body, chunk_bytes),
            _ => bytes.extend_from_slice(&body),
        }
    }
    let ends_by_close = has_body && framing == Framing::Close;
    Response { interim, bytes, head_bytes, status, closes, ends_by_close }
}

/// Returns a malformed response.
pub(crate) fn malformed(breakage: Breakage) -> Vec<u8> {
    let text = match breakage {
        Breakage::StatusLine => "this is not HTTP\r\n\r\n",
        Breakage::Version => "HTTP/7.3 200 OK\r\ncontent-length: 0\r\n\r\n",
        Breakage::StatusCode => "HTTP/1.1 2x0 OK\r\ncontent-length: 0\r\n\r\n",
        Breakage::HeaderLine => "HTTP/1.1 200 OK\r\nno colon here\r\ncontent-length: 0\r\n\r\n",
        Breakage::HeaderName => "HTTP/1.1 200 OK\r\nx y : 1\r\ncontent-length: 0\r\n\r\n",
        Breakage::Length => "HTTP/1.1 200 OK\r\ncontent-length: 1x\r\n\r\nx",
        Breakage::TwoLengths => {
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"
        }
        Breakage::ChunkSize => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
        Breakage::ChunkEnd => {
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nxxxx\r\n0\r\n\r\n"
        }
        Breakage::EndlessHead => {
            let mut bytes = b"HTTP/1.1 200 OK\r\n".to_vec();
            while bytes.len() < 1 << 20 {
                bytes.extend_from_slice(b"x-more: and more and more and more\r\n");
            }
            return bytes;
        }
    };
    text.as_bytes().to_vec()
}

/// Returns a random status by weight.
fn status(weighted: &[(u16, f64)], random: &mut Random) -> u16 {
    let (last, _) = *weighted.last().expect("the server has at least one status to respond with");
    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let mut left = random.unit() * total;
    for (status, weight) in weighted {
        left -= weight;
        if left < 0.0 {
            return *status;
        }
    }
    last
}

/// Returns the framing of one response: chooses one for `Mixed`, and replaces chunks in HTTP/1.0,
/// which has none.
fn framing(responses: &Responses, random: &mut Random) -> Framing {
    let decided = match responses.framing {
        Framing::Mixed => match random.between(0, 2) {
            0 => Framing::Length,
            1 => {
                let chunk_bytes = usize::try_from(random.between(1, 100)).expect("at most 100");
                Framing::Chunked { chunk_bytes }
            }
            _ => Framing::Close,
        },
        other => other,
    };
    match (responses.version, decided) {
        (Version::Http10 { .. }, Framing::Chunked { .. }) => Framing::Length,
        (_, decided) => decided,
    }
}

fn head(
    version: Version,
    status: u16,
    framing: Framing,
    body_bytes: usize,
    named: &str,
    closes: bool,
) -> Vec<u8> {
    let protocol = match version {
        Version::Http11 => "HTTP/1.1",
        Version::Http10 { .. } => "HTTP/1.0",
    };
    let connection = match (version, closes) {
        (Version::Http11, true) => "connection: close\r\n",
        (Version::Http10 { .. }, false) => "connection: keep-alive\r\n",
        _ => "",
    };
    let length = match framing {
        _ if status == 204 => String::new(),
        Framing::Length => format!("content-length: {body_bytes}\r\n"),
        Framing::Chunked { .. } => "transfer-encoding: chunked\r\n".to_owned(),
        _ => String::new(),
    };
    let location = match status {
        301 | 302 | 303 | 307 | 308 => "location: /moved\r\n",
        _ => "",
    };
    let named = format!("{named}{location}");
    format!("{protocol} {status} Simulated\r\nserver: weir-sim\r\n{named}{connection}{length}\r\n")
        .into_bytes()
}

/// Returns a body that begins with its request's number and looks like responses. A client that
/// loses its position in the stream then miscounts.
fn body(number: Option<u64>, bytes: usize) -> Vec<u8> {
    let named = number.map_or_else(String::new, |number| format!("{number} "));
    let responses = b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n0\r\n\r\n".iter().cycle();
    named.as_bytes().iter().chain(responses).copied().take(bytes).collect()
}

fn write_chunks(out: &mut Vec<u8>, body: &[u8], chunk_bytes: usize) {
    for chunk in body.chunks(chunk_bytes.max(1)) {
        push_chunk_size(out, chunk.len() as u64);
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(LAST_CHUNK);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::random::Seed;

    fn check(responses: Responses, is_head: bool, is_last: bool, expected: &str, closes: bool) {
        let mut random = Random::new(Seed(1), 0);
        let response = compose(&responses, is_head, None, is_last, &mut random);
        let text = String::from_utf8(response.bytes).expect("responses are ASCII");
        let text = text.replace(" Simulated\r\nserver: weir-sim", "").replace("\r\n", "|");
        assert_eq!((text.as_str(), response.closes), (expected, closes));
    }

    #[test]
    fn responses_are_framed_as_configured() {
        let plain = Responses { body_bytes: Law::Fixed(5), ..Responses::default() };
        check(plain.clone(), false, false, "HTTP/1.1 200|content-length: 5||HTTP/", false);
        check(plain.clone(), true, false, "HTTP/1.1 200|content-length: 5||", false);
        let last = "HTTP/1.1 200|connection: close|content-length: 5||HTTP/";
        check(plain.clone(), false, true, last, true);
        let no_content = Responses { statuses: vec![(204, 1.0)], ..plain.clone() };
        check(no_content, false, false, "HTTP/1.1 204||", false);
        let chunked = Responses { framing: Framing::Chunked { chunk_bytes: 3 }, ..plain.clone() };
        let chunks = "HTTP/1.1 200|transfer-encoding: chunked||3|HTT|2|P/|0||";
        check(chunked.clone(), false, false, chunks, false);
        let old = Responses { version: Version::Http10 { keep_alive: true }, ..chunked };
        let kept = "HTTP/1.0 200|connection: keep-alive|content-length: 5||HTTP/";
        check(old.clone(), false, false, kept, false);
        let older = Responses { version: Version::Http10 { keep_alive: false }, ..old };
        check(older, false, false, "HTTP/1.0 200|content-length: 5||HTTP/", true);
        let to_close = Responses { framing: Framing::Close, ..plain };
        check(to_close, false, false, "HTTP/1.1 200|connection: close||HTTP/", true);
    }

    #[test]
    fn a_response_says_the_number_of_its_request() {
        let responses = Responses { body_bytes: Law::Fixed(6), ..Responses::default() };
        let mut random = Random::new(Seed(1), 0);
        let response = compose(&responses, false, Some(17), false, &mut random);
        let text = String::from_utf8(response.bytes).expect("responses are ASCII");
        assert!(
            text.contains("\r\nx-number: 17\r\n") && text.ends_with("\r\n\r\n17 HTT"),
            "{text}"
        );
    }

    #[test]
    fn statuses_come_by_weight() {
        let mut random = Random::new(Seed(5), 0);
        let weighted = [(200, 9.0), (500, 0.0), (404, 1.0)];
        let mut counts = [0u32; 3];
        for _ in 0..10_000 {
            match status(&weighted, &mut random) {
                200 => counts[0] += 1,
                404 => counts[1] += 1,
                _ => counts[2] += 1,
            }
        }
        assert!((900..1_100).contains(&counts[1]) && counts[2] == 0, "{counts:?}");
    }
}

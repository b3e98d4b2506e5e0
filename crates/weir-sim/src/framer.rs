//! Detects the ends of requests in a stream of bytes: the little of HTTP/1 that a server must
//! parse.

use weir_io::Nanos;

/// A request whose last byte has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framed {
    /// Time at which its first byte left the client.
    pub(crate) sent_at: Nanos,
    /// True if the method is HEAD: the response has no body.
    pub(crate) is_head: bool,
    /// Number at the end of its target.
    pub(crate) number: Option<u64>,
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    head: Vec<u8>,
    sent_at: Nanos,
    body: Option<(Framed, u64)>,
}

impl Framer {
    /// Parses bytes that left the client at `sent_at`; calls `found` for each request they
    /// complete.
    pub(crate) fn receive(&mut self, bytes: &[u8], sent_at: Nanos, mut found: impl FnMut(Framed)) {
        let mut left = bytes;
        while !left.is_empty() {
            if let Some((request, missing)) = self.body.take() {
                let taken = missing.min(left.len() as u64);
                left = &left[usize::try_from(taken).expect("at most what is left")..];
                match missing - taken {
                    0 => found(request),
                    still => self.body = Some((request, still)),
                }
                continue;
            }
            if self.head.is_empty() {
                self.sent_at = sent_at;
            }
            let searched = self.head.len().saturating_sub(3);
            self.head.extend_from_slice(left);
            let Some(end) = head_end(&self.head[searched..]).map(|end| searched + end) else {
                return;
            };
            let beyond = self.head.len() - end;
            left = &left[left.len() - beyond..];
            self.head.truncate(end);
            let request = Framed {
                sent_at: self.sent_at,
                is_head: self.head.starts_with(b"HEAD "),
                number: number(&self.head),
            };
            match body_bytes(&self.head) {
                0 => found(request),
                missing => self.body = Some((request, missing)),
            }
            self.head.clear();
        }
    }
}

/// Returns the position after the empty line that ends a head.
fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|start| start + 4)
}

/// Returns the value of `Content-Length`, zero without one. A value that is no number is the
/// client's bug, which a simulated server must not hide.
fn body_bytes(head: &[u8]) -> u64 {
    const NAME: &[u8] = b"content-length:";
    for line in head.split(|&byte| byte == b'\n') {
        if line.len() >= NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME) {
            let value = String::from_utf8_lossy(&line[NAME.len()..]);
            return value.trim().parse().expect("the client sent a content-length that is none");
        }
    }
    0
}

/// Returns the number at the end of the request target.
fn number(head: &[u8]) -> Option<u64> {
    let target = head.split(|byte| *byte == b' ').nth(1)?;
    let digits = target.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&target[target.len() - digits..]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n\
        POST /x70 HTTP/1.1\r\nContent-LENGTH: 9\r\n\r\n\r\n\r\nGET /\
        HEAD / HTTP/1.0\r\n\r\n\
        POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn ends_are_found_wherever_the_stream_is_cut() {
        for cut in 0..=STREAM.len() {
            for second in cut..=STREAM.len() {
                let mut framer = Framer::default();
                let mut heads = Vec::new();
                for part in [&STREAM[..cut], &STREAM[cut..second], &STREAM[second..]] {
                    framer.receive(part, Nanos(1), |request| {
                        heads.push((request.is_head, request.number));
                    });
                }
                let expected = [(false, None), (false, Some(70)), (true, None), (false, None)];
                assert_eq!(heads, expected, "cut at {cut} and {second}");
            }
        }
    }

    #[test]
    fn a_request_was_sent_when_its_first_byte_was() {
        let mut framer = Framer::default();
        let mut sent = Vec::new();
        for (index, byte) in STREAM.iter().enumerate() {
            let at = Nanos(index as u64);
            framer.receive(&[*byte], at, |request| sent.push(request.sent_at.0));
        }
        assert_eq!(sent, [0, 27, 77, 96]);
    }
}

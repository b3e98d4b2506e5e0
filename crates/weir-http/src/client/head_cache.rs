//! Cache of the last response head with its semantics: a response with the same head is only
//! compared, not parsed. It decides whether heads are equivalent, and does not parse them.
//!
//! Relevant bytes are either parsed or compared with parsed bytes, never assumed. A byte may differ
//! only within the value of a field that is not a framing field, and must not be a control
//! character. Names, line ends and everything that determines the body are therefore the same.

use crate::message::framing::{self, BodyEnd};
use crate::message::line::{self, Field, Line};
use crate::message::scan;

/// Largest cached head, in bytes. Larger ones are parsed each time: common servers do not send
/// them, and they would cost memory in every worker.
const HEAD_BYTES_MAX: usize = 4 * 1024;

/// Responses not cached after a cached one that never matched. If heads alternate, caching each
/// would cost more than it saves.
const PATIENCE: u8 = 16;

/// Bytes compared at once; also the shortest cached head.
const WORD_BYTES: usize = 8;

/// Cached head of the last responses, which any number of connections with similar responses may
/// share: see [`crate::Http1::receive_cached`].
#[derive(Debug, Default)]
pub struct HeadCache {
    /// The head, from the status line to the empty line.
    bytes: Vec<u8>,
    /// Mask for each of `bytes`: 0xff if it must be equal, 0 if only its value's length matters.
    fixed: Vec<u8>,
    meaning: Option<HeadSemantics>,
    /// Non-matching responses that will not be cached.
    waits: u8,
}

/// Semantics of a final response's head, for a request other than HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadSemantics {
    pub(crate) status: u16,
    /// True if the connection ends after the response.
    pub(crate) closes: bool,
    pub(crate) body: BodyEnd,
}

impl HeadCache {
    /// Returns the length and the semantics of the head at the start of `bytes`, if it is cached.
    #[inline(always)]
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<(usize, HeadSemantics)> {
        let meaning = self.meaning?;
        let head = bytes.get(..self.bytes.len())?;
        if head != self.bytes && !self.is_alike(head) {
            return None;
        }
        self.waits = 0;
        Some((head.len(), meaning))
    }

    /// Returns the length of the cached head.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of consecutive `responses` that start with the cached head.
    #[inline(always)]
    pub(crate) fn count<'a>(&self, responses: impl Iterator<Item = &'a [u8]>) -> usize {
        responses.take_while(|response| response.starts_with(&self.bytes)).count()
    }

    /// True if `head`, which has the same length as the cached one but other bytes, is equivalent.
    /// In that case it replaces the cached one, because the next responses are more likely to match
    /// it.
    #[inline(never)]
    fn is_alike(&mut self, head: &[u8]) -> bool {
        // Rejects most heads of other lengths.
        if !head.ends_with(b"\n") {
            return false;
        }
        let words = |bytes| <[u8]>::as_chunks::<WORD_BYTES>(bytes).0.iter();
        let known = words(&self.bytes).zip(words(&self.fixed));
        let pairs = words(head).zip(known);
        let wrong =
            pairs.fold(0, |wrong, (head, (known, fixed))| wrong | faults(head, known, fixed));
        // The rest, which overlaps bytes already compared.
        let last = (head.last_chunk(), self.bytes.last_chunk(), self.fixed.last_chunk());
        let (Some(head_end), Some(known), Some(fixed)) = last else { return false };
        let is_alike = wrong | faults(head_end, known, fixed) == 0;
        if is_alike {
            self.bytes.copy_from_slice(head);
        }
        is_alike
    }

    /// Stores a complete head that [`HeadCache::find`] did not find, with its semantics.
    #[inline]
    pub(crate) fn learn(&mut self, head: &[u8], meaning: HeadSemantics) {
        self.waits = self.waits.saturating_sub(1);
        if self.waits == 0 && (WORD_BYTES..=HEAD_BYTES_MAX).contains(&head.len()) {
            self.replace(head, meaning);
        }
    }

    #[cold]
    fn replace(&mut self, head: &[u8], meaning: HeadSemantics) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
        self.fixed.clear();
        self.fixed.resize(head.len(), 0xff);
        let mut at = line::read_status(head).ok().flatten().map_or(head.len(), |line| line.next);
        loop {
            if let Some(Field { colon, content, next }) = line::plain_field(head, at) {
                if !framing::is_framing(&head[at..colon]) {
                    self.fixed[colon + 1..content].fill(0);
                }
                at = next;
            } else if let Ok(Some(Line::Field(Field { next, .. }) | Line::Fold { next, .. })) =
                line::read(head, at)
            {
                // Lines in unusual forms must match exactly.
                at = next;
            } else {
                break;
            }
        }
        self.meaning = Some(meaning);
        self.waits = PATIENCE;
    }
}

/// Returns nonzero if a byte of `head` differs or is a control character where it must not;
/// possibly also for a space after a line end.
#[inline(always)]
fn faults(head: &[u8; WORD_BYTES], known: &[u8; WORD_BYTES], fixed: &[u8; WORD_BYTES]) -> u64 {
    let word = |bytes: &[u8; WORD_BYTES]| u64::from_le_bytes(*bytes);
    let (head, known, fixed) = (word(head), word(known), word(fixed));
    (head ^ known) & fixed | scan::control_flags(head) & !fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Http1, RequestTraits};

    const HEAD: &str = "HTTP/1.1 200 OK\r\nDate: 12:34:56\r\nX: 7\r\nContent-Length: 12\r\n\r\n";

    /// True if `head` is found after [`HEAD`] was cached.
    fn is_found(head: &str) -> bool {
        let mut known = HeadCache::default();
        read(&mut known, HEAD);
        known.find(head.as_bytes()).is_some()
    }

    /// Parses a head, and caches it if it is due.
    fn read(known: &mut HeadCache, head: &str) {
        let mut protocol = Http1::new(1);
        protocol.request(RequestTraits::default());
        protocol.receive_cached(head.as_bytes(), known, &mut Vec::new()).unwrap();
    }

    #[test]
    fn only_values_that_frame_nothing_may_differ() {
        let check = |from: &str, to: &str, expected| {
            assert_eq!(is_found(&HEAD.replace(from, to)), expected, "{from:?} {to:?}");
        };
        check("Date", "Date", true);
        check("12:34:56", "23:59:59", true);
        check("7", "\u{e9}", false);
        check(" 7", "\u{e9}", true);
        check(" 7", "7 ", true);
        check("7", "\t", false);
        check("7", "\r", false);
        check("7", "\0", false);
        check("56\r\n", "56\n\n", false);
        check("Date", "Data", false);
        check("200", "201", false);
        check("1.1", "1.0", false);
        check("12\r\n\r\n", "13\r\n\r\n", false);
        check("12\r\n\r\n", "12\r\n\r", false);
        check("OK", "ok", false);
    }

    #[test]
    fn heads_that_alternate_are_not_all_learned() {
        let (mut known, mut learned) = (HeadCache::default(), 0);
        for nth in 0..160 {
            let head = HEAD.replace('7', &"7".repeat(1 + nth));
            read(&mut known, &head);
            learned += usize::from(known.bytes == head.as_bytes());
        }
        assert_eq!(learned, 10);
    }

    #[test]
    fn what_was_found_is_learned_anew_at_once() {
        let (mut known, other) = (HeadCache::default(), HEAD.replace("200", "404"));
        for head in [HEAD, HEAD, &other] {
            read(&mut known, head);
        }
        assert!(known.find(other.as_bytes()).is_some());
        assert!(known.find(HEAD.as_bytes()).is_none());
    }
}

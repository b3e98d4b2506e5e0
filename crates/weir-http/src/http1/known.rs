//! The head that the last answers had, with what it means: an answer that has the same head again
//! need only be compared, not read. Must not know how heads are read, only when they read alike.
//!
//! What counts is read from the bytes or compared with bytes that were read, never assumed: a byte
//! may differ only within the value of a field that frames nothing, and there be no control
//! character, so that names, line ends and everything that decides about the body are the same.

use super::framing::{self, Body};
use super::line::{self, Field, Line};
use super::scan;

/// Heads beyond this are read each time: no usual server sends them, and they would cost every
/// worker memory.
const HEAD_BYTES_MAX: usize = 4 * 1024;

/// Answers that go unlearned after one that was learned in vain. Where heads alternate, learning
/// each would cost more than it saves.
const PATIENCE: u8 = 16;

/// Bytes compared at once; the shortest head learned.
const WORD_BYTES: usize = 8;

/// The head of the last answers of any number of connections, to be shared by those that get
/// answers of one kind: see [`crate::Protocol::receive_knowing`].
#[derive(Debug, Default)]
pub struct KnownHead {
    /// From the status line to the empty line.
    bytes: Vec<u8>,
    /// For each of `bytes`: 0xff where it must be the same, 0 where only its value's extent counts.
    fixed: Vec<u8>,
    meaning: Option<Meaning>,
    /// So many more answers that are not alike go unlearned.
    waits: u8,
}

/// What a final answer's head says, for a request that was not HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) status: u16,
    /// The connection ends after the answer.
    pub(crate) closes: bool,
    pub(crate) body: Body,
}

impl KnownHead {
    /// Nothing is known yet.
    pub fn new() -> KnownHead {
        KnownHead::default()
    }

    /// How long the head is that `bytes` begin with, and what it means, if it is the known one.
    #[inline(always)]
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<(usize, Meaning)> {
        let meaning = self.meaning?;
        let head = bytes.get(..self.bytes.len())?;
        if head != self.bytes && !self.is_alike(head) {
            return None;
        }
        self.waits = 0;
        Some((head.len(), meaning))
    }

    /// How long the known head is.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many of `answers`, one after another, begin with the known head.
    #[inline(always)]
    pub(crate) fn count<'a>(&self, answers: impl Iterator<Item = &'a [u8]>) -> usize {
        answers.take_while(|answer| answer.starts_with(&self.bytes)).count()
    }

    /// Whether `head`, which is as long as the known one and not the same, reads alike. If so it
    /// is known from now on: the next answers will rather be like this one.
    #[inline(never)]
    fn is_alike(&mut self, head: &[u8]) -> bool {
        // Heads of other lengths mostly show here.
        if !head.ends_with(b"\n") {
            return false;
        }
        let words = |bytes| <[u8]>::as_chunks::<WORD_BYTES>(bytes).0.iter();
        let known = words(&self.bytes).zip(words(&self.fixed));
        let pairs = words(head).zip(known);
        let wrong =
            pairs.fold(0, |wrong, (head, (known, fixed))| wrong | faults(head, known, fixed));
        // The rest, with some bytes that were compared before.
        let last = (head.last_chunk(), self.bytes.last_chunk(), self.fixed.last_chunk());
        let (Some(head_end), Some(known), Some(fixed)) = last else { return false };
        let is_alike = wrong | faults(head_end, known, fixed) == 0;
        if is_alike {
            self.bytes.copy_from_slice(head);
        }
        is_alike
    }

    /// A whole head, which [`KnownHead::find`] did not find, was read and means this.
    #[inline]
    pub(crate) fn learn(&mut self, head: &[u8], meaning: Meaning) {
        self.waits = self.waits.saturating_sub(1);
        if self.waits == 0 && (WORD_BYTES..=HEAD_BYTES_MAX).contains(&head.len()) {
            self.replace(head, meaning);
        }
    }

    #[cold]
    fn replace(&mut self, head: &[u8], meaning: Meaning) {
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
                // Of rare forms nothing may differ.
                at = next;
            } else {
                break;
            }
        }
        self.meaning = Some(meaning);
        self.waits = PATIENCE;
    }
}

/// Not 0 if a byte of `head` is not as it must be, or perhaps if one above a line end is a space.
#[inline(always)]
fn faults(head: &[u8; WORD_BYTES], known: &[u8; WORD_BYTES], fixed: &[u8; WORD_BYTES]) -> u64 {
    let word = |bytes: &[u8; WORD_BYTES]| u64::from_le_bytes(*bytes);
    let (head, known, fixed) = (word(head), word(known), word(fixed));
    (head ^ known) & fixed | scan::control_flags(head) & !fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Protocol, RequestTraits};

    const HEAD: &str = "HTTP/1.1 200 OK\r\nDate: 12:34:56\r\nX: 7\r\nContent-Length: 12\r\n\r\n";

    /// Whether `head` is found where [`HEAD`] is known.
    fn is_found(head: &str) -> bool {
        let mut known = KnownHead::new();
        read(&mut known, HEAD);
        known.find(head.as_bytes()).is_some()
    }

    /// Reads a head, and learns it if that is due.
    fn read(known: &mut KnownHead, head: &str) {
        let mut protocol = Protocol::http1(1);
        protocol.request(RequestTraits::default());
        protocol.receive_knowing(head.as_bytes(), known, &mut Vec::new()).unwrap();
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
        let (mut known, mut learned) = (KnownHead::new(), 0);
        for nth in 0..160 {
            let head = HEAD.replace('7', &"7".repeat(1 + nth));
            read(&mut known, &head);
            learned += usize::from(known.bytes == head.as_bytes());
        }
        assert_eq!(learned, 10);
    }

    #[test]
    fn what_was_found_is_learned_anew_at_once() {
        let (mut known, other) = (KnownHead::new(), HEAD.replace("200", "404"));
        for head in [HEAD, HEAD, &other] {
            read(&mut known, head);
        }
        assert!(known.find(other.as_bytes()).is_some());
        assert!(known.find(HEAD.as_bytes()).is_none());
    }
}

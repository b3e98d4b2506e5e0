//! Cache of response heads with their semantics: a response with a cached head is only compared,
//! not parsed. It decides whether heads are equivalent, and does not parse them.
//!
//! Relevant bytes are either parsed or compared with parsed bytes, never assumed. A byte may differ
//! only within the value of a field that is not a framing field, and must not be a control
//! character. Names, line ends and everything that determines the body are therefore the same.
//!
//! If requests differ, so do heads. Mostly a response arrives at once, and its length tells which
//! heads it may have.

use std::mem;

use memchr::memchr;

use crate::message::framing::{self, BodyEnd};
use crate::message::line::{self, Field, Line};
use crate::message::scan;
use crate::sse;

/// Largest cached head, in bytes. Larger ones are parsed each time: common servers do not send
/// them, and they would cost memory in every worker.
const HEAD_BYTES_MAX: usize = 4 * 1024;

/// Responses not cached in the place of one that never matched, and of one that did. If heads
/// alternate, caching each would cost more than it saves.
const PATIENCE: u8 = 16;
const MATCHED_PATIENCE: u8 = 4;

/// Bytes compared at once; also the shortest cached head.
const WORD_BYTES: usize = 8;

/// Lengths of responses that are told apart once heads differ: at first, and at most. Both are
/// powers of two.
const LENGTHS_MIN: usize = 64;
const LENGTHS_MAX: usize = 1024;

/// Heads of responses kept elsewhere that are read for their type.
const NOTED_MAX: u16 = 256;

/// Heads kept for each length.
const WAYS: usize = 2;

/// Cached heads of responses, which any number of connections with similar responses may share: see
/// [`crate::Http1::receive_cached`].
#[derive(Debug)]
pub struct HeadCache {
    /// One head while all are alike; else two for each length, side by side.
    heads: Vec<CachedHead>,
    /// Index of the head that was found last.
    last: usize,
    /// True if a head that was stored is that of an event stream.
    has_event_streams: bool,
    /// Heads of responses kept elsewhere that were read for that.
    noted: u16,
}

/// A cached head.
#[derive(Debug, Default)]
struct CachedHead {
    /// The head, from the status line to the empty line.
    bytes: Vec<u8>,
    /// Mask for each of `bytes`: 0xff if it must be equal, 0 if only its value's length matters.
    fixed: Vec<u8>,
    meaning: Option<HeadSemantics>,
    /// Non-matching responses that will not be cached.
    waits: u8,
    /// Length of what was received when it was stored, mostly that of the response; 0 if there is
    /// none.
    received: usize,
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
        let found = match &mut self.heads[..] {
            [only] => only.starts(bytes).then_some(only)?,
            _ => self.find_among(bytes)?,
        };
        found.waits = MATCHED_PATIENCE;
        Some((found.bytes.len(), found.meaning?))
    }

    /// Returns the number of consecutive `responses` that start with that head.
    #[inline(always)]
    pub(crate) fn count<'a>(&self, responses: impl Iterator<Item = &'a [u8]>) -> usize {
        let head = self.heads[self.last].bytes.as_slice();
        responses.take_while(|response| response.starts_with(head)).count()
    }

    /// True if a head so far was that of an event stream. Heads are read for it as they are stored.
    pub fn has_event_streams(&self) -> bool {
        self.has_event_streams
    }

    /// Reads the head of a response that is kept elsewhere for its type. Only the first ones of
    /// many are read.
    pub(crate) fn note(&mut self, head: &[u8]) {
        if self.noted < NOTED_MAX {
            self.noted += 1;
            self.has_event_streams |= is_of_event_stream(head);
        }
    }

    /// Finds the head at the start of `bytes` among several: those of responses of this length come
    /// first, then the one that was found last, which other responses may follow.
    #[inline(never)]
    fn find_among(&mut self, bytes: &[u8]) -> Option<&mut CachedHead> {
        let first = self.first_of(bytes.len());
        let has = |head: &mut CachedHead| head.received == bytes.len() && head.starts(bytes);
        if let Some(way) = self.heads[first..first + WAYS].iter_mut().position(has) {
            self.last = first + way;
            return Some(&mut self.heads[self.last]);
        }
        let last = &mut self.heads[self.last];
        last.starts(bytes).then_some(last)
    }

    /// Stores a complete head that [`HeadCache::find`] did not find at the start of `received`
    /// bytes, with its semantics.
    #[inline]
    pub(crate) fn learn(&mut self, head: &[u8], received: usize, meaning: HeadSemantics) {
        if !(WORD_BYTES..=HEAD_BYTES_MAX).contains(&head.len()) {
            return;
        }
        match &mut self.heads[..] {
            [only] if only.meaning.is_none() => {
                only.store(head, received, meaning);
                self.has_event_streams |= is_of_event_stream(head);
            }
            _ => self.learn_other(head, received, meaning),
        }
    }

    /// Stores a head beside others, in a place that is free or whose head has not matched for long.
    #[inline(never)]
    fn learn_other(&mut self, head: &[u8], received: usize, meaning: HeadSemantics) {
        if self.heads.len() == 1 {
            self.spread(LENGTHS_MIN);
        }
        while self.is_full_of_others(received) && self.heads.len() < LENGTHS_MAX * WAYS {
            self.spread(self.heads.len() / WAYS * 2);
        }
        let first = self.first_of(received);
        let ways = &mut self.heads[first..first + WAYS];
        let least = ways.iter_mut().min_by_key(|way| way.waits).expect("there are ways");
        least.waits = least.waits.saturating_sub(1);
        if least.waits == 0 {
            least.store(head, received, meaning);
            self.has_event_streams |= is_of_event_stream(head);
        }
    }

    /// True if all heads kept where those of this length belong are of responses of other lengths.
    fn is_full_of_others(&self, received: usize) -> bool {
        let first = self.first_of(received);
        let mut ways = self.heads[first..first + WAYS].iter();
        ways.all(|head| head.meaning.is_some() && head.received != received)
    }

    /// Tells `lengths` lengths apart from now on.
    #[cold]
    fn spread(&mut self, lengths: usize) {
        let more = (0..lengths * WAYS).map(|_| CachedHead::default()).collect();
        let before = mem::replace(&mut self.heads, more);
        let last = mem::take(&mut self.last);
        for (index, head) in before.into_iter().enumerate().filter(|(_, one)| one.meaning.is_some())
        {
            let first = self.first_of(head.received);
            let is_free = self.heads[first].meaning.is_none();
            let place = if is_free { first } else { first + 1 };
            self.heads[place] = head;
            if index == last {
                self.last = place;
            }
        }
    }

    /// Returns the index of the first head of responses of this length.
    #[inline]
    fn first_of(&self, received: usize) -> usize {
        (received * WAYS) & (self.heads.len() - 1)
    }
}

impl Default for HeadCache {
    fn default() -> HeadCache {
        let heads = vec![CachedHead::default()];
        HeadCache { heads, last: 0, has_event_streams: false, noted: 0 }
    }
}

/// True if a head is that of an event stream.
#[cold]
fn is_of_event_stream(head: &[u8]) -> bool {
    let is_type = |line: &[u8]| {
        let (name, value) = line.split_at(memchr(b':', line).unwrap_or(0));
        let value = value.strip_prefix(b":").map(<[u8]>::trim_ascii);
        name.eq_ignore_ascii_case(b"content-type") && value.is_some_and(sse::is_event_stream)
    };
    head.split(|byte| *byte == b'\n').any(is_type)
}

impl CachedHead {
    /// True if `bytes` begin with this head, or with an equivalent one.
    #[inline(always)]
    fn starts(&mut self, bytes: &[u8]) -> bool {
        let Some(head) = bytes.get(..self.bytes.len()) else { return false };
        head == self.bytes || self.is_alike(head)
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

    /// Replaces this head.
    #[cold]
    fn store(&mut self, head: &[u8], received: usize, meaning: HeadSemantics) {
        self.received = received;
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
    let head = word(head);
    let known = word(known);
    let fixed = word(fixed);
    (head ^ known) & fixed | scan::control_flags(head) & !fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Http1;
    use crate::request_traits::RequestTraits;

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

    /// Returns a head of the same length as [`HEAD`], with another name.
    fn named(nth: u8) -> String {
        HEAD.replace('X', &char::from(b'a' + nth % 26).to_string())
    }

    #[test]
    fn heads_that_alternate_are_not_all_learned() {
        let mut known = HeadCache::default();
        let mut stored = 0;
        read(&mut known, HEAD);
        let mut before = Vec::new();
        for nth in 0..160 {
            read(&mut known, &named(nth));
            let heads: Vec<Vec<u8>> = known.heads.iter().map(|head| head.bytes.clone()).collect();
            stored += u32::from(heads != before);
            before = heads;
        }
        assert!((5..=22).contains(&stored), "{stored}");
    }

    #[test]
    fn heads_of_different_responses_are_all_found() {
        let mut known = HeadCache::default();
        let heads: Vec<String> =
            (0..1_000).map(|nth| HEAD.replace('7', &"7".repeat(1 + nth))).collect();
        for _ in 0..2 {
            heads.iter().for_each(|head| read(&mut known, head));
        }
        assert!(known.heads.len() <= LENGTHS_MAX * WAYS);
        for head in &heads {
            let found = known.find(head.as_bytes());
            assert_eq!(found.map(|(bytes, _)| bytes), Some(head.len()));
        }
    }

    #[test]
    fn heads_of_equal_responses_share_a_place() {
        let mut known = HeadCache::default();
        let other = HEAD.replace("200", "404");
        for head in [HEAD, &other, HEAD, &other] {
            read(&mut known, head);
        }
        for (head, status) in [(HEAD, 200), (&other, 404), (HEAD, 200)] {
            let found = known.find(head.as_bytes());
            assert_eq!(found.map(|(_, meaning)| meaning.status), Some(status));
        }
    }

    #[test]
    fn a_new_head_replaces_one_that_no_longer_comes() {
        let mut known = HeadCache::default();
        for nth in [0, 1, 1, 0] {
            read(&mut known, &named(nth));
        }
        (0..MATCHED_PATIENCE).for_each(|_| read(&mut known, &named(2)));
        assert!(known.find(named(2).as_bytes()).is_some());
    }
}

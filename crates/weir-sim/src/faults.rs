//! What goes wrong, and when: by share, by count or by time, always repeatable.

use weir_io::Nanos;

use crate::random::Random;

/// Which of a sequence of happenings are meant. Ordinals count from zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// Each with this probability.
    Share(f64),
    /// The last of every so many: `Every(3)` means ordinals 2, 5, 8, ….
    Every(u64),
    /// The first so many.
    First(u64),
    /// These ordinals.
    Exactly(Vec<u64>),
    /// All that happen in `[from, until)`.
    Between {
        /// First instant.
        from: Nanos,
        /// First instant no longer meant.
        until: Nanos,
    },
}

impl Pick {
    /// Whether the happening `ordinal`, at `at`, is meant.
    pub(crate) fn hits(&self, ordinal: u64, at: Nanos, random: &mut Random) -> bool {
        match self {
            Pick::Share(share) => random.chance(*share),
            Pick::Every(count) => (ordinal + 1).is_multiple_of((*count).max(1)),
            Pick::First(count) => ordinal < *count,
            Pick::Exactly(ordinals) => ordinals.contains(&ordinal),
            Pick::Between { from, until } => (*from..*until).contains(&at),
        }
    }
}

/// What goes wrong. Where several faults are meant, the first in the list happens.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// By connect, in order of the calls.
    pub connect: Vec<(Pick, ConnectFault)>,
    /// By request, in order of arrival at the server.
    pub answer: Vec<(Pick, AnswerFault)>,
    /// By send (all that one `submit` lets out on one connection): it fails with `ENOBUFS`.
    pub send: Vec<Pick>,
    /// The server resets every open connection at these instants.
    pub reset_all_at: Vec<Nanos>,
}

/// What becomes of a connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectFault {
    /// `ECONNREFUSED`, after the time a connect takes.
    Refuse,
    /// No answer ever.
    Hang,
    /// It succeeds, and in the same instant the server resets it.
    ResetAtOnce,
}

/// What becomes of the answer to a request. Each happens when the answer would have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerFault {
    /// The connection is reset, without a byte.
    ResetBefore,
    /// The connection is reset after a part of the answer, of at least one byte.
    ResetWithin,
    /// The answer is sent; when nothing arrives for so long after it, the connection is reset.
    ResetIdle {
        /// How long, in nanoseconds.
        after_ns: u64,
    },
    /// The connection is closed, without a byte.
    CloseBefore,
    /// The connection is closed after a part of the answer, of at least one byte.
    CloseWithin,
    /// The answer is sent, and the connection closed without a word of it in the answer.
    CloseAfter,
    /// The answer breaks HTTP.
    Malformed(Breakage),
    /// The answer is followed by bytes that belong to nothing.
    JunkAfter,
    /// The request is read and never answered.
    Swallow,
}

/// How an answer breaks HTTP; each so that no reader of RFC 9112 could let it pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breakage {
    /// Not a status line at all.
    StatusLine,
    /// A protocol version that does not exist.
    Version,
    /// A status code that is not three digits.
    StatusCode,
    /// A header line without a colon.
    HeaderLine,
    /// A space between a header's name and its colon (RFC 9112 §5.1).
    HeaderName,
    /// A `Content-Length` that is no number.
    Length,
    /// Two different `Content-Length`s.
    TwoLengths,
    /// A chunk size that is no number.
    ChunkSize,
    /// A chunk longer than its size says.
    ChunkEnd,
    /// A head without end, 1 MiB of it.
    EndlessHead,
}

impl Breakage {
    /// All of them.
    pub const ALL: [Breakage; 10] = [
        Breakage::StatusLine,
        Breakage::Version,
        Breakage::StatusCode,
        Breakage::HeaderLine,
        Breakage::HeaderName,
        Breakage::Length,
        Breakage::TwoLengths,
        Breakage::ChunkSize,
        Breakage::ChunkEnd,
        Breakage::EndlessHead,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    #[test]
    fn picks_hit_what_they_say() {
        let check = |pick: Pick, expected: &[u64]| {
            let mut random = Random::new(Seed(1), 0);
            let hits: Vec<u64> =
                (0..10).filter(|&n| pick.hits(n, Nanos(n * 10), &mut random)).collect();
            assert_eq!(hits, expected, "{pick:?}");
        };
        check(Pick::Share(0.0), &[]);
        check(Pick::Share(1.0), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        check(Pick::Every(4), &[3, 7]);
        check(Pick::First(2), &[0, 1]);
        check(Pick::Exactly(vec![5, 1]), &[1, 5]);
        check(Pick::Between { from: Nanos(20), until: Nanos(41) }, &[2, 3, 4]);
    }
}

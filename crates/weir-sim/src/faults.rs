//! The faults of a world and their times: by share, by count or by time, always repeatable.

use weir_io::Nanos;

use crate::random::Random;

/// A selection from a sequence of occurrences. Ordinals count from zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// Each with this probability.
    Share(f64),
    /// The last one of every group of this size: `Every(3)` selects ordinals 2, 5, 8, ….
    Every(u64),
    /// The first ones, up to this number.
    First(u64),
    /// These ordinals.
    Exactly(Vec<u64>),
    /// All within `[from, until)`.
    Between {
        /// First instant selected.
        from: Nanos,
        /// First instant no longer selected.
        until: Nanos,
    },
}

impl Pick {
    /// True if the occurrence `ordinal`, at `at`, is selected.
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

/// The faults of a world. If several are selected, the first in the list happens.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Faults by connect, in order of the calls.
    pub connect: Vec<(Pick, ConnectFault)>,
    /// Faults by request, in order of arrival at the server.
    pub response: Vec<(Pick, ResponseFault)>,
    /// Faults by send (all bytes that one `submit` sends on one connection): it fails with
    /// `ENOBUFS`.
    pub send: Vec<Pick>,
    /// Instants at which the server resets every open connection.
    pub reset_all_at: Vec<Nanos>,
}

/// A fault of a connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectFault {
    /// `ECONNREFUSED`, after the time a connect takes.
    Refuse,
    /// The connect never succeeds or fails.
    Hang,
    /// The connect succeeds, and the server resets the connection in the same instant.
    ResetAtOnce,
}

/// A fault of the response to a request. It happens at the time at which the response would be
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResponseFault {
    /// The connection is reset, without a byte.
    ResetBefore,
    /// The connection is reset after a part of the response, of at least one byte.
    ResetWithin,
    /// The response is sent, and the connection is reset if nothing arrives for this time after it.
    ResetIdle {
        /// Idle time before the reset, in nanoseconds.
        after_ns: u64,
    },
    /// The connection is closed, without a byte.
    CloseBefore,
    /// The connection is closed after a part of the response, of at least one byte.
    CloseWithin,
    /// The response is sent, and the connection is closed without an announcement in the response.
    CloseAfter,
    /// The response is malformed.
    Malformed(Breakage),
    /// The response is followed by bytes that belong to no response.
    JunkAfter,
    /// The request is read and gets no response.
    Swallow,
}

/// The defect of a malformed response; each one that a parser must reject by RFC 9112.
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
    /// A chunk longer than its declared size.
    ChunkEnd,
    /// A head without end, 1 MiB of it.
    EndlessHead,
}

impl Breakage {
    /// All defects.
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

//! Tallies of messages of a slice, or of a name.

use weir_result::{GapDoubts, Histogram, MessageShare, Tally, TokenTotals};

/// Messages of the responses to some slots.
#[derive(Debug, Default)]
pub(crate) struct MessageTally {
    /// Times to the first message of slots of M that had one.
    pub(crate) first: Tally,
    /// Ages of slots of M that ended without one.
    pub(crate) without: Tally,
    pub(crate) gap: Tally,
    /// Messages received in the window, and their bytes.
    pub(crate) received: u64,
    pub(crate) bytes: u64,
    /// Responses in the window that met the goodput.
    pub(crate) good: u64,
    /// Tokens by the server's count, which arrived in the window.
    pub(crate) tokens: u64,
    /// Tokens of `ok` slots of M.
    pub(crate) totals: TokenTotals,
    /// Times per token of `ok` slots of M.
    pub(crate) per_token: Tally,
    /// Slots of M whose response met the goodput.
    pub(crate) good_due: u64,
    /// End marks of streams of slots of M, and `ok` ones whose stream has messages and none.
    pub(crate) end_marks: u64,
    pub(crate) unmarked: u64,
    /// Responses that were delivering messages at the end.
    pub(crate) open: u64,
    /// Gaps that the client may have changed.
    pub(crate) doubts: GapDoubts,
}

impl MessageTally {
    /// Adds other messages.
    pub(crate) fn add(&mut self, other: &MessageTally) {
        self.first.add(&other.first);
        self.without.add(&other.without);
        self.gap.add(&other.gap);
        self.received += other.received;
        self.bytes += other.bytes;
        self.good += other.good;
        self.tokens += other.tokens;
        self.totals.add(&other.totals);
        self.per_token.add(&other.per_token);
        self.good_due += other.good_due;
        self.end_marks += other.end_marks;
        self.unmarked += other.unmarked;
        self.open += other.open;
        self.doubts.add(&other.doubts);
    }

    pub(crate) fn finish(&self) -> MessageShare {
        MessageShare {
            first: Histogram::from(&self.first),
            without: Histogram::from(&self.without),
            gap: Histogram::from(&self.gap),
            received: self.received,
            bytes: self.bytes,
            good: self.good,
            tokens: self.tokens,
            totals: Some(Box::new(self.totals)).filter(|totals| totals.responses > 0),
            per_token: Some(Histogram::from(&self.per_token))
                .filter(|times| !times.is_empty())
                .map(Box::new),
            good_due: self.good_due,
            end_marks: self.end_marks,
            unmarked: self.unmarked,
            open: self.open,
            doubts: self.doubts.clone(),
        }
    }
}

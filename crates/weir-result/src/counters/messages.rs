//! Counts and times of messages within exchanges (METHOD 1.26).

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::rules::{self, Merge};
use weir_stats::histogram::Histogram;
#[cfg(feature = "schema")]
use weir_stats::histogram::PackedHistogram;

merged! {
    /// Messages of the responses to some slots: those of a slice, or of a scope.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct MessageShare {
        /// Time from the planned send to the first message, of the requests that had one; null if
        /// there are none.
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
        pub first: Histogram => rules::merge,
        /// Age of the requests that ended without a message; null if there are none.
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
        pub without: Histogram => rules::merge,
        /// Time from one message of a response to the next; null if there are none.
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
        pub gap: Histogram => rules::merge,
        /// Messages received in the window.
        pub received: u64 => rules::sum,
        /// Bytes of `received`, without framing.
        pub bytes: u64 => rules::sum,
        /// Responses that met the goodput, completed in the window.
        pub good: u64 => rules::sum,
        /// Tokens by the server's count, which arrived in the window; absent if there are none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub tokens: u64 => rules::sum,
        /// Tokens of the `ok` requests with the server's count; absent if there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub totals: Option<Box<TokenTotals>> => rules::merge,
        /// Time per token of the `ok` requests, per message without the server's count; absent if
        /// there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
        pub per_token: Option<Box<Histogram>> => rules::merge,
        /// Requests whose response met the goodput, by when they were due; absent if there are
        /// none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub good_due: u64 => rules::sum,
        /// Marks of the end of a stream; absent if there are none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub end_marks: u64 => rules::sum,
        /// `ok` requests with messages and without an end mark; absent if there are none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub unmarked: u64 => rules::sum,
        /// Responses that were delivering messages when the run ended; absent if there are none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub open: u64 => rules::sum,
        /// Of the gaps: those that the client may have changed; absent if there are none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub doubts: GapDoubts => rules::merge,
    }
}

merged! {
    /// Gaps that late reads may have changed by more than 5% (METHOD 1.26). A late read lengthens
    /// one gap and shortens the next.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct GapDoubts {
        /// Gaps that differ from those between the kernel's stamps, by more than 100 µs too.
        pub late: u64 => rules::sum,
        /// Greatest change of one of `late`, in nanoseconds.
        pub late_ns: u64 => rules::max,
        /// Gaps beside a message whose arrival only a prompt read shows, as it was read with later
        /// ones or has no stamp: a stop may have changed them by more than 20 µs too.
        pub possible: u64 => rules::sum,
        /// Greatest such change, in nanoseconds.
        pub possible_ns: u64 => rules::max,
    }
}

merged! {
    /// Slots of M whose response met the goodput only because of the client's lateness, or missed
    /// it only because of that.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct GoodputDoubts {
        /// Responses that met it, and not by the kernel's stamps.
        pub late_good: u64 => rules::sum,
        /// Responses that missed it, and not by the kernel's stamps.
        pub late_missed: u64 => rules::sum,
        /// Responses that met it, and may not have if the client was stopped.
        pub good: u64 => rules::sum,
        /// Responses that missed it, and may not have if the client was stopped.
        pub missed: u64 => rules::sum,
    }
}

merged! {
    /// Messages of all responses of a run, beside its [`MessageShare`].
    #[derive(Clone, Debug, Default)]
    pub struct MessageCounts {
        /// Messages of slots of M, at any time.
        pub measured: u64 => rules::sum,
        /// Messages of slots of M that do not count, because they carry no token.
        pub others: u64 => rules::sum,
        /// Messages of slots of M that are longer than what is read of one.
        pub too_long: u64 => rules::sum,
        /// Errors within the streams of slots of M.
        pub errors: u64 => rules::sum,
        /// Of the slots of M: those whose goodput the client's lateness may have changed.
        pub good_doubts: GoodputDoubts => rules::merge,
        /// Mean time per message after the first, of the `ok` slots with at least two.
        pub mean_gap: Histogram => rules::merge,
        /// Messages of each `ok` slot; the unit is 1, not ns.
        pub per_response: Histogram => rules::merge,
        /// Bytes of the messages of each `ok` slot; the unit is a byte.
        pub bytes_per_response: Histogram => rules::merge,
        /// Times from kernel time stamps.
        pub stamped: StampedMessages => rules::merge,
        /// Tokens by the server's count.
        pub tokens: TokenCounts => rules::merge,
    }
}

merged! {
    /// Tokens of responses by the server's count.
    #[derive(Clone, Debug, Default)]
    pub struct TokenCounts {
        /// Tokens whose count arrived in `[t0, t1)`, of any slot.
        pub received: u64 => rules::sum,
        /// Tokens of each `ok` slot with a count; the unit is 1, not ns.
        pub per_response: Histogram => rules::merge,
        /// Time to the first message of `ok` slots whose prompt the server has counted, by its
        /// [length](PromptLength).
        pub first_by_prompt: Vec<Histogram> => rules::by_position,
    }
}

merged! {
    /// Tokens of requests and of their responses, by the server's count.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct TokenTotals {
        /// `ok` requests with a count of the tokens of their response.
        pub responses: u64 => rules::sum,
        /// Tokens of these requests; 0 if the server does not state them.
        pub input: u64 => rules::sum,
        /// Of `input`: those that the server had in a cache.
        pub cached: u64 => rules::sum,
        /// Tokens of the responses.
        pub output: u64 => rules::sum,
        /// Of `output`: those of the reasoning.
        pub reasoning: u64 => rules::sum,
    }
}

impl TokenTotals {
    /// Adds those of other requests.
    pub fn add(&mut self, other: &TokenTotals) {
        self.merge(other);
    }
}

/// A class of prompts by their number of tokens: 0, 1, 2 and 3, 4 to 7, and so on, each up to twice
/// the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptLength(u8);

impl PromptLength {
    /// Classes, the last of which has all above 2^30 tokens.
    pub const CLASSES: usize = 32;

    /// Returns the class of a prompt.
    pub fn of(tokens: u32) -> PromptLength {
        let bits = u32::BITS - tokens.leading_zeros();
        PromptLength(bits.min(PromptLength::CLASSES as u32 - 1) as u8)
    }

    /// Returns its place among the classes.
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Returns the least and the greatest number of tokens of the class with this place.
    pub fn limits(index: usize) -> [u64; 2] {
        match index {
            0 => [0, 0],
            _ => [1 << (index - 1), (1 << index) - 1],
        }
    }
}

merged! {
    /// Times of messages on connections with kernel time stamps, with and without the client's own
    /// time. `Km` is the stamp of the message's last byte.
    #[derive(Clone, Debug, Default)]
    pub struct StampedMessages {
        /// Time to the first message without the scheduling lag (`A − T0 − sched_lag`).
        pub first: Histogram => rules::merge,
        /// The same up to the stamp (`Km − T0 − sched_lag`).
        pub first_outside: Histogram => rules::merge,
        /// Time from one message to the next, as measured.
        pub gap: Histogram => rules::merge,
        /// The same between the stamps.
        pub gap_outside: Histogram => rules::merge,
        /// Difference of the two, of each gap, without its sign: the client's share.
        pub gap_share: Histogram => rules::merge,
    }
}

impl GapDoubts {
    /// Adds those of other gaps.
    pub fn add(&mut self, other: &GapDoubts) {
        self.merge(other);
    }
}

impl MessageShare {
    /// Returns the sum of shares; `None` if there are none.
    pub fn sum<'s>(shares: impl IntoIterator<Item = &'s MessageShare>) -> Option<MessageShare> {
        let mut shares = shares.into_iter();
        let mut sum = shares.next()?.clone();
        shares.for_each(|share| sum.add(share));
        Some(sum)
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == MessageShare::default()
    }

    /// Adds other messages.
    pub fn add(&mut self, other: &MessageShare) {
        self.merge(other);
    }
}

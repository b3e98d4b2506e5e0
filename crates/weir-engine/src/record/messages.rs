//! Messages within responses (METHOD 1.26): the progress of each exchange in flight, and the times
//! and counts of all.

mod stream_failures;
mod tokens;

mod timed_message;

use weir_http::{MessageKind, ReceivedResponse};
use weir_io::Nanos;
use weir_result::{
    Histogram, Measurements, MessageCounts, MissKind, SparseHistogram, StampedMessages, Tally,
};

use super::recorder::SlotShares;
use crate::exchange::{
    Exchange, ExchangeMessages, ExchangePlace, Gap, Goodput, MessageProgress, Outcome, SlotPhase,
    TimeReading,
};
use crate::job::Job;
use crate::live::WorkerFrame;
use stream_failures::StreamFailures;
pub(crate) use timed_message::TimedMessage;
use tokens::TokenRecorder;

/// The messages of one worker's responses.
#[derive(Debug)]
pub(super) struct MessageRecorder {
    /// Exchanges of a connection at most.
    depth: usize,
    /// Progress of each exchange: `depth` for each connection, by request id.
    progress: Vec<MessageProgress>,
    goodput: Option<Goodput>,
    counts: MessageCounts,
    /// Times so far to the first message and between messages, for the frames.
    first: Tally,
    gap: Tally,
    mean_gap: Tally,
    per_response: Tally,
    bytes_per_response: Tally,
    stamped: StampedTallies,
    /// Tokens, if the plan says which messages carry them.
    tokens: Option<TokenRecorder>,
    ends: StreamFailures,
}

/// Times of messages on stamped connections.
#[derive(Debug, Default)]
struct StampedTallies {
    first: Tally,
    first_outside: Tally,
    gap: Tally,
    gap_outside: Tally,
    gap_share: Tally,
}

impl MessageRecorder {
    /// Returns the recorder of a worker with these connections; `None` if messages are not
    /// measured.
    pub(super) fn new(job: &Job, connections: u32) -> Option<Box<MessageRecorder>> {
        let rules = job.responses.messages.as_ref()?;
        let depth = usize::from(job.plan.depth());
        Some(Box::new(MessageRecorder {
            depth,
            progress: vec![MessageProgress::NONE; connections as usize * depth],
            goodput: rules.goodput.clone(),
            counts: MessageCounts::default(),
            first: Tally::new(),
            gap: Tally::new(),
            mean_gap: Tally::new(),
            per_response: Tally::new(),
            bytes_per_response: Tally::new(),
            stamped: StampedTallies::default(),
            tokens: TokenRecorder::new(job, connections as usize * depth),
            ends: StreamFailures::new(job),
        }))
    }

    /// Returns the index of an exchange.
    fn index(&self, place: ExchangePlace) -> Option<usize> {
        let id = usize::from(place.id);
        (id < self.depth).then(|| place.conn.index() * self.depth + id)
    }

    /// Returns the progress of an exchange.
    fn at(&mut self, place: ExchangePlace) -> Option<&mut MessageProgress> {
        self.index(place).map(|index| &mut self.progress[index])
    }

    /// Returns the time of the last message of an exchange; [`Nanos::ZERO`] without one.
    pub(super) fn heard_at(&self, place: ExchangePlace) -> Nanos {
        self.progress[place.conn.index() * self.depth + usize::from(place.id)].heard_at
    }

    /// Records a message of a response in progress.
    pub(super) fn received(
        &mut self,
        shares: &mut SlotShares<'_>,
        place: ExchangePlace,
        exchange: &Exchange,
        timed: TimedMessage,
    ) {
        let is_measured = exchange.phase == SlotPhase::Measured;
        let TimedMessage { message, at, stamp, is_last } = timed;
        let Some(index) = self.index(place) else { return };
        let progress = &mut self.progress[index];
        progress.heard_at = at;
        progress.has_error |= message.kind == MessageKind::Error;
        progress.has_end_mark |= message.kind == MessageKind::EndMark;
        let before = *progress;
        let arrival = timed.arrival(before.read_until.max(exchange.sent_at));
        if is_last {
            progress.read_until = arrival.latest;
        }
        if message.kind == MessageKind::EndMark {
            self.ends.mark(exchange.tag);
            if is_measured {
                shares.of_slot(exchange, |share| share.end_marks += 1);
            }
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.received(shares, index, exchange, timed);
        }
        if !message.kind.is_counted() {
            return self.count_other(message.kind, is_measured);
        }
        let progress = &mut self.progress[index];
        progress.count += 1;
        progress.bytes += message.bytes;
        progress.last = arrival;
        progress.stamp = stamp;
        let mut gap = None;
        if before.count == 0 {
            progress.first = arrival;
        } else {
            let between = Gap::new(before.last, arrival);
            self.count_gap(place, &between);
            gap = Some(between);
        }
        self.count(shares, exchange, timed);
        if is_measured {
            self.measure(shares, exchange, before, timed, gap);
        }
    }

    /// Counts a message that times are not measured of. End marks are counted by their slots.
    fn count_other(&mut self, kind: MessageKind, is_measured: bool) {
        let counts = &mut self.counts;
        *match kind {
            MessageKind::EndMark => return,
            MessageKind::Error => &mut counts.errors,
            MessageKind::TooLong => &mut counts.too_long,
            MessageKind::Other | MessageKind::Counted | MessageKind::Reasoning => {
                &mut counts.others
            }
        } += u64::from(is_measured);
    }

    /// Counts a message by the time at which it was read.
    fn count(&mut self, shares: &mut SlotShares<'_>, exchange: &Exchange, timed: TimedMessage) {
        let TimedMessage { message, at, .. } = timed;
        shares.series.current.messages += 1;
        if shares.timeline.is_in_window(at) {
            shares.of_event(exchange.tag, at, |share| {
                share.received += 1;
                share.bytes += message.bytes;
            });
        }
    }

    /// Records the time of a message of a measured exchange. `gap` is that to the message before;
    /// the first one has none.
    fn measure(
        &mut self,
        shares: &mut SlotShares<'_>,
        exchange: &Exchange,
        before: MessageProgress,
        timed: TimedMessage,
        gap: Option<Gap>,
    ) {
        let TimedMessage { at, stamp, .. } = timed;
        self.counts.measured += 1;
        let time_ns = if let Some(gap) = gap {
            let gap_ns = gap.measured_ns;
            self.gap.record(gap_ns);
            shares.of_event(exchange.tag, at, |share| {
                share.gap.record(gap_ns);
                gap.doubt(&mut share.doubts);
            });
            gap_ns
        } else {
            let first_ns = at.since(exchange.intended_at);
            self.first.record(first_ns);
            shares.of_slot(exchange, |share| share.first.record(first_ns));
            first_ns
        };
        if let Some(stamp) = stamp {
            self.stamped.record(exchange, before, at, stamp, time_ns);
        }
    }

    /// Returns the kind of failure of the stream that is the response to an exchange; `None` if it
    /// did not fail.
    pub(super) fn missed(
        &mut self,
        place: ExchangePlace,
        exchange: &Exchange,
        response: &ReceivedResponse<'_>,
    ) -> Option<MissKind> {
        let progress = *self.at(place)?;
        self.ends.missed(&progress, exchange, response)
    }

    /// Records the end of an exchange, and returns its messages.
    pub(super) fn ended(
        &mut self,
        mut shares: SlotShares<'_>,
        place: ExchangePlace,
        exchange: &Exchange,
        outcome: &Outcome,
        at: Nanos,
    ) -> ExchangeMessages {
        let index = self.index(place);
        let progress = self.at(place);
        let mut progress = progress.map_or(MessageProgress::NONE, |progress| {
            std::mem::replace(progress, MessageProgress::NONE)
        });
        progress.tokens = self.tokens.as_ref().and_then(|tokens| tokens.sent(index?));
        let is_ok = matches!(outcome, Outcome::Ok(_));
        let is_good = is_ok && self.is_good(exchange, &progress, at, TimeReading::Measured);
        if is_good && shares.timeline.is_in_window(at) {
            shares.of_event(exchange.tag, at, |share| share.good += 1);
        }
        if exchange.phase == SlotPhase::Measured {
            // An endless stream is alive as long as it delivers.
            let is_open = matches!(outcome, Outcome::InFlightAtEnd);
            if is_open && progress.heard_at > Nanos::ZERO {
                shares.of_slot(exchange, |share| share.open += 1);
            }
            if progress.count == 0 {
                let age_ns = at.since(exchange.intended_at);
                shares.of_slot(exchange, |share| share.without.record(age_ns));
            }
            if is_good {
                shares.of_slot(exchange, |share| share.good_due += 1);
            }
            if is_ok {
                self.record_ok(&mut shares, exchange, &progress);
                if let (Some(tokens), Some(index)) = (&mut self.tokens, index) {
                    tokens.record_ok(&mut shares, index, exchange, &progress);
                }
                self.doubt_good(exchange, &progress, at, is_good);
            }
        }
        if let (Some(tokens), Some(index)) = (&mut self.tokens, index) {
            tokens.ended(index);
        }
        let MessageProgress { count, bytes, first, .. } = progress;
        ExchangeMessages { count, bytes, first_at: first.read_at }
    }

    /// Records the messages of a measured response that is `ok`.
    fn record_ok(
        &mut self,
        shares: &mut SlotShares<'_>,
        exchange: &Exchange,
        progress: &MessageProgress,
    ) {
        if let Some(ns) = progress.time_per_token_ns() {
            shares.of_slot(exchange, |share| share.per_token.record(ns));
        }
        if self.ends.is_unmarked(progress) {
            shares.of_slot(exchange, |share| share.unmarked += 1);
        }
        self.per_response.record(progress.count.into());
        self.bytes_per_response.record(progress.bytes);
        if let Some(gaps) = progress.count.checked_sub(1).filter(|gaps| *gaps > 0) {
            self.mean_gap.record(progress.span_ns() / u64::from(gaps));
        }
    }

    /// Counts a gap in the progress of an exchange, by the limits that it is not below.
    fn count_gap(&mut self, place: ExchangePlace, gap: &Gap) {
        let Some(goodput) = self.goodput.take() else { return };
        if let Some(progress) = self.at(place) {
            goodput.count_gap(&mut progress.over, gap);
        }
        self.goodput = Some(goodput);
    }

    /// True if a response with these messages meets the goodput, if there is one, in this reading.
    fn is_good(
        &self,
        exchange: &Exchange,
        progress: &MessageProgress,
        at: Nanos,
        reading: TimeReading,
    ) -> bool {
        let is_met = |goodput: &Goodput| goodput.is_met(progress, exchange, at, reading);
        self.goodput.as_ref().is_some_and(is_met)
    }

    /// Counts a measured response if the client's lateness may have made it good, or not good.
    fn doubt_good(
        &mut self,
        exchange: &Exchange,
        progress: &MessageProgress,
        at: Nanos,
        is_good: bool,
    ) {
        let is_met = |reading| self.is_good(exchange, progress, at, reading);
        let [_, stamped, shortest, longest] = TimeReading::ALL.map(is_met);
        let doubts = &mut self.counts.good_doubts;
        match is_good {
            true => {
                doubts.late_good += u64::from(!stamped);
                doubts.good += u64::from(!stamped || !longest);
            }
            false => {
                doubts.late_missed += u64::from(stamped);
                doubts.missed += u64::from(stamped || shortest);
            }
        }
    }

    /// Adds the times so far to a frame.
    pub(super) fn add_to_frame(&self, frame: &mut WorkerFrame) {
        let coarse = |times: &Tally| -> SparseHistogram { times.sparse(WorkerFrame::COARSENESS) };
        (frame.first_message, frame.message_gap) = (coarse(&self.first), coarse(&self.gap));
    }

    /// Adds the counts and times to the worker's measurements. Those of the slices, which have the
    /// slots that were never sent too, are among its results.
    pub(super) fn finish(&self, measurements: &mut Measurements) {
        measurements.messages = Some(Box::new(MessageCounts {
            mean_gap: Histogram::from(&self.mean_gap),
            per_response: Histogram::from(&self.per_response),
            bytes_per_response: Histogram::from(&self.bytes_per_response),
            stamped: self.stamped.finish(),
            tokens: self.tokens.as_ref().map(TokenRecorder::counts).unwrap_or_default(),
            ..self.counts.clone()
        }));
        self.tokens.iter().for_each(|tokens| tokens.finish(measurements));
        measurements.results.messages.get_or_insert_default();
        let examples = self.ends.examples.clone();
        measurements.miss_examples.extend(examples);
    }
}

impl StampedTallies {
    /// Records a message with a stamp: the first, or one after another with a stamp.
    fn record(
        &mut self,
        exchange: &Exchange,
        before: MessageProgress,
        at: Nanos,
        stamp: Nanos,
        time_ns: u64,
    ) {
        if before.count == 0 {
            let unlagged_ns = time_ns - exchange.sched_lag().min(time_ns);
            self.first.record(unlagged_ns);
            self.first_outside.record(unlagged_ns - at.since(stamp).min(unlagged_ns));
        } else if let Some(last) = before.stamp {
            let outside_ns = stamp.since(last);
            self.gap.record(time_ns);
            self.gap_outside.record(outside_ns);
            self.gap_share.record(time_ns.abs_diff(outside_ns));
        }
    }

    fn finish(&self) -> StampedMessages {
        StampedMessages {
            first: Histogram::from(&self.first),
            first_outside: Histogram::from(&self.first_outside),
            gap: Histogram::from(&self.gap),
            gap_outside: Histogram::from(&self.gap_outside),
            gap_share: Histogram::from(&self.gap_share),
        }
    }
}

//! Tokens of responses (METHOD 1.26): their number is the server's count, and their times are those
//! of the messages that carry them.

use weir_http::{MessageKind, TokenUsage};
use weir_io::Nanos;
use weir_result::{Histogram, Measurements, PromptLength, Tally, TokenCounts};

use super::timed_message::TimedMessage;
use crate::exchange::{Exchange, MessageProgress, SlotPhase};
use crate::job::Job;
use crate::record::recorder::SlotShares;

/// The tokens of one worker's responses.
#[derive(Debug)]
pub(super) struct TokenRecorder {
    /// Progress of each exchange.
    progress: Vec<TokenProgress>,
    /// True if messages of the reasoning are told apart from those of the answer.
    tells_reasoning: bool,
    received: u64,
    per_response: Tally,
    /// Times to the first message, by the length of the prompt.
    first_by_prompt: Vec<Tally>,
    time_per_token: Tally,
    first_reasoning: Tally,
    first_answer: Tally,
}

/// The tokens of one response so far.
#[derive(Clone, Copy, Debug, Default)]
struct TokenProgress {
    usage: TokenUsage,
    /// Times of the first message of the reasoning, and of the answer.
    reasoning_at: Option<Nanos>,
    answer_at: Option<Nanos>,
}

impl TokenRecorder {
    /// Returns the recorder of a worker with this many exchanges at once; `None` if each message
    /// counts.
    pub(super) fn new(job: &Job, exchanges: usize) -> Option<TokenRecorder> {
        let plan = job.plan.messages.as_ref().filter(|messages| !messages.tokens.is_empty());
        let tells_reasoning =
            job.responses.messages.as_ref().is_some_and(|rules| rules.tells_reasoning);
        plan.map(|_| TokenRecorder {
            progress: vec![TokenProgress::default(); exchanges],
            tells_reasoning,
            received: 0,
            per_response: Tally::new(),
            first_by_prompt: Vec::new(),
            time_per_token: Tally::new(),
            first_reasoning: Tally::new(),
            first_answer: Tally::new(),
        })
    }

    /// Records a message of the response to the exchange of this index. The counts of a server add
    /// up from message to message, so that only what a message adds has arrived with it.
    pub(super) fn received(
        &mut self,
        shares: &mut SlotShares<'_>,
        index: usize,
        exchange: &Exchange,
        timed: TimedMessage,
    ) {
        let progress = &mut self.progress[index];
        let TimedMessage { message, at, .. } = timed;
        match message.kind {
            MessageKind::Reasoning => _ = progress.reasoning_at.get_or_insert(at),
            MessageKind::Counted => _ = progress.answer_at.get_or_insert(at),
            _ => {}
        }
        let before = progress.usage.output.unwrap_or(0);
        let TokenUsage { input, output, reasoning, cached } = &mut progress.usage;
        *input = message.usage.input.max(*input);
        *output = message.usage.output.max(*output);
        *reasoning = message.usage.reasoning.max(*reasoning);
        *cached = message.usage.cached.max(*cached);
        let more = u64::from(output.unwrap_or(0) - before);
        if more > 0 && shares.timeline.is_in_window(at) {
            self.received += more;
            shares.of_event(exchange.tag, at, |share| share.tokens += more);
        }
    }

    /// Records the tokens of a measured response that is `ok`.
    pub(super) fn record_ok(
        &mut self,
        shares: &mut SlotShares<'_>,
        index: usize,
        exchange: &Exchange,
        messages: &MessageProgress,
    ) {
        debug_assert_eq!(exchange.phase, SlotPhase::Measured);
        let TokenProgress { usage, reasoning_at, answer_at } = self.progress[index];
        if self.tells_reasoning {
            for (at, times) in
                [(reasoning_at, &mut self.first_reasoning), (answer_at, &mut self.first_answer)]
            {
                at.iter().for_each(|at| times.record(at.since(exchange.intended_at)));
            }
        }
        if let (Some(input), 1..) = (usage.input, messages.count) {
            let length = PromptLength::of(input);
            let times = &mut self.first_by_prompt;
            times.resize_with(times.len().max(length.index() + 1), Tally::new);
            times[length.index()].record(messages.first.read_at.since(exchange.intended_at));
        }
        let (Some(output), Some(sent)) = (usage.output, self.sent(index)) else { return };
        self.per_response.record(output.into());
        shares.of_slot(exchange, |share| {
            let totals = &mut share.totals;
            totals.responses += 1;
            totals.input += u64::from(usage.input.unwrap_or(0));
            totals.cached += u64::from(usage.cached.unwrap_or(0));
            totals.output += u64::from(output);
            totals.reasoning += u64::from(usage.reasoning.unwrap_or(0).min(output));
        });
        if let (2.., Some(gaps @ 1..)) = (messages.count, sent.checked_sub(1)) {
            let span_ns = messages.span_ns();
            self.time_per_token.record(span_ns / u64::from(gaps));
        }
    }

    /// Returns the tokens that the server has counted and sent of the response to the exchange of
    /// this index: reasoning that is counted and not sent takes no time between messages.
    pub(super) fn sent(&self, index: usize) -> Option<u32> {
        let TokenProgress { usage, reasoning_at, .. } = self.progress[index];
        let output = usage.output?;
        let unsent = if reasoning_at.is_some() { 0 } else { usage.reasoning.unwrap_or(0) };
        Some(output.saturating_sub(unsent))
    }

    /// Forgets the tokens of an exchange that has ended.
    pub(super) fn ended(&mut self, index: usize) {
        self.progress[index] = TokenProgress::default();
    }

    pub(super) fn counts(&self) -> TokenCounts {
        TokenCounts {
            received: self.received,
            per_response: Histogram::from(&self.per_response),
            first_by_prompt: self.first_by_prompt.iter().map(Histogram::from).collect(),
        }
    }

    /// Adds the times to the worker's measurements.
    pub(super) fn finish(&self, measurements: &mut Measurements) {
        measurements.time_per_token = Histogram::from(&self.time_per_token);
        measurements.first_reasoning = Histogram::from(&self.first_reasoning);
        measurements.first_answer = Histogram::from(&self.first_answer);
    }
}

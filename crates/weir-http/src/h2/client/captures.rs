//! Fields and bodies of responses, for callers that read them. Independent of frames; a caller that
//! reads none pays nothing.

use crate::budget::BodyBudget;
use crate::client::Capture;
use crate::grpc::CallRules;
use crate::messages::MessageFormat;
use crate::multiplexed::StreamMessage;
use crate::received_response::{Interest, ReceivedResponse};
use crate::request_id::RequestId;

/// The stored responses of one connection, each with the storage of its stream.
#[derive(Debug)]
pub(super) struct Captures {
    interest: Interest,
    budget: BodyBudget,
    /// Format of messages that bodies are split into.
    format: Option<MessageFormat>,
    /// Rules of the messages of gRPC in them.
    calls: Option<CallRules>,
    /// Messages that the current call completed.
    pub(super) messages: Vec<StreamMessage>,
    /// Storage by slot; `None` before the slot's first response.
    slots: Vec<Option<Box<Capture>>>,
    /// Slots of the responses that the last call completed, in order.
    completed: Vec<u16>,
    /// Field lines of the block that is being handled.
    pub(super) lines: Vec<u8>,
}

impl Captures {
    /// Creates the storage; `None` if nothing has to be stored.
    pub(super) fn new(interest: Interest, budget: &BodyBudget) -> Option<Box<Captures>> {
        let budget = budget.clone();
        let slots = Vec::new();
        let completed = Vec::new();
        let lines = Vec::new();
        let format = None;
        let calls = None;
        let messages = Vec::new();
        let captures =
            Captures { interest, budget, format, calls, messages, slots, completed, lines };
        (interest != Interest::Status).then(|| Box::new(captures))
    }

    /// Splits bodies into messages from now on.
    pub(super) fn split(&mut self, format: &MessageFormat) {
        self.format = Some(format.clone());
    }

    /// Checks the messages of gRPC in responses from now on.
    pub(super) fn check_calls(&mut self, rules: CallRules) {
        self.calls = Some(rules);
    }

    /// Appends the current field lines to the response of a slot: of its head, or of its trailers.
    pub(super) fn take_lines(&mut self, slot: u16) {
        let lines = std::mem::take(&mut self.lines);
        self.of(slot).section(&lines);
        self.lines = lines;
    }

    /// Appends a part of the body of a slot's response.
    #[inline(never)]
    pub(super) fn body(&mut self, slot: u16, data: &[u8]) {
        self.of(slot).body(data);
        if self.format.is_some() {
            self.take_messages(slot);
        }
    }

    /// Takes the messages that a part of a body completed.
    fn take_messages(&mut self, slot: u16) {
        let Some(capture) = &mut self.slots[usize::from(slot)] else { return };
        let messages = capture.messages().iter();
        self.messages.extend(
            messages.map(|message| StreamMessage { id: RequestId(slot), message: *message }),
        );
        capture.forget_messages();
    }

    /// Completes the response of a slot.
    pub(super) fn complete(&mut self, slot: u16, status: u16) {
        self.of(slot).complete(status);
        self.completed.push(slot);
    }

    /// Drops what is incomplete in a slot, whose stream has ended.
    pub(super) fn forget(&mut self, slot: u16) {
        if let Some(Some(capture)) = self.slots.get_mut(usize::from(slot)) {
            capture.forget_unfinished();
        }
    }

    /// Drops what is incomplete in all slots.
    pub(super) fn forget_unfinished(&mut self) {
        self.slots.iter_mut().flatten().for_each(|capture| capture.forget_unfinished());
    }

    /// Drops the responses and the messages of the last call.
    pub(super) fn forget_completed(&mut self) {
        self.messages.clear();
        for slot in self.completed.drain(..) {
            if let Some(capture) = &mut self.slots[usize::from(slot)] {
                capture.forget_completed();
            }
        }
    }

    /// Returns the nth response of the last call.
    pub(super) fn response(&self, nth: usize) -> ReceivedResponse<'_> {
        let capture = self.slots[usize::from(self.completed[nth])].as_ref();
        capture.expect("it has completed a response").response(0)
    }

    /// Returns the response of a slot as far as it was received, after its head; `None` if it is
    /// not kept.
    pub(super) fn unfinished(&self, slot: u16, status: u16) -> Option<ReceivedResponse<'_>> {
        Some(self.slots.get(usize::from(slot))?.as_ref()?.unfinished(status))
    }

    /// Returns the memory that the server has caused it to hold, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        let responses = self.slots.iter().flatten().map(|capture| capture.held_bytes());
        let messages = self.messages.capacity() * size_of::<StreamMessage>();
        responses.sum::<usize>() + messages + self.lines.capacity()
    }

    fn of(&mut self, slot: u16) -> &mut Capture {
        let slot = usize::from(slot);
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let place = &mut self.slots[slot];
        if place.is_none() {
            *place = Capture::new(self.interest, &self.budget);
            if let Some(capture) = place {
                self.calls.iter().for_each(|rules| capture.check_calls(*rules));
                self.format.iter().for_each(|format| capture.split(format));
            }
        }
        self.slots[slot].as_deref_mut().expect("an interest needs storage")
    }
}

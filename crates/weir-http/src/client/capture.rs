//! Storage for the heads and bodies of responses: one buffer for each, one response after the
//! other. Independent of the parsing.

use std::mem;

use memchr::memchr;

use crate::budget::BodyBudget;
use crate::grpc::{CallReader, CallRules, ReceivedCall};
use crate::messages::MessageSplitter;
use crate::messages::{MessageFormat, ReceivedMessage};
use crate::received_response::{Interest, ReceivedResponse};

/// Largest capacity that a buffer keeps after its responses were used, while the budget is ample.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

/// Most messages of a call for which room is kept.
const MESSAGES_KEPT: usize = 256;

/// Smallest growth of the buffer for bodies.
const BODY_STEP_BYTES: usize = 1024;

/// The responses completed by the last call, and the received part of the next one.
#[derive(Debug)]
pub(crate) struct Capture {
    keeps_bodies: bool,
    /// Field lines. Until the head of the current response is complete, also its status line and
    /// its empty line.
    heads: Vec<u8>,
    bodies: Vec<u8>,
    budget: BodyBudget,
    /// Bytes taken from the budget: the capacity of `bodies`.
    taken: usize,
    completed: Vec<Completed>,
    /// True if the current body is longer than its stored part.
    is_cut: bool,
    /// Splitter of bodies into messages, and the messages that the last call completed.
    messages: Option<(MessageSplitter, Vec<ReceivedMessage>)>,
    /// Reader of the messages of gRPC, if they are checked.
    call: Option<Box<CallReader>>,
}

/// End of a response in the buffers; it starts at the end of the previous one.
#[derive(Clone, Copy, Debug, Default)]
struct Completed {
    status: u16,
    is_cut: bool,
    head_end: usize,
    body_end: usize,
    call: Option<ReceivedCall>,
}

impl Capture {
    /// Creates the storage; `None` if nothing has to be stored.
    pub(crate) fn new(interest: Interest, budget: &BodyBudget) -> Option<Box<Capture>> {
        let keeps_bodies = match interest {
            Interest::Status => return None,
            Interest::Head => false,
            Interest::Body => true,
        };
        let heads = Vec::new();
        let bodies = Vec::new();
        let completed = Vec::new();
        let budget = budget.clone();
        let taken = 0;
        let is_cut = false;
        let messages = None;
        let call = None;
        Some(Box::new(Capture {
            keeps_bodies,
            heads,
            bodies,
            budget,
            taken,
            completed,
            is_cut,
            messages,
            call,
        }))
    }

    /// Splits bodies into messages from now on.
    pub(crate) fn split(&mut self, format: &MessageFormat) {
        self.messages = Some((MessageSplitter::new(format), Vec::new()));
        if let Some(call) = &mut self.call {
            call.keep(format.read_bytes());
        }
    }

    /// Checks the messages of gRPC from now on.
    pub(crate) fn check_calls(&mut self, rules: CallRules) {
        self.call = Some(Box::new(CallReader::new(rules, 0)));
    }

    /// True if bodies are split into messages.
    pub(crate) fn splits(&self) -> bool {
        self.messages.is_some()
    }

    /// Returns the messages since [`Capture::forget_messages`].
    pub(crate) fn messages(&self) -> &[ReceivedMessage] {
        self.messages.as_ref().map_or(&[], |(_, messages)| messages)
    }

    /// Drops the messages so far.
    pub(crate) fn forget_messages(&mut self) {
        if let Some((_, messages)) = &mut self.messages {
            messages.clear();
            messages.shrink_to(MESSAGES_KEPT);
        }
    }

    /// Returns the memory that the peer has caused it to hold, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        let messages = self.messages.as_ref().map_or(0, |(splitter, messages)| {
            splitter.held_bytes() + messages.capacity() * size_of::<ReceivedMessage>()
        });
        let call = self.call.as_ref().map_or(0, |call| call.held_bytes());
        self.heads.capacity() + self.bodies.capacity() + messages + call
    }

    /// Drops the responses of the last call, at the start of the next.
    pub(crate) fn forget_completed(&mut self) {
        if self.completed.is_empty() {
            return;
        }
        let Completed { head_end, body_end, .. } = self.last();
        self.completed.clear();
        self.heads.drain(..head_end);
        self.heads.shrink_to(BUFFER_BYTES_KEPT);
        self.bodies.drain(..body_end);
        self.shrink_bodies();
        self.forget_excerpt();
    }

    /// Drops the current response, which will not be completed or was interim.
    pub(crate) fn forget_unfinished(&mut self) {
        let Completed { head_end, body_end, .. } = self.last();
        self.heads.truncate(head_end);
        self.bodies.truncate(body_end);
        self.shrink_bodies();
        self.is_cut = false;
        self.end_messages();
        self.forget_excerpt();
    }

    fn forget_excerpt(&mut self) {
        if let Some((splitter, _)) = &mut self.messages {
            splitter.forget_excerpt();
        }
    }

    fn end_messages(&mut self) {
        if let Some((splitter, _)) = &mut self.messages {
            splitter.reset();
        }
        if let Some(call) = &mut self.call {
            call.reset();
        }
    }

    fn shrink_bodies(&mut self) {
        let is_ample = self.budget.is_ample();
        let kept = self.bodies.len().max(if is_ample { BUFFER_BYTES_KEPT } else { 0 });
        if self.taken > kept {
            self.bodies.shrink_to(kept);
            self.budget.give_back(self.taken - kept);
            self.taken = kept;
        }
    }

    /// Appends bytes of a head, from its status line to its empty line, or of a trailer section.
    pub(crate) fn section(&mut self, bytes: &[u8]) {
        self.heads.extend_from_slice(bytes);
        if let Some(call) = &mut self.call {
            call.section(bytes);
        }
    }

    /// Ends a head: removes its status line and its empty line. Returns its field lines.
    pub(crate) fn end_head(&mut self) -> &[u8] {
        let begin = self.last().head_end;
        let status_line = memchr(b'\n', &self.heads[begin..]).expect("the status line has an end");
        self.heads.drain(begin..=begin + status_line);
        self.end_trailers();
        &self.heads[begin..]
    }

    /// Ends a trailer section: removes its empty line.
    pub(crate) fn end_trailers(&mut self) {
        let newline = self.heads.pop();
        debug_assert_eq!(newline, Some(b'\n'), "a section ends with an empty line");
        if self.heads.last() == Some(&b'\r') {
            self.heads.pop();
        }
    }

    /// Appends bytes of a body. After a cut none are stored, as they would seem to follow directly.
    pub(crate) fn body(&mut self, bytes: &[u8]) {
        match (&mut self.call, &mut self.messages) {
            (Some(call), messages) => call.body(bytes, |message| {
                if let Some((splitter, messages)) = messages {
                    messages.push(splitter.of_call(message));
                }
            }),
            (None, Some((splitter, messages))) => {
                splitter.receive(bytes, |message| messages.push(message));
            }
            (None, None) => {}
        }
        if self.keeps_bodies && !self.is_cut {
            let room = self.budget.body_max() - (self.bodies.len() - self.last().body_end);
            let wanted = bytes.len().min(room);
            let kept = wanted.min(self.room_for(wanted));
            self.is_cut = bytes.len() > kept;
            self.bodies.extend_from_slice(&bytes[..kept]);
        }
    }

    /// Returns the free room for body bytes, after growing the buffer if the budget permits.
    fn room_for(&mut self, wanted: usize) -> usize {
        let room = self.taken - self.bodies.len();
        if wanted <= room {
            return room;
        }
        let needed = wanted - room;
        // Doubled, so that a body that arrives in pieces is not moved for each.
        for more in [needed.max(self.taken).max(BODY_STEP_BYTES), needed] {
            if self.budget.take(more) {
                self.taken += more;
                self.bodies.reserve_exact(self.taken - self.bodies.len());
                return room + more;
            }
        }
        room
    }

    /// Completes the current response.
    pub(crate) fn complete(&mut self, status: u16) {
        let is_cut = mem::take(&mut self.is_cut);
        let head_end = self.heads.len();
        let body_end = self.bodies.len();
        let call = self.call.as_mut().map(|call| call.finish());
        self.completed.push(Completed { status, is_cut, head_end, body_end, call });
        self.end_messages();
    }

    pub(crate) fn response(&self, nth: usize) -> ReceivedResponse<'_> {
        let begin = nth.checked_sub(1).map_or(Completed::default(), |nth| self.completed[nth]);
        let Completed { status, is_cut, head_end, body_end, call } = self.completed[nth];
        let head = &self.heads[begin.head_end..head_end];
        let body = &self.bodies[begin.body_end..body_end];
        let excerpt = self.messages.as_ref().map_or(&[][..], |(splitter, _)| splitter.excerpt());
        ReceivedResponse { status, head, body, is_cut, call, excerpt }
    }

    /// Returns the current response as far as it was received; its head is complete.
    pub(crate) fn unfinished(&self, status: u16) -> ReceivedResponse<'_> {
        let Completed { head_end, body_end, .. } = self.last();
        let head = &self.heads[head_end..];
        let body = &self.bodies[body_end..];
        let is_cut = self.is_cut;
        ReceivedResponse { head, body, is_cut, ..ReceivedResponse::of_status(status) }
    }

    /// Returns the last completed response; its end is the start of the current one.
    fn last(&self) -> Completed {
        self.completed.last().copied().unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_given_back() {
        let budget = BodyBudget::default();
        let mut capture = Capture::new(Interest::Body, &budget).unwrap();
        let line = "A: b\r\n".repeat(20_000);
        capture.section(["HTTP/1.1 200 OK\r\n", &line, "\r\n"].concat().as_bytes());
        capture.end_head();
        capture.body(&vec![0; 1 << 20]);
        capture.complete(200);
        capture.section(b"HTTP/1.1 2");
        assert_eq!(
            (capture.response(0).head, capture.response(0).body.len()),
            (line.as_bytes(), 1 << 20)
        );
        capture.forget_completed();
        assert_eq!((&capture.heads[..], &capture.bodies[..]), (&b"HTTP/1.1 2"[..], &b""[..]));
        let capacities = [capture.heads.capacity(), capture.bodies.capacity()];
        assert!(capacities.iter().all(|&bytes| bytes <= BUFFER_BYTES_KEPT), "{capacities:?}");
        assert_eq!(budget.held(), BUFFER_BYTES_KEPT);
        drop(capture);
        assert_eq!(budget.held(), 0);
    }

    /// Stores a response with a body of this length, in pieces of 1,000 bytes.
    fn take(capture: &mut Capture, body_bytes: usize) -> (usize, bool) {
        capture.section(b"HTTP/1.1 200 OK\r\n\r\n");
        capture.end_head();
        let body: Vec<u8> = (0..body_bytes).map(|index| index as u8).collect();
        body.chunks(1_000).for_each(|piece| capture.body(piece));
        capture.complete(200);
        let response = capture.response(0);
        assert!(body.starts_with(response.body));
        (response.body.len(), response.is_cut)
    }

    #[test]
    fn of_a_long_body_the_beginning_is_stored() {
        let budget = BodyBudget::of_bodies(100_000, 2_500);
        let mut capture = Capture::new(Interest::Body, &budget).unwrap();
        assert_eq!(take(&mut capture, 2_501), (2_500, true));
        assert_eq!(take(&mut capture, 2_500), (2_500, true));
    }

    #[test]
    fn bodies_of_all_connections_are_held_within_the_budget() {
        let budget = BodyBudget::new(100_000);
        let mut one = Capture::new(Interest::Body, &budget).unwrap();
        let mut other = Capture::new(Interest::Body, &budget).unwrap();
        assert_eq!(take(&mut one, 70_000), (70_000, false));
        let (kept, is_cut) = take(&mut other, 70_000);
        assert!(is_cut && (28_000..=30_000).contains(&kept), "{kept}");
        assert!(
            budget.held() <= 100_000 && one.bodies.capacity() + other.bodies.capacity() <= 100_000
        );
        // Used memory is returned, all of it if little is left.
        one.forget_completed();
        other.forget_completed();
        assert_eq!(take(&mut other, 70_000), (70_000, false));
        other.forget_completed();
        assert!(budget.held() <= 100_000, "{}", budget.held());
    }
}

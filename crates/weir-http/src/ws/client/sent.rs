//! The messages of a connection that wait for their echoes, in the order of their sending.

use std::collections::VecDeque;

use crate::ws::message_key::MessageKey;

/// Most messages that were given up and whose echoes may still arrive.
const LATE_MAX: usize = 256;

/// Messages in flight, by their ids.
#[derive(Debug)]
pub(super) struct SentMessages {
    /// Key of messages and echoes; `None`: echoes come in the order of the messages.
    key: Option<MessageKey>,
    sent: VecDeque<SentMessage>,
    /// Ids that are free.
    free: Vec<u16>,
    /// Messages in `sent` that were given up.
    late: usize,
}

#[derive(Debug)]
struct SentMessage {
    /// Id of its request; `None` once it was given up.
    id: Option<u16>,
    key: Option<Vec<u8>>,
}

impl SentMessages {
    pub(super) fn new(depth: u16, key: Option<MessageKey>) -> SentMessages {
        SentMessages { key, sent: VecDeque::new(), free: (0..depth).rev().collect(), late: 0 }
    }

    /// Returns the number of messages that may be sent now.
    pub(super) fn capacity(&self) -> u16 {
        u16::try_from(self.free.len()).expect("ids are numbers of 16 bits")
    }

    /// Adds a message with this content. Returns its id.
    pub(super) fn push(&mut self, content: &[u8]) -> u16 {
        let id = self.free.pop().expect("a message needs capacity");
        let key = self.key.as_ref().and_then(|key| key.of(content));
        self.sent.push_back(SentMessage { id: Some(id), key });
        id
    }

    /// Removes the message whose echo has this content: the oldest, or the oldest with its key.
    /// Returns its id, which is free again, or `Some(None)` if it was given up; `None` if there is
    /// no such message.
    pub(super) fn take_match(&mut self, content: &[u8]) -> Option<Option<u16>> {
        let place = match &self.key {
            None => 0,
            Some(key) => {
                let key = key.of(content);
                self.sent.iter().position(|sent| sent.key == key)?
            }
        };
        let id = self.sent.remove(place)?.id;
        self.free.extend(id);
        self.late -= usize::from(id.is_none());
        Some(id)
    }

    /// Gives up a message.
    pub(super) fn cancel(&mut self, id: u16) {
        let mut sent = self.sent.iter_mut();
        let sent = sent.find(|sent| sent.id == Some(id)).expect("it is in flight");
        sent.id = None;
        self.free.push(id);
        self.late += 1;
        if self.late > LATE_MAX {
            let oldest = self.sent.iter().position(|sent| sent.id.is_none());
            self.sent.remove(oldest.expect("some were given up"));
            self.late -= 1;
        }
    }

    /// True if a message was given up and echoes come in order: which message each further echo
    /// belongs to is then uncertain.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.key.is_none() && self.late > 0
    }

    /// Removes all messages, and calls `on_end` for each that is in flight.
    pub(super) fn drain(&mut self, mut on_end: impl FnMut(u16)) {
        for id in self.sent.drain(..).filter_map(|sent| sent.id) {
            self.free.push(id);
            on_end(id);
        }
        self.late = 0;
    }

    pub(super) fn clear(&mut self) {
        self.drain(|_| {});
    }

    /// Returns the bytes of the messages that were given up.
    pub(super) fn held_bytes(&self) -> usize {
        self.late * size_of::<SentMessage>()
    }
}

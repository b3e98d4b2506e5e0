//! Messages that have come and are not handled yet. Together they take a limited room, and those of
//! one sender a small part of it: further ones are lost, as on a bus that is away. So one that
//! sends faster than it is heard delays no other for long.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use weir_machine::sys;

use crate::envelope::longest;

/// Room of all messages that are not handled, of those of one subject, and of one message beside
/// its content, in bytes.
const ROOM: usize = 64 << 20;
const SUBJECT_ROOM: usize = 4 << 20;
const OWN_ROOM: usize = 256;

/// A thing that the bus reports.
#[derive(Debug)]
pub struct BusMessage {
    /// When it came, on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The thing.
    pub event: BusEvent,
    /// The room that a message takes until it has been handled.
    _room: Option<Room>,
}

/// Kinds of [`BusMessage`].
#[derive(Clone, Debug)]
pub enum BusEvent {
    /// A message.
    Received {
        /// Its subject.
        subject: String,
        /// Its content.
        payload: Vec<u8>,
    },
    /// The bus cannot be reached.
    Away,
    /// The bus can be reached again.
    Back,
}

/// The way of messages to their handler.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    messages: Sender<BusMessage>,
    taken: Arc<Mutex<RoomTaken>>,
}

/// The room that is taken, in bytes.
#[derive(Debug, Default)]
struct RoomTaken {
    all: usize,
    by_subject: HashMap<String, usize>,
}

impl RoomTaken {
    /// Takes room for a message, if it has some.
    fn take(&mut self, subject: &str, bytes: usize) -> bool {
        let by_subject = self.by_subject.get(subject).copied().unwrap_or(0);
        if self.all + bytes > ROOM || by_subject + bytes > SUBJECT_ROOM {
            return false;
        }
        self.all += bytes;
        self.by_subject.insert(subject.to_owned(), by_subject + bytes);
        true
    }

    fn give_back(&mut self, subject: &str, bytes: usize) {
        self.all -= bytes;
        if let Some(taken) = self.by_subject.get_mut(subject) {
            *taken -= bytes;
            if *taken == 0 {
                self.by_subject.remove(subject);
            }
        }
    }
}

/// The room of a message, which is free again with the end of this value.
#[derive(Debug)]
pub(super) struct Room {
    subject: String,
    bytes: usize,
    taken: Arc<Mutex<RoomTaken>>,
}

impl Inbox {
    pub(super) fn of(messages: Sender<BusMessage>) -> Inbox {
        Inbox { messages, taken: Arc::default() }
    }

    /// Passes on what has happened now, unless it is longer than any message or there is no room.
    /// False without a receiver.
    pub(super) fn receive(&self, event: BusEvent) -> bool {
        let room = match &event {
            BusEvent::Received { subject, payload } => {
                let bytes = OWN_ROOM + subject.len() + payload.len();
                let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
                if payload.len() > longest(subject) || !taken.take(subject, bytes) {
                    return true;
                }
                let subject = subject.clone();
                Some(Room { subject, bytes, taken: Arc::clone(&self.taken) })
            }
            BusEvent::Away | BusEvent::Back => None,
        };
        let at_ns = sys::monotonic_ns();
        self.messages.send(BusMessage { at_ns, event, _room: room }).is_ok()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.give_back(&self.subject, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn of_agent(number: usize, bytes: usize) -> BusEvent {
        let subject = format!("weir.agent.{number}.live");
        BusEvent::Received { subject, payload: vec![0; bytes] }
    }

    #[test]
    fn messages_beyond_the_room_are_lost_until_others_are_handled() {
        let (sender, receiver) = channel();
        let inbox = Inbox::of(sender);
        assert!((0..100).all(|agent| inbox.receive(of_agent(agent, 1_000_000))));
        assert!(inbox.receive(BusEvent::Away));
        let first: Vec<BusMessage> = receiver.try_iter().collect();
        assert_eq!(first.len(), 67 + 1, "what 64 MiB have room for, and the state of the bus");
        drop(first);
        inbox.receive(of_agent(0, 1_000_000));
        assert_eq!(receiver.try_iter().count(), 1);
        drop(receiver);
        assert!(!inbox.receive(of_agent(0, 1_000_000)));
    }

    #[test]
    fn a_sender_without_end_leaves_room_for_the_others() {
        let (sender, receiver) = channel();
        let inbox = Inbox::of(sender);
        for _ in 0..100 {
            inbox.receive(of_agent(1, 1_000_000));
        }
        inbox.receive(of_agent(2, 1_000_000));
        let held: Vec<BusMessage> = receiver.try_iter().collect();
        assert_eq!(held.len(), 4 + 1, "what 4 MiB have room for, and the other's");
        drop(held);
        inbox.receive(of_agent(1, (1 << 20) + 1));
        assert_eq!(receiver.try_iter().count(), 0, "no message is that long");
    }
}

//! Messages that have come and are not handled yet. Together they take a limited room: further ones
//! are lost, as on a bus that is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

/// Room of all messages that are not handled, in bytes, and of one beside its content.
const ROOM: usize = 64 << 20;
const OWN_ROOM: usize = 256;

/// A thing that the bus reports.
#[derive(Debug)]
pub struct BusMessage {
    /// When it came, on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The thing.
    pub event: BusEvent,
    /// The room that it takes until it has been handled.
    _room: Room,
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
    taken: Arc<AtomicUsize>,
}

/// The room of a message, which is free again with the end of this value.
#[derive(Debug)]
pub(super) struct Room {
    bytes: usize,
    taken: Arc<AtomicUsize>,
}

impl Inbox {
    pub(super) fn of(messages: Sender<BusMessage>) -> Inbox {
        Inbox { messages, taken: Arc::default() }
    }

    /// Passes on what has happened now, unless there is no room. False without a receiver.
    pub(super) fn receive(&self, event: BusEvent) -> bool {
        let bytes = match &event {
            BusEvent::Received { subject, payload } => OWN_ROOM + subject.len() + payload.len(),
            BusEvent::Away | BusEvent::Back => 0,
        };
        if bytes > 0 && self.taken.load(Ordering::Relaxed) + bytes > ROOM {
            return true;
        }
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        let _room = Room { bytes, taken: Arc::clone(&self.taken) };
        self.messages.send(BusMessage { at_ns: weir_sys::monotonic_ns(), event, _room }).is_ok()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn messages_beyond_the_room_are_lost_until_others_are_handled() {
        let (sender, receiver) = channel();
        let inbox = Inbox::of(sender);
        let event = || BusEvent::Received { subject: String::new(), payload: vec![0; 30 << 20] };
        assert!((0..5).all(|_| inbox.receive(event())));
        assert!(inbox.receive(BusEvent::Away));
        let first: Vec<BusMessage> = receiver.try_iter().collect();
        assert_eq!(first.len(), 2 + 1, "two of five, and the state of the bus");
        drop(first);
        inbox.receive(event());
        assert_eq!(receiver.try_iter().count(), 1);
        drop(receiver);
        assert!(!inbox.receive(event()));
    }
}

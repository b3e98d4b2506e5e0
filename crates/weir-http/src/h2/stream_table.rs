//! The open streams of a connection, found by their number. Independent of the state of a stream
//! and of its side.

/// Streams by slot, a number below the greatest number of open streams.
#[derive(Debug)]
pub(crate) struct StreamTable<T> {
    slots: Vec<TableSlot<T>>,
    /// Slots without a stream; the last one is used next.
    free: Vec<u16>,
    /// By the low bits of a stream's number, its slot, unless a newer stream has the same bits.
    hints: Vec<u16>,
    /// Hints that were overwritten while their streams were open, since the table was empty.
    overwritten: u32,
}

#[derive(Debug)]
struct TableSlot<T> {
    /// Number of the stream; 0 without one.
    stream: u32,
    state: T,
}

impl<T: Default> StreamTable<T> {
    /// Creates a table for about `streams` streams. More are found too, but more slowly.
    pub(crate) fn new(streams: usize) -> StreamTable<T> {
        // Streams end in about the order of their start, so that few hints are overwritten.
        let hints = (2 * streams.clamp(1, 1 << 15)).next_power_of_two();
        StreamTable { slots: Vec::new(), free: Vec::new(), hints: vec![0; hints], overwritten: 0 }
    }

    /// Removes all streams. Keeps the allocations of the table and of its states.
    pub(crate) fn clear(&mut self) {
        self.free.clear();
        self.free.extend((0..self.slots.len() as u16).rev());
        self.slots.iter_mut().for_each(|slot| slot.stream = 0);
        self.overwritten = 0;
    }

    /// Returns the number of streams.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Adds a stream. Returns its slot; the state there is an earlier stream's.
    #[inline]
    pub(crate) fn insert(&mut self, stream: u32) -> u16 {
        if self.free.is_empty() {
            self.free.push(self.slots.len() as u16);
            self.slots.push(TableSlot { stream: 0, state: T::default() });
        }
        let place = self.place(stream);
        let before = self.slots[usize::from(self.hints[place])].stream;
        self.overwritten += u32::from(before != 0 && self.place(before) == place);
        let slot = self.free.pop().expect("one was pushed if there was none");
        self.hints[place] = slot;
        self.slots[usize::from(slot)].stream = stream;
        slot
    }

    /// Returns the slot of a stream, if it is open.
    #[inline]
    pub(crate) fn find(&self, stream: u32) -> Option<u16> {
        debug_assert_ne!(stream, 0, "0 is the connection");
        let hint = self.hints[self.place(stream)];
        match self.slots.get(usize::from(hint)) {
            Some(slot) if slot.stream == stream => Some(hint),
            _ if self.overwritten == 0 => None,
            _ => self.search(stream),
        }
    }

    #[cold]
    fn search(&self, stream: u32) -> Option<u16> {
        self.slots.iter().position(|slot| slot.stream == stream).map(|slot| slot as u16)
    }

    /// Removes the stream of a slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u16) {
        let removed = &mut self.slots[usize::from(slot)];
        debug_assert_ne!(removed.stream, 0, "the slot has a stream");
        removed.stream = 0;
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            self.overwritten = 0;
        }
    }

    /// Returns the number of a slot's stream; 0 without one.
    #[inline]
    pub(crate) fn stream(&self, slot: u16) -> u32 {
        self.slots.get(usize::from(slot)).map_or(0, |slot| slot.stream)
    }

    #[inline]
    pub(crate) fn state(&mut self, slot: u16) -> &mut T {
        &mut self.slots[usize::from(slot)].state
    }

    /// Returns the open streams with their slots and states.
    pub(crate) fn open(&mut self) -> impl Iterator<Item = (u16, u32, &mut T)> {
        let slots = self.slots.iter_mut().zip(0..).filter(|(slot, _)| slot.stream != 0);
        slots.map(|(slot, number)| (number, slot.stream, &mut slot.state))
    }

    /// Returns the slots and numbers of the open streams above `last_stream`.
    pub(crate) fn above(&mut self, last_stream: u32) -> Vec<(u16, u32)> {
        let above = self.open().filter(|(_, number, _)| *number > last_stream);
        above.map(|(slot, number, _)| (slot, number)).collect()
    }

    /// Returns the place of a stream's hint. The lowest bit of all numbers of a side is the same.
    #[inline]
    fn place(&self, stream: u32) -> usize {
        (stream >> 1) as usize & (self.hints.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_found_whatever_the_order_of_their_ends() {
        let mut table: StreamTable<u32> = StreamTable::new(2);
        let old = table.insert(1);
        *table.state(old) = 1;
        for stream in (3..1000).step_by(2) {
            let slot = table.insert(stream);
            *table.state(slot) = stream;
            assert!(slot < 3);
            for (stream, found) in [(1, true), (stream, true), (stream - 2, stream == 3)] {
                let slot = table.find(stream);
                assert_eq!(slot.is_some(), found, "{stream}");
                assert!(slot.is_none_or(|slot| *table.state(slot) == stream));
            }
            table.remove(slot);
        }
        assert_eq!((table.len(), table.find(999)), (1, None));
        let open: Vec<(u16, u32)> = table.open().map(|(slot, stream, _)| (slot, stream)).collect();
        assert_eq!(open, [(old, 1)]);
        table.clear();
        assert_eq!((table.len(), table.find(1)), (0, None));
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let table: StreamTable<u32> = StreamTable::new(100);
        assert_eq!((table.find(1), table.len(), table.stream(0)), (None, 0, 0));
    }
}

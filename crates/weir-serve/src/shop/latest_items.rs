//! Items by consecutive numbers, of which a limited number is kept.

use std::collections::VecDeque;

/// Items with consecutive numbers. Beyond the limit the oldest are dropped.
#[derive(Debug)]
pub(super) struct LatestItems<T> {
    /// The kept items; `None` for one that was taken.
    items: VecDeque<Option<T>>,
    /// Number of the first kept item.
    first: u64,
    /// Largest number of items; at least 1.
    items_max: usize,
}

impl<T> LatestItems<T> {
    pub(super) fn new(items_max: usize) -> LatestItems<T> {
        LatestItems { items: VecDeque::new(), first: 0, items_max }
    }

    /// Returns the number of the item that is added next.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    /// Adds an item. Returns the one that is dropped for it, if there is one.
    pub(super) fn push(&mut self, item: T) -> Option<T> {
        let is_full = self.items.len() == self.items_max;
        let dropped = if is_full { self.items.pop_front() } else { None };
        self.first += u64::from(is_full);
        self.items.push_back(Some(item));
        dropped.flatten()
    }

    pub(super) fn find(&self, number: u64) -> Option<&T> {
        self.items.get(self.place(number)?)?.as_ref()
    }

    pub(super) fn find_mut(&mut self, number: u64) -> Option<&mut T> {
        let place = self.place(number)?;
        self.items.get_mut(place)?.as_mut()
    }

    /// Removes an item; its number is not used again.
    pub(super) fn take(&mut self, number: u64) -> Option<T> {
        let place = self.place(number)?;
        self.items.get_mut(place)?.take()
    }

    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_items_are_dropped() {
        let mut items = LatestItems::new(2);
        let dropped: Vec<_> = (0..4)
            .map(|number| {
                assert_eq!(items.next_number(), number);
                items.push(10 * number)
            })
            .collect();
        assert_eq!(dropped, [None, None, Some(0), Some(10)]);
        let found: Vec<_> = (0..5).map(|number| items.find(number).copied()).collect();
        assert_eq!(found, [None, None, Some(20), Some(30), None]);
        assert_eq!((items.take(2), items.take(2), items.take(0)), (Some(20), None, None));
        *items.find_mut(3).expect("it is kept") += 1;
        assert_eq!((items.push(40), items.push(50)), (None, Some(31)));
    }
}

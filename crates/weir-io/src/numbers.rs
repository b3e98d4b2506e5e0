//! Connection numbers of accepted connections: always the lowest free one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The numbers below a limit that no connection has.
#[derive(Debug)]
pub(crate) struct Numbers {
    given_back: BinaryHeap<Reverse<u32>>,
    /// The numbers that were never taken.
    untouched: Range<u32>,
}

impl Numbers {
    pub(crate) fn below(limit: u32) -> Numbers {
        Numbers { given_back: BinaryHeap::new(), untouched: 0..limit }
    }

    pub(crate) fn are_left(&self) -> bool {
        !self.given_back.is_empty() || !self.untouched.is_empty()
    }

    /// Takes the lowest free number.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let given_back = self.given_back.pop().map(|Reverse(number)| number);
        given_back.or_else(|| self.untouched.next())
    }

    /// Returns a number obtained from `take`.
    pub(crate) fn give_back(&mut self, number: u32) {
        debug_assert!(number < self.untouched.start, "number {number} was never given");
        self.given_back.push(Reverse(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_lowest_free_one_up_to_the_limit() {
        let mut numbers = Numbers::below(3);
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [Some(0), Some(1), Some(2)]);
        assert_eq!(numbers.take(), None);
        assert!(!numbers.are_left());
        numbers.give_back(2);
        numbers.give_back(0);
        assert!(numbers.are_left());
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [Some(0), Some(2), None]);
    }
}

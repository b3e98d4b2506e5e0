//! Counts of one side, by name, and their differences from the other side's.

use std::collections::{BTreeMap, BTreeSet};

use weir_result::document::{CountSummary, MessagesSection};

/// Counts by name. A name that is missing counts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::accuracy) struct Counts {
    by_name: BTreeMap<String, u64>,
    /// Further ones that only the other side may have counted.
    unseen: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds to a count.
    pub(in crate::accuracy) fn add(&mut self, name: &str, count: u64) {
        *self.by_name.entry(name.to_owned()).or_default() += count;
    }

    /// Allows the other side up to `further` of a name beyond the count.
    pub(super) fn allow(&mut self, name: &str, further: u64) {
        self.unseen.insert(name.to_owned(), further);
    }

    /// Adds the counts of messages that each protocol has.
    pub(super) fn add_messages(&mut self, messages: &MessagesSection) {
        self.add("messages", messages.measured);
        self.add("streams", messages.streams);
        self.add("messages of ok", Counts::total(&messages.per_response));
        self.add("bytes of ok", Counts::total(&messages.bytes_per_response));
    }

    /// Returns the sum over all responses.
    pub(super) fn total(of: &CountSummary) -> u64 {
        (of.mean.unwrap_or(0.0) * of.count as f64).round() as u64
    }

    pub(in crate::accuracy) fn of(&self, name: &str) -> u64 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    pub(in crate::accuracy) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns a line for each count that the server's log has otherwise.
    pub(in crate::accuracy) fn differences(&self, logged: &Counts) -> Vec<String> {
        let names: BTreeSet<&String> = self.by_name.keys().chain(logged.by_name.keys()).collect();
        let differ = names.into_iter().filter(|name| {
            let further = logged.of(name).checked_sub(self.of(name));
            further.is_none_or(|further| further > self.unseen.get(*name).copied().unwrap_or(0))
        });
        let show =
            |name: &String| format!("{name}: weir {}, server {}", self.of(name), logged.of(name));
        differ.map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Counts {
        let mut counts = Counts::default();
        of.iter().for_each(|(name, count)| counts.add(name, *count));
        counts
    }

    #[test]
    fn each_difference_has_a_line() {
        let weir = counts(&[("requests", 7), ("cut", 1), ("none", 0)]);
        assert_eq!(weir.differences(&weir.clone()), [""; 0]);
        let mut allowing = weir.clone();
        allowing.allow("cut", 1);
        assert_eq!(allowing.differences(&counts(&[("requests", 7), ("cut", 2)])), [""; 0]);
        let cuts = |cut| allowing.differences(&counts(&[("requests", 7), ("cut", cut)]));
        assert_eq!(cuts(3), ["cut: weir 1, server 3"]);
        assert_eq!(cuts(0), ["cut: weir 1, server 0"]);
        let server = counts(&[("requests", 8), ("cut", 1), ("status 503", 2)]);
        let expected = ["requests: weir 7, server 8", "status 503: weir 0, server 2"];
        assert_eq!(weir.differences(&server), expected);
    }
}

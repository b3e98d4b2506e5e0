//! A fact: a formatted value with the words around it, and how it should strike a reader.

use std::fmt::Display;

use weir_result::document::Summary;
use weir_text::units;

use super::Tone;

/// A formatted value with the words around it: `up to 1.23 MB each`. Foreign text is in it as it
/// came.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Words.
    pub text: String,
    /// Importance to a reader.
    pub tone: Tone,
}

impl Fact {
    /// Creates a fact of these words.
    pub fn text(text: impl Into<String>) -> Fact {
        Fact { text: text.into(), tone: Tone::Plain }
    }

    /// Creates a value after its name.
    pub(super) fn named(name: &str, value: impl Display) -> Fact {
        Fact::text(format!("{name} {value}"))
    }

    /// Creates a count with its noun: `1 thread`, `2 threads`.
    pub(super) fn counted(number: u64, noun: &str) -> Fact {
        let plural = if number == 1 { "" } else { "s" };
        Fact::text(format!("{} {noun}{plural}", units::count(number)))
    }

    /// Creates an error and how often it occurred.
    pub(super) fn error(kind: &str, count: u64) -> Fact {
        Fact::text(format!("{kind}: {}", units::count(count))).toned(Tone::Bad)
    }

    /// Creates the errors of these that occurred.
    pub(super) fn errors(
        counts: impl IntoIterator<Item = (impl AsRef<str>, u64)>,
    ) -> impl Iterator<Item = Fact> {
        let occurred = counts.into_iter().filter(|(_, count)| *count > 0);
        occurred.map(|(kind, count)| Fact::error(kind.as_ref(), count))
    }

    /// Creates the facts `p50 85 µs`, `p99 310 µs` and `max 1.2 ms`, as far as there are values.
    pub(super) fn times(summary: &Summary) -> Vec<Fact> {
        let percentiles = [50.0, 99.0].into_iter().filter_map(|p| summary.percentile(p));
        let percentiles = percentiles.map(|value| (format!("p{}", value.p), value.ns));
        let greatest = summary.max_ns.map(|ns| ("max".to_owned(), ns));
        let times = percentiles.chain(greatest);
        times.map(|(name, ns)| Fact::named(&name, units::duration(ns))).collect()
    }

    /// Adds words after the others.
    pub(super) fn then(mut self, words: &str) -> Fact {
        self.text.push_str(words);
        self
    }

    /// Sets the tone.
    pub fn toned(self, tone: Tone) -> Fact {
        Fact { tone, ..self }
    }
}

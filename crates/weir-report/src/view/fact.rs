//! A fact: a typed value with the words around it, and how it should strike a reader.

use weir_result::document::Summary;

use super::{Cell, Tone};

/// A value with the words around it: `up to 1.23 MB each`.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Words before the value, with the blank between them.
    pub before: String,
    /// The value; text for a fact that is only words.
    pub value: Cell,
    /// Words after the value, likewise.
    pub after: String,
    /// Importance to a reader.
    pub tone: Tone,
}

impl Fact {
    /// Creates a fact of words alone.
    pub fn text(text: impl Into<String>) -> Fact {
        Fact::of(Cell::Text(text.into()))
    }

    /// Creates a fact of a value alone.
    pub(super) fn of(value: Cell) -> Fact {
        Fact { before: String::new(), value, after: String::new(), tone: Tone::Plain }
    }

    /// Creates a value after its name.
    pub(super) fn named(name: &str, value: Cell) -> Fact {
        Fact { before: format!("{name} "), ..Fact::of(value) }
    }

    /// Creates a count with its noun: `1 thread`, `2 threads`.
    pub(super) fn counted(number: u64, noun: &str) -> Fact {
        let plural = if number == 1 { "" } else { "s" };
        Fact::of(Cell::Count(number)).then(&format!(" {noun}{plural}"))
    }

    /// Creates an error and how often it occurred.
    pub(super) fn error(kind: &str, count: u64) -> Fact {
        Fact { before: format!("{kind}: "), ..Fact::of(Cell::Count(count)) }.toned(Tone::Bad)
    }

    /// Creates the errors of these that occurred.
    pub(super) fn errors<'a>(
        counts: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> impl Iterator<Item = Fact> {
        let occurred = counts.into_iter().filter(|(_, count)| *count > 0);
        occurred.map(|(kind, count)| Fact::error(kind, count))
    }

    /// Creates the facts `p50 85 µs`, `p99 310 µs` and `max 1.2 ms`, as far as there are values.
    pub(super) fn times(summary: &Summary) -> Vec<Fact> {
        let percentiles = [50.0, 99.0].into_iter().filter_map(|p| summary.percentile(p));
        let mut facts: Vec<Fact> = percentiles
            .map(|value| Fact::named(&format!("p{}", value.p), Cell::Duration(value.ns)))
            .collect();
        facts.extend(summary.max_ns.map(|ns| Fact::named("max", Cell::Duration(ns))));
        facts
    }

    /// Adds words after the value.
    pub(super) fn then(mut self, words: &str) -> Fact {
        self.after.push_str(words);
        self
    }

    /// Sets the tone.
    pub fn toned(self, tone: Tone) -> Fact {
        Fact { tone, ..self }
    }

    /// Formats the fact. Foreign text is in it as it came.
    pub fn to_text(&self) -> String {
        format!("{}{}{}", self.before, self.value.to_text(), self.after)
    }
}

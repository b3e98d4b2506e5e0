//! A cell of a table.

use weir_result::quantile::{Bound, Quantile};
use weir_text::units::{self, DurationColumn};

use super::{Fact, Tone};

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Words or a formatted value, with the tone of the value by itself; empty if there is none.
    Fact(Fact),
    /// A length as a part of the greatest one of its column, 0 to 1.
    Bar(f64),
}

impl Default for Cell {
    fn default() -> Cell {
        Cell::from("")
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(words: T) -> Cell {
        Cell::Fact(Fact::text(words))
    }
}

impl Cell {
    /// Formats a time or a bound of it, in the unit of its column; `imprecise` if too few
    /// independent samples support it. A bound is one to notice.
    pub(super) fn time(value: Quantile, imprecise: bool, unit: DurationColumn) -> Cell {
        let (text, tone) = match value.bound {
            Bound::Exact => (unit.value(value.ns), Tone::Plain),
            Bound::Lower => (unit.at_least(value.ns), Tone::Bad),
            Bound::Upper => (unit.at_most(value.ns), Tone::Caution),
            Bound::Unknown => return Cell::toned("unknown", Tone::Caution),
        };
        Cell::toned(if imprecise { format!("~ {text}") } else { text }, tone)
    }

    /// Formats a share of all requests; one above 0 never reads as 0.
    pub(super) fn frequency(share: f64) -> Cell {
        let text = match share {
            share if share > 0.0 && share < 0.000_05 => "<0.01%".to_owned(),
            share => units::percent(share),
        };
        Cell::toned(text, Tone::Aside)
    }

    pub(super) fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell::Fact(Fact::text(text).toned(tone))
    }

    /// Returns the text; empty for a bar.
    pub fn text(&self) -> &str {
        match self {
            Cell::Fact(fact) => &fact.text,
            Cell::Bar(_) => "",
        }
    }

    /// Returns the tone of the value by itself.
    pub fn tone(&self) -> Tone {
        match self {
            Cell::Fact(fact) => fact.tone,
            Cell::Bar(_) => Tone::Plain,
        }
    }
}

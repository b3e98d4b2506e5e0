//! A cell of a table.

use weir_result::quantile::{Bound, Quantile};
use weir_text::units::{self, DurationColumn};

use super::{Fact, Tone};

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum CellValue {
    /// Words or a formatted value, with the tone of the value by itself; empty if there is none.
    Fact(Fact),
    /// A length as a part of the greatest one of its column, 0 to 1.
    Bar(f64),
}

impl Default for CellValue {
    fn default() -> CellValue {
        CellValue::from("")
    }
}

impl<T: Into<String>> From<T> for CellValue {
    fn from(words: T) -> CellValue {
        CellValue::Fact(Fact::text(words))
    }
}

impl CellValue {
    /// Formats a time or a bound of it, in the unit of its column; `imprecise` if too few
    /// independent samples support it. A bound is one to notice.
    pub(super) fn time(value: Quantile, imprecise: bool, unit: DurationColumn) -> CellValue {
        let (text, tone) = match value.bound {
            Bound::Exact => (unit.value(value.ns), Tone::Plain),
            Bound::Lower => (unit.at_least(value.ns), Tone::Bad),
            Bound::Upper => (unit.at_most(value.ns), Tone::Caution),
            Bound::Unknown => return CellValue::toned("unknown", Tone::Caution),
        };
        CellValue::toned(if imprecise { format!("~ {text}") } else { text }, tone)
    }

    /// Formats a share of all requests; one above 0 never reads as 0.
    pub(super) fn frequency(share: f64) -> CellValue {
        let text = match share {
            share if share > 0.0 && share < 0.000_05 => "<0.01%".to_owned(),
            share => units::percent(share),
        };
        CellValue::toned(text, Tone::Aside)
    }

    pub(super) fn toned(text: impl Into<String>, tone: Tone) -> CellValue {
        CellValue::Fact(Fact::text(text).toned(tone))
    }

    /// Returns the text; empty for a bar.
    pub fn text(&self) -> &str {
        match self {
            CellValue::Fact(fact) => &fact.text,
            CellValue::Bar(_) => "",
        }
    }

    /// Returns the tone of the value by itself.
    pub fn tone(&self) -> Tone {
        match self {
            CellValue::Fact(fact) => fact.tone,
            CellValue::Bar(_) => Tone::Plain,
        }
    }
}

//! A plot: series of numbers with axes, as a renderer with a screen draws them. Text leaves them
//! out.
//!
//! Numbers have five digits: nothing that is drawn shows more, and pages stay small.

use serde::Serialize;
use weir_text::{excerpt, printable};
use weir_verdict::NamedMetric;

/// Series of numbers with axes.
#[derive(Clone, Debug, Serialize)]
pub struct Plot {
    /// Name in file names: `latency-percentiles`.
    pub name: String,
    /// Heading.
    pub title: String,
    /// How to read it, in one or two sentences.
    pub about: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Marks, each above the one before.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// Title with the unit of the ticks, if they have none.
    pub title: String,
    /// Distances on the axis.
    pub scale: Scale,
    /// Meaning of the numbers.
    pub unit: AxisUnit,
}

/// Distances on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
    /// Names, in the order in which they occur.
    Names,
}

/// Meaning of the numbers of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisUnit {
    /// A time in nanoseconds.
    Nanoseconds,
    /// A time in seconds from t0.
    Seconds,
    /// An instant in seconds since 1970, UTC.
    Date,
    /// A rate per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// A number, such as a count.
    Number,
    /// A share of 1, with its sign: 0.05 is +5%.
    Share,
    /// A share of 1 without a sign.
    Percent,
    /// A percentile P, 0 to 1, as 1 / (1 - P): 100 is p99. On a logarithmic axis each nine is
    /// equally long.
    Nines,
    /// A name.
    Name,
}

/// Role of a mark, from which a renderer takes its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The subject of the plot.
    Main,
    /// Beside the subject.
    Second,
    /// A third series, and so on; colours repeat after six.
    Other(u8),
    /// The subject, where its values are lower bounds.
    MainAtLeast,
    /// Beside the subject, where its values are lower bounds.
    SecondAtLeast,
    /// The plan, or another reference.
    Reference,
    /// Failures.
    Bad,
}

/// A mark of a plot.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mark {
    /// Points joined by a line.
    Line {
        /// Name in the legend.
        name: String,
        /// Role of the line.
        role: Role,
        /// Positions, ascending.
        x: Vec<f64>,
        /// Values; null where there is none, which interrupts the line.
        y: Vec<Option<f64>>,
    },
    /// Points by themselves.
    Dots {
        /// Name in the legend.
        name: String,
        /// Role of the points.
        role: Role,
        /// Positions.
        x: Vec<f64>,
        /// Values.
        y: Vec<f64>,
        /// Names of the points; empty if they have none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    /// An interval at each of some positions that are not joined.
    Ranges {
        /// Name in the legend.
        name: String,
        /// Role of the points that they belong to.
        role: Role,
        /// Positions.
        x: Vec<f64>,
        /// Lower ends.
        low: Vec<f64>,
        /// Upper ends.
        high: Vec<f64>,
    },
    /// An interval at each position, such as a confidence band.
    Band {
        /// Name in the legend, which leaves out an empty one.
        name: String,
        /// Role of the line that it belongs to.
        role: Role,
        /// Positions, ascending.
        x: Vec<f64>,
        /// Lower ends.
        low: Vec<f64>,
        /// Upper ends; null where the interval is unbounded.
        high: Vec<Option<f64>>,
    },
    /// Counts in a grid, as shades.
    Heat {
        /// Meaning of the counts.
        name: String,
        /// Edges of the columns, one more than there are columns.
        x: Vec<f64>,
        /// Edges of the rows, one more than there are rows.
        y: Vec<f64>,
        /// Column, row and count of each cell that is not empty.
        cells: Vec<(u32, u32, u64)>,
    },
    /// Marks on the upper edge.
    Events {
        /// Name in the legend.
        name: String,
        /// Positions.
        x: Vec<f64>,
        /// Number of events at each position.
        count: Vec<u64>,
    },
    /// A range of positions.
    Span {
        /// Name in the legend.
        name: String,
        /// Start.
        from: f64,
        /// End.
        to: f64,
        /// True if it is part of the result, such as a stage.
        is_measured: bool,
    },
    /// Horizontal bars, stacked in the order of the marks. The vertical axis has names.
    Bar {
        /// Name in the legend.
        name: String,
        /// Role of the part.
        role: Role,
        /// Names of the bars.
        y: Vec<String>,
        /// Lengths.
        x: Vec<f64>,
    },
}

impl Plot {
    /// A plot of this name in file names and this heading, with both axes.
    pub fn new(
        [name, title]: [&str; 2],
        about: impl Into<String>,
        [x, y]: [Axis; 2],
        marks: Vec<Mark>,
    ) -> Plot {
        let name = name.to_owned();
        let title = title.to_owned();
        Plot { name, title, about: about.into(), x, y, marks }
    }
}

impl AxisUnit {
    /// Returns the unit of a metric's values.
    pub fn of(metric: &NamedMetric) -> AxisUnit {
        match metric.unit() {
            "ns" => AxisUnit::Nanoseconds,
            "1/s" => AxisUnit::PerSecond,
            "B" => AxisUnit::Bytes,
            "share" => AxisUnit::Percent,
            _ => AxisUnit::Number,
        }
    }
}

impl Axis {
    /// An axis on which equal differences are equally long.
    pub fn linear(title: &str, unit: AxisUnit) -> Axis {
        Axis { title: title.to_owned(), scale: Scale::Linear, unit }
    }

    pub(super) fn log(title: &str, unit: AxisUnit) -> Axis {
        Axis { scale: Scale::Log, ..Axis::linear(title, unit) }
    }

    /// Time from t0.
    pub(super) fn time() -> Axis {
        Axis::linear("Time from the start of the window", AxisUnit::Seconds)
    }

    /// Percentiles by nines.
    pub(super) fn nines() -> Axis {
        Axis::log("Percentile", AxisUnit::Nines)
    }
}

impl Mark {
    /// Points without names.
    pub(super) fn dots(name: &str, role: Role, x: Vec<f64>, y: Vec<f64>) -> Mark {
        Mark::Dots { name: named(name), role, x, y, labels: Vec::new() }
    }

    /// An interval at each of some positions: its lower end and, unless it is unbounded, its upper
    /// one.
    pub(super) fn band(
        name: String,
        role: Role,
        ends: impl IntoIterator<Item = (f64, f64, Option<f64>)>,
    ) -> Mark {
        let ends = ends.into_iter();
        let ends = ends.map(|(x, low, high)| (short(x), (short(low), high.map(short))));
        let (x, (low, high)) = ends.unzip();
        Mark::Band { name, role, x, low, high }
    }

    /// A line whose name may be foreign text.
    pub(super) fn line(
        name: &str,
        role: Role,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
    ) -> Mark {
        let short = |(x, y): (f64, Option<f64>)| (short(x), y.map(short));
        let (x, y) = points.into_iter().map(short).unzip();
        Mark::Line { name: named(name), role, x, y }
    }
}

/// Returns foreign text as a name.
pub(super) fn named(text: &str) -> String {
    printable(&excerpt(text)).into_owned()
}

/// Role of a series by its index.
pub(super) fn role_of(index: usize) -> Role {
    match index {
        0 => Role::Main,
        1 => Role::Second,
        _ => Role::Other(u8::try_from(index - 2).unwrap_or(0)),
    }
}

/// Rounds to five digits, which is all that a plot shows.
pub fn short(value: f64) -> f64 {
    const DIGITS: i32 = 5;
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let power = DIGITS - 1 - value.abs().log10().floor() as i32;
    // Division by a power of ten is exact where multiplication by its inverse is not.
    match 10_f64.powi(power.abs()) {
        unit if power >= 0 => (value * unit).round() / unit,
        unit => (value / unit).round() * unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_five_digits() {
        for (value, expected) in [
            (0.0, 0.0),
            (123_456.7, 123_460.0),
            (-0.001_234_56, -0.001_234_6),
            (99_999.9, 100_000.0),
            (1.0 / 3.0, 0.333_33),
        ] {
            assert_eq!(short(value), expected, "{value}");
        }
    }
}

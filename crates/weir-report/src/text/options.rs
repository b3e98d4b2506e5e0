//! Options of the text report.

use crate::view::Detail;

/// Options of the text report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// True if the report is coloured, for a terminal.
    pub colour: bool,
    /// Columns of the terminal; at most 120 are used, and at least 60.
    pub width: u16,
    /// Bar style of a compact histogram of the latencies; none leaves the histogram out. Blocks
    /// bring sparklines of the run too.
    pub histogram: Option<Bars>,
    /// True if the whole spectrum of latencies is printed, not only a few percentiles.
    pub spectrum: bool,
    /// True if all findings, the machine, the workers and connect times are printed.
    pub verbose: bool,
    /// True if the grade and the findings are printed.
    pub verdict: bool,
    /// True if every rule of the verdict is printed with its figure.
    pub rules: bool,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            colour: false,
            width: 80,
            histogram: None,
            spectrum: false,
            verbose: false,
            verdict: true,
            rules: false,
        }
    }
}

impl TextOptions {
    /// Parts of the report that the options choose.
    pub(crate) fn detail(&self) -> Detail {
        let TextOptions { histogram, spectrum, verbose, verdict, rules, .. } = *self;
        // Only a terminal gets a histogram; a sparkline needs its block elements.
        let course = histogram == Some(Bars::Blocks);
        let histogram = histogram.is_some();
        Detail { histogram, course, spectrum, verbose, verdict, rules, plots: false }
    }
}

/// Bar style of the histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// In eighths of a column, with Unicode's block elements.
    Blocks,
    /// With `#`, for terminals that are not UTF-8.
    Ascii,
}

/// Block elements by eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Draws a bar of a part of `room` columns; a part above 0 always shows.
pub(crate) fn bar(part: f64, room: usize, bars: Bars) -> String {
    let columns = room as f64 * part;
    let least = usize::from(part > 0.0);
    match bars {
        Bars::Ascii => "#".repeat((columns.round() as usize).max(least)),
        Bars::Blocks => {
            let eighths = ((columns * 8.0).round() as usize).max(least);
            format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional_and_never_vanish() {
        for (part, blocks, ascii) in
            [(1.0, "████████", "########"), (0.5, "████", "####"), (0.01, "▏", "#"), (0.0, "", "")]
        {
            assert_eq!(bar(part, 8, Bars::Blocks), blocks);
            assert_eq!(bar(part, 8, Bars::Ascii), ascii);
        }
    }
}

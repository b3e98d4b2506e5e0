//! Bars of a histogram.

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

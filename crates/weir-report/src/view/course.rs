//! The line `Over time`: rate and p99 of the window as sparklines, for a terminal that shows them.

use weir_result::Document;
use weir_result::document::{SeriesEntry, SeriesPhase};

use super::plots::time::groups;
use super::{Block, Fact};

/// Fewest intervals for which a course is shown.
const INTERVALS_MIN: usize = 8;

/// Most characters of a sparkline: two fit into one line of 80 columns.
const POINTS_MAX: usize = 24;

/// Characters from the least to the greatest value.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn blocks(document: &Document) -> Vec<Block> {
    let is_measured = |group: &&[SeriesEntry]| group[0].phase == SeriesPhase::Measured;
    let measured = groups(document, usize::MAX).into_iter().filter(is_measured).flatten();
    let facts = facts(&measured.collect::<Vec<_>>());
    if facts.is_empty() { Vec::new() } else { vec![Block::facts("Over time", facts)] }
}

/// Returns rate and p99 of the measured intervals; nothing if they are too few.
fn facts(measured: &[&SeriesEntry]) -> Vec<Fact> {
    if measured.len() < INTERVALS_MIN {
        return Vec::new();
    }
    let points: Vec<&[&SeriesEntry]> =
        measured.chunks(measured.len().div_ceil(POINTS_MAX)).collect();
    let rate = |point: &&[&SeriesEntry]| {
        let length_s: f64 = point.iter().map(|entry| entry.length_s).sum();
        point.iter().map(|entry| entry.completed).sum::<u64>() as f64 / length_s
    };
    let p99 = |point: &&[&SeriesEntry]| {
        point.iter().filter_map(|entry| entry.p99_ns).max().unwrap_or(0) as f64
    };
    let rate: Vec<f64> = points.iter().map(rate).collect();
    let p99: Vec<f64> = points.iter().map(p99).collect();
    vec![Fact::named("rate", sparkline(&rate)), Fact::named("p99", sparkline(&p99))]
}

/// Returns one character for each value: its share of the greatest one.
fn sparkline(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    let level = |value: &f64| match most > 0.0 {
        true => ((value / most * 8.0).ceil() as usize).saturating_sub(1).min(7),
        false => 0,
    };
    values.iter().map(|value| LEVELS[level(value)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_begins_at_zero() {
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0]), "▁▁▄█");
        assert_eq!(sparkline(&[5.0, 5.0]), "██");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn points_share_the_intervals_out() {
        for (intervals, points) in [(0, 0), (7, 0), (8, 8), (24, 24), (25, 13), (3_600, 24)] {
            let entry = SeriesEntry {
                phase: SeriesPhase::Measured,
                length_s: 1.0,
                completed: 10,
                p99_ns: Some(5),
                ..SeriesEntry::default()
            };
            let facts = facts(&vec![&entry; intervals]);
            let texts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
            let full = "█".repeat(points);
            let expected = [format!("rate {full}"), format!("p99 {full}")];
            assert_eq!(texts, expected[..if points > 0 { 2 } else { 0 }], "{intervals} intervals");
        }
    }
}

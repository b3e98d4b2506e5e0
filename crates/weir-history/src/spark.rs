//! Sparklines: a metric over time in one line of block characters.

/// Blocks by eighths of a line's height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Least span of a sparkline as a share of its greatest value, so that noise looks flat.
const SPAN_MIN: f64 = 0.2;

/// Draws positive values, the least of them lowest. A run without a value is a blank.
pub(crate) fn line(values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let (least, greatest) = (known().fold(f64::MAX, f64::min), known().fold(0.0, f64::max));
    let span = (greatest - least).max(greatest * SPAN_MIN).max(f64::MIN_POSITIVE);
    let block = |value: &Option<f64>| match value {
        Some(value) if value.is_finite() => {
            let level = (value - least) / span * (BLOCKS.len() - 1) as f64;
            BLOCKS[(level.round() as usize).min(BLOCKS.len() - 1)]
        }
        _ => ' ',
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], expected: &str) {
        let values: Vec<_> = values.iter().map(|value| Some(*value)).collect();
        assert_eq!(line(&values), expected);
    }

    #[test]
    fn a_step_is_seen_and_noise_is_flat() {
        check(&[100.0, 101.0, 100.5, 150.0, 149.0], "▁▁▁██");
        check(&[100.0, 101.0, 99.5], "▁▂▁");
        check(&[0.0, 0.0], "▁▁");
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "▁▂▃▄▅▆▇█");
        check(&[], "");
        assert_eq!(line(&[Some(1.0), None, Some(2.0)]), "▁ █");
    }
}

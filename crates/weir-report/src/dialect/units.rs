//! Numbers to text as wrk prints them. Everywhere else weir-result's `units` alone does that. This
//! is a different table, kept to the byte for the programs that read it, and no example for other
//! code.
//!
//! A number moves to the next unit from 0.85 of that unit on, so 850 µs read `0.85ms`; it never
//! moves to the last unit of wrk's table.

/// A table of units, and the step between them.
struct UnitScale {
    base: &'static str,
    step: f64,
    /// Units above the base that are reached, ascending.
    above: &'static [&'static str],
}

const MICROSECONDS: UnitScale = UnitScale { base: "us", step: 1e3, above: &["ms"] };
const SECONDS: UnitScale = UnitScale { base: "s", step: 60.0, above: &["m"] };
const METRIC: UnitScale = UnitScale { base: "", step: 1e3, above: &["k", "M", "G", "T"] };
const BINARY: UnitScale = UnitScale { base: "", step: 1024.0, above: &["K", "M", "G", "T"] };

/// Formats a time in microseconds: `849.00us`, `0.85ms`, `50.99s`, `0.85m`.
pub(super) fn time(us: f64) -> String {
    if us >= 1e6 { SECONDS.print(us / 1e6, 2) } else { MICROSECONDS.print(us, 2) }
}

/// Formats a time in seconds without decimals: `50s`, `1m`. Halves round to even: 150 s are `2m`.
pub(super) fn whole_seconds(seconds: u64) -> String {
    SECONDS.print(seconds as f64, 0)
}

/// Formats a number with steps of 1,000 between units: `849.00`, `0.85k`.
pub(super) fn metric(number: f64) -> String {
    METRIC.print(number, 2)
}

/// Formats a number with steps of 1,024 between units: `870.00`, `0.85K`.
pub(super) fn binary(number: f64) -> String {
    BINARY.print(number, 2)
}

/// Right-aligns a number with its unit in a field. The digits end in the same column for units of
/// two letters, one or none. Text that is too wide loses its end.
pub(super) fn field(text: &str, width: usize) -> String {
    let letters = text.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    let pad = 2 - letters;
    let room = width - pad;
    format!("{text:>room$.room$}{:pad$}", "")
}

impl UnitScale {
    fn print(&self, number: f64, decimals: usize) -> String {
        let mut amount = number;
        let mut unit = self.base;
        let mut above = self.above.iter();
        while amount >= 0.85 * self.step
            && let Some(next) = above.next()
        {
            (amount, unit) = (amount / self.step, next);
        }
        format!("{amount:.decimals$}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(print: fn(f64) -> String, number: f64, expected: &str) {
        assert_eq!(print(number), expected, "{number}");
    }

    #[test]
    fn times() {
        for (us, expected) in [
            (0.0, "0.00us"),
            (635.914, "635.91us"),
            (849.0, "849.00us"),
            (849.996, "850.00us"),
            (850.0, "0.85ms"),
            (999_999.0, "1000.00ms"),
            (1_000_000.0, "1.00s"),
            (50_990_000.0, "50.99s"),
            (51_000_000.0, "0.85m"),
            (3_600_000_000.0, "60.00m"),
            (86_400_000_000.0, "1440.00m"),
        ] {
            check(time, us, expected);
        }
    }

    #[test]
    fn durations() {
        for (seconds, expected) in [
            (1, "1s"),
            (50, "50s"),
            (51, "1m"),
            (89, "1m"),
            (90, "2m"),
            (91, "2m"),
            (150, "2m"),
            (151, "3m"),
            (210, "4m"),
            (3_600, "60m"),
            (86_400, "1440m"),
        ] {
            assert_eq!(whole_seconds(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn numbers() {
        for (number, expected) in [
            (0.0, "0.00"),
            (31.26, "31.26"),
            (849.0, "849.00"),
            (850.0, "0.85k"),
            (849_999.0, "850.00k"),
            (850_000.0, "0.85M"),
            (850e6, "0.85G"),
            (850e9, "0.85T"),
            (850e12, "850.00T"),
        ] {
            check(metric, number, expected);
        }
        for (number, expected) in [
            (0.0, "0.00"),
            (870.0, "870.00"),
            (870.4, "0.85K"),
            (871.0, "0.85K"),
            (1024.0, "1.00K"),
            (891_289.0, "870.40K"),
            (891_290.0, "0.85M"),
            (19_070_000_000.0, "17.76G"),
            (2_f64.powi(50), "1024.00T"),
        ] {
            check(binary, number, expected);
        }
    }

    #[test]
    fn fields() {
        for (text, width, expected) in [
            ("635.91us", 8, "635.91us"),
            ("0.89ms", 10, "    0.89ms"),
            ("1000.00ms", 8, "1000.00m"),
            ("1000.00ms", 9, "1000.00ms"),
            ("1.29s", 8, "  1.29s "),
            ("56.20k", 8, " 56.20k "),
            ("1440.00m", 8, "1440.00 "),
            ("849.00", 8, "849.00  "),
            ("0.00", 9, "   0.00  "),
            ("12345678.00", 8, "123456  "),
        ] {
            assert_eq!(field(text, width), expected, "{text}");
        }
    }

    /// Asserts that the text is within half of its last digit of `number / unit`, with the unit
    /// `name`.
    #[track_caller]
    fn check_rounded(text: &str, number: u64, unit: u128, name: &str) {
        let digits = text.strip_suffix(name).expect("its unit");
        let (whole, hundredths) = digits.split_once('.').expect("two decimals");
        assert_eq!(hundredths.len(), 2, "{text}");
        let printed: u128 = format!("{whole}{hundredths}").parse().expect("digits");
        let distance = (printed * unit).abs_diff(u128::from(number) * 100);
        // Twice the distance is at most a unit; an eighth of a millionth allows for rounding.
        assert!(distance * 2 <= unit + unit / 8_000_000, "{number} as {text}");
    }

    proptest! {
        /// Checks the rules by a table of limits in whole numbers instead of a chain of floats.
        #[test]
        fn numbers_keep_to_the_rules(number in prop_oneof![
            0..2_000_u64, 0..2_000_000_u64, 0..100_000_000_u64, 0..1_u64 << 50
        ]) {
            let (unit, name) = match number {
                0..850 => (1, "us"),
                850..1_000_000 => (1_000, "ms"),
                1_000_000..51_000_000 => (1_000_000, "s"),
                _ => (60_000_000, "m"),
            };
            check_rounded(&time(number as f64), number, unit, name);

            let (unit, name) = match number {
                0..850 => (1, ""),
                850..850_000 => (1_000, "k"),
                850_000..850_000_000 => (1_000_000, "M"),
                850_000_000..850_000_000_000 => (1_000_000_000, "G"),
                _ => (1_000_000_000_000, "T"),
            };
            check_rounded(&metric(number as f64), number, unit, name);

            // 0.85 of the unit, rounded up to whole bytes.
            let (unit, name) = match number {
                0..871 => (1, ""),
                871..891_290 => (1 << 10, "K"),
                891_290..912_680_551 => (1 << 20, "M"),
                912_680_551..934_584_883_610 => (1 << 30, "G"),
                _ => (1_u128 << 40, "T"),
            };
            check_rounded(&binary(number as f64), number, unit, name);
        }

        #[test]
        fn fields_keep_to_the_rules(
            text in "[0-9]{1,7}[.][0-9][0-9](|u|us|ms|s|m|k|M|G|T)",
            width in 2..13_usize,
        ) {
            let field = field(&text, width);
            prop_assert_eq!(field.len(), width);
            let last: Vec<char> = text.chars().rev().take(2).collect();
            let mut pad = 2;
            for c in last {
                if c.is_alphabetic() {
                    pad -= 1;
                }
            }
            // Column by column from the left; missing columns are blanks before the text.
            let room = width - pad;
            let before = room.saturating_sub(text.len());
            for (column, c) in field.chars().enumerate() {
                let expected = if column < before || column >= room {
                    ' '
                } else {
                    text.chars().nth(column - before).expect("in the text")
                };
                prop_assert_eq!(c, expected);
            }
        }
    }
}

//! Numbers to text. Values are rounded to the nearest printed digit. Lower bounds are rounded down
//! and upper bounds up, so that they stay bounds.

/// Formats a count with its thousands separated: `200,000`.
pub fn count(number: u64) -> String {
    group(&number.to_string())
}

/// Formats a rate per second: `19,999.8/s`, `12.3/s`, `0.500/s`. At least three digits, one decimal
/// from ten on.
pub fn rate(rps: f64) -> String {
    let decimals = match rps {
        0.0 => 0,
        r if r >= 9.995 => 1,
        r if r >= 0.9995 => 2,
        _ => 3,
    };
    format!("{}/s", fixed(rps, decimals))
}

/// Formats a rate per second for a headline: `20,000/s`, `999.9/s`, `0.500/s`; whole from 1,000 on.
pub fn round_rate(rps: f64) -> String {
    if rps < 999.95 { rate(rps) } else { format!("{}/s", fixed(rps, 0)) }
}

/// Formats a rate for a headline, rounded down: for lower bounds.
pub fn rate_at_least(rps: f64) -> String {
    let step = match rps {
        r if r >= 1_000.0 => 1.0,
        r if r >= 9.995 => 0.1,
        r if r >= 0.9995 => 0.01,
        _ => 0.001,
    };
    round_rate((rps / step).floor() * step)
}

/// Formats the rate `numerator / denominator` per second without rounding: `20,000/s`, `0.5/s`, `1
/// per 3 s`. [`parse_rate`](super::parse_rate) reads it back.
pub fn exact_rate(numerator: u64, denominator: u64) -> String {
    // A fraction has as many decimals as its denominator has factors of two or of five, if it has
    // no others.
    let mut rest = denominator.max(1);
    let mut twos = 0;
    let mut fives = 0;
    while rest.is_multiple_of(2) {
        (rest, twos) = (rest / 2, twos + 1);
    }
    while rest.is_multiple_of(5) {
        (rest, fives) = (rest / 5, fives + 1);
    }
    let decimals: u32 = twos.max(fives);
    if rest != 1 || decimals > 9 {
        return format!("{} per {} s", count(numerator), denominator);
    }
    let ten = 10_u128.pow(decimals);
    let scaled = u128::from(numerator) * ten / u128::from(denominator.max(1));
    let whole = group(&(scaled / ten).to_string());
    match usize::try_from(decimals) {
        Ok(width) if width > 0 => format!("{whole}.{:0width$}/s", scaled % ten),
        _ => format!("{whole}/s"),
    }
}

/// Formats a size in SI units: `512 B`, `4.71 MB`.
pub fn bytes(number: u64) -> String {
    scaled_bytes(number as f64)
}

/// Formats bytes per second in SI units: `4.71 MB/s`.
pub fn byte_rate(per_second: f64) -> String {
    format!("{}/s", scaled_bytes(per_second))
}

/// Formats a share of 1 in percent: `0.02%`, `12.5%`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    format!("{}%", fixed(percent, if percent < 9.995 { 2 } else { 1 }))
}

/// Formats a share of 1 in percent with at least two significant digits: `0.0037%`, `12.5%`.
pub fn fine_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 0.995 {
        return if percent == 0.0 { "0%".to_owned() } else { self::percent(share) };
    }
    // Two digits from the first that is not 0; a share of a count is never finer than 1e-18.
    let decimals = (1.0 - percent.log10().floor()).clamp(2.0, 18.0) as usize;
    format!("{}%", fixed(percent, decimals))
}

/// Formats a confidence (1 is certainty) in percent, rounded down: `95.3%`, `99.87%`, `> 99.99%`.
pub fn confidence(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        // The nearest float may lie just below the exact number, hence the small addition.
        p if p > 99.99 => "> 99.99%".to_owned(),
        p if p >= 99.0 => format!("{:.2}%", (p * 100.0 + 1e-9).floor() / 100.0),
        p => format!("{:.1}%", (p * 10.0 + 1e-9).floor() / 10.0),
    }
}

/// Formats a number without unit, with up to six decimals.
pub fn number(value: f64) -> String {
    let text = fixed(value.abs(), 6);
    format!("{}{}", if value < 0.0 { "-" } else { "" }, trimmed(&text))
}

/// Formats a duration in its own unit, rounded to the nearest digit: `85 ns`, `12.3 µs`, `2.00 s`.
pub fn duration(ns: u64) -> String {
    DurationUnit::of(ns).print(ns, Rounding::Nearest)
}

/// Formats a duration in its own unit, rounded down: for lower bounds.
pub fn duration_at_least(ns: u64) -> String {
    DurationUnit::of(ns).print(ns, Rounding::Down)
}

/// Formats a duration in its own unit, rounded up: for upper bounds.
pub fn duration_at_most(ns: u64) -> String {
    DurationUnit::of(ns).print(ns, Rounding::Up)
}

/// Formats a duration in its own unit, without trailing zeros: `10 s`, `2.5 s`, `101 ms`.
pub fn short_duration(ns: u64) -> String {
    let text = duration(ns);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => format!("{} {unit}", trimmed(number)),
        _ => text,
    }
}

/// Formats a relative change with its sign: `+8.1%`, `−0.6%`; from a factor of two on as a
/// multiple, `2.4 times`, `34 times`, since +3285.3% is easily misread.
pub fn change(change: f64) -> String {
    match change {
        change if change >= 9.95 => format!("{} times", count((1.0 + change).round() as u64)),
        change if change >= 1.0 => format!("{:.1} times", 1.0 + change),
        change if change < 0.0 => format!("−{:.1}%", -100.0 * change),
        change => format!("+{:.1}%", 100.0 * change),
    }
}

/// Formats a share of 1 in percent, without trailing zeros: `100%`, `3.1%`, `0.12%`.
pub fn short_percent(share: f64) -> String {
    let text = percent(share);
    match text.strip_suffix('%').filter(|number| number.contains('.')) {
        Some(number) => format!("{}%", trimmed(number)),
        None => text,
    }
}

/// Formats a duration given in seconds, in its own unit, rounded to the nearest digit.
pub fn duration_of_seconds(seconds: f64) -> String {
    duration((seconds * 1e9).round() as u64)
}

/// Formats a duration without rounding, as short as possible: `10 s`, `1.5 s`, `250 ms`, `90 s`, `2
/// h`. [`parse_duration_ns`](super::parse_duration_ns) reads it back.
pub fn exact_duration(ns: u64) -> String {
    if ns == 0 {
        return "0 s".to_owned();
    }
    // Minutes and hours only if whole and from two on, as in common use: 90 s, but 2 m.
    for (name, unit) in [("h", 3_600_000_000_000), ("m", 60_000_000_000)] {
        if ns >= 2 * unit && ns.is_multiple_of(unit) {
            return format!("{} {name}", count(ns / unit));
        }
    }
    // At most three decimals: 1.5 s is easier to read than 1,500 ms.
    let is_short =
        |unit: &DurationUnit| ns >= unit.ns && (ns % unit.ns * 1000).is_multiple_of(unit.ns);
    let unit = UNITS.into_iter().find(is_short).unwrap_or(NANOSECONDS);
    let decimals = format!(".{:03}", ns % unit.ns * 1000 / unit.ns);
    format!("{}{} {}", count(ns / unit.ns), trimmed(&decimals), unit.name)
}

/// Formats a duration for reading: without rounding if it has at most three decimals in its own
/// unit (`90 s`, `1.5 s`), else rounded (`54.33 s`).
pub fn plain_duration(ns: u64) -> String {
    let own = UNITS.into_iter().find(|unit| ns >= unit.ns).unwrap_or(NANOSECONDS);
    match (ns % own.ns * 1000).is_multiple_of(own.ns) {
        true => exact_duration(ns),
        false => duration(ns),
    }
}

/// Format of a column of durations: one unit and one number of decimals, chosen once from a typical
/// value. A value of a thousand units or more is an outlier and is printed in its own unit.
#[derive(Clone, Copy, Debug)]
pub struct DurationColumn {
    unit: DurationUnit,
}

impl DurationColumn {
    /// Returns the column whose typical value (for example its median) is `typical_ns`.
    pub fn of(typical_ns: u64) -> DurationColumn {
        // The unit is at most twice the value.
        DurationColumn { unit: DurationUnit::of(typical_ns.saturating_mul(2)) }
    }

    /// Formats a value, rounded to the nearest digit: `0.98 ms`.
    pub fn value(&self, ns: u64) -> String {
        self.print(ns, Rounding::Nearest)
    }

    /// Formats a lower bound, rounded down: `> 2.00 s`.
    pub fn at_least(&self, ns: u64) -> String {
        format!("> {}", self.print(ns, Rounding::Down))
    }

    /// Formats a lower bound that may be the value, rounded down: `≥ 25 µs`.
    pub fn or_more(&self, ns: u64) -> String {
        format!("≥ {}", self.print(ns, Rounding::Down))
    }

    /// Formats an upper bound, rounded up: `≤ 3.06 ms`.
    pub fn at_most(&self, ns: u64) -> String {
        format!("≤ {}", self.print(ns, Rounding::Up))
    }

    /// Formats an interval, its ends rounded outwards, beside a value that has the unit:
    /// `0.97–0.99`. Ends in another unit than the value's have theirs, `3.80–4.10 s`, and ends of
    /// different units one each, `33 µs–3.80 ms`; without an upper end `≥ 0.97 ms`.
    pub fn interval(&self, low_ns: u64, high_ns: Option<u64>) -> String {
        let Some(high_ns) = high_ns else {
            return self.or_more(low_ns);
        };
        let low = self.print(low_ns, Rounding::Down);
        let high = self.print(high_ns, Rounding::Up);
        match (low.rsplit_once(' '), high.rsplit_once(' ')) {
            (Some((low, unit)), Some((bare, same))) if unit == same => {
                let high = if unit == self.unit.name { bare } else { &high };
                format!("{low}–{high}")
            }
            _ => format!("{low}–{high}"),
        }
    }

    fn print(&self, ns: u64, rounding: Rounding) -> String {
        let is_outlier = ns / 1000 >= self.unit.ns;
        let unit = if is_outlier { DurationUnit::of(ns) } else { self.unit };
        unit.print(ns, rounding)
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Nearest,
    Down,
    Up,
}

/// A unit of durations.
#[derive(Clone, Copy, Debug)]
struct DurationUnit {
    name: &'static str,
    ns: u64,
    decimals: u32,
}

const NANOSECONDS: DurationUnit = DurationUnit { name: "ns", ns: 1, decimals: 0 };

/// The units, greatest first.
const UNITS: [DurationUnit; 4] = [
    DurationUnit { name: "s", ns: 1_000_000_000, decimals: 2 },
    DurationUnit { name: "ms", ns: 1_000_000, decimals: 2 },
    DurationUnit { name: "µs", ns: 1_000, decimals: 0 },
    NANOSECONDS,
];

impl DurationUnit {
    /// Returns the greatest unit that fits at least once.
    fn of(ns: u64) -> DurationUnit {
        UNITS.into_iter().find(|unit| ns >= unit.ns).unwrap_or(NANOSECONDS)
    }

    /// Prints hundredths of milliseconds and seconds; whole microseconds and nanoseconds.
    fn print(self, ns: u64, rounding: Rounding) -> String {
        let DurationUnit { name, ns: unit_ns, decimals } = self;
        let step = unit_ns / 10_u64.pow(decimals);
        let steps = match rounding {
            Rounding::Nearest => ns / step + u64::from(ns % step >= step.div_ceil(2)),
            Rounding::Down => ns / step,
            Rounding::Up => ns.div_ceil(step),
        };
        if decimals == 0 {
            return format!("{} {name}", count(steps));
        }
        format!("{}.{:02} {name}", count(steps / 100), steps % 100)
    }
}

fn scaled_bytes(number: f64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut scaled = number;
    let mut unit = 0;
    while scaled >= 999.995 && unit + 1 < UNITS.len() {
        (scaled, unit) = (scaled / 1000.0, unit + 1);
    }
    format!("{} {}", fixed(scaled, if unit == 0 { 0 } else { 2 }), UNITS[unit])
}

/// Removes the zeros at the end of a number's decimals.
fn trimmed(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

/// Formats a float with thousands separated, rounded to `decimals` digits.
fn fixed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", group(whole)),
        None => group(&text),
    }
}

/// Separates the thousands of a run of digits.
fn group(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

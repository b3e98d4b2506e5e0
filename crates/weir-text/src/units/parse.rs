//! Text to numbers, for flags. Parsing is exact; nothing is rounded.

/// Error in the text of a number: a fragment that fits after "invalid value: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {what}: {why}; write {accepted}")]
pub struct ParseError {
    text: String,
    what: &'static str,
    why: String,
    accepted: &'static str,
}

/// Kind of number that a function below parses, for its error texts.
struct Kind {
    what: &'static str,
    accepted: &'static str,
}

const DURATION: Kind = Kind {
    what: "a duration",
    accepted: "500ms, 2s, 1.5m, 1m30s (ns us ms s m h; a bare number is seconds)",
};
const COUNT: Kind =
    Kind { what: "a count", accepted: "10000, 10k, 1.5M, 1G (k m g t, in thousands)" };
const RATE: Kind = Kind {
    what: "a rate",
    accepted: "20000, 20k, 0.5, 100/s, 6000/m, 1/3s (per second unless said otherwise)",
};
const BYTES: Kind =
    Kind { what: "a size", accepted: "4096, 64k, 1.5M (thousands), 4Ki, 1Mi (1,024s)" };

/// Nanoseconds per duration unit, greatest first.
const DURATION_UNITS: [(&str, u64); 8] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
];
const SHARE: Kind = Kind { what: "a share", accepted: "0.1%, or 0.001 for the same" };
const NUMBER: Kind = Kind { what: "a number", accepted: "10, 0.5, 10k, 1.5M" };

/// Greatest rate: one request per nanosecond, the resolution of the schedule.
const RATE_MAX_RPS: u128 = 1_000_000_000;

/// Greatest numerator and denominator of a rate, so that times of slots fit 128 bits.
const RATE_TERM_MAX: u64 = 1_000_000_000_000_000_000;

/// Greatest number of digits, so that its arithmetic fits 128 bits.
const DIGITS_MAX: usize = 18;

/// Parses the limit of a latency, or a time within a condition, in nanoseconds. A bare number is
/// seconds elsewhere; here that is hardly ever intended.
///
/// # Errors
/// The reason why the text is no duration with a unit.
pub fn parse_limit_ns(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let is_bare =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match is_bare {
        true => Err(format!("'{text}' has no unit: write {text}ms or {text}s")),
        false => parse_duration_ns(text).map_err(|error| error.to_string()),
    }
}

/// Parses a duration in nanoseconds: `2s`, `1.5m`, `100us`, `1m30s`; a bare number is seconds.
///
/// Zero is a duration. Refuses fractions of a nanosecond, and durations longer than `u64` holds.
pub fn parse_duration_ns(text: &str) -> Result<u64, ParseError> {
    let mut rest = text.trim();
    let mut total: u128 = 0;
    let mut last_unit_ns = u64::MAX;
    loop {
        let (number, after) = split_number(rest, text, &DURATION)?;
        let after = after.trim_start();
        let unit_end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit_ns = match DURATION_UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, ns)) => *ns,
            None if unit.is_empty() && total == 0 && last_unit_ns == u64::MAX => 1_000_000_000,
            None if unit.is_empty() => return DURATION.refuse(text, "its last number has no unit"),
            None => return DURATION.refuse(text, unknown_unit(unit)),
        };
        if unit_ns >= last_unit_ns {
            return DURATION.refuse(text, "its units must get smaller");
        }
        last_unit_ns = unit_ns;
        let Some(ns) = number.times(u128::from(unit_ns)) else {
            return DURATION.refuse(text, "it is finer than a nanosecond");
        };
        total += ns;
        rest = after.trim_start();
        if rest.is_empty() {
            break;
        }
    }
    u64::try_from(total).or_else(|_| DURATION.refuse(text, "it is longer than 584 years"))
}

/// The reason that a duration has a wrong unit.
fn unknown_unit(unit: &str) -> String {
    let lower = unit.to_lowercase();
    let (name, symbol) = match lower.as_str() {
        "hr" | "hrs" | "hour" | "hours" => ("hours", "h"),
        "min" | "mins" | "minute" | "minutes" => ("minutes", "m"),
        "sec" | "secs" | "second" | "seconds" => ("seconds", "s"),
        "msec" | "msecs" | "millisecond" | "milliseconds" => ("milliseconds", "ms"),
        "usec" | "usecs" | "microsecond" | "microseconds" => ("microseconds", "us"),
        "d" | "day" | "days" => ("days", "24h"),
        _ => return format!("there is no unit '{unit}'"),
    };
    format!("there is no unit '{unit}', {name} are {symbol}")
}

/// Parses a count: `10000`, `10,000`, `10k`, `1.5M`, `1G`. Refuses fractions.
pub fn parse_count(text: &str) -> Result<u64, ParseError> {
    let (number, suffix) = split_number(text.trim(), text, &COUNT)?;
    whole(number.times(si_scale(suffix, text, &COUNT)?), text, &COUNT)
}

/// Parses a size in bytes: `4096`, `64k` (64,000), `4Ki` (4,096), each with or without a final `B`.
pub fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    let (number, suffix) = split_number(text.trim(), text, &BYTES)?;
    let suffix = suffix.trim();
    let unit = suffix.strip_suffix(['b', 'B']).unwrap_or(suffix);
    let scale = match unit.strip_suffix(['i', 'I']) {
        Some("") => None,
        Some(prefix) => si_power(prefix).map(|power| 1_u128 << (10 * power)),
        None => si_power(unit).map(|power| 1000_u128.pow(power)),
    };
    let Some(scale) = scale else {
        return BYTES.refuse(text, format!("there is no unit '{suffix}'"));
    };
    whole(number.times(scale), text, &BYTES)
}

/// Parses a share of 1: `0.1%`, `0.001`, to the nearest float. Refuses more than 1.
pub fn parse_share(text: &str) -> Result<f64, ParseError> {
    let (number, suffix) = split_number(text.trim(), text, &SHARE)?;
    let scale = match suffix.trim() {
        "" => 1.0,
        "%" => 100.0,
        suffix => return SHARE.refuse(text, format!("there is no unit '{suffix}'")),
    };
    let share = number.nearest() / scale;
    if share > 1.0 {
        return SHARE.refuse(text, "it is more than all, and percent have the sign %");
    }
    Ok(share)
}

/// Parses a number without unit, to the nearest float: `0.5`, `10k`, `-3`.
pub fn parse_number(text: &str) -> Result<f64, ParseError> {
    let trimmed = text.trim();
    let (sign, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, trimmed),
    };
    let (number, suffix) = split_number(digits, text, &NUMBER)?;
    Ok(sign * number.nearest() * si_scale(suffix, text, &NUMBER)? as f64)
}

/// Parses a rate, exactly: `20k`, `0.5`, `100/s`, `6000/m`, `1/3s`, `1 per 3 s`; per second by
/// default, as a reduced fraction: numerator and denominator, both at least 1. Refuses zero and
/// more than one request per nanosecond.
pub fn parse_rate(text: &str) -> Result<(u64, u64), ParseError> {
    let split = text.split_once('/').or_else(|| text.split_once(" per "));
    let (amount, period) = split.unwrap_or((text, "s"));
    let (number, suffix) = split_number(amount.trim(), text, &RATE)?;
    let scale = si_scale(suffix, text, &RATE)?;
    let period = period.trim();
    let one = if period.starts_with(char::is_alphabetic) { "1" } else { "" };
    let period_ns = match parse_duration_ns(&format!("{one}{period}")) {
        Ok(0) => return RATE.refuse(text, "no time is no period"),
        Ok(ns) => u128::from(ns),
        Err(error) => return RATE.refuse(text, format!("after the stroke, {}", error.why)),
    };
    reduced_rate(&number, scale, period_ns, text)
}

/// Returns `digits · scale / 10^fraction_digits` per `period_ns`, as a fraction per second.
fn reduced_rate(
    number: &Decimal,
    scale: u128,
    period_ns: u128,
    text: &str,
) -> Result<(u64, u64), ParseError> {
    // Reduced first, so that the products of all useful rates stay within 128 bits.
    let (amount, period) = reduced(number.digits * scale, period_ns);
    let (second, ten) = reduced(1_000_000_000, 10_u128.pow(number.fraction_digits));
    let terms = amount.checked_mul(second).zip(period.checked_mul(ten));
    let Some((numerator, denominator)) = terms else {
        return RATE.refuse(text, "it has too many digits");
    };
    if numerator == 0 {
        return RATE.refuse(text, "a rate of zero sends nothing");
    }
    if numerator / denominator > RATE_MAX_RPS {
        return RATE.refuse(text, "it is more than a request per nanosecond");
    }
    let (numerator, denominator) = reduced(numerator, denominator);
    let term = |term: u128| u64::try_from(term).ok().filter(|term| *term <= RATE_TERM_MAX);
    let terms = term(numerator).zip(term(denominator));
    terms.map_or_else(|| RATE.refuse(text, "it has too many digits"), Ok)
}

/// A decimal number: `digits / 10^fraction_digits`.
struct Decimal {
    digits: u128,
    fraction_digits: u32,
}

impl Decimal {
    /// Returns the nearest float.
    fn nearest(&self) -> f64 {
        // Both numbers are exact and the quotient is rounded once, if they are below 2^53.
        self.digits as f64 / 10_u128.pow(self.fraction_digits) as f64
    }

    /// Returns the product, if it is a whole number.
    fn times(&self, factor: u128) -> Option<u128> {
        let product = self.digits.checked_mul(factor)?;
        let ten = 10_u128.pow(self.fraction_digits);
        (product % ten == 0).then_some(product / ten)
    }
}

/// Splits off a leading decimal number; commas may stand between groups of three digits.
fn split_number<'t>(
    rest: &'t str,
    text: &str,
    kind: &Kind,
) -> Result<(Decimal, &'t str), ParseError> {
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if rest.is_empty() {
        return kind.refuse(text, "a number is missing");
    }
    if rest.starts_with('-') {
        return kind.refuse(text, "it must not be negative");
    }
    if whole.is_empty() && fraction.is_empty() {
        return kind.refuse(text, "it does not begin with a number");
    }
    if fraction.contains(['.', ',']) || !is_grouped(whole) {
        return kind.refuse(text, format!("'{number}' is no number"));
    }
    let fraction = fraction.trim_end_matches('0');
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != ',').collect();
    if digits.trim_start_matches('0').len() > DIGITS_MAX || fraction.len() > DIGITS_MAX {
        return kind.refuse(text, "it has too many digits");
    }
    let digits = digits.bytes().fold(0_u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let fraction_digits = u32::try_from(fraction.len()).expect("at most 18");
    Ok((Decimal { digits, fraction_digits }, after))
}

/// True if commas, if any, separate thousands.
fn is_grouped(whole: &str) -> bool {
    let Some((first, others)) = whole.split_once(',') else { return true };
    (1..=3).contains(&first.len()) && others.split(',').all(|group| group.len() == 3)
}

fn whole(product: Option<u128>, text: &str, kind: &Kind) -> Result<u64, ParseError> {
    match product.map(u64::try_from) {
        Some(Ok(number)) => Ok(number),
        Some(Err(_)) => kind.refuse(text, "it is too great"),
        None => kind.refuse(text, "it is no whole number"),
    }
}

/// Returns the number that a suffix after a number stands for; 1 without one.
fn si_scale(suffix: &str, text: &str, kind: &Kind) -> Result<u128, ParseError> {
    let suffix = suffix.trim();
    match si_power(suffix) {
        Some(power) => Ok(1000_u128.pow(power)),
        None => kind.refuse(text, format!("there is no suffix '{suffix}'")),
    }
}

/// Ignores case, as wrk does: a count has no thousandths.
fn si_power(prefix: &str) -> Option<u32> {
    match prefix {
        "" => Some(0),
        "k" | "K" => Some(1),
        "m" | "M" => Some(2),
        "g" | "G" => Some(3),
        "t" | "T" => Some(4),
        _ => None,
    }
}

/// Reduces a fraction to lowest terms; the denominator is not zero.
fn reduced(numerator: u128, denominator: u128) -> (u128, u128) {
    let mut a = numerator;
    let mut b = denominator;
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (numerator / a, denominator / a)
}

impl Kind {
    fn refuse<T>(&self, text: &str, why: impl Into<String>) -> Result<T, ParseError> {
        let what = self.what;
        let accepted = self.accepted;
        Err(ParseError { text: text.to_owned(), what, why: why.into(), accepted })
    }
}

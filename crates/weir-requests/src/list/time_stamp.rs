//! Times as logs write them, as nanoseconds since 1970: those of access logs, ISO 8601, and numbers
//! since 1970. This module reads no clock and knows no time zone but UTC offsets.

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Abbreviations of the months, as access logs have them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeStamp {
    /// Nanoseconds since 1970, UTC.
    pub(crate) ns: u64,
    /// Digits of its fraction of a second as written, 0 to 9.
    pub(super) digits: u32,
}

impl TimeStamp {
    /// Reads a time in any of the forms; `None` if it is in none, or lies before 1970 or after
    /// 2500.
    pub(crate) fn parse(text: &str) -> Option<TimeStamp> {
        TimeStamp::of_log(text)
            .or_else(|| TimeStamp::of_iso8601(text))
            .or_else(|| TimeStamp::of_number(text))
    }

    /// Reads `10/Oct/2000:13:55:36 -0700`.
    fn of_log(text: &str) -> Option<TimeStamp> {
        let (date, rest) = text.split_once(':')?;
        let mut date = date.split('/');
        let day = number(date.next()?, 2)?;
        let month = date.next()?;
        let year = date.next()?;
        let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
        let (time, offset) = rest.split_once(' ')?;
        let is_whole = date.next().is_none() && !time.contains('.');
        let of_day = Some(days(number(year, 4)?, month, day)?).filter(|_| is_whole);
        at(of_day?, time, offset)
    }

    /// Reads `2000-10-10T13:55:36.123-07:00`, also with `Z`, or with a blank in the place of `T`.
    fn of_iso8601(text: &str) -> Option<TimeStamp> {
        let (date, rest) = text.split_once(['T', 't', ' '])?;
        let mut date = date.split('-');
        let year = number(date.next()?, 4)?;
        let month = number(date.next()?, 2)?;
        let day = number(date.next()?, 2)?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')?;
        let (time, offset) = rest.split_at(end);
        let is_date = date.next().is_none();
        at(days(year, month, day).filter(|_| is_date)?, time, offset)
    }

    /// Reads a number since 1970: of seconds, from 10¹¹ on of milliseconds, from 10¹⁴ on of
    /// microseconds, from 10¹⁷ on of nanoseconds.
    fn of_number(text: &str) -> Option<TimeStamp> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let whole = Some(whole).filter(|whole| is_digits(whole))?.parse::<u64>().ok()?;
        let unit_digits = match whole {
            0..100_000_000_000 => 0,
            100_000_000_000..100_000_000_000_000 => 3,
            100_000_000_000_000..100_000_000_000_000_000 => 6,
            _ => 9,
        };
        let unit_ns = SECOND_NS / 10_u64.pow(unit_digits);
        let (fraction_ns, digits) = match text.contains('.') {
            true => fraction_of(unit_ns, fraction)?,
            false => (0, 0),
        };
        let ns = whole.checked_mul(unit_ns)?.checked_add(fraction_ns)?;
        let digits = (unit_digits + digits).min(9);
        Some(TimeStamp { ns, digits })
    }
}

/// Returns the instant `time`, which is `HH:MM:SS` with or without a fraction, after a number of
/// days since 1970, at an offset from UTC.
fn at(days: u64, time: &str, offset: &str) -> Option<TimeStamp> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 2)?;
    let minute = number(clock.next()?, 2)?;
    let second = number(clock.next()?, 2)?;
    // 60 is a leap second, which counts as the first of the next minute.
    if clock.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction_ns, digits) = match time.contains('.') {
        true => fraction_of(SECOND_NS, fraction)?,
        false => (0, 0),
    };
    let local_s = ((days * 24 + hour) * 60 + minute) * 60 + second;
    let utc_s = local_s.checked_add_signed(-offset_s(offset)?)?;
    Some(TimeStamp { ns: utc_s.checked_mul(SECOND_NS)?.checked_add(fraction_ns)?, digits })
}

/// Reads an offset from UTC, in seconds: `Z`, `+0100`, `-07:00`, `+01`.
fn offset_s(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at_checked(2)?,
        _ => rest.split_once(':')?,
    };
    let hours = number(hours, 2)?;
    let minutes = number(minutes, 2)?;
    let seconds = i64::try_from((hours * 60 + minutes) * 60).ok()?;
    (hours < 24 && minutes < 60).then_some(sign * seconds)
}

/// Returns a fraction of a unit in nanoseconds, rounded down, and the number of its digits.
fn fraction_of(unit_ns: u64, text: &str) -> Option<(u64, u32)> {
    if !is_digits(text) {
        return None;
    }
    let kept = &text[..text.len().min(9)];
    let digits = kept.len() as u32;
    Some((kept.parse::<u64>().ok()? * unit_ns / 10_u64.pow(digits), digits))
}

/// Returns the days from 1970 to a date of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..=2500).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let last = year - 1;
    let leap_days = last / 4 - last / 100 + last / 400 - 477; // 477 came before 1970.
    let of_year = BEFORE[month as usize - 1] + u64::from(is_leap && month > 2) + day - 1;
    Some((year - 1970) * 365 + leap_days + of_year)
}

/// Reads a number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u64> {
    Some(text).filter(|text| text.len() == digits && is_digits(text))?.parse().ok()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds from Python: `datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp()`, and
    /// `datetime.fromisoformat(text).timestamp()`.
    #[test]
    fn instants_are_those_of_another_program() {
        for (text, seconds, fraction_ns, digits) in [
            ("10/Oct/2000:13:55:36 -0700", 971_211_336, 0, 0),
            ("29/Feb/2024:23:59:59 +0000", 1_709_251_199, 0, 0),
            ("01/Mar/2024:00:00:00 +0530", 1_709_231_400, 0, 0),
            ("31/Dec/1999:23:30:00 -0330", 946_695_600, 0, 0),
            ("01/Jan/1970:00:00:00 +0000", 0, 0, 0),
            ("28/Feb/2100:12:00:00 +0000", 4_107_499_200, 0, 0),
            ("2100-03-01T12:00:00+00:00", 4_107_585_600, 0, 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199, 0, 0),
            ("2026-11-27T02:08:12.345+01:00", 1_795_741_692, 345_000_000, 3),
            ("2026-11-27 02:08:12.000000001-07", 1_795_770_492, 1, 9),
            ("2026-11-27T02:08:12.5Z", 1_795_745_292, 500_000_000, 1),
            ("1709251199", 1_709_251_199, 0, 0),
            ("1709251199.042", 1_709_251_199, 42_000_000, 3),
            ("1709251199042", 1_709_251_199, 42_000_000, 3),
            ("1709251199042001", 1_709_251_199, 42_001_000, 6),
            ("1709251199042001007", 1_709_251_199, 42_001_007, 9),
            ("1709251199042.5", 1_709_251_199, 42_500_000, 4),
        ] {
            let ns = seconds * SECOND_NS + fraction_ns;
            assert_eq!(TimeStamp::parse(text), Some(TimeStamp { ns, digits }), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "-",
            "30/Feb/2024:00:00:00 +0000",
            "29/Feb/2100:00:00:00 +0000",
            "01/Foo/2024:00:00:00 +0000",
            "1/Jan/2024:00:00:00 +0000",
            "01/Jan/2024:24:00:00 +0000",
            "01/Jan/2024:00:00:00",
            "01/Jan/2024:00:00:00 0000",
            "01/Jan/1969:00:00:00 +0000",
            "01/Jan/1970:00:00:00 +0100",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+25:00",
            "2024-01-01",
            "12.",
            ".5",
            "+5",
            "99999999999999999999",
        ] {
            assert_eq!(TimeStamp::parse(text), None, "{text}");
        }
    }
}

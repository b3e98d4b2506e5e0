//! Dates of cookies, which servers write in many forms (RFC 6265 §5.1.1).

/// Returns the seconds since 1970-01-01 UTC of a date; `None` if it is none.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let mut time = None;
    let mut day = None;
    let mut month = None;
    let mut year = None;
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2, 4)
        {
            year = Some(match found {
                0..=69 => found + 2_000,
                70..=99 => found + 1_900,
                _ => found,
            });
        }
    }
    let day = day.filter(|day| (1..=31).contains(day))?;
    let days = days_to(year.filter(|year| *year >= 1_601)?, month?, day);
    Some(days * 86_400 + time?)
}

fn is_delimiter(byte: &u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// Returns the seconds of `hh:mm:ss`; other characters than digits may follow.
fn time_of(token: &[u8]) -> Option<i64> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let mut part = |most: i64| number(parts.next()?, 1, 2).filter(|part| *part <= most);
    let hours = part(23)?;
    let minutes = part(59)?;
    Some(hours * 3_600 + minutes * 60 + part(59)?)
}

/// Returns the number of this many digits that a token begins with; no digit may follow.
fn number(token: &[u8], least: usize, most: usize) -> Option<i64> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(least..=most).contains(&digits) {
        return None;
    }
    std::str::from_utf8(&token[..digits]).ok()?.parse().ok()
}

/// Returns the month, from 1, whose first three letters a token begins with.
fn month_of(token: &[u8]) -> Option<i64> {
    const MONTHS: &[u8] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let name = token.get(..3)?.to_ascii_lowercase();
    (1..).zip(MONTHS.chunks(3)).find(|(_, month)| **month == *name).map(|(number, _)| number)
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant,
/// chrono-Compatible Low-Level Date Algorithms, `days_from_civil`).
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_all_forms_are_read() {
        for (text, expected) in [
            ("Tue, 14 Nov 2023 22:13:20 GMT", 1_700_000_000),
            ("Tuesday, 14-Nov-23 22:13:20 GMT", 1_700_000_000),
            ("Tue Nov 14 22:13:20 2023", 1_700_000_000),
            ("14-nov-2023 22:13:20", 1_700_000_000),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
        for text in
            ["", "never", "14 Nov 2023", "22:13:20", "32 Nov 2023 22:13:20", "14 Nov 2023 24:00:00"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}

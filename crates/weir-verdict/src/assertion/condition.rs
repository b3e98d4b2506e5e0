//! The text of a condition: a name, a comparison, a limit. Assertions, objectives of searches,
//! conditions of an early end and those of a goodput are read here.

use weir_result::{GoodputTerm, GoodputTime};
use weir_text::units::parse_limit_ns;

use super::comparison::{COMPARISONS, Relation};
use super::metric::{AssertionError, Time};

/// First letters of comparisons.
const SIGNS: [char; 4] = ['<', '>', '=', '!'];

/// A condition in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition<'t> {
    /// Name of the number.
    pub(super) name: &'t str,
    pub(super) relation: Relation,
    /// Text of the limit.
    pub(super) limit: &'t str,
}

impl<'t> Condition<'t> {
    /// Splits a text. `signs` are the comparisons that it may have, with a blank between them.
    pub(super) fn split(text: &'t str, signs: &str) -> Result<Condition<'t>, String> {
        let at = text.find(SIGNS).ok_or("there is no comparison in it")?;
        let (name, rest) = text.split_at(at);
        let found = COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign));
        let found = found.filter(|(sign, _)| signs.split(' ').any(|usable| usable == *sign));
        let (sign, relation) = found.ok_or_else(|| format!("the comparisons are {signs}"))?;
        Ok(Condition { name: name.trim(), relation: *relation, limit: rest[sign.len()..].trim() })
    }
}

/// Splits a text at each word `and`, unless it is in a name: there is no comparison between the
/// condition's start and the word, and the name ends behind it.
pub fn split_conditions(text: &str) -> Vec<&str> {
    let mut conditions = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let at = end;
        end += word.len();
        if !word.trim().eq_ignore_ascii_case("and") {
            continue;
        }
        let condition = text[start..at].trim();
        let behind = text[end..].split(SIGNS).next().unwrap_or_default();
        if condition.is_empty() || condition.contains(SIGNS) || !behind.contains(": ") {
            conditions.push(condition);
            start = end;
        }
    }
    conditions.push(text[start..].trim());
    conditions
}

/// Parses a condition on the times of one response: `ttft < 500ms`, `gap p99 < 50ms`.
///
/// # Errors
/// When it is none; the message has the remedy.
pub fn parse_response_condition(text: &str) -> Result<GoodputTerm, AssertionError> {
    let wrong = |why: String| {
        AssertionError(format!(
            "'{}' is no condition of one response: {why}; write first (or ttft), total, tpot, gap \
             mean, gap p99 (or itl p99) or gap max, then < and a time, as in 'first < 500ms and \
             gap p99 < 50ms'",
            text.trim()
        ))
    };
    let condition = Condition::split(text, "< <=").map_err(wrong)?;
    let time = response_time(&condition.name.to_ascii_lowercase()).map_err(wrong)?;
    let limit_ns = parse_limit_ns(condition.limit).map_err(wrong)?;
    let limit_ns = match condition.relation {
        Relation::AtMost => limit_ns.saturating_add(1),
        _ => limit_ns,
    };
    match limit_ns {
        0 => Err(wrong("a limit is above 0".to_owned())),
        limit_ns => Ok(GoodputTerm { time, limit_ns }),
    }
}

/// Returns the time of a response with this name.
fn response_time(name: &str) -> Result<GoodputTime, String> {
    let (first, figure) = name.split_once(['.', ' ']).unwrap_or((name, ""));
    match (Time::named(first), figure.trim()) {
        (Some(Time::FIRST_MESSAGE), "") => Ok(GoodputTime::First),
        (Some(Time::RESPONSE), "") => Ok(GoodputTime::Total),
        (Some(Time::PER_TOKEN), "") => Ok(GoodputTime::PerToken),
        (Some(Time::MEAN_GAP), "") | (Some(Time::GAP), "mean") => Ok(GoodputTime::MeanGap),
        (Some(Time::GAP), "max") => Ok(GoodputTime::Gap(100.0)),
        (Some(Time::GAP), figure) => {
            let p = figure.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
            let p = p.filter(|p| *p > 0.0 && *p < 100.0);
            p.map(GoodputTime::Gap).ok_or_else(|| format!("'{name}' names no gap"))
        }
        (Some(Time::FIRST_MESSAGE | Time::RESPONSE | Time::PER_TOKEN | Time::MEAN_GAP), figure) => {
            Err(format!("a response has one {first}, and so no '{figure}' of it"))
        }
        _ => Err(format!("'{name}' is no time of a response")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_one_response_have_the_names_of_assertions() {
        let of = |text: &str| {
            let terms = split_conditions(text).into_iter().map(parse_response_condition);
            terms.collect::<Result<Vec<_>, _>>().map_err(|why| why.to_string())
        };
        let term = |time, limit_ns| GoodputTerm { time, limit_ns };
        let expected = [
            term(GoodputTime::First, 500_000_000),
            term(GoodputTime::Gap(99.9), 50_000_000),
            term(GoodputTime::Gap(100.0), 1_000_000_000),
            term(GoodputTime::MeanGap, 2_000),
        ];
        for text in [
            "first<500ms and gap p99.9 < 50ms and gap max < 1s and gap mean < 2us",
            "TTFT < 500ms AND itl p99.9 < 50ms and itl max < 1s and mean_gap < 2us",
            "first_message < 500ms and gap.p99.9 < 50ms and itl.max < 1s and itl.mean < 2us",
        ] {
            assert_eq!(of(text), Ok(expected.to_vec()), "{text}");
        }
        assert_eq!(of("total < 1s"), Ok(vec![term(GoodputTime::Total, 1_000_000_000)]));
        assert_eq!(of("response_time <= 1us"), Ok(vec![term(GoodputTime::Total, 1_001)]));
        assert_eq!(of("tpot < 2us"), Ok(vec![term(GoodputTime::PerToken, 2_000)]));
        for (wrong, part) in [
            ("", "no comparison"),
            ("first", "no comparison"),
            ("first > 1s", "the comparisons are < <="),
            ("gap < 1s", "names no gap"),
            ("gap p0 < 1s", "names no gap"),
            ("gap p100 < 1s", "names no gap"),
            ("ttft.p99 < 1s", "a response has one ttft"),
            ("rate < 1s", "no time of a response"),
            ("connect < 1s", "no time of a response"),
            ("first < x", "'x'"),
            ("first < 0s", "above 0"),
            ("first < 100", "write 100ms or 100s"),
        ] {
            assert!(of(wrong).is_err_and(|why| why.contains(part)), "{wrong}: {:?}", of(wrong));
        }
    }
}

//! Commands that print numbers: a single one, or `name=value` pairs, on the last line.

use super::shell;
use crate::patience::Patience;
use std::collections::BTreeMap;

/// Name of a single number.
const SINGLE: &str = "value";

/// Maximum pairs of one line.
const PAIRS_MAX: usize = 64;

/// Calls a command and returns its numbers. A slow one delays the next readings of all sources.
///
/// # Errors
/// When it fails, takes too long, or prints no number.
pub(super) fn call(command: &str, patience: &Patience) -> Result<BTreeMap<String, f64>, String> {
    let ran = shell::run(command, patience, false).map_err(|error| error.to_string())?;
    if let Some(over) = ran.over {
        return Err(over.to_string());
    }
    match ran.exit_status {
        Some(0) => parse(&ran.output)
            .ok_or_else(|| "its last line is neither a number nor name=value pairs".to_owned()),
        Some(status) => Err(format!("it ended with status {status}")),
        None => Err("a signal ended it".to_owned()),
    }
}

/// Parses the last line that is not blank.
fn parse(output: &str) -> Option<BTreeMap<String, f64>> {
    let line = output.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    if let Some(value) = number(line) {
        return Some(BTreeMap::from([(SINGLE.to_owned(), value)]));
    }
    let pairs = line.split_whitespace().take(PAIRS_MAX).map(|pair| {
        let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), number(value)?))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::patience::Hurry;

    #[test]
    fn the_last_line_has_the_numbers() {
        let check = |output: &str, expected: Option<&[(&str, f64)]>| {
            let expected: Option<BTreeMap<String, f64>> =
                expected.map(|pairs| pairs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect());
            assert_eq!(parse(output), expected, "{output:?}");
        };
        check("1\n2.5\n\n", Some(&[("value", 2.5)]));
        check("free=12 used=3e2", Some(&[("free", 12.0), ("used", 300.0)]));
        for none in ["", "many", "a=b", "a=1 b", "=1", "NaN", "a=inf"] {
            check(none, None);
        }
    }

    fn patient(command: &str) -> Result<BTreeMap<String, f64>, String> {
        call(command, &Patience::new(Duration::from_secs(60), &Hurry::default()))
    }

    #[test]
    fn a_failed_call_says_why() {
        assert_eq!(patient("echo 5").map(|values| values["value"]), Ok(5.0));
        assert_eq!(patient("exit 7"), Err("it ended with status 7".to_owned()));
        assert_eq!(patient("kill -9 $$"), Err("a signal ended it".to_owned()));
        assert!(patient("echo many").expect_err("no number").contains("name=value"));
    }
}

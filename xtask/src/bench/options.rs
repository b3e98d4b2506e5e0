//! The words after `cargo xtask bench`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

/// What to measure, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Paired rounds of each comparison.
    pub(super) rounds: u32,
    /// Length of one side of a round.
    pub(super) seconds: u32,
    /// Everything short: to see that it works, or a first guess.
    pub(super) is_quick: bool,
    pub(super) cases: Vec<Case>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Cost,
    Connections,
    Pacing,
    Window,
    Serve,
    Scripts,
}

const CASES: [Case; 6] =
    [Case::Cost, Case::Connections, Case::Pacing, Case::Window, Case::Serve, Case::Scripts];

const USAGE: &str = "use [--quick] [--rounds N] [--seconds S] and any of the cases cost, \
                     connections, pacing, window, serve, scripts";

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let is_quick = words.contains(&"--quick");
        let (rounds, seconds) = if is_quick { (6, 1) } else { (12, 3) };
        let mut options = Options { rounds, seconds, is_quick, cases: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => {}
                "--rounds" => options.rounds = number(words.next())?,
                "--seconds" => options.seconds = number(words.next())?,
                case => options.cases.push(case.parse()?),
            }
        }
        if options.cases.is_empty() {
            options.cases = CASES.to_vec();
        }
        Ok(options)
    }

    /// Only what measured everything at full length is worth keeping.
    pub(super) fn writes_page(&self) -> bool {
        !self.is_quick && self.cases == CASES
    }

    /// A length of time in seconds, or a short one in a quick run.
    pub(super) fn span(&self, full: u32, quick: u32) -> u32 {
        if self.is_quick { quick } else { full }
    }
}

fn number(word: Option<&&str>) -> Result<u32> {
    let word = word.with_context(|| format!("a number is missing; {USAGE}"))?;
    let number = word.parse().with_context(|| format!("failed to read `{word}`; {USAGE}"))?;
    ensure!(number > 0, "0 rounds or seconds measure nothing");
    Ok(number)
}

impl Case {
    fn name(self) -> &'static str {
        match self {
            Case::Cost => "cost",
            Case::Connections => "connections",
            Case::Pacing => "pacing",
            Case::Window => "window",
            Case::Serve => "serve",
            Case::Scripts => "scripts",
        }
    }
}

impl FromStr for Case {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Case> {
        match CASES.into_iter().find(|case| case.name() == text) {
            Some(case) => Ok(case),
            None => bail!("failed to read `{text}`; {USAGE}"),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let check = |words: &[&str], rounds, seconds, cases: &[Case]| {
            let options = Options::parse(words).expect("these are right");
            assert_eq!((options.rounds, options.seconds), (rounds, seconds), "{words:?}");
            assert_eq!(options.cases, cases);
        };
        check(&[], 12, 3, &CASES);
        check(&["--quick", "cost"], 6, 1, &[Case::Cost]);
        check(&["serve", "--rounds", "20", "window"], 20, 3, &[Case::Serve, Case::Window]);
        for wrong in [&["--rounds"] as &[&str], &["--seconds", "0"], &["costs"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_the_whole_is_kept() {
        let writes = |words: &[&str]| Options::parse(words).expect("right").writes_page();
        assert!(writes(&[]) && writes(&["--rounds", "30"]));
        assert!(!writes(&["--quick"]) && !writes(&["cost"]));
    }
}

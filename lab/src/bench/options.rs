//! Arguments of `cargo xtask bench`.

use anyhow::{Context, Result, bail, ensure};

use super::CASES;

/// Selection of cases, and their length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Paired rounds of each comparison.
    pub(super) rounds: u32,
    /// Length of one side of a round, in seconds.
    pub(super) seconds: u32,
    /// True for short runs: a smoke test or a first estimate.
    pub(super) is_quick: bool,
    /// True if the page is updated with the measured sections.
    pub(super) writes_page: bool,
    /// Selected cases by name; empty for all.
    only: Vec<String>,
}

const USAGE: &str = "use [--quick] [--print] [--rounds N] [--seconds S] [--only depth,serve]";

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let is_quick = words.contains(&"--quick");
        let rounds = if is_quick { 2 } else { 6 };
        let seconds = if is_quick { 1 } else { 2 };
        let mut options =
            Options { rounds, seconds, is_quick, writes_page: true, only: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => {}
                "--print" => options.writes_page = false,
                "--rounds" => options.rounds = number(words.next())?,
                "--seconds" => options.seconds = number(words.next())?,
                "--only" => {
                    let list = words.next().with_context(|| format!("no cases named; {USAGE}"))?;
                    options.only.extend(list.split(',').map(str::to_owned));
                }
                other => bail!("failed to read `{other}`; {USAGE}"),
            }
        }
        for name in &options.only {
            let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
            let known_ones = known.join(", ");
            ensure!(known.contains(&name.as_str()), "no case {name}; there are {known_ones}");
        }
        Ok(options)
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    /// Returns a length of time in seconds; `quick` in a quick run.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let check = |words: &[&str], rounds, seconds, writes_page| {
            let options = Options::parse(words).expect("these are right");
            assert_eq!((options.rounds, options.seconds), (rounds, seconds), "{words:?}");
            assert_eq!(options.writes_page, writes_page, "{words:?}");
            options
        };
        assert!(check(&[], 6, 2, true).wants("depth"));
        assert!(!check(&["--quick", "--only", "serve"], 2, 1, true).wants("depth"));
        let some = ["--rounds", "20", "--print", "--only", "serve,window", "--seconds", "3"];
        assert!(check(&some, 20, 3, false).wants("window"));
        for wrong in [&["--rounds"] as &[&str], &["--seconds", "0"], &["serve"], &["--only"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(Options::parse(&["--only", "depths"]).is_err());
    }
}

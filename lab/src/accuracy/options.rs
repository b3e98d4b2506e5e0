//! Arguments of `cargo xtask accuracy`.

use anyhow::{Context, Result, bail, ensure};

use super::CASES;

/// Selection of cases, and their length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// True for short runs: a smoke test or a first estimate.
    pub(super) is_quick: bool,
    /// True if the page is updated with the measured sections.
    pub(super) writes_page: bool,
    /// Runs of each kind, for cases with several.
    pub(super) runs: Option<usize>,
    /// Selected cases by their numbers in METHOD 2.1; empty for all.
    only: Vec<String>,
}

const USAGE: &str = "use [--quick] [--print] [--runs N] [--only V5,V9]";

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let mut options =
            Options { is_quick: false, writes_page: true, runs: None, only: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => options.is_quick = true,
                "--print" => options.writes_page = false,
                "--runs" => {
                    let runs = words.next().and_then(|word| word.parse().ok());
                    let runs = runs.filter(|runs| *runs > 0);
                    options.runs = Some(runs.with_context(|| format!("no runs given; {USAGE}"))?);
                }
                "--only" => {
                    let list = words.next().with_context(|| format!("no cases named; {USAGE}"))?;
                    options.only.extend(list.split(',').map(str::to_owned));
                }
                other => bail!("failed to read `{other}`; {USAGE}"),
            }
        }
        for id in &options.only {
            let known: Vec<&str> = CASES.iter().map(|case| case.id).collect();
            ensure!(known.contains(&id.as_str()), "no case {id}; there are {}", known.join(", "));
        }
        Ok(options)
    }

    pub(super) fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let all = Options::parse(&[]).expect("none are needed");
        assert!(all.writes_page && all.wants("V5"));
        let some =
            Options::parse(&["--quick", "--print", "--only", "V5,V6"]).expect("these are right");
        assert!(!some.writes_page && some.wants("V6") && !some.wants("V7"));
        assert_eq!(Options::parse(&["--runs", "5"]).expect("a number").runs, Some(5));
        for wrong in
            [&["--only"] as &[&str], &["V5"], &["--only", "V99"], &["--runs"], &["--runs", "0"]]
        {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}

//! Arguments of `cargo xtask accuracy` and `cargo xtask bench`.

use anyhow::{Context, Result, bail, ensure};
use xtask::measured::Page;

/// Selection of cases, and their length.
pub(crate) struct Options {
    /// True for short runs: a smoke test or a first estimate.
    pub(crate) is_quick: bool,
    /// True if the page is updated with the measured sections.
    pub(crate) writes_page: bool,
    /// Runs of each kind in `accuracy`, for cases with several.
    pub(crate) runs: Option<u32>,
    /// Paired rounds of each comparison in `bench`.
    pub(crate) rounds: u32,
    /// Length of one side of a round in `bench`, in seconds.
    pub(crate) seconds: u32,
    /// Selected cases by name; empty for all.
    only: Vec<String>,
}

impl Options {
    /// Parses the words after the name of the task that measures this page.
    pub(crate) fn parse(page: &Page, words: &[&str]) -> Result<Options> {
        let is_quick = words.contains(&"--quick");
        let (rounds, seconds) = if is_quick { (2, 1) } else { (6, 2) };
        let (writes_page, only) = (true, Vec::new());
        let mut options = Options { is_quick, writes_page, runs: None, rounds, seconds, only };
        let numbers =
            if page.task == "bench" { "[--rounds N] [--seconds S]" } else { "[--runs N]" };
        let usage = format!("use [--quick] [--print] {numbers} [--only NAME,NAME]");
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let number = words.next().and_then(|word| word.parse().ok());
                let number = number.filter(|number| *number > 0);
                number.with_context(|| format!("{word} takes a number above 0; {usage}"))
            };
            match (page.task, *word) {
                (_, "--quick") => {}
                (_, "--print") => options.writes_page = false,
                ("accuracy", "--runs") => options.runs = Some(number()?),
                ("bench", "--rounds") => options.rounds = number()?,
                ("bench", "--seconds") => options.seconds = number()?,
                (_, "--only") => {
                    let list = words.next().with_context(|| format!("no cases named; {usage}"))?;
                    options.only.extend(list.split(',').map(str::to_owned));
                }
                (_, other) => bail!("failed to read `{other}`; {usage}"),
            }
        }
        for id in &options.only {
            let known: Vec<&str> = page.entries().collect();
            ensure!(known.contains(&id.as_str()), "no case {id}; there are {}", known.join(", "));
        }
        Ok(options)
    }

    pub(crate) fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == id)
    }

    /// Returns a length of time in seconds, or a number of runs; `quick` in a quick run.
    pub(crate) fn span<T>(&self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }
}

#[cfg(test)]
mod tests {
    use xtask::measured::{ACCURACY, PERFORMANCE};

    use super::*;

    #[test]
    fn options_of_accuracy_are_read() {
        let all = Options::parse(&ACCURACY, &[]).expect("none are needed");
        assert!(all.writes_page && all.wants("V5"));
        let some = Options::parse(&ACCURACY, &["--quick", "--print", "--only", "V5,V6"])
            .expect("these are right");
        assert!(!some.writes_page && some.wants("V6") && !some.wants("V7"));
        assert_eq!(Options::parse(&ACCURACY, &["--runs", "5"]).expect("a number").runs, Some(5));
        let wrong: [&[&str]; 6] = [
            &["--only"],
            &["V5"],
            &["--only", "V99"],
            &["--runs"],
            &["--runs", "0"],
            &["--rounds", "5"],
        ];
        for wrong in wrong {
            assert!(Options::parse(&ACCURACY, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn options_of_the_bench_are_read() {
        let check = |words: &[&str], rounds, seconds, writes_page| {
            let options = Options::parse(&PERFORMANCE, words).expect("these are right");
            assert_eq!((options.rounds, options.seconds), (rounds, seconds), "{words:?}");
            assert_eq!(options.writes_page, writes_page, "{words:?}");
            options
        };
        assert!(check(&[], 6, 2, true).wants("depth"));
        assert!(!check(&["--quick", "--only", "serve"], 2, 1, true).wants("depth"));
        let some = ["--rounds", "20", "--print", "--only", "serve,window", "--seconds", "3"];
        assert!(check(&some, 20, 3, false).wants("window"));
        for wrong in [&["--rounds"] as &[&str], &["--seconds", "0"], &["serve"], &["--only"]] {
            assert!(Options::parse(&PERFORMANCE, wrong).is_err(), "{wrong:?}");
        }
        assert!(Options::parse(&PERFORMANCE, &["--only", "depths"]).is_err());
    }
}

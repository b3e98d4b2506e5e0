//! V32: `weir search` on a server whose capacity is known, and on one whose is not: the intervals
//! hold the capacity, or overlap, within few trials.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use weir_result::study::{SearchResult, Study, StudyResult};
use xtask::shell::run;

use crate::rig::{Fixture, Section, rate};

/// Most trials of the median search.
const TRIALS_MAX: usize = 20;

/// Width of the interval at which a search ends.
const WIDTH: &str = "10%";

/// The end of a search.
struct FoundInterval {
    /// The interval, in requests per second.
    lower_rps: f64,
    upper_rps: f64,
    trials: usize,
}

/// Runs case V32 of METHOD 2.1.
pub(super) fn search(fixture: &Fixture) -> Result<Section> {
    let count = fixture.runs(6, 2);
    let mut section = Section::new(
        "searches for a capacity",
        "Does a repeated search find the same capacity, and the true one?",
        format!(
            "A server that takes 5 ms for each request, one after the other, serves 200/s less its \
             own overhead: each of {count} intervals holds the rate that it makes with 4 \
             connections in a closed loop. On nginx, with a page of 64 KiB that it compresses for \
             each request, {count} searches take {TRIALS_MAX} trials at most at the median, and \
             all their intervals but one have a rate in common. All intervals are {WIDTH} wide \
             or less."
        ),
    );
    known(fixture, count, &mut section)?;
    unknown(fixture, count, &mut section)?;
    Ok(section)
}

fn known(fixture: &Fixture, count: usize, section: &mut Section) -> Result<()> {
    section.begin_table("`weir serve --mode fifo --delay 5ms`, `p95 < 100ms`:");
    let mut held = 0;
    for index in 1..=count {
        let server = fixture.serve("--mode fifo --delay 5ms --log-max 1")?;
        let closed = fixture.weir("-t1 -c4 --warmup 500ms -d 3s", &server.url)?;
        let capacity_rps = closed.results.completed_rps;
        let found = find(fixture, "p95 < 100ms", &[&server.url])?;
        let is_held = found.lower_rps <= capacity_rps && capacity_rps <= found.upper_rps;
        held += usize::from(is_held);
        section.must(is_held, || format!("{} is not in {}", rate(capacity_rps), found.interval()));
        section.row(&[
            ("search", &index),
            ("capacity", &rate(capacity_rps)),
            ("interval", &found.interval()),
            ("trials", &found.trials),
        ]);
    }
    section.verdict(format!("{held} of {count} intervals hold the known capacity."));
    Ok(())
}

fn unknown(fixture: &Fixture, count: usize, section: &mut Section) -> Result<()> {
    let server = fixture.nginx()?;
    let url = format!("{}page", server.url);
    section.begin_table("nginx, one worker, a compressed page, `p99 < 20ms`:");
    let mut all = Vec::new();
    for index in 1..=count {
        let found = find(fixture, "p99 < 20ms", &["-H", "Accept-Encoding: gzip", &url])?;
        section.row(&[
            ("search", &index),
            ("interval", &found.interval()),
            ("trials", &found.trials),
        ]);
        all.push(found);
    }
    let together = in_common(&all);
    section.must_if_quiet(together + 1 >= count, || {
        format!("only {together} of {count} intervals have a rate in common")
    });
    let median = median_trials(&all);
    section.must_if_quiet(median <= TRIALS_MAX, || format!("{median} trials at the median"));
    section.verdict(format!(
        "{together} of {count} intervals on nginx have a rate in common; {median} trials at the \
         median."
    ));
    Ok(())
}

/// Runs a search and reads its study.
fn find(fixture: &Fixture, objective: &str, words: &[&str]) -> Result<FoundInterval> {
    eprintln!("accuracy: weir search '{objective}'");
    let file = fixture.directory.join("search.json");
    fs::remove_file(&file).ok();
    let mut command = Command::new(&fixture.weir);
    command.args(["search", objective, "--width", WIDTH, "-d", "2s", "-q", "-o"]).arg(&file);
    run(command.args(words))?;
    let study = Study::load(&file).context("failed to read the study")?;
    match study.result {
        Some(StudyResult::Search(result)) => FoundInterval::of(&result),
        _ => bail!("the study has no result of a search"),
    }
}

impl FoundInterval {
    fn of(result: &SearchResult) -> Result<FoundInterval> {
        let (Some(lower), Some(upper)) = (&result.lower, &result.upper) else {
            bail!("the search found no interval: {:?}", result.end);
        };
        ensure!(lower.rate_rps < upper.rate_rps, "the interval is empty");
        let trials = result.trials.len();
        Ok(FoundInterval { lower_rps: lower.rate_rps, upper_rps: upper.rate_rps, trials })
    }

    fn interval(&self) -> String {
        format!("{} to {}", rate(self.lower_rps), rate(self.upper_rps))
    }
}

/// Returns the largest number of intervals that have a rate in common.
fn in_common(all: &[FoundInterval]) -> usize {
    let hold = |rps: f64| {
        all.iter().filter(move |found| found.lower_rps <= rps && rps <= found.upper_rps).count()
    };
    all.iter().map(|found| hold(found.lower_rps)).max().unwrap_or(0)
}

/// Returns the median number of trials, the greater of two.
fn median_trials(all: &[FoundInterval]) -> usize {
    let mut trials: Vec<usize> = all.iter().map(|found| found.trials).collect();
    trials.sort_unstable();
    trials.get(trials.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lower_rps: f64, upper_rps: f64, trials: usize) -> FoundInterval {
        FoundInterval { lower_rps, upper_rps, trials }
    }

    #[test]
    fn intervals_in_common_are_counted() {
        let all = [found(1.0, 2.0, 9), found(2.0, 3.0, 20), found(2.5, 4.0, 7)];
        assert_eq!((in_common(&all), in_common(&all[..1]), in_common(&[])), (2, 1, 0));
        assert_eq!((median_trials(&all), median_trials(&all[..2])), (9, 20));
    }
}

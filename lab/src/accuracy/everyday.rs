//! V29: everyday commands, with the server on the same machine: the same command gets the same
//! grade, and its percentiles are printed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use weir_result::Document;

use anyhow::{Context, Result};
use weir_result::document::{Grade, Verdict};

use crate::rig::{Fixture, Section, Server, Transport, thousands, timed};

/// Runs of each command.
const RUNS: usize = 5;

/// Target of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandTarget {
    Page,
    Large,
    Https,
    Missing,
    Slow,
}

type Everyday = (&'static str, &'static str, CommandTarget);

const COMMANDS: [Everyday; 14] = [
    ("default", "-d3s", CommandTarget::Page),
    ("-t1 -c10", "-t1 -c10 -d3s", CommandTarget::Page),
    ("-c50", "-c50 -d3s", CommandTarget::Page),
    ("-c500", "-c500 -d3s", CommandTarget::Page),
    ("-n 10000", "-n 10000", CommandTarget::Page),
    ("-R 100", "-R 100 -d3s", CommandTarget::Page),
    ("-R 1000", "-R 1000 -d3s", CommandTarget::Page),
    ("-R 5000 -c50", "-R 5000 -c50 -d3s", CommandTarget::Page),
    ("-R 20k -c100", "-R 20k -c100 -d3s", CommandTarget::Page),
    ("128 KiB file", "-d3s", CommandTarget::Large),
    ("https", "-d3s --insecure", CommandTarget::Https),
    ("404", "-d3s", CommandTarget::Missing),
    ("slow server", "-c50 -d3s", CommandTarget::Slow),
    ("pinned", "--pin -c50 -d3s", CommandTarget::Page),
];

/// The facts of one run.
struct CommandRun {
    verdict: Verdict,
    has_percentiles: bool,
}

/// Runs case V29 of METHOD 2.1.
pub(super) fn everyday_commands(fixture: &Fixture) -> Result<Section> {
    let runs = fixture.runs(RUNS, 1);
    let all = runs * COMMANDS.len();
    let stable_least = (all * 60).div_ceil(70);
    let same_least = (runs * 3).div_ceil(5);
    let mut section = Section::new(
        "everyday commands",
        "Does an everyday command get the same grade each time, with its percentiles?",
        format!(
            "No run is void. A command's most frequent grade is that of at least {stable_least} of \
             the {all} runs, and of at least {same_least} of {runs} for each command. Every report \
             prints p50 and p99; for 404 those of the bad responses."
        ),
    );
    let servers = Targets::start(fixture)?;
    let mut stable = 0;
    for command in &COMMANDS {
        let (name, ..) = command;
        let mut reported = Vec::new();
        for _ in 0..runs {
            reported.push(servers.run(fixture, command)?);
        }
        let grades = counted(reported.iter().map(|reported| reported.verdict.grade.in_words()));
        let limits = counted(reported.iter().map(|reported| reported.verdict.limit.by.in_words()));
        let modal = grades.values().max().copied().unwrap_or(0);
        stable += modal;
        let printed = reported.iter().filter(|reported| reported.has_percentiles).count();
        let last = reported.iter().rev().find(|reported| !reported.verdict.reason.is_empty());
        section.row(&[
            ("command", &format!("`{name}`")),
            ("grades", &in_words(&grades)),
            ("limit", &in_words(&limits)),
            ("p50 and p99", &format!("{printed} of {runs}")),
            ("last reason", &last.map_or("", |reported| &reported.verdict.reason)),
        ]);
        let void = grades.get(Grade::Void.in_words()).copied().unwrap_or(0);
        section.must_if_quiet(void == 0, || format!("{name}: {void} runs are void"));
        section.must_if_quiet(modal >= same_least, || {
            format!("{name}: grades differ: {}", in_words(&grades))
        });
        section.must(printed == runs, || {
            format!("{name}: {printed} of {runs} reports print p50 and p99")
        });
    }
    section.must_if_quiet(stable >= stable_least, || {
        format!("{stable} of {all} runs have their command's most frequent grade")
    });
    section.verdict(format!(
        "{} of {} runs have their command's most frequent grade.",
        thousands(stable as u64),
        thousands(all as u64)
    ));
    Ok(section)
}

fn counted<'t>(words: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// Formats counts as `bounded 4, clean 1`.
fn in_words(counts: &BTreeMap<&str, usize>) -> String {
    let words: Vec<String> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
    words.join(", ")
}

/// The commands' target servers, not pinned to CPUs.
struct Targets {
    plain: Server,
    tls: Server,
    slow: Server,
}

impl Targets {
    fn start(fixture: &Fixture) -> Result<Targets> {
        let nginx = |transport| Server::nginx(transport, &fixture.nginx, None, 1);
        let plain = nginx(Transport::Plain)?;
        let tls = nginx(Transport::Tls)?;
        let slow = Server::weir(&fixture.weir, None, "--delay 100ms")?;
        Ok(Targets { plain, tls, slow })
    }

    fn url(&self, target: CommandTarget) -> String {
        match target {
            CommandTarget::Page => self.plain.url.clone(),
            CommandTarget::Large => self.plain.url_of_body(128 << 10),
            CommandTarget::Missing => self.plain.url_of_body(0),
            CommandTarget::Https => self.tls.url.clone(),
            CommandTarget::Slow => self.slow.url.clone(),
        }
    }

    fn run(&self, fixture: &Fixture, &(name, flags, target): &Everyday) -> Result<CommandRun> {
        let file = fixture.directory.join("everyday.json");
        eprintln!("accuracy: weir {name}");
        let url = self.url(target);
        let mut words = vec![fixture.weir.clone().into_os_string()];
        words.extend(flags.split_whitespace().map(OsString::from));
        words.extend(["-o".into(), file.clone().into(), url.into()]);
        let report = timed(&words, &[0, 1])?.stdout;
        let verdict = Document::load(&file).context("failed to read weir's document")?.verdict;
        let reported = CommandRun {
            verdict,
            has_percentiles: (target != CommandTarget::Missing
                || report.contains("Latency of bad responses"))
                && ["p50", "p99"].iter().all(|name| prints(&report, name)),
        };
        let grade = reported.verdict.grade.in_words();
        let limit = reported.verdict.limit.by.in_words();
        eprintln!("accuracy: {grade}: {}; limit: {limit}", reported.verdict.reason);
        Ok(reported)
    }
}

/// True if a line of the report begins with this percentile and contains a figure.
fn prints(report: &str, name: &str) -> bool {
    report.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(name)
            && words.next().is_some_and(|word| word != "needs" && word != "unknown")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_only_needs_requests_is_not_printed() {
        let report = "Latency\n  p50    ~ 1.2 ms\n  p99    needs 100 requests\n";
        assert!(prints(report, "p50") && !prints(report, "p99") && !prints(report, "p9"));
    }

    #[test]
    fn words_are_counted() {
        assert_eq!(in_words(&counted(["b", "a", "b"].into_iter())), "a 1, b 2");
    }
}

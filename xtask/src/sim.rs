//! `cargo xtask sim`: runs the engine's simulations with many more seeds than the tests.
//!
//! The tests read the number of seeds from `WEIR_SIM_SEEDS`, the hours of virtual time from
//! `WEIR_SIM_HOURS` and the first seed from `WEIR_SIM_FROM`. Their failure messages name the seed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, show};

const SEEDS_DEFAULT: u64 = 2_000;

/// Hours of virtual time in long-running simulations.
const HOURS_DEFAULT: u64 = 240;

/// Seeds to try.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seeds {
    seeds: u64,
    hours: u64,
    from: u64,
}

impl Seeds {
    pub(crate) fn parse(words: &[&str]) -> Result<Seeds> {
        let mut options = Seeds { seeds: SEEDS_DEFAULT, hours: HOURS_DEFAULT, from: 0 };
        for pair in words.chunks(2) {
            let number = |text: &str| {
                parse_seed(text).with_context(|| format!("failed to read `{text}` as a number"))
            };
            match pair {
                ["--seeds", text] => options.seeds = number(text)?,
                ["--hours", text] => options.hours = number(text)?,
                ["--from", text] => options.from = number(text)?,
                _ => bail!(
                    "failed to read `{}`; use [--seeds N] [--hours N] [--from SEED]",
                    pair.join(" ")
                ),
            }
        }
        Ok(options)
    }
}

/// Runs the simulations, shows their output, and prints the command that repeats the first failure.
pub(crate) fn sim(options: &Seeds) -> Result<()> {
    let mut command = cargo(&["test", "--package", "weir-engine", "--no-fail-fast", "--tests"])?;
    command.env("WEIR_SIM_SEEDS", options.seeds.to_string());
    command.env("WEIR_SIM_HOURS", options.hours.to_string());
    command.env("WEIR_SIM_FROM", options.from.to_string());
    eprintln!(
        "$ WEIR_SIM_SEEDS={} WEIR_SIM_HOURS={} WEIR_SIM_FROM={} {}",
        options.seeds,
        options.hours,
        options.from,
        show(&command)
    );
    let mut tests = command.stdout(Stdio::piped()).spawn().context("failed to start cargo")?;
    let output = tests.stdout.take().context("failed to read the tests' output")?;
    let mut seed = None;
    for line in BufReader::new(output).lines() {
        let line = line.context("failed to read the tests' output")?;
        println!("{line}");
        seed = seed.or_else(|| seed_in(&line));
    }
    let status = tests.wait().context("failed to wait for the tests")?;
    match seed {
        _ if status.success() => Ok(()),
        Some(seed) => {
            bail!("seed {seed} failed; repeat it: cargo xtask sim --seeds 1 --from {seed}")
        }
        None => bail!("the simulations ended with {status} and named no seed"),
    }
}

/// Returns the number after the word `seed` in a line that a failed test wrote.
fn seed_in(line: &str) -> Option<u64> {
    let (_, after) = line.split_once("seed ").or_else(|| line.split_once("seed: "))?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
    parse_seed(&after[..end])
}

fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let check = |words: &[&str], seeds, hours, from| {
            let options = Seeds::parse(words).expect("these are right");
            assert_eq!(options, Seeds { seeds, hours, from });
        };
        check(&[], SEEDS_DEFAULT, HOURS_DEFAULT, 0);
        check(&["--seeds", "5"], 5, HOURS_DEFAULT, 0);
        check(&["--from", "0x10", "--seeds", "1", "--hours", "24"], 1, 24, 16);
        for wrong in [&["--seeds"] as &[&str], &["--seeds", "x"], &["--often", "1"]] {
            assert!(Seeds::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_failed_seed_is_found() {
        assert_eq!(seed_in("seed 17: planned 10 = 9"), Some(17));
        assert_eq!(seed_in("assertion failed: lost a slot (seed: 0x1f)"), Some(31));
        assert_eq!(seed_in("test many_seeds ... FAILED"), None);
    }
}

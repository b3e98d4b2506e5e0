//! `cargo xtask sim`: runs the simulations of engine and fleet with many more seeds than the tests.
//!
//! The tests read the number of seeds from `WEIR_SIM_SEEDS`, the hours of virtual time from
//! `WEIR_SIM_HOURS` and the first seed from `WEIR_SIM_FROM`. Their failure messages name the seed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, show};

/// Options, the variables that the tests read, and the numbers without the option. The hours are of
/// virtual time, in long-running simulations.
const OPTIONS: [(&str, &str, u64); 3] = [
    ("--seeds", "WEIR_SIM_SEEDS", 2_000),
    ("--hours", "WEIR_SIM_HOURS", 240),
    ("--from", "WEIR_SIM_FROM", 0),
];

/// Returns the numbers of the options.
fn parse(words: &[&str]) -> Result<[u64; 3]> {
    let mut numbers = OPTIONS.map(|(.., number)| number);
    for pair in words.chunks(2) {
        let at = OPTIONS.iter().position(|(name, ..)| *name == pair[0]);
        let (Some(at), [_, text]) = (at, pair) else {
            bail!("failed to read `{}`; use [--seeds N] [--hours N] [--from SEED]", pair.join(" "));
        };
        let number = parse_seed(text);
        numbers[at] = number.with_context(|| format!("failed to read `{text}` as a number"))?;
    }
    Ok(numbers)
}

/// Runs the simulations, shows their output, and prints the command that repeats the first failure.
pub(crate) fn sim(options: &[&str]) -> Result<()> {
    let packages = ["--package", "weir-engine", "--package", "weir-fleet"];
    let mut command = cargo(&["test", "--no-fail-fast", "--tests"])?;
    command.args(packages);
    let mut shown = String::new();
    for ((_, variable, _), number) in OPTIONS.into_iter().zip(parse(options)?) {
        command.env(variable, number.to_string());
        shown += &format!("{variable}={number} ");
    }
    eprintln!("$ {shown}{}", show(&command));
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
    parse_seed(after.split(|c: char| !c.is_ascii_alphanumeric()).next()?)
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
            let options = parse(words).expect("these are right");
            assert_eq!(options, [seeds, hours, from]);
        };
        check(&[], 2_000, 240, 0);
        check(&["--seeds", "5"], 5, 240, 0);
        check(&["--from", "0x10", "--seeds", "1", "--hours", "24"], 1, 24, 16);
        for wrong in [&["--seeds"] as &[&str], &["--seeds", "x"], &["--often", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_failed_seed_is_found() {
        assert_eq!(seed_in("seed 17: planned 10 = 9"), Some(17));
        assert_eq!(seed_in("assertion failed: lost a slot (seed: 0x1f)"), Some(31));
        assert_eq!(seed_in("test many_seeds ... FAILED"), None);
    }
}

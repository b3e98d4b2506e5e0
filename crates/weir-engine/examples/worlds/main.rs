//! Results of random simulated runs, one line of JSON per seed. A change that is meant to keep all
//! numbers gives the same lines as the version before it.
//!
//! `cargo run -p weir-engine --example worlds -- --seeds 1000 > after.jsonl` writes the lines;
//! `--from SEED` sets the first seed. `-- --compare before.jsonl after.jsonl` compares two such
//! files in every field that both have, and lists the fields that only one has.

mod case;
mod compare;
mod record;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

/// Number of seeds unless `--seeds` is given.
const SEEDS_DEFAULT: u64 = 100;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--compare", left, right] = words[..] {
        let comparison = compare::files(left, right).expect("two files of this program");
        println!("{comparison}");
        return if comparison.is_equal() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut seeds = SEEDS_DEFAULT;
    let mut from = 0;
    for pair in words.chunks(2) {
        let number = |text: &str| text.parse().expect("a number");
        match pair {
            ["--seeds", text] => seeds = number(text),
            ["--from", text] => from = number(text),
            _ => panic!("[--seeds N] [--from SEED], or --compare FILE FILE"),
        }
    }
    let mut output = io::stdout().lock();
    for seed in from..from + seeds {
        writeln!(output, "{}", record::record(seed)).expect("standard output is open");
    }
    ExitCode::SUCCESS
}

//! The laboratory: measures weir on this machine, beside its peers and against known truths, and
//! writes the committed pages of figures. It runs the programs as users do, and reads weir's
//! documents through weir-result; it imports nothing that makes the load.

#![forbid(unsafe_code)]

mod accuracy;
mod bench;
mod picture;
mod rig;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task; `cargo xtask` calls this program, and its help lists them.
fn run(words: &[&str]) -> Result<()> {
    match words {
        ["accuracy", options @ ..] => accuracy::accuracy(accuracy::Options::parse(options)?),
        ["bench", options @ ..] => bench::bench(bench::Options::parse(options)?),
        ["picture"] => picture::picture(),
        _ => bail!("unknown task `{}`; `cargo xtask help` lists them", words.join(" ")),
    }
}

//! The variants of a study, from the command lines of their runs.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::CommandFactory;
use weir_result::study::Level;
use weir_study::Variant;

use crate::args::{Cli, SpecArgs, parse_study_run};

/// Returns the variant of a command line.
///
/// # Errors
/// When the command line is wrong, or has flags that a study sets itself.
pub(crate) fn of_words(name: &str, words: &[OsString]) -> Result<Variant> {
    of_levels(name, Vec::new(), words)
}

/// Returns the variant of a combination of a sweep.
///
/// # Errors
/// As [`of_words`], and when a level is a credential, which the study would hold.
pub(crate) fn of_levels(name: &str, levels: Vec<Level>, words: &[OsString]) -> Result<Variant> {
    let spec = run_args(words)?.spec(words.iter().cloned());
    let variant = Variant::new(name, levels, spec);
    let is_kept = |level: &&Level| {
        let is_in = |word: &String| word.contains(level.value.as_str());
        level.value == "none" || variant.cell.words.iter().any(is_in)
    };
    match variant.cell.levels.iter().find(|level| !is_kept(level)) {
        Some(level) => bail!(
            "the values of {} are credentials, which a study does not hold: give each in the -a \
             or -b of weir ab",
            level.factor
        ),
        None => Ok(variant),
    }
}

/// Parses the command line of a study's run.
///
/// # Errors
/// When it is wrong, or has flags that concern a single run.
pub(crate) fn run_args(words: &[OsString]) -> Result<SpecArgs> {
    let args = parse_study_run(words).map_err(|error| {
        let text = error.to_string();
        anyhow!("{}", text.strip_prefix("error: ").unwrap_or(&text).trim_end())
    })?;
    if args.list.from.as_deref() == Some(Path::new("-")) {
        bail!("--from - can be read once, and a study has several runs: name a file");
    }
    if args.replay.is_stream() {
        bail!("--replay - can be read once, and a study has several runs: name a file");
    }
    if args.load.is_until_signal() {
        bail!(
            "-d 0 ends at a signal, and the trials of a study end by themselves: give -d a length"
        );
    }
    match args.target.url() {
        Some(url) if Cli::command().find_subcommand(url).is_some() => {
            bail!("the runs of a study have no command of their own: give flags and a URL")
        }
        Some(_) => Ok(args),
        None if args.list.from.is_some() => Ok(args),
        None => bail!("name the URL of the runs"),
    }
}

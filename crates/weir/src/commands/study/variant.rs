//! A kind of run within a study: its flags, and its command line without secrets.

use std::ffi::OsString;

use anyhow::{Result, anyhow, bail};
use weir_result::study::{Cell, Level};
use weir_runner::{REDACTED, RunSpec};

use crate::args::study::Secrets;
use crate::args::{Cli, RunArgs};

/// A kind of run.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Its cell in the study.
    pub(crate) cell: Cell,
    /// Its specification, with secrets.
    pub(crate) spec: RunSpec,
}

impl Variant {
    /// Returns the variant of a command line.
    ///
    /// # Errors
    /// When the command line is wrong, or has flags that a study sets itself.
    pub(crate) fn of_words(name: &str, words: &[OsString]) -> Result<Variant> {
        Ok(Variant::of(name, Vec::new(), &run_args(words)?, words))
    }

    /// Returns the variant of a combination of a sweep.
    ///
    /// # Errors
    /// As [`Variant::of_words`], and when a level is a credential, which the study would hold.
    pub(crate) fn of_levels(name: &str, levels: Vec<Level>, words: &[OsString]) -> Result<Variant> {
        let variant = Variant::of(name, levels, &run_args(words)?, words);
        let is_kept = |level: &&Level| {
            let is_in = |word: &String| word.contains(level.value.as_str());
            level.value == "none" || variant.cell.words.iter().any(is_in)
        };
        match variant.cell.levels.iter().find(|level| !is_kept(level)) {
            Some(level) => bail!(
                "the values of {} are credentials, which a study does not hold: give each in the \
                 -a or -b of weir ab",
                level.factor
            ),
            None => Ok(variant),
        }
    }

    fn of(name: &str, levels: Vec<Level>, args: &RunArgs, words: &[OsString]) -> Variant {
        let spec = args.spec(words.iter().cloned());
        let redacted = spec.command.clone().unwrap_or_default();
        Variant { cell: Cell { name: name.to_owned(), words: redacted, levels }, spec }
    }

    /// True if requests are sent at a rate.
    pub(crate) fn is_open_loop(&self) -> bool {
        matches!(self.spec.load.model, weir_result::Load::OpenLoop { .. })
    }

    /// Returns words without the secrets of the run.
    pub(crate) fn redacted_words(&self, words: &[OsString]) -> Vec<String> {
        let mut spec = self.spec.clone();
        spec.set_command(words.iter().cloned());
        spec.command.unwrap_or_default()
    }
}

/// Returns a text without the secrets of any of the runs.
pub(crate) fn redacted(variants: &[Variant], text: &str) -> String {
    let without = |text: String, variant: &Variant| variant.spec.redacted_text(&text);
    variants.iter().fold(text.to_owned(), without)
}

/// Parses the command line of a run.
///
/// # Errors
/// When it is wrong, or has flags that concern a single run.
pub(crate) fn run_args(words: &[OsString]) -> Result<RunArgs> {
    if words.is_empty() {
        bail!("name the URL of the runs");
    }
    checked(Cli::of_words(argv(words)))
}

fn argv(words: &[OsString]) -> impl Iterator<Item = OsString> {
    std::iter::once(OsString::from("weir")).chain(words.iter().cloned())
}

/// Checks that a command line is that of a study's run.
fn checked(cli: Result<Cli, clap::Error>) -> Result<RunArgs> {
    let cli = cli.map_err(|error| {
        let text = error.to_string();
        anyhow!("{}", text.strip_prefix("error: ").unwrap_or(&text).trim_end())
    })?;
    if cli.command.is_some() {
        bail!("the runs of a study have no command of their own: give flags and a URL");
    }
    check(&cli.run)?;
    Ok(cli.run)
}

/// Refuses flags that concern a single run.
fn check(args: &RunArgs) -> Result<()> {
    let refused = [
        ("--raw", args.raw.is_some()),
        ("--output", !args.output.is_empty()),
        ("--junit", args.junit.is_some()),
        ("--export", !args.exports.is_empty()),
        ("--save", args.save.is_some()),
        ("--assert", !args.assertions.is_empty()),
        ("--strict", args.strict.is_some()),
        ("--github", args.github),
        ("--print-plan", args.print_plan),
        ("--tui", args.tui),
        ("--listen", args.live.listen.is_some()),
        ("--otlp", args.live.otlp.is_some()),
        ("--part", args.part.is_some()),
        ("--compat", args.compat.is_some()),
    ];
    if let Some((flag, _)) = refused.into_iter().find(|(_, is_given)| *is_given) {
        bail!("{flag} is for a single run: leave it out of a study");
    }
    if args.words.is_empty() {
        bail!("name the URL of the runs");
    }
    Ok(())
}

/// Returns the specification of a recorded command line, with redacted values from flags.
///
/// # Errors
/// When the command line is wrong, or a redacted value is missing.
pub(crate) fn restored(words: &[String], secrets: &Secrets) -> Result<RunSpec> {
    spec_of(recorded_args(words)?, words, secrets)
}

/// Parses the recorded command line of a run.
///
/// # Errors
/// As [`run_args`].
pub(crate) fn recorded_args(words: &[String]) -> Result<RunArgs> {
    let given: Vec<OsString> = words.iter().map(OsString::from).collect();
    checked(Cli::of_recorded(argv(&given)))
}

/// Returns the specification of parsed flags, with redacted values from `secrets`, and `words` as
/// its recorded command line.
///
/// # Errors
/// When a redacted value is missing.
pub(crate) fn spec_of(mut args: RunArgs, words: &[String], secrets: &Secrets) -> Result<RunSpec> {
    apply_secrets(&mut args, secrets)?;
    let mut spec = args.spec(std::iter::empty());
    spec.command = Some(words.to_vec());
    let pages = [
        (&mut spec.watch.nginx, &secrets.watch_nginx),
        (&mut spec.watch.prometheus, &secrets.watch_prometheus),
    ];
    for (page, given) in pages.into_iter().filter(|(_, given)| given.is_some()) {
        if page.as_ref().is_some_and(|url| url.contains(REDACTED)) {
            page.clone_from(given);
        }
    }
    let missing = spec.missing_secrets();
    if missing.is_empty() {
        return Ok(spec);
    }
    let (missing, remedy) = (missing.join(", "), remedy(&missing));
    bail!("the recorded command line has {REDACTED} for {missing}; {remedy}");
}

/// Puts the given values in the place of redacted ones.
///
/// # Errors
/// When a header is not one that was redacted.
fn apply_secrets(args: &mut RunArgs, secrets: &Secrets) -> Result<()> {
    for given in &secrets.headers {
        let name = |line: &str| line.split(':').next().unwrap_or("").trim().to_ascii_lowercase();
        let is_it = |line: &&mut String| line.contains(REDACTED) && name(line) == name(given);
        match args.headers.iter_mut().find(is_it) {
            Some(line) => line.clone_from(given),
            None => bail!(
                "--header {}: the recorded command line has no redacted header of this name",
                name(given)
            ),
        }
    }
    if let Some(user) = &secrets.user {
        args.user = Some(user.clone());
    }
    if let Some(body) = secrets.body.as_ref().filter(|_| args.body.is_some()) {
        args.body = Some(body.clone());
    }
    if let (Some(url), Some(first)) = (&secrets.url, args.words.first_mut()) {
        let (without, userinfo) = weir_runner::credentials::split_userinfo(url);
        *first = without;
        args.userinfo = userinfo.map(str::to_owned);
    }
    Ok(())
}

/// Names the flags that give these values, if there is one for each.
fn remedy(missing: &[String]) -> String {
    let flag = |name: &String| match name.as_str() {
        "the URL" => Some("--url"),
        "basic authentication" => Some("--user"),
        "the body" => Some("--body"),
        "the value of --watch-nginx" => Some("--watch-nginx"),
        "the value of --watch-prometheus" => Some("--watch-prometheus"),
        name if name.starts_with("the header") => Some("--header"),
        _ => None,
    };
    match missing.iter().map(flag).collect::<Option<Vec<&str>>>() {
        Some(mut flags) => {
            flags.dedup();
            format!("give the values with {}", flags.join(", "))
        }
        None => "no flag gives all of them: type the command line anew".to_owned(),
    }
}

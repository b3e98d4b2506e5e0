//! A command line of wrk or wrk2 as values, or the text to print if there is nothing to run. The
//! values have no effect here.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use weir_report::dialect::{Head, OptionalBlocks};
use weir_runner::{REDACTED, credentials};

use super::Dialect;
use super::flags::{hint, specs, usage};
use super::getopt::{Complaint, Options};
use super::numbers;
use crate::args::ArrivalsChoice;
use crate::terminal::shown;

/// The result of parsing a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Text for standard output: the version, if requested, and the usage if there is no load.
    pub(crate) stdout: String,
    /// Arguments of the load; or the error message, which is empty if the usage alone is printed.
    pub(crate) args: Result<CompatArgs, String>,
}

/// The arguments of a load, in the terms of wrk and wrk2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompatArgs {
    /// `-t`, `-c`, `-d` and the URL: at least one thread, one connection for each, and one second,
    /// whose nanoseconds fit 64 bits. The URL has a scheme and a host.
    pub(crate) head: Head,
    /// `-L`, `-U`, which implies it, and `-r` of DeathStarBench's wrk2.
    pub(crate) blocks: OptionalBlocks,
    /// `-T`: timeout in milliseconds; whole seconds, at least 1000, and its nanoseconds fit 64
    /// bits.
    pub(crate) timeout_ms: u64,
    /// `-R`: requests per second over all threads, at least 1; `Some` in wrk2's dialect, `None` in
    /// wrk's.
    pub(crate) rate: Option<u64>,
    /// `-D`: distribution of arrivals.
    pub(crate) arrivals: ArrivalsChoice,
    /// `-s`: file of the script.
    pub(crate) script: Option<PathBuf>,
    /// `-H`: names and values. No two names are spelled the same, but they may differ in case
    /// alone.
    pub(crate) headers: Vec<(String, String)>,
    /// True with `-B`: latencies are measured for batches.
    pub(crate) batch: bool,
    /// The words that follow the URL, for the script.
    pub(crate) script_args: Vec<String>,
}

/// Parses a command line. `argv` is the program's name, with which error messages begin, and the
/// words after it.
pub(crate) fn parse(dialect: Dialect, argv: &[OsString]) -> Parsed {
    let mut stdout = String::new();
    let args = read(dialect, argv, &mut stdout);
    if args.is_err() {
        stdout += &usage(dialect);
    }
    Parsed { stdout, args }
}

/// Checks in the order of wrk and reports the first error: options, then the URL, then
/// combinations.
fn read(dialect: Dialect, argv: &[OsString], stdout: &mut String) -> Result<CompatArgs, String> {
    let (program, words) = argv.split_first().map_or((OsStr::new(""), argv), |(p, w)| (p, w));
    let mut args = CompatArgs {
        head: Head { threads: 2, connections: 10, duration_s: 10, ..Head::default() },
        timeout_ms: 2000,
        ..CompatArgs::default()
    };
    let mut is_separate = false;
    let specs = specs(dialect);
    let mut options = Options::of(words, &specs);
    for option in options.by_ref() {
        let (letter, value) = option.map_err(|error| in_words(dialect, program, error))?;
        match letter {
            'c' => args.head.connections = number("connections", value)?,
            'd' => args.head.duration_s = seconds("duration", value)?,
            't' => args.head.threads = number("threads", value)?,
            's' => args.script = Some(PathBuf::from(value)),
            'H' => add_header(&mut args.headers, value)?,
            'L' => args.blocks.latency = true,
            'U' => (args.blocks.uncorrected, args.blocks.latency) = (true, true),
            'B' => args.batch = true,
            'T' => args.timeout_ms = seconds("timeout", value)? * 1000,
            'v' => stdout.push_str(&version(dialect)),
            'R' => args.rate = Some(number("rate", value)?),
            'D' => args.arrivals = arrivals(value)?,
            'S' => is_separate = true,
            'r' if dialect == Dialect::Wrk2 => args.blocks.sent = true,
            // Help, which wrk prints for -r too.
            _ => return Err(String::new()),
        }
    }
    let mut operands = options.operands.into_iter();
    let url = operands.next().ok_or_else(String::new)?;
    // Checked only now, because a repeated flag replaces its earlier value.
    positive("threads", args.head.threads)?;
    positive("duration", args.head.duration_s)?;
    positive("timeout", args.timeout_ms)?;
    args.head.url = valid_url(url)?;
    args.script_args = operands.map(script_arg).collect::<Result<_, _>>()?;
    if let (true, Some(other)) = (is_separate, args.script_args.first())
        && has_scheme_and_host(other)
    {
        let other = credentials::without_any_userinfo(other);
        let complaint = format!("invalid --separate: {other} is a second URL; run wrk2 per URL");
        return Err(complaint);
    }
    if args.head.connections < args.head.threads {
        return Err("number of connections must be >= threads".to_owned());
    }
    if dialect == Dialect::Wrk2 && args.rate.unwrap_or(0) == 0 {
        let complaint = "Throughput MUST be specified with the --rate or -R option";
        return Err(complaint.to_owned());
    }
    Ok(args)
}

/// The version in one line, with the name of the tool that weir replaces.
/// An error in an option, and the hint if another tool or dialect has the option.
fn in_words(dialect: Dialect, program: &OsStr, Complaint { text, unknown }: Complaint) -> String {
    let hint = unknown.and_then(|unknown| hint(dialect, &unknown));
    let hint = hint.map_or(String::new(), |hint| format!("\n{hint}"));
    format!("{}: {text}{hint}", shown(program))
}

fn version(dialect: Dialect) -> String {
    format!("weir {} [{dialect}] Copyright (C) the weir authors\n", env!("CARGO_PKG_VERSION"))
}

fn number(name: &str, value: &OsStr) -> Result<u64, String> {
    value.to_str().and_then(numbers::count).ok_or_else(|| wrong(name, value, "10, 10k, 2M"))
}

fn seconds(name: &str, value: &OsStr) -> Result<u64, String> {
    value.to_str().and_then(numbers::seconds).ok_or_else(|| wrong(name, value, "30, 30s, 2m, 1h"))
}

/// The error for an invalid value. wrk prints only its usage here; this message names the wrong
/// flag.
fn wrong(name: &str, value: &OsStr, examples: &str) -> String {
    let value = shown(value);
    format!("invalid --{name}: {value} (these are valid: {examples})")
}

/// `-D` of DeathStarBench's wrk2.
fn arrivals(value: &OsStr) -> Result<ArrivalsChoice, String> {
    match value.to_str() {
        Some("fixed") => Ok(ArrivalsChoice::Uniform),
        Some("exp") => Ok(ArrivalsChoice::Poisson),
        Some(law @ ("norm" | "zipf")) => {
            let complaint = format!("invalid --dist: {law} is not supported; use fixed or exp");
            Err(complaint)
        }
        _ => Err(wrong("dist", value, "fixed, exp")),
    }
}

fn positive(name: &str, number: u64) -> Result<(), String> {
    match number {
        0 => Err(format!("invalid --{name}: it must be > 0")),
        _ => Ok(()),
    }
}

/// Adds a header; a repeated name replaces its earlier value. Names are case-sensitive, because
/// they are keys of a table in scripts. Host is the exception: RFC 9112 §3.2 forbids a request with
/// two Host fields.
fn add_header(headers: &mut Vec<(String, String)>, line: &OsStr) -> Result<(), String> {
    let wrong = || {
        let line = without_value(&shown(line));
        format!("invalid header: {line} (write \"Name: value\")")
    };
    let (name, value) = line.to_str().and_then(|line| line.split_once(':')).ok_or_else(wrong)?;
    if name.is_empty() {
        return Err(wrong());
    }
    let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
    let name = if name.eq_ignore_ascii_case("host") { "Host" } else { name };
    match headers.iter_mut().find(|header| header.0 == name) {
        Some(header) => header.1 = value,
        None => headers.push((name.to_owned(), value)),
    }
    Ok(())
}

/// Returns a malformed header for a message, without its value, which may be a credential.
fn without_value(line: &str) -> String {
    match line.split_once([' ', ':', '=']) {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            format!("{name} {REDACTED}")
        }
        _ => line.to_owned(),
    }
}

fn valid_url(word: &OsStr) -> Result<String, String> {
    match word.to_str() {
        Some(url) if has_scheme_and_host(url) => Ok(url.to_owned()),
        _ => {
            let url = credentials::without_any_userinfo(&shown(word));
            Err(format!("invalid URL: {url}"))
        }
    }
}

/// True if the URL has a scheme and a host (RFC 3986 §3). The scheme and the port are not validated
/// here. As in wrk, a scheme consists of letters only, and a URL contains no whitespace.
fn has_scheme_and_host(url: &str) -> bool {
    if url.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return false;
    }
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let host = match host_and_port.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(host, _)| host),
        None => host_and_port.split(':').next().unwrap_or_default(),
    };
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    !scheme.is_empty() && is_scheme && !host.is_empty()
}

/// Converts a word for the script. A word that is not UTF-8 is refused: the script would get
/// another one and measure something else.
fn script_arg(word: &OsStr) -> Result<String, String> {
    let wrong = || format!("invalid argument: {} (no UTF-8)", shown(word));
    word.to_str().map(str::to_owned).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;

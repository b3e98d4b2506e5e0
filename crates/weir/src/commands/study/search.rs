//! `weir search`: the highest rate that meets an objective.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};
use weir_machine::sys;
use weir_result::study::{Design, SearchEffort};
use weir_study::search::{precise, quick};
use weir_text::units;

use super::making::{command, make};
use super::variant::{of_words, run_args};
use crate::args::load::{LoadArgs, arrivals};
use crate::args::replay::ReplayArgs;
use crate::args::study::SearchArgs;
use crate::args::{ArrivalsChoice, SpecArgs};

/// Number of connections at the start, unless -c is given.
const CONNECTIONS: u32 = 64;

/// Greatest number of connections, unless the machine has fewer descriptors.
const CONNECTIONS_MAX: u32 = 10_000;

/// Descriptors that are left for all but connections.
const DESCRIPTORS_KEPT: u64 = 256;

const SECOND: f64 = 1e9;

/// Makes the study.
///
/// # Errors
/// When the command line is wrong, or the study cannot be kept.
pub(crate) fn search(args: &SearchArgs) -> Result<ExitCode> {
    let SpecArgs { load: run, replay, .. } = run_args(&args.run)?;
    check(args, &run, &replay)?;
    let variant = of_words("", &args.run)?;
    let goodput = args.objective.claims().iter().find(|claim| claim.is_of_goodput());
    if let Some(claim) = goodput.filter(|_| variant.spec.messages.goodput.is_none()) {
        bail!("'{}' needs the conditions of a good response: give --goodput", claim.text());
    }
    let connections_max = connections_max().max(run.connections().first());
    let design = Design::Search {
        objective: args.objective.to_string(),
        effort: effort(args, &run),
        arrivals: arrivals(args.arrivals, args.study.study_seed),
        connections: if has_connections(&args.run) {
            run.connections().first()
        } else {
            CONNECTIONS
        },
        connections_max,
        rate_max_rps: args.max_rate.map(|rate| rate.rps()),
    };
    let words = command(&own_words(args), &variant.cell);
    make(&args.study, design, vec![variant], words, None)
}

/// Returns the words of the search for its file.
fn own_words(args: &SearchArgs) -> Vec<String> {
    let mut words = vec!["search".to_owned(), args.objective.to_string()];
    words.extend(args.precise.then(|| "--precise".to_owned()));
    words.extend(args.width.map(|share| format!("--width={}", units::fine_percent(share))));
    words.extend(args.max_rate.map(|rate| format!("--max-rate={}", rate.rps())));
    let is_poisson = args.arrivals == ArrivalsChoice::Poisson;
    words.extend(is_poisson.then(|| "--arrivals=poisson".to_owned()));
    words
}

/// Refuses flags that the search sets itself, and a timeout within the objective.
fn check(args: &SearchArgs, run: &LoadArgs, replay: &ReplayArgs) -> Result<()> {
    let set = [
        ("--rate", run.rate.is_some()),
        ("--stages", run.stages.is_some()),
        ("--replay", replay.replay.is_some()),
        ("--requests", run.requests.is_some()),
        ("--drain", run.drain.is_some()),
        ("--metric", !args.study.metrics.is_empty()),
        ("--warmup auto", run.warmup.is_some_and(|warmup| warmup.is_auto)),
    ];
    if let Some((flag, _)) = set.into_iter().find(|(_, is_given)| *is_given) {
        bail!(
            "{flag} cannot be used in a search, which chooses the load of each trial: leave it out"
        );
    }
    let slow_ns = args.objective.slow_ns().unwrap_or(0);
    if slow_ns >= run.timeouts.timeout {
        let limit = units::exact_duration(slow_ns);
        let timeout = units::exact_duration(run.timeouts.timeout);
        bail!(
            "the objective allows {limit}, and requests time out after {timeout}: raise --timeout"
        );
    }
    Ok(())
}

/// Returns the effort that the flags select, with trials as long as -d.
fn effort(args: &SearchArgs, run: &LoadArgs) -> SearchEffort {
    let usual = if args.precise { precise() } else { quick() };
    let factor = run.duration.map_or(1.0, |ns| ns as f64 / SECOND / usual.final_s);
    SearchEffort {
        initial_s: usual.initial_s * factor,
        final_s: usual.final_s * factor,
        sum_s: usual.sum_s * factor,
        violations_min: if run.duration.is_some() { 0.0 } else { usual.violations_min },
        width: args.width.unwrap_or(usual.width),
        warmup_s: run.warmup.map_or(usual.warmup_s, |warmup| warmup.span_ns as f64 / SECOND),
        ..usual
    }
}

/// True if the words have a number of connections.
fn has_connections(words: &[OsString]) -> bool {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    words.iter().map(text).any(|word| word.starts_with("-c") || word.starts_with("--connections"))
}

/// Returns the greatest number of connections that this machine's descriptors allow.
fn connections_max() -> u32 {
    let Ok(limit) = sys::raise_descriptor_limit() else { return CONNECTIONS_MAX };
    let free = limit.soft.saturating_sub(DESCRIPTORS_KEPT).max(1);
    u32::try_from(free).map_or(CONNECTIONS_MAX, |free| free.min(CONNECTIONS_MAX))
}

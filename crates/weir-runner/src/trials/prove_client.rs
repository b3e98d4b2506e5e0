//! `--prove-client` (`more-threads`, METHOD 1.9): repeats the load for a fifth of its time with as
//! many threads, and for a fifth with one more. The short runs alternate, so that a drift of the
//! machine affects both.

use anyhow::{Result, bail};
use weir_engine::Job;
use weir_io::system;
use weir_result::document::{ProofPair, ProveClientSection, RatioEstimate};
use weir_result::{Measurements, Pacing, Plan};

use crate::interrupts::Interrupts;
use crate::spec::RunSpec;

/// Pairs of short runs.
const PAIRS: u64 = 2;

/// Length of the run, in short runs.
const SHARE: u64 = 10;

/// Window of a short run, in warm-ups of that run: the server is warm, its new connections are not.
const WARMUP_SHARE: u64 = 4;

/// Checks that a load can be repeated with one more thread.
///
/// # Errors
/// When it cannot; the message contains the remedy.
pub(crate) fn is_provable(spec: &RunSpec, plan: &Plan) -> Result<()> {
    if spec.load.requests.is_some() {
        bail!("--prove-client repeats the load for a share of its time: give -d instead of -n");
    }
    if spec.script.is_some() {
        bail!(
            "--prove-client cannot be used with --script, whose states are for one number of \
             threads; compare runs with different -t"
        );
    }
    if plan.threads >= plan.connections {
        bail!(
            "--prove-client adds a thread to {}, and each needs a connection: use more than -c{}",
            plan.threads,
            plan.connections
        );
    }
    Ok(())
}

/// Repeats the load in short runs; returns `None` if a signal arrived.
///
/// # Errors
/// When the machine fails under one of them.
pub(crate) fn prove(job: &Job, interrupts: &Interrupts) -> Result<Option<ProveClientSection>> {
    let threads = (job.plan.threads, job.plan.threads + 1);
    let window_ns = (job.plan.duration_ns.unwrap_or_default() / SHARE).max(1);
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        let Some(as_many) = shortly(job, threads.0, window_ns, interrupts)? else {
            return Ok(None);
        };
        let Some(more) = shortly(job, threads.1, window_ns, interrupts)? else { return Ok(None) };
        pairs.push(ProofPair { as_many, more });
    }
    Ok(Some(ProveClientSection::of(threads, window_ns, &pairs)))
}

fn shortly(
    job: &Job,
    threads: u32,
    window_ns: u64,
    interrupts: &Interrupts,
) -> Result<Option<Measurements>> {
    let mut job = job.clone();
    job.plan.threads = threads;
    job.plan.warmup_ns = window_ns / WARMUP_SHARE;
    job.plan.warmup_is_auto = false;
    job.plan.duration_ns = Some(window_ns);
    job.raw = None;
    let usable = system::usable_cpus().map_or(1, |cpus| cpus.len());
    if threads as usize > usable {
        // As for any load with more threads than CPUs.
        job.plan.pacing = Pacing::Sleep;
    }
    if threads as usize > job.cpus.len() {
        // Two threads on one CPU prove nothing.
        job.cpus = Vec::new();
    }
    Ok(super::carry_out(job, interrupts)?.map(|outcome| outcome.measurements))
}

/// Describes the result of the short runs in one sentence.
pub(crate) fn describe(proof: &ProveClientSection) -> String {
    let change = |ratio: Option<RatioEstimate>| match ratio {
        Some(RatioEstimate { ratio, low, high }) => {
            format!("{ratio:.2} times ({low:.2} to {high:.2})")
        }
        None => "unknown".to_owned(),
    };
    let conclusion = match proof {
        ProveClientSection { is_client_limited: true, .. } => {
            "the client was the limit: give it more threads, or another machine"
        }
        ProveClientSection { throughput: None, p99: None, .. } => "too short for a result",
        _ => "no sign that the client was the limit",
    };
    format!(
        "{} threads instead of {}: throughput {}, p99 {}; {conclusion}",
        proof.more_threads,
        proof.threads,
        change(proof.throughput),
        change(proof.p99),
    )
}

//! `--prove-client` (`more-threads`, METHOD 1.9): repeats the load for a fifth of its time with as
//! many threads, and for a fifth with one more. The short runs alternate, so that a drift of the
//! machine affects both.

use anyhow::{Result, bail};
use weir_engine::Job;
use weir_machine::sys;
use weir_result::document::{ProofPair, ProveClientSection, RatioEstimate};
use weir_result::{ListOrder, Measurements, Pacing, Plan};
use weir_text::setting::{
    CONNECTIONS, DURATION, IN_FLIGHT, LIST_ORDER, PROVE_CLIENT, REQUESTS, SCRIPT, THREADS,
};

use crate::interrupts::Interrupts;
use crate::run::health;
use crate::run::trial::carry_out;
use crate::spec::RunSpec;

/// Pairs of short runs.
const PAIRS: u64 = 2;

/// Attempts at a short run, if the client is stopped for long during each.
const ATTEMPTS: u32 = 3;

/// Length of the run, in short runs.
const SHARE: u64 = 10;

/// Window of a short run, in warm-ups of that run: the server is warm, its new connections are not.
const WARMUP_SHARE: u64 = 4;

/// Checks that a load can be repeated with one more thread.
///
/// # Errors
/// When it cannot; the message contains the remedy.
pub(crate) fn is_provable(spec: &RunSpec, plan: &Plan) -> Result<()> {
    if plan.list.as_ref().is_some_and(|list| list.order == ListOrder::Once) {
        bail!("{PROVE_CLIENT} repeats the load, and {LIST_ORDER} once sends each request once");
    }
    if spec.load.requests.is_some() {
        bail!(
            "{PROVE_CLIENT} repeats the load for a share of its time: give {DURATION} \
             instead of {REQUESTS}"
        );
    }
    if !plan.load.is_one_load() {
        bail!(
            "{PROVE_CLIENT} repeats the load for a share of its time, and a load that changes is \
             another one then: give a constant load"
        );
    }
    if spec.script.is_some() {
        bail!(
            "{PROVE_CLIENT} cannot be used with {SCRIPT}, whose states are for one number of \
             threads; compare runs with different {THREADS}"
        );
    }
    if plan.threads >= plan.load.connections.count() {
        bail!(
            "{PROVE_CLIENT} adds a thread to {}, and each needs a connection: use more \
             than {CONNECTIONS} {}",
            plan.threads,
            plan.load.connections.count()
        );
    }
    if plan.load.in_flight_max.is_some_and(|most| most <= plan.threads) {
        bail!(
            "{PROVE_CLIENT} adds a thread to {}, and each needs a request in flight: use \
             {IN_FLIGHT} {}",
            plan.threads,
            plan.threads + 1
        );
    }
    Ok(())
}

/// Repeats the load in short runs; returns `None` if a signal arrived.
///
/// # Errors
/// When the machine fails under one of them.
pub(crate) fn prove(job: &Job, interrupts: &Interrupts) -> Result<Option<ProveClientSection>> {
    let threads = job.plan.threads;
    let more_threads = threads + 1;
    let window_ns = (job.plan.load.length_ns().unwrap_or_default() / SHARE).max(1);
    let mut pairs = Vec::new();
    let mut dropped = 0;
    for _ in 0..PAIRS {
        let mut run = |threads| shortly(job, threads, window_ns, &mut dropped, interrupts);
        let Some(as_many) = run(threads)? else { return Ok(None) };
        let Some(more) = run(more_threads)? else { return Ok(None) };
        pairs.push(ProofPair { as_many, more });
    }
    let mut section = ProveClientSection::of(threads, more_threads, window_ns, &pairs);
    section.sent += dropped;
    Ok(Some(section))
}

/// Runs the load for a short time. A run during which the client was stopped is repeated, and its
/// requests are added to `dropped`.
fn shortly(
    job: &Job,
    threads: u32,
    window_ns: u64,
    dropped: &mut u64,
    interrupts: &Interrupts,
) -> Result<Option<Measurements>> {
    let mut job = job.clone();
    job.plan.threads = threads;
    job.plan.load.warmup.span_ns = window_ns / WARMUP_SHARE;
    job.plan.load.warmup.is_auto = false;
    job.plan.load.duration_ns = Some(window_ns);
    job.raw = None;
    let usable = sys::usable_cpus().map_or(1, |cpus| cpus.len());
    if threads as usize > usable {
        // As for any load with more threads than CPUs.
        job.plan.pacing = Pacing::Sleep;
    }
    if threads as usize > job.workers.cpus.len() {
        // Two threads on one CPU prove nothing.
        job.workers.cpus = Vec::new();
    }
    for attempt in 1.. {
        let Some(outcome) = carry_out(job.clone(), interrupts)? else { break };
        let stops = outcome.parts.beside.health.and_then(|health| health.stops);
        if attempt == ATTEMPTS || !stops.is_some_and(health::is_long) {
            return Ok(Some(outcome.parts.measurements));
        }
        *dropped += outcome.parts.measurements.sent.total();
    }
    Ok(None)
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

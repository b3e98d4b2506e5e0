//! V3, V9: weir's figures for servers whose times follow a known law.

use anyhow::{Context, Result};
use weir_result::Document;
use weir_result::document::SeriesPhase;
use weir_stats::{mean, mean_interval, t_quantile, variance};

use super::distribution::Distribution;
use super::theory::{Law, Queue, QueueKind};
use crate::rig::{Fixture, Record, Section, seconds, thousands};

/// Largest time that delivery may add on a quiet machine: to the server, and back to the client's
/// time stamp.
const DELIVERY_MAX_S: f64 = 0.000_3;

/// Confidence of the intervals, on both sides.
const CONFIDENCE: f64 = 0.99;

/// Service rate of the queues.
const SERVICE_RPS: f64 = 1_000.0;

/// Runs case V9 of METHOD 2.1.
pub(super) fn queues(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(30.0, 5.0);
    let mut section = Section::new(
        "queues with a known law",
        "Do response times of a single server with random or even arrivals follow queueing \
         theory?",
        format!(
            "Mean and p99 of METHOD 2.3 within 99% intervals from the run's own 30 slices \
             (D = {window_s} s), give or take {} of delivery. The mean is also that of the \
             server's log, from read to send, and at most {0} more.",
            seconds(DELIVERY_MAX_S)
        ),
    );
    let kinds = [("M/M/1", QueueKind::Mm1), ("D/M/1", QueueKind::Dm1), ("M/D/1", QueueKind::Md1)];
    let rates: &[f64] = if fixture.options.is_quick { &[500.0] } else { &[500.0, 800.0] };
    for (name, kind) in kinds {
        for rate_rps in rates {
            let queue = Queue { kind, rate_rps: *rate_rps, service_rps: SERVICE_RPS };
            measure_queue(fixture, &mut section, name, queue, window_s)?;
        }
    }
    section.verdict("Means and p99 beside theory's:");
    section.show_columns(&["queue", "ρ", "mean by theory", "weir", "p99 by theory"]);
    section.note("The seeds of arrivals and of service are fixed, so a run is the same each time.");
    Ok(section)
}

fn measure_queue(
    fixture: &Fixture,
    section: &mut Section,
    name: &str,
    queue: Queue,
    window_s: f64,
) -> Result<()> {
    let rate_rps = queue.rate_rps;
    let delay = if queue.kind == QueueKind::Md1 { "1ms" } else { "exp:1ms" };
    let arrivals = if queue.kind == QueueKind::Dm1 { "uniform" } else { "poisson --seed 1" };
    let load = format!("-t1 -c200 -R{rate_rps} -d{window_s}s --warmup 1s --arrivals {arrivals}");
    let server = format!("--mode fifo --delay {delay} --seed 1");
    let (document, log) = fixture.run(&server, &load)?;
    let reported = Distribution::responses(&document)?;
    let batches = Batches::of(&document)?;
    let warmup = document.accounting.sent.warmup as usize;
    let log_s = stay_s(&log, warmup, reported.count() as usize)?;
    let theory_s = queue.mean_s();
    let weir_s = reported.mean_ns() / 1e9;
    let half_s = batches.mean_half_s();
    let [p99_s, low_s, high_s] = batches.quantile_s(&reported, 0.99);
    let [p99, low, high] = [p99_s, low_s, high_s].map(seconds);
    section.row(&[
        ("queue", &name),
        ("ρ", &format!("{}", rate_rps / SERVICE_RPS)),
        ("mean by theory", &seconds(theory_s)),
        ("weir", &format!("{} ± {}", seconds(weir_s), seconds(half_s))),
        ("by the log", &seconds(log_s)),
        ("weir − log", &seconds(weir_s - log_s)),
        ("p99 by theory", &queue.quantile_s(0.99).map_or("–".to_owned(), seconds)),
        ("weir", &format!("{p99} ({low} to {high})")),
    ]);
    let name = format!("{name} at ρ = {}", rate_rps / SERVICE_RPS);
    let is_inside = weir_s - half_s - DELIVERY_MAX_S <= theory_s && theory_s <= weir_s + half_s;
    section.must_if_quiet(is_inside, || {
        format!("{name}: the mean is {} ± {}", seconds(weir_s), seconds(half_s))
    });
    // The slices of a quick run have too few requests for an interval of p99.
    if let Some(theory_s) = queue.quantile_s(0.99).filter(|_| !fixture.options.is_quick) {
        let is_inside = low_s - DELIVERY_MAX_S <= theory_s && theory_s <= high_s;
        section.must_if_quiet(is_inside, || format!("{name}: p99 is {p99}"));
    }
    section.must(weir_s >= log_s, || format!("{name}: the mean is less than the server's own"));
    section.must_if_quiet(weir_s - log_s <= DELIVERY_MAX_S, || {
        format!("{name}: the mean is {} above the server's own", seconds(weir_s - log_s))
    });
    Ok(())
}

/// Returns the mean time from read to send, in seconds, of `count` requests after the first `skip`.
fn stay_s(log: &[Record], skip: usize, count: usize) -> Result<f64> {
    let measured = log.get(skip..skip + count).context("the server has logged too few requests")?;
    let stays = measured.iter().map(|record| {
        let sent_ns = record.sent_ns.context("a measured request was not answered")?;
        Ok((sent_ns - record.received_ns) as f64 / 1e9)
    });
    let stays = stays.collect::<Result<Vec<f64>>>()?;
    Ok(mean(&stays))
}

/// Runs case V3 of METHOD 2.1.
pub(super) fn laws(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(10.0, 3.0);
    let rate_rps = 2_000.0;
    let mut section = Section::new(
        "delays with a known law",
        "Does a delay drawn from a law come out as that law?",
        format!(
            "The distribution function lies nowhere above the law by more than 1.36/√n, and \
             nowhere below the law moved up by {} by more than that (Kolmogorov and Smirnov's \
             bound at 95%).",
            seconds(DELIVERY_MAX_S)
        ),
    );
    let laws = [
        Law::Uniform { least_ns: 1e6, most_ns: 5e6 },
        Law::Exponential { mean_ns: 2e6 },
        Law::Pareto { scale_ns: 1e6, alpha: 1.5 },
    ];
    for law in laws {
        let load =
            format!("-t1 -c400 -R{rate_rps} -d{window_s}s --warmup 1s --arrivals poisson --seed 1");
        let (document, _) = fixture.run(&format!("--delay {} --seed 1", law.flag()), &load)?;
        let reported = Distribution::of(&document.results.service_time)?;
        let above = reported.above_law(|ns| law.share(ns));
        let below = reported.below_law(|ns| law.share(ns - DELIVERY_MAX_S * 1e9));
        let bound = 1.36 / (reported.count() as f64).sqrt();
        section.row(&[
            ("law", &law.flag()),
            ("n", &thousands(reported.count())),
            ("above", &format!("{above:.4}")),
            ("below", &format!("{below:.4}")),
            ("bound", &format!("{bound:.4}")),
            ("mean in flight", &in_flight(&document)),
            ("λ·E(S)", &format!("{:.2}", rate_rps * reported.mean_ns() / 1e9)),
        ]);
        section.must(above <= bound, || format!("{}: {above:.4} above the law", law.flag()));
        section.must_if_quiet(below <= bound, || format!("{}: {below:.4} below it", law.flag()));
    }
    section.verdict("The greatest distances of the distribution functions, and their bound:");
    section.show_columns(&["law", "above", "below", "bound"]);
    Ok(section)
}

/// Formats the mean number of requests in flight at the ends of the window's intervals. There are
/// few, so it is informative only.
fn in_flight(document: &Document) -> String {
    let series = document.series.iter();
    let measured = series.filter(|interval| interval.phase == SeriesPhase::Measured);
    let counts: Vec<f64> = measured.map(|interval| interval.in_flight as f64).collect();
    format!("{:.1}", mean(&counts))
}

/// The slices of a run, from which the intervals follow (METHOD 1.11). Neighbouring requests wait
/// in the same queue, so a thousand of them contain less information than a thousand independent
/// ones.
struct Batches {
    slices: Vec<Distribution>,
    means_s: Vec<f64>,
}

impl Batches {
    fn of(document: &Document) -> Result<Batches> {
        let mut batches = Batches { slices: Vec::new(), means_s: Vec::new() };
        for slice in &document.slices {
            let mean_ns = slice.ok.mean_ns().context("a slice has no completed request")?;
            batches.slices.push(Distribution::read(&slice.ok.to_text())?);
            batches.means_s.push(mean_ns / 1e9);
        }
        Ok(batches)
    }

    /// Returns half of the width of the mean's interval.
    fn mean_half_s(&self) -> f64 {
        mean_interval(&self.means_s, CONFIDENCE).map_or(f64::INFINITY, |mean| mean.half_width)
    }

    /// Returns a quantile of the whole with the ends of its interval, which follows from the
    /// variance over slices of the share of requests beyond the quantile.
    fn quantile_s(&self, whole: &Distribution, p: f64) -> [f64; 3] {
        let value_ns = whole.quantile_ns(p);
        let beyond =
            |slice: &Distribution| slice.above(value_ns as u64) as f64 / slice.count() as f64;
        let shares: Vec<f64> = self.slices.iter().map(beyond).collect();
        let slices = shares.len() as f64;
        let count = whole.count() as f64;
        let independent = p * (1.0 - p) / count;
        let student = t_quantile((1.0 + CONFIDENCE) / 2.0, slices - 1.0);
        let half = student * (variance(&shares) / slices).max(independent).sqrt();
        let ends = [p, (p - half).max(0.0), (p + half).min(1.0)];
        ends.map(|p| whole.quantile_ns(p) / 1e9)
    }
}

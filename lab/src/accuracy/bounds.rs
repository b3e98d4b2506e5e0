//! V27: the true value lies within the bounds that weir states, with a spinner on the client's CPU.

use anyhow::{Context, Result};
use weir_result::document::Summary;
use weir_result::quantile::Bound;
use weir_stats::median;

use super::capture::PacketCapture;
use super::distribution::quantile;
use crate::rig::{Fixture, Section, seconds};

/// Runs of each spinner, half of them with each source of true values.
const RUNS: usize = 20;

/// Shares of the client's CPU that the spinner takes.
const DUTIES: [f64; 3] = [0.25, 0.50, 0.75];

/// Percentiles with V2's target for each: the time that the client adds on a quiet machine, in
/// nanoseconds.
const PERCENTILES: [(f64, f64); 3] = [(50.0, 15e3), (90.0, 60e3), (99.0, 60e3)];

/// Pairs of run and percentile in which the true value must lie inside, and the total number.
const INSIDE_LEAST: usize = 171;
const PAIRS: usize = 180;

/// Least median ratio of the lower end to the true value, so that the lower end is informative.
const LOW_LEAST: f64 = 0.5;

const LOAD: &str = "-t1 -c10 -R2000 --warmup 0 --witness off";

/// Mean of the programmed delays.
const DELAY_NS: f64 = 2e6;

/// Source of a run's true values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Packets captured by tcpdump.
    Capture,
    /// Exponential delays of the server.
    Programmed,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Source::Capture => "packets",
            Source::Programmed => "programmed delay",
        }
    }
}

/// Range that weir stated for one percentile, and the true value, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Stated {
    low_ns: f64,
    high_ns: f64,
    truth_ns: f64,
    is_inside: bool,
}

/// Runs case V27 of METHOD 2.1.
pub(super) fn bounds(fixture: &Fixture) -> Result<Section> {
    let runs = fixture.runs(RUNS, 2);
    let pairs = runs * DUTIES.len() * PERCENTILES.len();
    let least = (pairs * INSIDE_LEAST).div_ceil(PAIRS);
    let mut section = Section::new(
        "bounds hold",
        "A spinner takes the client's CPU. Does the truth lie within the stated bounds?",
        format!(
            "The truth of p50, p90 and p99 lies inside the stated range in {least} of the {pairs} \
             pairs of run and percentile; V2's aim (15 µs at p50, 60 µs beyond) is allowed for. \
             For each percentile the median of lower end ÷ truth is at least {LOW_LEAST}. The \
             known capacity of a server is not less than the stated lower bound of the throughput \
             in 19 of 20 runs. {LOAD} -d3s"
        ),
    );
    let mut all: Vec<Vec<Stated>> = vec![Vec::new(); PERCENTILES.len()];
    let halves = [(Source::Capture, runs.div_ceil(2)), (Source::Programmed, runs / 2)];
    for (duty, (source, runs)) in DUTIES.iter().flat_map(|duty| halves.map(|half| (*duty, half))) {
        let mut stated: Vec<Vec<Stated>> = vec![Vec::new(); PERCENTILES.len()];
        for _ in 0..runs {
            for (list, one) in stated.iter_mut().zip(run(fixture, duty, source)?) {
                list.push(one);
            }
        }
        for ((list, all), (p, _)) in stated.iter().zip(&mut all).zip(PERCENTILES) {
            if !list.is_empty() {
                row(&mut section, duty, source, p, list);
            }
            all.extend_from_slice(list);
        }
    }
    let inside = all.iter().flatten().filter(|stated| stated.is_inside).count();
    section.must_if_quiet(inside >= least, || {
        format!("the truth is inside in {inside} of {pairs} pairs")
    });
    for (list, (p, _)) in all.iter().zip(PERCENTILES) {
        let low = ratio(list, |stated| stated.low_ns);
        section.must_if_quiet(low >= LOW_LEAST, || {
            format!("p{p}: the lower end is {low:.2} of the truth")
        });
    }
    section.verdict(format!(
        "It does in {inside} of {pairs} pairs of run and percentile ({least} are wanted)."
    ));
    capacity(fixture, &mut section)?;
    Ok(section)
}

fn row(section: &mut Section, duty: f64, source: Source, p: f64, list: &[Stated]) {
    let inside = list.iter().filter(|stated| stated.is_inside).count();
    section.row(&[
        ("spinner", &format!("{:.0}%", duty * 100.0)),
        ("truth", &source.name()),
        ("percentile", &format!("p{p}")),
        ("inside", &format!("{inside} of {}", list.len())),
        ("lower end ÷ truth", &format!("{:.2}", ratio(list, |stated| stated.low_ns))),
        ("upper end ÷ truth", &format!("{:.2}", ratio(list, |stated| stated.high_ns))),
    ]);
}

/// Returns the median over the runs of an end of the range divided by the true value.
fn ratio(list: &[Stated], end: impl Fn(&Stated) -> f64) -> f64 {
    let ratios = list.iter().map(|stated| end(stated) / stated.truth_ns.max(1.0));
    median(&mut ratios.collect::<Vec<f64>>())
}

/// Makes one run under a spinner and returns the range that it states for each percentile.
fn run(fixture: &Fixture, duty: f64, source: Source) -> Result<Vec<Stated>> {
    let mean_ms = DELAY_NS / 1e6;
    let is_captured = source == Source::Capture;
    let delay = if is_captured { String::new() } else { format!("--delay exp:{mean_ms}ms") };
    let server = fixture.serve(&format!("--log-max 1 {delay}"))?;
    let capturing = is_captured.then(|| PacketCapture::start(fixture, &server)).transpose()?;
    let spinner = fixture.spin(duty)?;
    let window_s = fixture.span(3.0, 1.0);
    let document = fixture.weir_beside_spinner(&format!("{LOAD} -d{window_s}s"), &server.url)?;
    drop(spinner);
    server.finish()?;
    let mut times = capturing.map_or(Ok(Vec::new()), PacketCapture::finish)?;
    times.sort_by(f64::total_cmp);
    let truth_ns = |p: f64| match source {
        Source::Capture => quantile(&times, p / 100.0),
        Source::Programmed => -DELAY_NS * (1.0 - p / 100.0).ln(),
    };
    let summary = &document.results.response_time.ok;
    PERCENTILES.iter().map(|(p, aim_ns)| stated(summary, *p, *aim_ns, truth_ns(*p))).collect()
}

/// Returns the range that the summary of the response time states for percentile `p`.
fn stated(summary: &Summary, p: f64, aim_ns: f64, truth_ns: f64) -> Result<Stated> {
    let value = summary.percentile(p).with_context(|| format!("the document has no p{p}"))?;
    let (low_ns, high_ns) = match value.bound {
        Bound::Upper => {
            let range = value.range;
            let high_ns = range.map(|range| range.high_ns).or(value.high_ns);
            (range.map_or(0, |range| range.low_ns), high_ns)
        }
        _ => (value.low_ns.unwrap_or(value.ns), value.high_ns),
    };
    let low_ns = low_ns as f64;
    let high_ns = high_ns.unwrap_or(value.ns) as f64;
    // A value is never less than the true one, and exceeds it by the time that any client adds.
    let is_inside = low_ns - aim_ns <= truth_ns && truth_ns <= high_ns;
    eprintln!(
        "accuracy: p{p}: {} to {}, true {}{}",
        seconds(low_ns / 1e9),
        seconds(high_ns / 1e9),
        seconds(truth_ns / 1e9),
        if is_inside { "" } else { ": outside" }
    );
    Ok(Stated { low_ns, high_ns, truth_ns, is_inside })
}

/// Checks a server of known capacity with a client that a spinner slows down.
fn capacity(fixture: &Fixture, section: &mut Section) -> Result<()> {
    const RATE: f64 = 1_000.0;
    let runs = fixture.runs(RUNS, 2);
    let mut held = 0;
    let mut greatest = 0.0_f64;
    for at in 0..runs {
        let server = fixture.serve("--log-max 1 --delay 1ms --mode fifo")?;
        let spinner = fixture.spin(DUTIES[at % DUTIES.len()])?;
        let window_s = fixture.span(3.0, 1.0);
        let flags = format!("-t1 -c10 -d{window_s}s --warmup 500ms --witness off");
        let document = fixture.weir_beside_spinner(&flags, &server.url)?;
        drop((spinner, server));
        let results = &document.results;
        let throughput = &document.throughput;
        let low_rps = results.good_interval.map(|interval| interval.low_rps);
        let least = throughput.least_rps.or(low_rps).context("the document has no lower bound")?;
        greatest = greatest.max(least);
        held += usize::from(least <= RATE);
    }
    let wanted = runs - runs / 20;
    section.must(held >= wanted, || {
        format!("the stated lower bound is above the capacity in {} of {runs} runs", runs - held)
    });
    section.note(format!(
        "Capacity {RATE:.0}/s (`--mode fifo --delay 1ms`): the stated lower bound is not above it \
         in {held} of {runs} runs; the greatest is {greatest:.1}/s."
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_result::document::{PercentileValue, Range};

    use super::*;

    #[test]
    fn the_range_of_an_upper_bound_is_what_is_stated() {
        let ends = |value, low_ns, high_ns| PercentileValue {
            low_ns: Some(low_ns),
            high_ns: Some(high_ns),
            ..value
        };
        let exact = ends(PercentileValue::new(50.0, 90, Bound::Exact), 80, 100);
        let range = Some(Range { low_ns: 150, high_ns: 310 });
        let ranged = PercentileValue { range, ..PercentileValue::new(90.0, 300, Bound::Upper) };
        let upper = ends(PercentileValue::new(99.0, 900, Bound::Upper), 880, 930);
        let summary = Summary {
            count: 1_000,
            min_ns: None,
            max_ns: None,
            mean_ns: None,
            stdev_ns: None,
            mean_bound: Bound::Exact,
            percentiles: vec![exact, ranged, upper],
            unsupported: Vec::new(),
        };
        let check = |p, truth_ns, low_ns, high_ns, is_inside| {
            let stated = stated(&summary, p, 5.0, truth_ns).expect("it has this percentile");
            assert_eq!((stated.low_ns, stated.high_ns), (low_ns, high_ns), "p{p}");
            assert_eq!(stated.is_inside, is_inside, "p{p}: {truth_ns}");
        };
        check(50.0, 75.0, 80.0, 100.0, true);
        check(50.0, 74.0, 80.0, 100.0, false);
        check(90.0, 200.0, 150.0, 310.0, true);
        check(90.0, 311.0, 150.0, 310.0, false);
        // Without time stamps there is no lower end.
        check(99.0, 1.0, 0.0, 930.0, true);
        assert!(stated(&summary, 99.9, 5.0, 1.0).is_err());
    }
}

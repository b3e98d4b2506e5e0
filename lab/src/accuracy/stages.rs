//! V33: the percentiles of a load's stages beside runs of each stage alone. V34: the knee of a ramp
//! over the capacity of a FIFO server, and ramps below it.

use anyhow::{Context, Result};
use weir_result::Document;
use weir_result::document::Summary;

use crate::rig::{Fixture, Section, rate};

/// Rates of the stages of V33, in requests per second.
const STAGES_RPS: [u32; 3] = [1_000, 4_000, 1_000];

/// Percentiles that V33 compares, in percent.
const COMPARED: [f64; 2] = [50.0, 99.0];

/// Share of the intervals of V33 that overlap.
const OVERLAP_MIN: f64 = 57.0 / 60.0;

/// Capacity of the server of V34, in requests per second.
const CAPACITY_RPS: f64 = 1_000.0;

/// Largest distance of an end of a knee's interval from the capacity, as a share of it.
const TOLERANCE: f64 = 0.05;

/// Rules that a clean ramp must not trigger.
const STEADINESS: [&str; 4] =
    ["not-stationary", "autocorrelation", "warmup-too-short", "growing-backlog"];

/// Runs case V33 of METHOD 2.1.
pub(super) fn beside_single_runs(fixture: &Fixture) -> Result<Section> {
    let count = fixture.runs(10, 1);
    let seconds = fixture.span(10, 2);
    let mut section = Section::new(
        "stages beside single runs",
        "Does a stage have the percentiles of a run with its rate alone?",
        format!(
            "A server with exponential delays of 2 ms. {count} times three stages of {seconds} s \
             at 1,000, 4,000 and 1,000/s, and each alone: at p50 and p99 the two 95% intervals \
             overlap in at least 95% of all pairs."
        ),
    );
    let stages = STAGES_RPS.map(|rps| format!("{seconds}s@{rps}")).join(",");
    let mut pairs = 0;
    let mut together = 0;
    section.begin_table("pairs of intervals that overlap:");
    for index in 1..=count {
        let server = fixture.serve("--delay exp:2ms --log-max 1")?;
        let load = format!("-t1 -c100 --warmup 1s --stages {stages}");
        let staged = fixture.weir(&load, &server.url)?;
        for (nth, rps) in STAGES_RPS.into_iter().enumerate() {
            let load = format!("-t1 -c100 --warmup 1s -R{rps} -d{seconds}s");
            let alone = fixture.weir(&load, &server.url)?;
            let stage = staged.stages.get(nth).context("the run has too few stages")?;
            let times = stage.results.response_time.headline();
            let alone = alone.results.response_time.headline();
            for p in COMPARED {
                let is_together = overlap(times, alone, p);
                pairs += 1;
                together += usize::from(is_together);
                section.row(&[
                    ("run", &index),
                    ("stage", &(nth + 1)),
                    ("percentile", &format!("p{p}")),
                    ("in the stage", &interval(times, p)),
                    ("alone", &interval(alone, p)),
                ]);
            }
        }
    }
    section.must_if_quiet(together as f64 >= OVERLAP_MIN * pairs as f64, || {
        format!("only {together} of {pairs} pairs of intervals overlap")
    });
    section.verdict(format!("{together} of {pairs} pairs of intervals overlap."));
    Ok(section)
}

/// Returns the ends of the interval of a percentile in nanoseconds; the upper one is infinite if it
/// is unbounded. `None` without an interval.
fn ends(times: &Summary, p: f64) -> Option<(f64, f64)> {
    let value = times.percentile(p)?;
    let high = value.high_ns.map_or(f64::INFINITY, |ns| ns as f64);
    Some((value.low_ns? as f64, high))
}

fn overlap(one: &Summary, other: &Summary, p: f64) -> bool {
    let both = ends(one, p).zip(ends(other, p));
    both.is_some_and(|((low, high), (least, most))| low <= most && least <= high)
}

fn interval(times: &Summary, p: f64) -> String {
    let ends = ends(times, p);
    let ms = |(low, high)| format!("{:.2} to {:.2} ms", low / 1e6, high / 1e6);
    ends.map_or_else(String::new, ms)
}

/// Runs case V34 of METHOD 2.1.
pub(super) fn knees(fixture: &Fixture) -> Result<Section> {
    let count = fixture.runs(10, 1);
    let clean = 2 * fixture.runs(10, 1);
    let seconds = fixture.span(10, 4);
    let mut section = Section::new(
        "the knee of a ramp",
        "Does a ramp over the capacity of a server name it?",
        format!(
            "A FIFO server that takes 1 ms for each request. {count} ramps of {seconds} s from \
             100/s to 2,000/s: in 9 of 10 both ends of the knee's interval are within {}% of the \
             capacity. {clean} ramps from 0 to 500/s: none has a knee or a finding about \
             steadiness.",
            TOLERANCE * 100.0
        ),
    );
    let ramp = |range: &str| -> Result<Document> {
        let server = fixture.serve("--mode fifo --delay 1ms --log-max 1")?;
        let load = format!("-t1 -c100 --warmup 0 --drain 5s --stages {seconds}s@{range}");
        fixture.weir(&load, &server.url)
    };
    let mut held = 0;
    section.begin_table("ramps over the capacity:");
    for index in 1..=count {
        let document = ramp("100..2k")?;
        let knee = knee(&document);
        let is_near = |rps: f64| (rps / CAPACITY_RPS - 1.0).abs() <= TOLERANCE;
        held += usize::from(knee.is_some_and(|(low, high)| is_near(low) && is_near(high)));
        let named = knee.map_or_else(
            || "none".to_owned(),
            |(low, high)| format!("{} to {}", rate(low), rate(high)),
        );
        section.row(&[("ramp", &index), ("knee", &named)]);
    }
    section.must_if_quiet(held * 10 >= count * 9, || {
        format!("only {held} of {count} knees are at the capacity")
    });
    let mut steady = 0;
    for _ in 0..clean {
        let document = ramp("0..500")?;
        let rules = document.verdict.rules.iter();
        let mut fired = rules.filter(|rule| rule.has_fired() && STEADINESS.contains(&&*rule.id));
        steady += usize::from(fired.next().is_none() && knee(&document).is_none());
    }
    section.must_if_quiet(steady == clean, || {
        format!("only {steady} of {clean} ramps below the capacity are clean")
    });
    section.verdict(format!(
        "{held} of {count} knees are at the capacity; {steady} of {clean} ramps below it are clean."
    ));
    Ok(section)
}

/// Returns the knee of a run's first stage.
fn knee(document: &Document) -> Option<(f64, f64)> {
    let knee = document.stages.first()?.knee?;
    knee.low_rps.zip(knee.high_rps)
}

#[cfg(test)]
mod tests {
    use weir_result::document::PercentileValue;
    use weir_result::quantile::Bound;

    use super::*;

    #[test]
    fn intervals_overlap_if_they_share_a_value() {
        let times = |low_ns: u64, high_ns: Option<u64>| {
            let value = PercentileValue::new(50.0, low_ns, Bound::Exact);
            let value = PercentileValue { low_ns: Some(low_ns), high_ns, ..value };
            Summary { percentiles: vec![value], ..Summary::default() }
        };
        let of = times(5, Some(9));
        for (other, expected) in [
            (times(9, Some(12)), true),
            (times(1, Some(4)), false),
            (times(10, None), false),
            (times(1, None), true),
            (Summary::default(), false),
        ] {
            assert_eq!(overlap(&of, &other, 50.0), expected, "{other:?}");
            assert_eq!(overlap(&other, &of, 50.0), expected, "{other:?}");
        }
    }
}

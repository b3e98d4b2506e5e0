//! Plots over the time of a run: rates, failures, requests in flight.

use weir_result::document::{SeriesEntry, SeriesPhase};
use weir_result::{Document, Stage};

use crate::view::{Axis, AxisUnit, Mark, Plot, Role, short};

/// A count of an interval.
type Count = fn(&SeriesEntry) -> u64;

/// Greatest number of points of a line: more are not seen.
const POINTS_MAX: usize = 600;

/// Intervals of the series, several of them joined if there are many. An interval that a phase cuts
/// to less than half of the others' length is left out: it holds too little for a rate.
pub(in crate::view) fn groups(document: &Document, most: usize) -> Vec<&[SeriesEntry]> {
    let longest_s = document.series.iter().map(|entry| entry.length_s).fold(0.0, f64::max);
    let is_short = |entry: &SeriesEntry| entry.length_s < longest_s / 2.0;
    let last = document.series.iter().rposition(|entry| !is_short(entry));
    let series = &document.series[..last.map_or(0, |last| last + 1)];
    let size = series.len().div_ceil(most).max(1);
    // A group has one phase, so that a border between phases stays where it is.
    let phases = series.chunk_by(|one, next| one.phase == next.phase);
    phases.flat_map(|phase| phase.chunks(size)).collect()
}

/// Start and end of a group in seconds.
pub(super) fn ends(group: &[SeriesEntry]) -> (f64, f64) {
    let first = &group[0];
    let last = &group[group.len() - 1];
    (first.start_s, last.start_s + last.length_s)
}

/// The parts of the run that are not measured.
pub(super) fn spans(document: &Document) -> Vec<Mark> {
    let groups = groups(document, 1);
    let named = groups.iter().filter_map(|group| {
        let (from, to) = ends(group);
        let name = match group[0].phase {
            SeriesPhase::Warmup => "warm-up",
            SeriesPhase::Measured => return None,
            SeriesPhase::Tail => "after the window",
        };
        let name = name.to_owned();
        Some(Mark::Span { name, from: short(from), to: short(to), is_measured: false })
    });
    named.chain(stages(document)).collect()
}

/// Greatest number of stages that plots mark; more of them are no more than stripes.
const STAGES_MAX: usize = 30;

/// Returns every second stage as a band with its number, so that the others show between them.
fn stages(document: &Document) -> impl Iterator<Item = Mark> {
    let stages = &document.stages;
    let shown = if stages.len() > STAGES_MAX { 0 } else { stages.len() };
    let every_second = stages[..shown].iter().enumerate().skip(1).step_by(2);
    every_second.map(|(index, stage)| Mark::Span {
        name: format!("stage {}", index + 1),
        from: short(stage.start_s),
        to: short(stage.end_s),
        is_measured: true,
    })
}

/// Plots the planned, sent and completed rate; `None` without a series.
pub(super) fn rates(document: &Document) -> Option<Plot> {
    if document.series.len() < 2 {
        return None;
    }
    let mut marks = spans(document);
    let load = &document.plan.load;
    if let (Some(rate), None) = (load.rate(), load.log()) {
        let (start_s, end_s) = ends(&document.series);
        let ends_s = [start_s, end_s.min(document.throughput.window_s)];
        let planned = match load.stages() {
            [] => ends_s.map(|at_s| (at_s, Some(rate.rps()))).to_vec(),
            stages => planned_in_stages(stages, ends_s),
        };
        marks.push(Mark::line("planned", Role::Reference, planned));
    }
    marks.push(Mark::line("sent", Role::Second, rate(document, |of| of.sent)));
    marks.push(Mark::line("completed", Role::Main, rate(document, |of| of.completed)));
    let about = "Requests sent and responses completed per second. A gap between planned and sent \
                 is due to the client or to a lack of free connections; a gap between sent and \
                 completed is a growing queue.";
    let axes = [Axis::time(), Axis::linear("Requests per second", AxisUnit::PerSecond)];
    Some(Plot::new(["rates", "Rates"], about, axes, marks))
}

/// Returns the corners of the planned rate of stages, from the start of the warm-up, which has the
/// first rate, to the end of the window.
fn planned_in_stages(stages: &[Stage], [start_s, end_s]: [f64; 2]) -> Vec<(f64, Option<f64>)> {
    let mut at_s = 0.0;
    let first = stages.first().map(|first| (start_s, Some(first.rps_at(0))));
    let mut corners: Vec<_> = first.into_iter().collect();
    for stage in stages {
        let [from_rps, to_rps] = stage.ends_rps().map(Some);
        let length_s = stage.duration_ns as f64 / 1e9;
        corners.extend([(at_s, from_rps), (at_s + length_s, to_rps)]);
        at_s += length_s;
    }
    corners.retain(|(at_s, _)| *at_s <= end_s);
    corners
}

/// Plots failures over time; `None` if there are none.
pub(super) fn failures(document: &Document) -> Option<Plot> {
    let kinds: [(&str, Count); 3] = [
        ("bad responses", |of| of.bad),
        ("transport errors", |of| of.errors),
        ("timeouts", |of| of.timed_out),
    ];
    let occurs = |of: Count| document.series.iter().any(|entry| of(entry) > 0);
    let found = kinds.into_iter().filter(|(_, count)| occurs(*count));
    let lines: Vec<Mark> = (0..)
        .zip(found)
        .map(|(nth, (name, count))| Mark::line(name, Role::Other(nth), rate(document, count)))
        .collect();
    let about = "Requests that failed per second, by kind.";
    let axes = [Axis::time(), Axis::linear("Failures per second", AxisUnit::PerSecond)];
    (!lines.is_empty()).then(|| {
        let marks = spans(document).into_iter().chain(lines).collect();
        Plot::new(["failures", "Failures"], about, axes, marks)
    })
}

/// Plots requests in flight and the backlog; `None` without a series.
pub(super) fn in_flight(document: &Document) -> Option<Plot> {
    if document.series.len() < 2 {
        return None;
    }
    let last = |of: Count| {
        let groups = groups(document, POINTS_MAX).into_iter();
        groups.map(move |group| {
            let value = group.iter().map(of).max().unwrap_or(0);
            (ends(group).1, Some(value as f64))
        })
    };
    let mut marks = spans(document);
    marks.push(Mark::line("in flight", Role::Main, last(|of| of.in_flight)));
    if document.series.iter().any(|of| of.backlog > 0) {
        marks.push(Mark::line("due and not sent", Role::Bad, last(|of| of.backlog)));
    }
    let about = "Requests without a response at the end of each interval, and requests that were \
                 due and not sent yet.";
    let axes = [Axis::time(), Axis::linear("Requests", AxisUnit::Number)];
    Some(Plot::new(["in-flight", "Requests in flight"], about, axes, marks))
}

/// Points of a count per second, each in the middle of its group.
fn rate(document: &Document, count: Count) -> impl Iterator<Item = (f64, Option<f64>)> {
    groups(document, POINTS_MAX).into_iter().map(move |group| {
        let (start_s, end_s) = ends(group);
        let total = group.iter().map(count).sum::<u64>() as f64;
        let length_s = end_s - start_s;
        ((start_s + end_s) / 2.0, (length_s > 0.0).then(|| total / length_s))
    })
}

#[cfg(test)]
mod tests {
    use weir_result::document::StageSection;
    use weir_result::parse_stages;

    use super::*;

    #[test]
    fn the_planned_rate_has_the_corners_of_its_stages() {
        let stages = parse_stages("10s@100,10s@200..400,5s@5x10").expect("stages");
        let corners = planned_in_stages(&stages, [-2.0, 25.0]);
        let corners: Vec<(f64, f64)> =
            corners.into_iter().map(|(at_s, rps)| (at_s, rps.expect("a rate"))).collect();
        let expected = [
            (-2.0, 100.0),
            (0.0, 100.0),
            (10.0, 100.0),
            (10.0, 200.0),
            (20.0, 400.0),
            (20.0, 50.0),
            (25.0, 50.0),
        ];
        assert_eq!(corners, expected);
    }

    #[test]
    fn every_second_stage_is_a_band_with_its_number() {
        let stage = |k: u32| StageSection {
            start_s: k.into(),
            end_s: (k + 1).into(),
            ..StageSection::default()
        };
        let document =
            |count| Document { stages: (0..count).map(stage).collect(), ..Document::default() };
        let bands: Vec<Mark> = stages(&document(5)).collect();
        assert_eq!(bands.len(), 2);
        assert!(matches!(&bands[1], Mark::Span { name, from, to, is_measured: true }
            if name == "stage 4" && (*from, *to) == (3.0, 4.0)));
        assert_eq!(stages(&document(31)).count(), 0, "stripes say nothing");
    }
}

//! Rules about the statistics: `not-stationary`, `autocorrelation`, `warmup-too-short` and
//! `no-steady-state` (METHOD 1.10, 1.12).

use weir_stats::Transient;
use weir_text::setting::{OUTPUT, WARMUP};

use crate::rules::measure::Measure;
use crate::spans::{LoadSpan, spans};
use crate::thresholds::TRANSIENT_FINDING;
use weir_result::document::{
    Deviation, Document, Rule, RuleOutcome, RuleUnit, SeriesStationarity, SliceEntry, SliceSeries,
    Subject,
};
use weir_text::units;

/// Reason why a run is not judged.
const TOO_FEW: &str = "it takes ten slices, and requests in each";

/// Where changes within a run are seen.
fn look() -> String {
    format!("see the run over time ({OUTPUT} report.html)")
}

pub(crate) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    let stationary = stationary(document);
    let has_changed = stationary.has_fired();
    rules.push(stationary);
    rules.push(correlated(document, has_changed));
    rules.push(warmup(document));
    rules.extend(steady(document));
}

fn measure(id: &'static str, what: &'static str, unit: RuleUnit) -> Measure {
    Measure::new(id, what, Subject::Statistics, unit)
}

/// Judges S1 to S3: the first series in which a test fired, throughput and mean before the tails.
fn stationary(document: &Document) -> Rule {
    let measure = measure("not-stationary", "the load was not steady", RuleUnit::Share);
    let series = &document.stationarity;
    if series.is_empty() {
        return measure.unknown(TOO_FEW);
    }
    let changes = |of: &SeriesStationarity| of.fired.iter().any(|by| *by != Deviation::Correlated);
    let mut changed = series.iter().filter(|of| changes(of));
    let Some(first) = changed.next() else {
        return measure.pass(None, "no trend and no shift within the window");
    };
    let others = match changed.count() {
        0 => String::new(),
        1 => ", and 1 more figure changed".to_owned(),
        more => format!(", and {more} more figures changed"),
    };
    let (size, when) = change_of(first);
    let evidence = format!("{} {} {when}{others}", in_words(first.series), how(first.series, size));
    let measure = measure.weight(size.abs());
    let remedy = format!("{}, or run longer", look());
    measure.fired(RuleOutcome::Finding, Some(size), &evidence, &remedy)
}

/// Formats the change of a series: of a number, or of how often requests are slow. A share that
/// fell by some percent would be a percentage of a percentage.
fn how(series: SliceSeries, size: f64) -> String {
    match series {
        SliceSeries::Throughput | SliceSeries::Mean => by_how_much(size),
        SliceSeries::BeyondP50 | SliceSeries::BeyondP90 | SliceSeries::BeyondP99 => match size {
            size if size >= 1.0 => format!("became {:.1} times as frequent", 1.0 + size),
            size if size >= 0.0 => format!("became {} more frequent", units::percent(size)),
            size if size > -1.0 => format!("became {} less frequent", units::percent(-size)),
            _ => "almost ceased".to_owned(),
        },
    }
}

/// Formats `rose by 15.6%`, `fell by 20.0%`; from a factor of two on as a multiple, since a rise by
/// 400% is easily misread. A fall by more than all does not exist. `size` is the change as a share
/// of the level that it is measured against.
fn by_how_much(size: f64) -> String {
    match size {
        size if size >= 1.0 => format!("rose to {:.1} times its level", 1.0 + size),
        size if size >= 0.0 => format!("rose by {}", units::percent(size)),
        size if size > -1.0 => format!("fell by {}", units::percent(-size)),
        _ => "fell to almost nothing".to_owned(),
    }
}

/// Returns the change of a series, as a share of its earlier level, and its time.
fn change_of(of: &SeriesStationarity) -> (f64, String) {
    if let Some(shift) = of.shift.filter(|_| of.fired.contains(&Deviation::Shift)) {
        return (shift.magnitude, format!("at {}", units::duration_of_seconds(shift.at_s)));
    }
    if let Some(thirds) = of.thirds.filter(|_| of.fired.contains(&Deviation::Drift)) {
        return (thirds.difference, "from the first third to the last".to_owned());
    }
    let trend = of.trend.map_or(0.0, |trend| from_begin_to_end(trend.magnitude, trend.slope));
    (trend, "over the window".to_owned())
}

/// Returns the change from the start to the end of a trend's line, as a share of the start.
/// `magnitude` is the change as a share of the middle.
fn from_begin_to_end(magnitude: f64, slope: f64) -> f64 {
    match slope < 0.0 {
        true => -magnitude / (1.0 + magnitude / 2.0),
        // A line that starts at zero or below has no finite relative rise.
        false => magnitude / (1.0 - magnitude / 2.0).max(0.1),
    }
}

fn in_words(series: SliceSeries) -> &'static str {
    match series {
        SliceSeries::Throughput => "throughput",
        SliceSeries::Mean => "mean latency",
        SliceSeries::BeyondP50 => "requests slower than p50",
        SliceSeries::BeyondP90 => "requests slower than p90",
        SliceSeries::BeyondP99 => "requests slower than p99",
    }
}

/// Judges S4. A change within the run correlates neighbouring slices, and is reported already.
fn correlated(document: &Document, has_changed: bool) -> Rule {
    let measure = measure("autocorrelation", "intervals are too narrow", RuleUnit::Ratio);
    let series = &document.stationarity;
    let limit = series.iter().map(|of| of.lag1_limit).reduce(f64::max);
    let worst = series.iter().max_by(|a, b| a.lag1.total_cmp(&b.lag1));
    let Some((limit, worst)) = limit.zip(worst) else {
        return measure.unknown(TOO_FEW);
    };
    let measure = measure.finding_at(limit);
    let evidence = format!(
        "lag-1 autocorrelation of slice means is {:.2} in {}",
        worst.lag1,
        in_words(worst.series),
    );
    match has_changed {
        true => measure.note(Some(worst.lag1), evidence),
        false => measure.weight(0.02).judge(worst.lag1, &evidence, "run longer"),
    }
}

/// Judges an automatic warm-up that ended at its time limit (METHOD 1.12).
fn steady(document: &Document) -> Option<Rule> {
    if !document.plan.load.warmup.is_auto {
        return None;
    }
    let measure = measure("no-steady-state", "no steady state", RuleUnit::Share);
    if !document.run.unsettled {
        let took = units::duration_of_seconds(warmup_s(document));
        let text = format!("the load was steady after {took} of warm-up");
        return Some(measure.pass(None, text));
    }
    let cap = units::exact_duration(document.plan.load.warmup.span_ns);
    let evidence = format!("the load still changed after {cap} of warm-up, the longest allowed");
    let remedy = format!("some servers never settle: {}", look());
    Some(measure.weight(0.05).fired(RuleOutcome::Finding, None, &evidence, &remedy))
}

/// Judges the transient that MSER would delete, if it also differs from the rest beyond chance.
fn warmup(document: &Document) -> Rule {
    let measure = measure("warmup-too-short", "warm-up too short", RuleUnit::Share)
        .finding_at(TRANSIENT_FINDING);
    let Some(LoadSpan { slices: whole, .. }) = spans(document).into_iter().find(|it| it.is_first)
    else {
        return measure.unknown("the rate changes from the start of the window");
    };
    if whole.len() < 10 {
        return measure.unknown(TOO_FEW);
    }
    let of = |value: fn(&SliceEntry) -> Option<f64>| -> Option<Vec<f64>> {
        whole.iter().map(|slice| value(slice)).collect()
    };
    let series = [of(|slice| slice.ok.mean_ns()), of(|slice| Some(slice.completed as f64))];
    if series[0].is_none() {
        return measure.unknown(TOO_FEW);
    }
    let transients = series.iter().flatten().filter_map(|values| Transient::of(values));
    let left_over = transients.filter(Transient::is_left_over);
    let slices = left_over.map(|transient| transient.deleted).max().unwrap_or(0);
    let share = slices as f64 / whole.len() as f64;
    let transient_s = whole[..slices].last().map_or(0.0, |slice| slice.end_s);
    let part = if document.plan.load.stage_count() == 0 { "window" } else { "first stage" };
    let fact = format!("the first {} of the {part} differ from the rest", units::percent(share));
    let needed_s = (warmup_s(document) + transient_s).ceil();
    measure.weight(share).judge(share, &fact, &format!("use {WARMUP} {needed_s:.0}s"))
}

/// Length of the warm-up in seconds, as the first worker observed it.
fn warmup_s(document: &Document) -> f64 {
    let phases = document.phases.first();
    phases.map_or(0.0, |worker| worker.t0_ns.saturating_sub(worker.start_ns) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_requests_become_more_or_less_frequent() {
        for (size, expected) in [
            (-0.0865, "became 8.65% less frequent"),
            (0.156, "became 15.6% more frequent"),
            (2.1, "became 3.1 times as frequent"),
            (-1.0, "almost ceased"),
        ] {
            assert_eq!(how(SliceSeries::BeyondP99, size), expected);
        }
        assert_eq!(how(SliceSeries::Mean, -0.0865), "fell by 8.65%");
    }
}

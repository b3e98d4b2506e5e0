//! What so many requests can show: `NOT_STATIONARY`, `CORRELATED`, `WARMUP_TOO_SHORT` and
//! `NO_STEADY_STATE` (METHOD 1.10, 1.12).

use weir_stats::Transient;

use super::super::stationarity::{Change, SeriesStationarity, SliceSeries};
use super::super::{Document, SliceEntry};
use super::thresholds::TRANSIENT_CAVEAT;
use super::{Measure, Rule, RuleOutcome, Subject, Unit};
use crate::units;

/// Why a run is not judged.
const TOO_FEW: &str = "it takes ten slices, and requests in each";

pub(super) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    let stationary = stationary(document);
    let has_changed = stationary.outcome == RuleOutcome::Caveat;
    rules.push(stationary);
    rules.push(correlated(document, has_changed));
    rules.push(warmup(document));
    rules.extend(steady(document));
}

fn measure(id: &'static str, name: &'static str) -> Measure {
    Measure::new(id, name, Subject::Statistics, Unit::Share)
}

/// S1 to S3: the first series in which something fired, throughput and mean before the tails.
fn stationary(document: &Document) -> Rule {
    let measure = measure("NOT_STATIONARY", "change");
    let series = &document.stationarity;
    if series.is_empty() {
        return measure.unknown(TOO_FEW);
    }
    let changes = |of: &SeriesStationarity| of.fired.iter().any(|by| *by != Change::Correlated);
    let mut changed = series.iter().filter(|of| changes(of));
    let Some(first) = changed.next() else {
        let text = "the run was the same from begin to end".to_owned();
        return measure.rule(RuleOutcome::Pass, None, text);
    };
    let others = match changed.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let (size, when) = change_of(first);
    let sign = if size < 0.0 { "fell" } else { "rose" };
    let text = format!(
        "{} {sign} by {} {when}{others}: see the series, or run longer",
        in_words(first.series),
        units::percent(size.abs()),
    );
    measure.rule(RuleOutcome::Caveat, Some(size), text)
}

/// By how much a series changed, as a share, and when.
fn change_of(of: &SeriesStationarity) -> (f64, String) {
    if let Some(shift) = of.shift.filter(|_| of.fired.contains(&Change::Shift)) {
        return (shift.magnitude, format!("at {}", units::duration_of_seconds(shift.at_s)));
    }
    if let Some(thirds) = of.thirds.filter(|_| of.fired.contains(&Change::Drift)) {
        return (thirds.difference, "from the first third to the last".to_owned());
    }
    let trend = of.trend.map_or(0.0, |trend| trend.magnitude.copysign(trend.slope));
    (trend, "over the window".to_owned())
}

fn in_words(series: SliceSeries) -> &'static str {
    match series {
        SliceSeries::Throughput => "throughput",
        SliceSeries::Mean => "the mean response time",
        SliceSeries::BeyondP50 => "the share of requests beyond p50",
        SliceSeries::BeyondP90 => "the share of requests beyond p90",
        SliceSeries::BeyondP99 => "the share of requests beyond p99",
    }
}

/// S4. What changed within the run resembles itself from slice to slice, and is told already.
fn correlated(document: &Document, has_changed: bool) -> Rule {
    let measure = measure("CORRELATED", "lag1");
    let series = &document.stationarity;
    let Some(limit) = series.iter().map(|of| of.lag1_limit).reduce(f64::max) else {
        return measure.unknown(TOO_FEW);
    };
    let measure = measure.caveat_at(limit);
    let Some(worst) = series.iter().max_by(|a, b| a.lag1.total_cmp(&b.lag1)) else {
        return measure.unknown(TOO_FEW);
    };
    let fact = format!(
        "slices resemble their neighbours in {} by {:.2}",
        in_words(worst.series),
        worst.lag1
    );
    match has_changed {
        true => measure.note(Some(worst.lag1), fact),
        false => measure.judge(worst.lag1, &fact, "intervals are too narrow; run longer"),
    }
}

/// A warm-up that was to end when the load is steady, and whether it did (METHOD 1.12).
fn steady(document: &Document) -> Option<Rule> {
    if !document.plan.warmup_is_auto {
        return None;
    }
    let measure = measure("NO_STEADY_STATE", "unsettled");
    let warmup = units::exact_duration(document.plan.warmup_ns);
    let (outcome, text) = match document.run.unsettled {
        true => {
            let text = format!(
                "the load was not steady within {warmup} of warm-up: see the series; some servers \
                 never settle"
            );
            (RuleOutcome::Caveat, text)
        }
        false => (RuleOutcome::Pass, "the window began when the load was steady".to_owned()),
    };
    Some(measure.rule(outcome, None, text))
}

/// What MSER would leave out, where it also differs from the rest beyond chance.
fn warmup(document: &Document) -> Rule {
    let measure = measure("WARMUP_TOO_SHORT", "transient").caveat_at(TRANSIENT_CAVEAT);
    let window_s = document.throughput.window_s;
    let whole: Vec<&SliceEntry> =
        document.slices.iter().filter(|slice| slice.end_s <= window_s).collect();
    if whole.len() < 10 {
        return measure.unknown(TOO_FEW);
    }
    let of = |value: fn(&SliceEntry) -> Option<f64>| -> Option<Vec<f64>> {
        whole.iter().map(|slice| value(slice)).collect()
    };
    let series = [of(mean_ns), of(|slice| Some(slice.completed as f64))];
    if series[0].is_none() {
        return measure.unknown(TOO_FEW);
    }
    let transients = series.iter().flatten().filter_map(|values| Transient::of(values));
    let left_over = transients.filter(Transient::is_left_over);
    let slices = left_over.map(|transient| transient.deleted).max().unwrap_or(0);
    let share = slices as f64 / whole.len() as f64;
    let transient_s = whole[..slices].last().map_or(0.0, |slice| slice.end_s);
    let fact = format!("the first {} differ from the rest", units::percent(share));
    let needed_s = (warmup_s(document) + transient_s).ceil();
    measure.judge(share, &fact, &format!("--warmup {needed_s:.0}s"))
}

/// How long the warm-up was, as the first worker saw it.
fn warmup_s(document: &Document) -> f64 {
    let phases = document.phases.first();
    phases.map_or(0.0, |worker| worker.t0_ns.saturating_sub(worker.start_ns) as f64 / 1e9)
}

fn mean_ns(slice: &SliceEntry) -> Option<f64> {
    let exact = slice.ok.as_ref()?.exact;
    Some(exact.sum_ns as f64 / exact.count as f64)
}

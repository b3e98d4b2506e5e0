//! A1 to A4: did requests leave as planned, as far as the client had a say in it (METHOD 1.9)?
//!
//! Departures are counted at the planned time and the client's own lateness, so that a server that
//! keeps connections busy leaves no trace. These are summaries for readers: the lateness of every
//! request is in `sched_lag`.

use super::super::{DeparturesSection, Dispersion, Document};
use super::thresholds::{
    BURST_FACTOR, BURST_MORE, DISPERSION_SLACK, DISPERSION_SPANS_LEAST, DISPERSION_Z,
    DISPLACED_CAVEAT, NEVER_SENT_MOST, RATE_CAVEAT, RATE_EDGE,
};
use super::{Measure, Rule, RuleOutcome, Subject, Unit};
use crate::plan::{Arrivals, Load};
use crate::units;

const REMEDY: &str = "weir's sends came in bursts; --pacing spin, or a lower rate";

pub(super) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    let Load::OpenLoop { arrivals, .. } = document.plan.load else {
        return;
    };
    let counted = match &document.departures {
        None => Err("departures were not counted"),
        Some(_) if lacks_many(document) => {
            Err("requests were never sent, and nobody knows when weir would have")
        }
        Some(departures) => Ok(departures),
    };
    dispersion(counted, arrivals, rules);
    rules.push(displaced(document.departures.as_ref()));
    rules.push(largest(counted));
    rules.push(rate(counted));
}

fn measure(id: &'static str, name: &'static str, unit: Unit) -> Measure {
    Measure::new(id, name, Subject::Client, unit)
}

/// Whether so many requests were never sent that the counts are of another plan.
fn lacks_many(document: &Document) -> bool {
    let accounting = &document.accounting;
    let most = NEVER_SENT_MOST * accounting.planned as f64;
    document.run.interrupted || accounting.never_sent as f64 > most
}

/// A1: how much counts scatter beyond their plan, at the span where it is worst.
fn dispersion(
    counted: Result<&DeparturesSection, &'static str>,
    arrivals: Arrivals,
    rules: &mut Vec<Rule>,
) {
    let measure = |limit| measure("A1", "bursty", Unit::Ratio).caveat_at(limit);
    let departures = match counted {
        Ok(departures) => departures,
        Err(why) => return rules.push(measure(1.0 + DISPERSION_SLACK).unknown(why)),
    };
    let told = departures.dispersion.iter().filter(|of| of.spans >= DISPERSION_SPANS_LEAST);
    let excess = |of: &&Dispersion| of.sent - limit_of(of, arrivals);
    let Some(worst) = told.max_by(|a, b| excess(a).total_cmp(&excess(b))) else {
        return rules.push(measure(1.0 + DISPERSION_SLACK).unknown("the window is too short"));
    };
    let limit = limit_of(worst, arrivals);
    let fact = format!(
        "sends per {} ms scatter with a dispersion of {:.2}, by plan {:.2}",
        worst.span_ms, worst.sent, worst.planned
    );
    rules.push(measure(limit).judge(worst.sent, &fact, REMEDY));
}

/// What the index of dispersion may be: its plan's; what a shift by less than a gap does to an even
/// plan, 1/(4·E N); or what chance does to a Poisson process.
fn limit_of(of: &Dispersion, arrivals: Arrivals) -> f64 {
    let by_kind = match arrivals {
        Arrivals::Uniform => 0.25 / of.mean,
        Arrivals::Poisson { .. } => {
            1.0 + DISPERSION_Z * (2.0 / (of.spans as f64 - 1.0).max(1.0)).sqrt()
        }
    };
    of.planned.max(by_kind) + DISPERSION_SLACK
}

/// A2: gaps between sends that are not as planned.
fn displaced(departures: Option<&DeparturesSection>) -> Rule {
    let measure = measure("A2", "displaced", Unit::Share).caveat_at(DISPLACED_CAVEAT);
    let Some(departures) = departures.filter(|departures| departures.gaps > 0) else {
        return measure.unknown("gaps between sends were not looked at");
    };
    let share = departures.displaced as f64 / departures.gaps as f64;
    let fact = format!("{} of gaps between sends are not as planned", units::percent(share));
    measure.judge(share, &fact, REMEDY)
}

/// A3: the most sends in a millisecond.
fn largest(counted: Result<&DeparturesSection, &'static str>) -> Rule {
    let measure = measure("A3", "largest_burst", Unit::Count);
    match counted {
        Err(why) => measure.unknown(why),
        Ok(departures) => {
            let planned = departures.planned_largest_ms;
            let limit = BURST_MORE + BURST_FACTOR * f64::from(planned);
            let largest = departures.largest_ms;
            let fact = format!("{largest} requests left within 1 ms, {planned} by plan");
            measure.caveat_at(limit).judge(largest.into(), &fact, REMEDY)
        }
    }
}

/// A4: whether as many left as were planned.
fn rate(counted: Result<&DeparturesSection, &'static str>) -> Rule {
    let measure = measure("A4", "rate_kept", Unit::Share).caveat_at(RATE_CAVEAT);
    let departures = match counted {
        Ok(departures) if departures.planned > 0 => departures,
        Ok(_) => return measure.unknown("nothing was planned"),
        Err(why) => return measure.unknown(why),
    };
    let missed = departures.sent.abs_diff(departures.planned);
    let share = missed as f64 / departures.planned as f64;
    let fact = format!(
        "weir sent {} requests where {} were planned",
        units::count(departures.sent),
        units::count(departures.planned),
    );
    let edges = RATE_EDGE * departures.spans.len() as f64
        + f64::from(departures.planned_largest_ms.min(departures.largest_ms));
    if missed as f64 <= edges {
        return measure.rule(RuleOutcome::Pass, Some(share), fact);
    }
    measure.judge(share, &fact, "lower the rate, or use more threads (-t)")
}

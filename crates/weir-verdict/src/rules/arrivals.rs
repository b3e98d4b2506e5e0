//! Rules about the arrival process: deviations of the sends from the plan, as far as the client
//! causes them (METHOD 1.9).
//!
//! Departures are counted at the planned time plus the client's own lateness, so that a server that
//! keeps connections busy has no effect. These are summaries: `sched_lag` has every request.

use super::client::more_cpu;
use crate::rules::measure::Measure;
use crate::thresholds::{
    BURST_FACTOR, BURST_MORE, DISPERSION_SLACK, DISPERSION_SPANS_LEAST, DISPERSION_Z,
    DISPLACED_FINDING, NEVER_SENT_MOST, RATE_EDGE, RATE_FINDING,
};
use weir_result::Arrivals;
use weir_result::document::{DeparturesSection, Dispersion, Document, Rule, RuleUnit, Subject};
use weir_text::units;

pub(crate) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    if !document.plan.load.is_open_loop() {
        return;
    }
    // Those of a log are as even as its times.
    let arrivals = document.plan.load.arrivals().unwrap_or(Arrivals::Uniform);
    let results = &document.results;
    // The counts do not represent the plan then.
    let lacks_many = document.run.interrupted
        || results.outcomes.never_sent as f64 > NEVER_SENT_MOST * results.planned as f64;
    let counted = match &document.departures {
        None => Err("departures were not counted"),
        Some(_) if lacks_many => Err("too many requests were never sent"),
        Some(departures) => Ok(departures),
    };
    let remedy = more_cpu(document);
    rules.push(dispersion(counted, arrivals, &remedy));
    rules.push(displaced(document.departures.as_ref(), &remedy));
    rules.push(largest(counted, &remedy));
    rules.push(rate(counted, &remedy));
}

fn measure(id: &'static str, what: &'static str, unit: RuleUnit) -> Measure {
    Measure::new(id, what, Subject::Client, unit).weight(0.01)
}

/// Judges the dispersion of the sends beyond their plan, at the span with the greatest.
fn dispersion(
    counted: Result<&DeparturesSection, &'static str>,
    arrivals: Arrivals,
    remedy: &str,
) -> Rule {
    let measure =
        |limit| measure("send-dispersion", "bursty sends", RuleUnit::Ratio).finding_at(limit);
    let excess = |of: &&Dispersion| of.sent - limit_of(of, arrivals);
    let worst = counted.and_then(|departures| {
        let reported = departures.dispersion.iter().filter(|of| of.spans >= DISPERSION_SPANS_LEAST);
        let worst = reported.max_by(|a, b| excess(a).total_cmp(&excess(b)));
        worst.ok_or("the window is too short")
    });
    let worst = match worst {
        Ok(worst) => worst,
        Err(why) => return measure(1.0 + DISPERSION_SLACK).unknown(why),
    };
    let limit = limit_of(worst, arrivals);
    let evidence = format!(
        "sends per {} ms have an index of dispersion of {:.2}, planned {:.2}",
        worst.span_ms, worst.sent, worst.planned
    );
    measure(limit).judge(worst.sent, &evidence, remedy)
}

/// Limit of an index of dispersion: the greater of the plan's own and a limit by kind. For an even
/// plan that is the effect of shifts by less than a gap, 1/(4·E N); for a Poisson process it is the
/// effect of chance.
fn limit_of(of: &Dispersion, arrivals: Arrivals) -> f64 {
    let by_kind = match arrivals {
        Arrivals::Uniform => 0.25 / of.mean,
        Arrivals::Poisson { .. } => {
            1.0 + DISPERSION_Z * (2.0 / (of.spans as f64 - 1.0).max(1.0)).sqrt()
        }
    };
    of.planned.max(by_kind) + DISPERSION_SLACK
}

/// Judges gaps between sends that are not as planned.
fn displaced(departures: Option<&DeparturesSection>, remedy: &str) -> Rule {
    let measure =
        measure("send-gaps", "displaced sends", RuleUnit::Share).finding_at(DISPLACED_FINDING);
    let Some(departures) = departures.filter(|departures| departures.gaps > 0) else {
        return measure.unknown("gaps between sends were not measured");
    };
    let share = departures.displaced as f64 / departures.gaps as f64;
    let evidence =
        format!("{} of the gaps between sends are not as planned", units::percent(share));
    measure.judge(share, &evidence, remedy)
}

/// Judges the greatest number of sends in a millisecond.
fn largest(counted: Result<&DeparturesSection, &'static str>, remedy: &str) -> Rule {
    let measure = measure("send-burst", "bursty sends", RuleUnit::Count);
    let departures = match counted {
        Ok(departures) => departures,
        Err(why) => return measure.unknown(why),
    };
    let largest = departures.largest_ms;
    let planned = departures.planned_largest_ms;
    let limit = BURST_MORE + BURST_FACTOR * f64::from(planned);
    let evidence = format!(
        "{} requests were sent within 1 ms, planned {}",
        units::count(largest.into()),
        units::count(planned.into()),
    );
    measure.finding_at(limit).judge(largest.into(), &evidence, remedy)
}

/// Judges the number of requests sent against the plan.
fn rate(counted: Result<&DeparturesSection, &'static str>, remedy: &str) -> Rule {
    let measure = measure("send-rate", "rate missed", RuleUnit::Share).finding_at(RATE_FINDING);
    let departures = match counted {
        Ok(departures) if departures.planned > 0 => departures,
        Ok(_) => return measure.unknown("nothing was planned"),
        Err(why) => return measure.unknown(why),
    };
    let missed = departures.sent.abs_diff(departures.planned);
    let share = missed as f64 / departures.planned as f64;
    let evidence = format!(
        "weir sent {} of {} planned requests, {} off",
        units::count(departures.sent),
        units::count(departures.planned),
        units::percent(share),
    );
    let edges = RATE_EDGE * departures.spans.len() as f64
        + f64::from(departures.planned_largest_ms.min(departures.largest_ms));
    if missed as f64 <= edges {
        return measure.pass(Some(share), evidence);
    }
    measure.judge(share, &evidence, remedy)
}

//! What is said of the server and of the load that it got: `UNSTABLE` and `CONNECTION_LIMITED`
//! (METHOD 1.3, 1.7). Neither makes numbers wrong; both say what they are numbers of.

use super::super::Document;
use super::limit;
use super::thresholds::{GROWTH_CAVEAT, GROWTH_CONFIDENCE, WAITED_CAVEAT};
use super::{Measure, Rule, RuleOutcome, Subject, Unit};
use crate::plan::Load;
use crate::units;

pub(super) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    if document.plan.load == Load::ClosedLoop {
        return;
    }
    let unstable = unstable(document, rules);
    rules.push(unstable);
    rules.push(connection_limited(document));
}

/// Whether requests that are due or in flight became more and more.
fn unstable(document: &Document, rules: &[Rule]) -> Rule {
    // A client that stood still, or had no CPU, makes a backlog too.
    let mut of_client = rules.iter().filter(|rule| rule.is_client_invalid());
    let is_clients = of_client.next().is_some();
    let subject = if is_clients { Subject::Client } else { Subject::Server };
    let measure = Measure::new("UNSTABLE", "backlog_growth", subject, Unit::Rps);
    let offered = document.throughput.offered_rps.unwrap_or(0.0);
    let limited = measure.caveat_at(GROWTH_CAVEAT * offered);
    let slices = document.slices.iter().filter(|slice| slice.end_s <= document.throughput.window_s);
    let (times, waiting): (Vec<f64>, Vec<f64>) =
        slices.map(|slice| (slice.end_s, slice.in_flight as f64 + slice.backlog as f64)).unzip();
    let has_counts = document.slices.iter().any(|slice| slice.sent > 0);
    let growth = weir_stats::regression(&times, &waiting, GROWTH_CONFIDENCE);
    let Some(growth) = growth.filter(|growth| has_counts && growth.slope.is_finite()) else {
        return limited.unknown("slices do not tell how many requests were waiting");
    };
    if growth.low <= 0.0 {
        let text = "the backlog did not grow".to_owned();
        return limited.rule(RuleOutcome::Pass, Some(growth.slope), text);
    }
    let fact = format!("the backlog grew by {}", units::rate(growth.slope));
    let completed = units::rate(document.throughput.completed_rps);
    let who = if is_clients { "the server or weir" } else { "the server" };
    let rate = limit::offered(document);
    let remedy = format!(
        "{who} cannot sustain {rate}, only {completed}; times grow with the length of the run"
    );
    limited.judge(growth.slope, &fact, &remedy)
}

/// Which share of requests waited for a connection.
fn connection_limited(document: &Document) -> Rule {
    let measure =
        Measure::new("CONNECTION_LIMITED", "connection_waits", Subject::Workload, Unit::Share)
            .caveat_at(WAITED_CAVEAT);
    let planned = document.accounting.planned;
    let waits = document.latency.connection_wait.by_outcome().ok();
    let Some(share) = waits.filter(|_| planned > 0).map(|waits| {
        let waited: u64 =
            waits.ok.buckets().filter(|(bucket, _)| *bucket > 0).map(|(_, count)| count).sum();
        // What was never sent waited to the end.
        (waited + document.accounting.never_sent) as f64 / planned as f64
    }) else {
        return measure.unknown("nothing was planned");
    };
    let fact = format!("{} of requests waited for a free connection", units::percent(share));
    let connections = units::count(document.plan.connections.into());
    let remedy = format!("this is the rate through {connections} connections; raise -c for more");
    measure.judge(share, &fact, &remedy)
}

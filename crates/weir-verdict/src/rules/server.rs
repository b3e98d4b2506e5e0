//! Rules about the server and the load that reached it: `growing-backlog`, `connection-waits`,
//! `upload-windows` (METHOD 1.3, 1.7, 1.9) and `delayed-ack`. None makes a number wrong; they
//! qualify the load that it was measured under.

use std::ops::Range;

use crate::rules::measure::Measure;
use crate::thresholds::{
    ABOVE_DELAYED_ACK_NS, BELOW_DELAYED_ACK_NS, DELAYED_ACK_FINDING, DELAYED_ACK_NS,
    DELAYED_ACK_PEAK, GROWTH_CONFIDENCE, GROWTH_FINDING, UPLOAD_WAIT_FINDING, WAITED_FINDING,
};
use weir_result::document::{Limit, LimitedBy, Rule, RuleUnit, Subject};
use weir_result::histogram::middle_of;
use weir_result::{Document, Load, Sent};
use weir_text::setting::CONNECTIONS;
use weir_text::units;

pub(crate) fn judge(document: &Document, limit: &Limit, rules: &mut Vec<Rule>) {
    rules.push(delayed_ack(document));
    rules.extend(upload_windows(document));
    if document.plan.load == Load::ClosedLoop {
        return;
    }
    rules.push(growing_backlog(document, limit));
    rules.push(connection_waits(document));
}

/// Judges the share of responses that took as long as a delayed ACK (RFC 1122 §4.2.3.2; Linux waits
/// for 40 ms and up to a tick). Nagle's algorithm (RFC 896) in a server that sends a response in
/// two writes holds the second one back for that long.
fn delayed_ack(document: &Document) -> Rule {
    let measure = Measure::new("delayed-ack", "delayed ACK", Subject::Server, RuleUnit::Share)
        .finding_at(DELAYED_ACK_FINDING);
    let times = &document.latency.service_time.times.ok;
    if times.is_empty() {
        return measure.unknown("no request was completed");
    }
    let within = |span: &Range<u64>| {
        let buckets = times.buckets().filter(|(bucket, _)| span.contains(&middle_of(*bucket)));
        buckets.map(|(_, count)| count).sum::<u64>() as f64
    };
    let share = within(&DELAYED_ACK_NS) / times.count() as f64;
    let evidence =
        format!("{} of responses took 40 to 45 ms, as a delayed ACK does", units::percent(share));
    // Times that are spread evenly have as many in the spans beside it.
    let beside = within(&BELOW_DELAYED_ACK_NS) + within(&ABOVE_DELAYED_ACK_NS);
    if beside * DELAYED_ACK_PEAK > within(&DELAYED_ACK_NS) {
        return measure.pass(Some(share), evidence);
    }
    let remedy = "set TCP_NODELAY in the server, if 40 ms is not its own time";
    measure.weight(share).judge(share, &evidence, remedy)
}

/// Judges the growth of the number of requests due or in flight.
fn growing_backlog(document: &Document, limit: &Limit) -> Rule {
    let subject = match limit.by {
        LimitedBy::Server => Subject::Server,
        LimitedBy::ClientCpu => Subject::Client,
        _ => Subject::Workload,
    };
    let offered = document.throughput.offered_rps.unwrap_or(0.0);
    let measure = Measure::new("growing-backlog", "growing backlog", subject, RuleUnit::Rps)
        .finding_at(GROWTH_FINDING * offered);
    let slices = document.slices.iter().filter(|slice| slice.end_s <= document.throughput.window_s);
    let (times, waiting): (Vec<f64>, Vec<f64>) =
        slices.map(|slice| (slice.end_s, slice.in_flight as f64 + slice.backlog as f64)).unzip();
    let has_counts = document.slices.iter().any(|slice| slice.sent > 0);
    let growth = weir_stats::regression(&times, &waiting, GROWTH_CONFIDENCE);
    let Some(growth) = growth.filter(|growth| has_counts && growth.slope.is_finite()) else {
        return measure.unknown("slices do not tell how many requests were waiting");
    };
    if growth.low <= 0.0 {
        return measure.pass(Some(growth.slope), "the backlog did not grow");
    }
    let rate = document.offered_in_words().unwrap_or_default();
    let evidence = format!("requests waiting grew by {}", units::rate(growth.slope));
    let remedy = match limit.by {
        LimitedBy::Connections => {
            format!("raise {CONNECTIONS}: latency grows with the length of the run")
        }
        _ => format!("offer less than {rate}: latency grows with the length of the run"),
    };
    measure.weight(1.0).judge(growth.slope, &evidence, &remedy)
}

/// Judges the share of requests that waited for a connection.
fn connection_waits(document: &Document) -> Rule {
    let what = "connections all busy";
    let measure = Measure::new("connection-waits", what, Subject::Workload, RuleUnit::Share)
        .finding_at(WAITED_FINDING);
    let planned = document.accounting.planned;
    if document.connections.connects_of_load() == 0 {
        return measure.unknown("no connection opened");
    }
    if planned == 0 {
        return measure.unknown("nothing was planned");
    }
    let waits = document.latency.connection_wait.times.ok.buckets();
    let waited: u64 = waits.filter(|(bucket, _)| *bucket > 0).map(|(_, count)| count).sum();
    // Requests never sent waited to the end.
    let share = (waited + document.accounting.never_sent) as f64 / planned as f64;
    let evidence = format!("{} of requests waited for a free connection", units::percent(share));
    let remedy = format!("raise {CONNECTIONS} to offer the rate without waiting");
    measure.weight(share).judge(share, &evidence, &remedy)
}

/// Judges the time that request bodies waited for the server's flow-control windows. It is in their
/// service times; both are means over all requests.
fn upload_windows(document: &Document) -> Option<Rule> {
    let connections = &document.connections;
    if connections.window_waits == 0 {
        return None;
    }
    let measure =
        Measure::new("upload-windows", "uploads held up", Subject::Server, RuleUnit::Share)
            .finding_at(UPLOAD_WAIT_FINDING);
    let sent = Sent::from(&document.accounting.sent).total();
    let Some(service_ns) = document.latency.service_time.ok.mean_ns.filter(|ns| *ns > 0.0) else {
        return Some(measure.unknown("no request was successful"));
    };
    let waited_ns = connections.window_wait_ns as f64 / sent.max(1) as f64;
    let share = (waited_ns / service_ns).min(1.0);
    let evidence = format!(
        "uploads waited {} for the server's flow-control window, {} of their service time",
        units::duration(waited_ns as u64),
        units::percent(share),
    );
    Some(measure.weight(share).judge(share, &evidence, "use larger windows on the server"))
}

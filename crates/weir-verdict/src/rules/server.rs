//! Rules about the server and the load that reached it: `growing-backlog`, `connection-waits`,
//! `upload-windows` (METHOD 1.3, 1.7, 1.9) and `delayed-ack`. None makes a number wrong; they
//! qualify the load that it was measured under.

use std::ops::Range;

use weir_result::Sent;
use weir_result::document::{Document, Limit, LimitedBy, Rule, RuleUnit, ServerSection, Subject};
use weir_result::histogram::{bucket_of, middle_of};
use weir_stats::ValueInterval;
use weir_text::setting::CONNECTIONS;
use weir_text::units;

use crate::rules::measure::Measure;
use crate::spans::{LoadSpan, spans};
use crate::thresholds::{
    ABOVE_DELAYED_ACK_NS, BELOW_DELAYED_ACK_NS, DELAYED_ACK_FINDING, DELAYED_ACK_NS,
    DELAYED_ACK_PEAK, DROPPED_ACCEPTS_FINDING, GROWTH_CONFIDENCE, GROWTH_FINDING,
    SERVER_COUNT_FINDING, UPLOAD_WAIT_FINDING, WAITED_FINDING,
};

pub(crate) fn judge(document: &Document, limit: &Limit, rules: &mut Vec<Rule>) {
    rules.push(delayed_ack(document));
    rules.extend(upload_windows(document));
    if document.plan.load.is_open_loop() {
        rules.push(growing_backlog(document, limit));
        rules.push(connection_waits(document, limit));
    }
    if let Some(server) = &document.server {
        rules.extend(server_count(server));
        rules.extend(dropped_accepts(server));
    }
}

/// Judges the share of responses that took as long as a delayed ACK (RFC 1122 §4.2.3.2; Linux waits
/// for 40 ms and up to a tick). Nagle's algorithm (RFC 896) in a server that sends a response in
/// two writes holds the second one back for that long.
fn delayed_ack(document: &Document) -> Rule {
    let measure = Measure::new("delayed-ack", "delayed ACK", Subject::Server, RuleUnit::Share)
        .finding_at(DELAYED_ACK_FINDING);
    let times = &document.results.service_time.times.ok;
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
    let measure = Measure::new("growing-backlog", "growing backlog", subject, RuleUnit::Rps);
    if document.results.open_streams() > 0 {
        return measure.unknown("streams without an end stay in flight");
    }
    let has_counts = document.slices.iter().any(|slice| slice.sent > 0);
    let spans = spans(document);
    let grown = spans.iter().filter_map(|span| Some((span, growth_in(span)?)));
    let share =
        |(span, growth): &(&LoadSpan<'_>, ValueInterval)| growth.value / span.offered_rps.max(1e-9);
    let worst = grown.max_by(|a, b| share(a).total_cmp(&share(b))).filter(|_| has_counts);
    let Some((span, growth)) = worst else {
        return measure.unknown("slices do not tell how many requests were waiting");
    };
    let measure = measure.finding_at(GROWTH_FINDING * span.offered_rps);
    if growth.low <= 0.0 {
        return measure.pass(Some(growth.value), "the backlog did not grow");
    }
    let rate = match span.place.is_empty() {
        true => document.offered_in_words().unwrap_or_default(),
        false => units::round_rate(span.offered_rps),
    };
    let evidence = format!("requests waiting grew by {}{}", units::rate(growth.value), span.place);
    let remedy = match limit.by {
        LimitedBy::Connections => {
            format!("raise {CONNECTIONS}: latency grows with the length of the run")
        }
        _ => format!("offer less than {rate}: latency grows with the length of the run"),
    };
    measure.weight(1.0).judge(growth.value, &evidence, &remedy)
}

/// Returns the growth of the number of requests due or in flight, per second.
fn growth_in(span: &LoadSpan<'_>) -> Option<ValueInterval> {
    let slices = span.slices.iter();
    let (times, waiting): (Vec<f64>, Vec<f64>) =
        slices.map(|slice| (slice.end_s, slice.in_flight as f64 + slice.backlog as f64)).unzip();
    let growth = weir_stats::regression(&times, &waiting, GROWTH_CONFIDENCE);
    growth.filter(|growth| growth.value.is_finite())
}

/// Judges the share of requests that waited for a connection to become free. While further ones may
/// be opened a request waits for its opening, as a user does: those waits are none. Shed requests
/// waited for nothing.
fn connection_waits(document: &Document, limit: &Limit) -> Rule {
    let what = "connections all busy";
    let measure = Measure::new("connection-waits", what, Subject::Workload, RuleUnit::Share)
        .finding_at(WAITED_FINDING);
    let planned = document.results.planned;
    if document.connections.connects_of_load() == 0 {
        return measure.unknown("no connection opened");
    }
    if planned == 0 {
        return measure.unknown("nothing was planned");
    }
    let grown = document.latency.connect_grown.as_ref();
    let opening_ns = match document.is_below_connections_max() {
        true => grown.map_or(0, |grown| grown.times.ok.exact().max_ns),
        false => 0,
    };
    let waits = document.latency.connection_wait.times.ok.buckets();
    let longer = waits.filter(|(bucket, _)| *bucket > bucket_of(opening_ns));
    let waited: u64 = longer.map(|(_, count)| count).sum();
    // Requests never sent waited to the end.
    let results = &document.results;
    let unsent = results.outcomes.never_sent.saturating_sub(results.outcomes.unsent_by_plan());
    let share = (waited + unsent) as f64 / planned as f64;
    let evidence = match opening_ns {
        0 => format!("{} of requests waited for a free connection", units::percent(share)),
        _ => format!(
            "{} of requests waited for a connection longer than the {} that the slowest took to \
             open",
            units::percent(share),
            units::duration(opening_ns)
        ),
    };
    let remedy = match (limit.by, opening_ns) {
        // More connections would only wait elsewhere.
        (LimitedBy::Server | LimitedBy::Network | LimitedBy::ClientCpu, _) => {
            format!("offer less: the {} is the limit, not {CONNECTIONS}", limit.by.in_words())
        }
        (_, 0) => format!("raise {CONNECTIONS} to offer the rate without waiting"),
        _ => format!("begin with more connections ({CONNECTIONS})"),
    };
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
    let Some(service_ns) = document.results.service_time.ok.mean_ns.filter(|ns| *ns > 0.0) else {
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

/// Judges the difference between the requests that weir sent and those that nginx counted or
/// logged.
fn server_count(server: &ServerSection) -> Option<Rule> {
    if server.nginx.is_none() && server.access_log.is_none() {
        return None;
    }
    let what = "the server's count differs";
    let measure = Measure::new("server-count", what, Subject::Workload, RuleUnit::Count)
        .finding_at(SERVER_COUNT_FINDING);
    if let Some(why) = &server.not_compared {
        return Some(measure.unknown(why));
    }
    let mut counts = Vec::new();
    if let Some(nginx) = &server.nginx {
        let Some(counted) = nginx.requests else {
            return Some(measure.unknown("nginx was restarted, or its last reading failed"));
        };
        let unexplained = server.weir.unexplained(counted, nginx.polls.failed);
        counts.push(("nginx counted", counted, unexplained));
    }
    if let Some(log) = &server.access_log {
        if let Some(why) = &log.error {
            return Some(measure.unknown(why));
        }
        counts.push(("the access log has", log.lines, log.unexplained(&server.weir)));
    }
    let (who, counted, unexplained) = counts.into_iter().max_by_key(|(.., apart)| *apart)?;
    let sent = server.weir.requests;
    let evidence = format!(
        "{who} {} requests, weir sent {}, {} unexplained",
        units::count(counted),
        units::count(sent),
        units::count(unexplained),
    );
    let remedy = match counted {
        counted if counted > sent => "stop other clients",
        counted if counted < sent => "check for a proxy, or a sampled log",
        _ => "compare the status codes",
    };
    let weight = unexplained as f64 / sent.max(1) as f64;
    Some(measure.weight(weight).judge(unexplained as f64, &evidence, remedy))
}

/// Judges the connections that nginx accepted and closed without handling them.
fn dropped_accepts(server: &ServerSection) -> Option<Rule> {
    let nginx = server.nginx.as_ref()?;
    let what = "nginx dropped connections";
    let measure = Measure::new("dropped-accepts", what, Subject::Server, RuleUnit::Count)
        .finding_at(DROPPED_ACCEPTS_FINDING);
    let Some((dropped, after)) = nginx.dropped.zip(nginx.after) else {
        return Some(measure.unknown("nginx was restarted, or its last reading failed"));
    };
    let accepted = after.accepts.saturating_sub(nginx.before.accepts);
    let evidence = format!(
        "{} of {} accepted connections were not handled",
        units::count(dropped),
        units::count(accepted),
    );
    let weight = dropped as f64 / accepted.max(1) as f64;
    Some(measure.weight(weight).judge(dropped as f64, &evidence, "raise worker_connections"))
}

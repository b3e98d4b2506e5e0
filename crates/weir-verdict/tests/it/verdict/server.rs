//! Rules about the server and the load that reached it.

use weir_result::document::RuleOutcome::{Finding, Note, Pass, Unknown};
use weir_result::document::{AccessLogSection, Grade, ServerSection, Subject};
use weir_result::{ConnectionLoad, DocumentParts, Histogram, Measurements, Slice};

use super::run::{
    EACH, Failure, S, SLICES, US, answer, check, closed, failing, histogram, measured, no_success,
    rule, says, well,
};
use super::triggers::{growing, held_up, served, watched};

#[test]
fn a_growing_backlog() {
    let id = "growing-backlog";
    let document = check(id, Finding, growing);
    // The measurements cannot distinguish the server from the connections.
    assert_eq!(rule(&document, id).subject, Subject::Workload);
    says(
        id,
        growing,
        "growing backlog: requests waiting grew by 120.0/s (limit: 30/s); offer less than \
         3,000/s: latency grows with the length of the run",
    );
    // The client was the limit.
    let document = well(|parts| {
        growing(parts);
        parts.measurements.workers[0].usage.cpu_ns = 20 * S;
    });
    assert_eq!(rule(&document, id).subject, Subject::Client);
    check(id, Pass, |parts| {
        let slices = &mut parts.measurements.slices;
        (0..).zip(slices).for_each(|(k, slice)| slice.backlog = 100 * (k % 2));
    });
    check(id, Unknown, |parts| {
        parts.measurements.slices.iter_mut().for_each(|slice| slice.sent = 0);
    });
}

/// Changes the section of a server whose counts agree.
fn server(change: impl Fn(&mut ServerSection)) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        watched(30_000, 0)(parts);
        change(parts.given.server.as_mut().expect("it was added"));
    }
}

#[test]
fn counts_of_a_watched_server() {
    let id = "server-count";
    check(id, Pass, watched(30_000, 0));
    // A difference changes the meaning of no number.
    assert_eq!(check(id, Finding, watched(30_005, 0)).verdict.grade, Grade::Clean);
    says(
        id,
        watched(30_005, 0),
        "the server's count differs: nginx counted 30,005 requests, weir sent 30,000, 5 \
         unexplained (limit: 0); stop other clients",
    );
    says(
        id,
        watched(29_990, 0),
        "the server's count differs: nginx counted 29,990 requests, weir sent 30,000, 10 \
         unexplained (limit: 0); check for a proxy, or a sampled log",
    );
    // Requests without a response may be counted or not, and failed readings too.
    check(id, Pass, |parts| {
        watched(29_990, 0)(parts);
        parts.given.server.as_mut().expect("it was added").weir.unanswered = 10;
    });
    check(id, Pass, |parts| {
        watched(30_001, 0)(parts);
        let nginx = &mut parts.given.server.as_mut().expect("it was added").nginx;
        nginx.as_mut().expect("it is there").polls.failed = 1;
    });
    check(id, Unknown, server(|server| server.not_compared = Some("parts".to_owned())));
    check(
        id,
        Unknown,
        server(|server| {
            server.nginx.as_mut().expect("it is there").requests = None;
        }),
    );
    check(
        id,
        Unknown,
        server(|server| {
            let error = Some("rotated".to_owned());
            server.access_log = Some(AccessLogSection { error, ..AccessLogSection::default() });
        }),
    );
    let logged = |status: &'static [(u16, u64)]| {
        server(move |server| {
            server.weir.status = [(200, 29_000), (404, 1_000)].into();
            let lines = status.iter().map(|(_, lines)| lines).sum();
            let status = status.iter().copied().collect();
            let log = AccessLogSection { lines, status, ..AccessLogSection::default() };
            server.access_log = Some(log);
        })
    };
    check(id, Pass, logged(&[(200, 29_000), (404, 1_000)]));
    says(
        id,
        logged(&[(200, 29_002), (404, 998)]),
        "the server's count differs: the access log has 30,000 requests, weir sent 30,000, 2 \
         unexplained (limit: 0); compare the status codes",
    );
}

#[test]
fn connections_that_nginx_dropped() {
    let id = "dropped-accepts";
    check(id, Pass, watched(30_000, 0));
    says(
        id,
        watched(30_000, 3),
        "nginx dropped connections: 3 of 10 accepted connections were not handled (limit: 0); \
         raise worker_connections",
    );
    check(
        id,
        Unknown,
        server(|server| {
            server.nginx.as_mut().expect("it is there").dropped = None;
        }),
    );
}

#[test]
fn waits_of_uploads() {
    let id = "upload-windows";
    check(id, Pass, held_up(S));
    let document = check(id, Finding, held_up(3 * S));
    assert_eq!(rule(&document, id).subject, Subject::Server);
    assert_eq!(document.verdict.grade, Grade::Clean);
    says(
        id,
        held_up(3 * S),
        "uploads held up: uploads waited 100 µs for the server's flow-control window, 9.53% of \
         their service time (limit: 5%); use larger windows on the server",
    );
    // In a closed loop too.
    check(id, Finding, |parts| {
        closed(parts);
        held_up(3 * S)(parts);
    });
    check(id, Unknown, |parts| {
        no_success(parts);
        held_up(3 * S)(parts);
    });
    assert!(well(|_| ()).verdict.rules.iter().all(|rule| rule.id != id));
}

#[test]
fn waits_for_connections() {
    let id = "connection-waits";
    check(id, Finding, |parts| failing(parts, 90, Failure::NeverSent));
    check(id, Pass, |parts| failing(parts, 20, Failure::NeverSent));
    check(id, Unknown, |parts| {
        parts.measurements =
            Measurements { workers: parts.measurements.workers.clone(), ..Measurements::default() };
    });
}

/// 300 of the requests waited for 1 ms, and one connection opened in `opening_ns`.
fn grown(opening_ns: u64, connections_max: u32) -> impl FnOnce(&mut DocumentParts) {
    move |parts| {
        let first = parts.given.plan.load.connections.count();
        parts.given.plan.load.connections =
            ConnectionLoad::Growing { first, most: connections_max };
        let m = &mut parts.measurements;
        m.connect_grown.record(opening_ns);
        m.connections.grown = 1;
        let sent = m.connection_wait.count();
        m.connection_wait = histogram((0..sent).map(|k| if k < 300 { 1_000 * US } else { 0 }));
    }
}

#[test]
fn waits_for_an_opening_are_none_below_the_cap() {
    let id = "connection-waits";
    let opened = well(|_| ()).connections.requested as u32 + 1;
    check(id, Pass, grown(1_000 * US, opened + 1));
    check(id, Finding, grown(1_000 * US, opened));
    check(id, Finding, grown(500 * US, opened + 1));
    says(
        id,
        grown(500 * US, opened + 1),
        "connections all busy: 1.00% of requests waited for a connection longer than the 500 µs \
         that the slowest took to open (limit: 0.1%); begin with more connections \
         (`load.connections`)",
    );
    check(id, Pass, |parts| {
        failing(parts, 90, Failure::NeverSent);
        parts.measurements.results.outcomes.shed = 90;
    });
}

#[test]
fn delayed_acks() {
    let id = "delayed-ack";
    // Every tenth response is held back.
    let held = |k: u64| match k % 10 {
        0 => 40_500 * US + k % 300 * 10 * US,
        _ => 200 * US,
    };
    check(id, Finding, |parts| served(parts, held));
    check(id, Pass, |parts| served(parts, |k| if k % 100 < 1 { 41_000 * US } else { 200 * US }));
    // Times that are spread over 30 to 60 ms are the server's own.
    check(id, Pass, |parts| served(parts, |k| 30_000 * US + k % 3_000 * 10 * US));
}

/// The server was stopped from 4 s to 5 s: a tenth of the requests waited for a connection, and
/// more than one in a thousand were never sent. The client caused none of it.
#[test]
fn a_stopped_server_leaves_no_trace_in_the_rules_about_the_client() {
    let document = well(|parts| {
        let from = measured();
        let mut m = Measurements {
            slices: from
                .slices
                .into_iter()
                .map(|of| Slice { ok: Histogram::new(), ..of })
                .collect(),
            workers: from.workers,
            connections: from.connections,
            departures: from.departures,
            occupancy: from.occupancy,
            ..Measurements::default()
        };
        m.stamped.connections = 10;
        for k in 0..SLICES * EACH {
            let waits = (12_000..15_000).contains(&k);
            let wait_ns = if waits { S - (k - 12_000) * S / 3_000 } else { 0 };
            answer(&mut m, (k / EACH) as usize, wait_ns, 1_000 * US + k % 100 * US);
        }
        m.departures.sent[5_000..].fill(0);
        parts.measurements = m;
        failing(parts, 300, Failure::NeverSent);
    });
    let verdict = &document.verdict;
    let fired: Vec<_> = verdict
        .rules
        .iter()
        .filter(|rule| rule.subject == Subject::Client)
        .filter(|rule| !matches!(rule.outcome, Pass | Unknown | Note))
        .collect();
    assert!(fired.is_empty(), "{fired:#?}");
    assert_eq!(rule(&document, "connection-waits").outcome, Finding);
    assert_eq!(rule(&document, "send-dispersion").outcome, Unknown);
    // 1% never sent belongs to the line `Load`; percentiles that fall on it are bounds.
    assert_eq!(verdict.grade, Grade::Bounded);
    assert_eq!(verdict.reason, "p99.9 is a bound (requests never sent)");
}

//! Bounds: numbers that are values, and numbers that only bound the true one.

use weir_result::document::PercentileValue;
use weir_result::quantile::Bound;
use weir_result::{Document, DocumentParts};

use super::run::{
    Failure, MS, S, US, busy, closed, failing, health, histogram, read_late, stopped, well,
};
use super::triggers::{idle, pushed};

fn percentile(document: &Document, p: f64) -> PercentileValue {
    let headline = document.results.response_time.headline();
    *headline.percentile(p).unwrap_or_else(|| panic!("p{p} is listed"))
}

fn bounds(document: &Document) -> [Bound; 4] {
    [50.0, 90.0, 99.0, 99.9].map(|p| percentile(document, p).bound)
}

#[test]
fn numbers_of_a_clean_run_are_values() {
    let document = well(|_| ());
    assert_eq!(bounds(&document), [Bound::Exact; 4]);
    let p50 = percentile(&document, 50.0);
    assert_eq!((p50.range, p50.client_ns.map(|ns| ns / US)), (None, Some(8)));
    assert_eq!(document.results.response_time.ok.mean_bound, Bound::Exact);
    assert_eq!((document.throughput.bound, document.throughput.least_rps), (Bound::Exact, None));
}

#[test]
fn inflated_latencies_are_upper_bounds_with_a_range() {
    let document = well(read_late(300 * US));
    assert_eq!(bounds(&document), [Bound::Upper; 4]);
    for p in [50.0, 90.0, 99.0] {
        let value = percentile(&document, p);
        let range = value.range.expect("requests are stamped");
        // The response left the wire 300 µs before, within the sampling interval.
        let wire_ns = value.ns - 305 * US;
        assert!(range.low_ns <= wire_ns + US && range.low_ns + 30 * US >= wire_ns, "{value:?}");
        assert!(range.high_ns >= value.ns, "{value:?}");
        assert!(value.client_ns.is_some_and(|ns| ns / US >= 300), "{value:?}");
    }
    assert_eq!(document.results.response_time.ok.mean_bound, Bound::Upper);
    assert_eq!(
        document.results.service_time.ok.percentile(50.0).map(|v| v.bound),
        Some(Bound::Upper)
    );
}

/// Requests of a client that sends late wait for connections too.
#[test]
fn a_range_begins_on_the_wire_where_requests_waited_for_connections() {
    let document = well(|parts| {
        read_late(300 * US)(parts);
        let measurements = &mut parts.measurements;
        let waits = measurements.connection_wait.count();
        measurements.connection_wait = histogram((0..waits).map(|_| 200 * US));
        measurements.stamped.wire_time = histogram((0..30_000).map(|k| 500 * US + k % 100 * US));
    });
    let value = percentile(&document, 50.0);
    let range = value.range.expect("requests are stamped");
    assert!(range.low_ns <= 550 * US, "{value:?}");
}

/// Requests that came due while the client was stopped wait for connections for about as long.
/// Longer waiting is attributed to the target.
#[test]
fn waiting_for_connections_after_late_sends_is_the_clients() {
    let waiting = |late_ns| {
        move |parts: &mut DocumentParts| {
            let measurements = &mut parts.measurements;
            let requests = measurements.connection_wait.count();
            measurements.connection_wait = histogram((0..requests).map(|_| 300 * US));
            let lag = |k| if k == 0 { late_ns } else { 5 * US };
            measurements.sched_lag = histogram((0..requests).map(lag));
        }
    };
    assert_eq!(bounds(&well(waiting(2 * MS))), [Bound::Upper; 4]);
    assert_eq!(bounds(&well(waiting(20 * US))), [Bound::Exact; 4]);
}

#[test]
fn small_overhead_bounds_nothing() {
    // 30 µs of a millisecond are less than 5%.
    assert_eq!(bounds(&well(read_late(30 * US))), [Bound::Exact; 4]);
}

#[test]
fn a_contended_client_without_stamps_leaves_no_range() {
    let contended = |parts: &mut DocumentParts| {
        parts.measurements.stamped = Default::default();
        parts.measurements.workers[0].usage.run_delay_ns = Some(S);
    };
    let document = well(contended);
    assert_eq!(bounds(&document), [Bound::Upper; 4]);
    assert_eq!(percentile(&document, 50.0).range, None);
    // Stamps show that contention added nothing.
    let stamped = well(|parts| parts.measurements.workers[0].usage.run_delay_ns = Some(S));
    assert_eq!(bounds(&stamped), [Bound::Exact; 4]);
}

#[test]
fn times_that_fall_on_failures_are_lower_bounds() {
    let document = well(|parts| failing(parts, 960, Failure::TimedOut));
    assert_eq!(bounds(&document), [Bound::Exact, Bound::Exact, Bound::Lower, Bound::Lower]);
    assert_eq!(percentile(&document, 100.0).bound, Bound::Lower);
    assert_eq!(percentile(&document, 99.0).ns, 10 * S);
}

/// Any echo may have been another message.
#[test]
fn pushes_among_echoes_leave_no_time() {
    let document = well(pushed);
    assert_eq!(bounds(&document), [Bound::Unknown; 4]);
    assert_eq!(document.results.service_time.ok.mean_bound, Bound::Unknown);
    assert_eq!(document.throughput.bound, Bound::Unknown);
    let matched = well(|parts| {
        pushed(parts);
        parts.given.plan.matched_by = Some("json:/id".to_owned());
    });
    assert_eq!(bounds(&matched), [Bound::Exact; 4]);
}

#[test]
fn censored_and_inflated_is_unknown() {
    let failed = |failure: Failure| {
        well(|parts| {
            failing(parts, 960, failure);
            read_late(300 * US)(parts);
        })
    };
    // The interval of p99 is wider than the client overhead.
    let document = failed(Failure::TimedOut);
    assert_eq!(bounds(&document)[2..], [Bound::Lower, Bound::Unknown]);
    assert_eq!(percentile(&document, 99.9).range, None);
    // A refusal is slower than any response, whatever the client did.
    let document = failed(Failure::Status(500));
    assert_eq!(bounds(&document), [Bound::Upper, Bound::Upper, Bound::Lower, Bound::Lower]);
}

#[test]
fn a_limited_throughput_is_a_lower_bound() {
    let Document { throughput, results, .. } = well(busy(99 * S / 10));
    let low_rps = results.good_interval.expect("there are slices").low_rps;
    assert_eq!(throughput.bound, Bound::Lower);
    assert_eq!(throughput.least_rps, Some(low_rps.min(results.good_rps)));
    let throughput = well(idle(70 * S)).throughput;
    assert_eq!(throughput.bound, Bound::Lower);
    // A closed loop without a known limit, and a plan that was met.
    assert_eq!(well(closed).throughput.bound, Bound::Exact);
    assert_eq!(well(stopped(600 * MS)).throughput.bound, Bound::Exact);
    // A closed loop whose client was stopped could have been faster.
    let throughput = well(|parts| {
        closed(parts);
        stopped(600 * MS)(parts);
    });
    assert_eq!(throughput.throughput.bound, Bound::Lower);
}

/// A client that shares the server's CPUs is a note beside numbers that stay values.
#[test]
fn a_shared_host_bounds_nothing() {
    let document = well(health(|health| health.is_server_local = Some(true)));
    assert_eq!(bounds(&document), [Bound::Exact; 4]);
}

/// Percentiles are listed as soon as one request lies beyond them.
#[test]
fn percentiles_are_listed_early() {
    let document = well(|_| ());
    let listed: Vec<f64> =
        document.results.response_time.ok.percentiles.iter().map(|value| value.p).collect();
    assert_eq!(listed, [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 100.0]);
    let named = &document.results.response_time;
    let stored = serde_json::to_value(named).expect("a metric is JSON");
    for (field, p) in [("p50_ns", 50.0), ("p99_ns", 99.0), ("p99_9_ns", 99.9), ("max_ns", 100.0)] {
        let ns = named.ok.percentile(p).map(|value| value.ns);
        assert_eq!(stored[field].as_u64(), ns, "{field}");
    }
    assert!(percentile(&document, 99.99).imprecise && !percentile(&document, 50.0).imprecise);
}

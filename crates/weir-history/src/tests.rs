//! Entries and documents of tests.

use serde_json::json;
use weir_result::document::{Grade, Run};
use weir_result::quantile::Bound;
use weir_result::{
    Document, DocumentParts, Environment, Histogram, Interval, IoEngine, Load, Measurements, Plan,
    Slice, Tally, WorkerPhases, WorkerUsage,
};

use crate::entry::{MetricFigure, RunEntry};
use crate::series_key::SeriesKey;

const S: u64 = 1_000_000_000;

/// A saved run of a fast server.
pub(crate) fn entry(id: i64, name: &str, time: &str) -> RunEntry {
    let figure = |(metric, value): (&str, f64)| MetricFigure {
        metric: metric.to_owned(),
        value,
        bound: Bound::Exact,
    };
    let figures = [("rate", 71_135.0), ("p50", 120e3), ("p99", 4.21e6), ("errors", 0.0)];
    RunEntry {
        id,
        name: name.to_owned(),
        tags: Vec::new(),
        run_id: format!("run{id}"),
        time: time.to_owned(),
        grade: Grade::Clean,
        plan_sha256: None,
        key: key("6.18.0", 10),
        figures: figures.map(figure).to_vec(),
        command: None,
    }
}

/// The key of runs with this kernel and number of connections.
pub(crate) fn key(kernel: &str, connections: u32) -> SeriesKey {
    SeriesKey {
        plan: json!({
            "url": "http://127.0.0.1:8080/",
            "load": Load { connections: connections.into(), ..Load::default() },
        }),
        machine: json!({ "host": "bench1", "kernel": kernel, "cpu": "A CPU", "weir": "0.1.0" }),
    }
}

/// The document of a run of 10 s, whose `count` responses took `service_ns` each.
pub(crate) fn document(id: &str, epoch_unix_ns: u64, count: u64, service_ns: u64) -> Document {
    let repeat = |histogram: &mut Histogram| {
        let sum = u128::from(service_ns) * u128::from(count);
        histogram.record_range(service_ns, service_ns, count, sum);
    };
    let mut m = Measurements::default();
    m.results.planned = count;
    let mut slice = Slice { end_ns: 10 * S, ..Slice::default() };
    let mut series = Tally::new();
    (0..count).for_each(|_| series.record(service_ns));
    m.sent.measured = count;
    m.window.sent = count;
    m.results.completed = count;
    m.results.good = count;
    m.results.outcomes.ok = count;
    m.results.status.insert(200, count);
    repeat(&mut m.results.response_time.ok);
    repeat(&mut m.results.service_time.ok);
    repeat(&mut m.first_byte);
    repeat(&mut slice.ok);
    slice.outcomes.ok = count;
    m.slices = vec![slice];
    m.workers = vec![worker()];
    m.connections.requested = 10;
    m.connections.open_at_t0 = 10;
    m.connections.open_max = 10;
    m.connections.connects = 10;
    m.intervals = vec![Interval {
        length_ns: 10 * S,
        sent: count,
        completed: count,
        latency: series.take_sparse(),
        ..Interval::default()
    }];
    let mut parts = DocumentParts::bare(Plan::default(), m);
    parts.given.environment = Environment::unknown("0.1.0", IoEngine::Epoll);
    parts.given.run = Run {
        id: id.to_owned(),
        epoch: "2026-01-02T03:04:05.000000006Z".to_owned(),
        epoch_unix_ns,
        command: Some(vec!["weir".to_owned(), "http://127.0.0.1/".to_owned()]),
        plan_sha256: Some("3f1c".to_owned()),
        ..parts.given.run
    };
    weir_verdict::assemble(parts).expect("a fixture adds up")
}

fn worker() -> WorkerPhases {
    WorkerPhases {
        worker: 0,
        cpu: Some(0),
        connections: 10,
        connect_ns: 0,
        connected_ns: 3_000_000,
        start_ns: 5_000_000,
        t0_ns: 5_000_000,
        t1_ns: 10 * S + 5_000_000,
        tail_end_ns: 10 * S + 6_000_000,
        resolved_ns: 10 * S + 6_000_000,
        drained_ns: 10 * S + 10_000_000,
        window_ns: Default::default(),
        cpu_time_ns: S,
        usage: WorkerUsage::default(),
    }
}

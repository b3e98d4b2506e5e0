//! The totals as an `ExportMetricsServiceRequest` of OTLP 1, in the JSON encoding of protobuf:
//! names in camelCase, 64-bit integers as strings, enumerations as numbers
//! (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>). It sends nothing.

use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weir_report::prometheus::{BOUNDS_NS, buckets};
use weir_result::{Histogram, Plan};
use weir_runner::RecentFrames;
use weir_text::printable;

use crate::live::{Stage, Totals, client_figures, own_rate_rps};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: values count from the start time on.
const CUMULATIVE: u32 = 2;

const NS_PER_S: f64 = 1e9;

/// Identity of this process, as its metrics have it: two of them must not be one series.
#[derive(Clone, Debug)]
pub(super) struct Instance(String);

impl Instance {
    /// Returns the identity, of the time and the process.
    pub(super) fn new() -> Instance {
        Instance(format!("{:x}-{:x}", unix_ns(SystemTime::now()), process::id()))
    }
}

/// Builds the request; `None` before the load, when there is nothing to count.
pub(super) fn request(totals: &Totals, instance: &Instance, now: SystemTime) -> Option<Value> {
    let (plan, began) = totals.load.as_ref()?;
    let times = Times { start: unix_ns(*began).to_string(), now: unix_ns(now).to_string() };
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        text("service.name", "weir"),
        text("service.version", version),
        text("service.instance.id", &instance.0),
        text("url.full", &printable(&plan.url)),
        text("http.request.method", &printable(&plan.request.method)),
    ];
    Some(json!({ "resourceMetrics": [{
        "resource": { "attributes": resource },
        "scopeMetrics": [{
            "scope": { "name": "weir", "version": version },
            "metrics": metrics(totals, plan, &times),
        }],
    }] }))
}

fn metrics(totals: &Totals, plan: &Plan, times: &Times) -> Vec<Value> {
    let counter = |count| MetricData::Counter(vec![times.count(count)]);
    let state = |count| MetricData::UpDown(vec![times.count(count)]);
    let frame = &totals.frames.latest;
    let (backlog, open) = (state(frame.backlog), state(frame.open_connections));
    let failed = "Requests without success; bad responses are complete ones";
    let failures = MetricData::Counter(failures(totals, times));
    let duration = "Time from the planned send to the response, in a closed loop from the send";
    let times_taken = MetricData::Histogram(times.histogram(&totals.latency));
    let phase = "1 for the present phase of the run, else 0";
    let planned = MetricData::Gauge(json!({ "asInt": plan.own_connections().to_string() }));
    let rows = [
        ("weir.requests.sent", "{request}", "Requests sent", counter(totals.sent)),
        ("weir.responses", "{response}", "Complete responses", counter(totals.completed)),
        ("weir.requests.failed", "{request}", failed, failures),
        ("weir.received", "By", "Bytes received, heads included", counter(totals.bytes_received)),
        ("weir.response.duration", "s", duration, times_taken),
        ("weir.requests.in_flight", "{request}", "Requests in flight", state(frame.in_flight)),
        ("weir.requests.backlog", "{request}", "Requests due and not yet sent", backlog),
        ("weir.connections.open", "{connection}", "Open connections", open),
        ("weir.run.phase", "1", phase, MetricData::UpDown(phases(totals, times))),
        ("weir.plan.connections", "{connection}", "Connections of the plan", planned),
    ];
    let rate = own_rate_rps(plan).map(|rps| {
        let help = "Planned requests per second";
        ("weir.plan.rate", "{request}/s", help, MetricData::Gauge(json!({ "asDouble": rps })))
    });
    let rows = rows.into_iter().chain(rate).chain(client(&totals.frames));
    rows.map(|row| metric(row, times)).collect()
}

/// Figures of the client itself, as far as they are known.
fn client(
    frames: &RecentFrames,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str, MetricData)> {
    let names = [
        ("weir.client.send_lag.p99", "s"),
        ("weir.client.overhead", "1"),
        ("weir.client.worker.cpu", "1"),
    ];
    names.into_iter().zip(client_figures(frames)).filter_map(|((name, unit), (help, value))| {
        Some((name, unit, help, MetricData::Gauge(json!({ "asDouble": value? }))))
    })
}

fn failures(totals: &Totals, times: &Times) -> Vec<Value> {
    let point = |(kind, count)| with(times.count(count), text("error.type", kind));
    totals.failures().into_iter().map(point).collect()
}

fn phases(totals: &Totals, times: &Times) -> Vec<Value> {
    let point = |(stage, name): (Stage, &str)| {
        let is_now = times.count((stage == totals.stage).into());
        with(is_now, text("weir.phase", name))
    };
    Stage::ALL.into_iter().map(point).collect()
}

/// Figures of a metric, by their kind.
enum MetricData {
    /// Counts that only grow.
    Counter(Vec<Value>),
    /// Counts of the present state.
    UpDown(Vec<Value>),
    /// A value that adds up to nothing.
    Gauge(Value),
    /// Times in buckets.
    Histogram(Value),
}

fn metric((name, unit, help, data): (&str, &str, &str, MetricData), times: &Times) -> Value {
    let cumulative =
        |points: Vec<Value>| json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE });
    let sum = |points, is_monotonic: bool| {
        let mut sum = cumulative(points);
        sum["isMonotonic"] = is_monotonic.into();
        sum
    };
    let (kind, data) = match data {
        MetricData::Counter(points) => ("sum", sum(points, true)),
        MetricData::UpDown(points) => ("sum", sum(points, false)),
        MetricData::Gauge(value) => ("gauge", json!({ "dataPoints": [times.at_now(value)] })),
        MetricData::Histogram(point) => ("histogram", cumulative(vec![point])),
    };
    json!({ "name": name, "unit": unit, "description": help, kind: data })
}

fn with(mut point: Value, attribute: Value) -> Value {
    point["attributes"] = json!([attribute]);
    point
}

/// A text attribute.
fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Begin of the load and the present time, as text: nanoseconds since 1970.
struct Times {
    start: String,
    now: String,
}

impl Times {
    /// Adds both times to a point.
    fn point(&self, mut point: Value) -> Value {
        point["startTimeUnixNano"] = self.start.as_str().into();
        self.at_now(point)
    }

    /// Adds the time of a value that counts from nowhere.
    fn at_now(&self, mut point: Value) -> Value {
        point["timeUnixNano"] = self.now.as_str().into();
        point
    }

    fn count(&self, count: u64) -> Value {
        self.point(json!({ "asInt": count.to_string() }))
    }

    /// Times in buckets.
    fn histogram(&self, of: &Histogram) -> Value {
        let exact = of.exact();
        let seconds = |ns: u64| ns as f64 / NS_PER_S;
        let mut point = self.point(json!({
            "count": of.count().to_string(),
            "sum": exact.sum_ns as f64 / NS_PER_S,
            "bucketCounts": buckets(of).map(|count| count.to_string()),
            "explicitBounds": BOUNDS_NS.map(seconds),
        }));
        if !of.is_empty() {
            point["min"] = seconds(exact.min_ns).into();
            point["max"] = seconds(exact.max_ns).into();
        }
        point
    }
}

fn unix_ns(at: SystemTime) -> u128 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::live::tests::totals;

    const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/otlp.json");

    #[test]
    fn the_request_is_that_of_the_file() {
        let at = |s| UNIX_EPOCH + Duration::from_secs(s);
        let mut totals = totals();
        totals.load.as_mut().expect("it began").1 = at(1_700_000_000);
        let instance = Instance("1-a".to_owned());
        let request = request(&totals, &instance, at(1_700_000_005)).expect("a load");
        let text = format!("{request:#}\n").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(GOLDEN, &text).expect("a file");
        }
        let golden = std::fs::read_to_string(GOLDEN).expect("a file");
        assert_eq!(text, golden, "UPDATE_GOLDEN=1 writes {GOLDEN}");
    }

    #[test]
    fn before_the_load_there_is_nothing_to_send() {
        let now = SystemTime::now();
        assert_eq!(request(&Totals::default(), &Instance::new(), now), None);
    }
}

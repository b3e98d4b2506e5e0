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

use crate::live::{self, LivePhase, Totals, client_figures, own_rate_rps};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: values count from the start time on.
const CUMULATIVE: u32 = 2;

const NS_PER_S: f64 = 1e9;

/// Returns the identity of this process, of the time and the process: its metrics and those of
/// another must not be one series.
pub(super) fn instance() -> String {
    format!("{:x}-{:x}", unix_ns(SystemTime::now()), process::id())
}

/// Builds the request; `None` before the load, when there is nothing to count.
pub(super) fn request(totals: &Totals, instance: &str, now: SystemTime) -> Option<Value> {
    let (plan, began) = totals.load.as_ref()?;
    let times = PointTimes { start: unix_ns(*began).to_string(), now: unix_ns(now).to_string() };
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        text("service.name", "weir"),
        text("service.version", version),
        text("service.instance.id", instance),
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

fn metrics(totals: &Totals, plan: &Plan, times: &PointTimes) -> Vec<Value> {
    let counter = |count| sum(vec![times.count(count)], true);
    let state = |count| sum(vec![times.count(count)], false);
    let gauge = |value| MetricData::of("gauge", json!({ "dataPoints": [times.at_now(value)] }));
    let frame = &totals.frames.latest;
    let backlog = state(frame.backlog);
    let open = state(frame.open_connections);
    let in_flight = state(frame.in_flight);
    let failed = "Requests without success; bad responses are complete ones";
    let failures = sum(failures(totals, times), true);
    let received = "Bytes received, heads included";
    let duration = "Time from the planned send to the response, in a closed loop from the send";
    let times_taken = histogram(vec![times.histogram(&totals.latency)]);
    let phase = "1 for the present phase of the run, else 0";
    let planned = gauge(json!({ "asInt": plan.own_connections().to_string() }));
    let mut metrics = vec![
        metric("weir.requests.sent", "{request}", "Requests sent", counter(totals.sent)),
        metric("weir.responses", "{response}", "Complete responses", counter(totals.completed)),
        metric("weir.requests.failed", "{request}", failed, failures),
        metric("weir.received", "By", received, counter(totals.bytes_received)),
        metric("weir.response.duration", "s", duration, times_taken),
        metric("weir.requests.in_flight", "{request}", "Requests in flight", in_flight),
        metric("weir.requests.backlog", "{request}", "Requests due and not yet sent", backlog),
        metric("weir.connections.open", "{connection}", "Open connections", open),
        metric("weir.run.phase", "1", phase, sum(phases(totals, times), false)),
        metric("weir.plan.connections", "{connection}", "Connections of the plan", planned),
    ];
    if plan.messages.is_some() {
        let help = "Messages received within responses";
        metrics.push(metric("weir.messages", "{message}", help, counter(totals.messages)));
    }
    metrics.extend(names(totals, times));
    let rate = own_rate_rps(plan, frame.at_ns);
    let rate =
        rate.map(|rps| ("weir.plan.rate", "{request}/s", "Planned requests per second", rps));
    let gauges = rate.into_iter().chain(client(&totals.frames));
    metrics.extend(gauges.map(|(name, unit, help, value)| {
        metric(name, unit, help, gauge(json!({ "asDouble": value })))
    }));
    metrics
}

/// The points of a metric, with the name of its kind.
struct MetricData {
    kind: &'static str,
    points: Value,
}

impl MetricData {
    fn of(kind: &'static str, points: Value) -> MetricData {
        MetricData { kind, points }
    }
}

fn metric(name: &str, unit: &str, help: &str, data: MetricData) -> Value {
    json!({ "name": name, "unit": unit, "description": help, data.kind: data.points })
}

/// Figures of the client itself, as far as they are known: name, unit, help and value.
fn client(
    frames: &RecentFrames,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str, f64)> {
    let names = [
        ("weir.client.send_lag.p99", "s"),
        ("weir.client.overhead", "1"),
        ("weir.client.worker.cpu", "1"),
    ];
    let figures = names.into_iter().zip(client_figures(frames));
    figures.filter_map(|((name, unit), (help, value))| Some((name, unit, help, value?)))
}

/// Measured requests by name; none without a list.
fn names(totals: &Totals, times: &PointTimes) -> Vec<Value> {
    let names = totals.names();
    if names.is_empty() {
        return Vec::new();
    }
    let name = |label: &str| text("weir.name", label);
    let responses = names.iter().map(|(label, of)| with(times.count(of.responses()), name(label)));
    let failed = names.iter().flat_map(|(label, of)| {
        live::failures(of).map(|(kind, count)| {
            let mut point = times.count(count);
            point["attributes"] = json!([name(label), text("error.type", kind)]);
            point
        })
    });
    let taken = names
        .iter()
        .map(|(label, of)| with(times.histogram(&of.latency.to_histogram()), name(label)));
    let help = "Complete responses to measured requests by name";
    let failures = "Measured requests without success by name";
    let duration = "Latency of the responses to measured requests by name";
    vec![
        metric("weir.name.responses", "{response}", help, sum(responses.collect(), true)),
        metric("weir.name.requests.failed", "{request}", failures, sum(failed.collect(), true)),
        metric("weir.name.response.duration", "s", duration, histogram(taken.collect())),
    ]
}

fn failures(totals: &Totals, times: &PointTimes) -> Vec<Value> {
    let point = |(kind, count)| with(times.count(count), text("error.type", kind));
    totals.failures().into_iter().map(point).collect()
}

fn phases(totals: &Totals, times: &PointTimes) -> Vec<Value> {
    let point = |(stage, name): (LivePhase, &str)| {
        let is_now = times.count((stage == totals.stage).into());
        with(is_now, text("weir.phase", name))
    };
    LivePhase::ALL.into_iter().map(point).collect()
}

/// The kind and the data of counts. Those that are monotonic only grow, others are of the present
/// state.
fn sum(points: Vec<Value>, is_monotonic: bool) -> MetricData {
    let mut sum = cumulative(points);
    sum["isMonotonic"] = is_monotonic.into();
    MetricData::of("sum", sum)
}

fn histogram(points: Vec<Value>) -> MetricData {
    MetricData::of("histogram", cumulative(points))
}

fn cumulative(points: Vec<Value>) -> Value {
    json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE })
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
struct PointTimes {
    start: String,
    now: String,
}

impl PointTimes {
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
    use crate::live::tests::{totals, totals_of_list};

    const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/otlp.json");

    #[test]
    fn the_request_is_that_of_the_file() {
        let at = |s| UNIX_EPOCH + Duration::from_secs(s);
        let mut totals = totals();
        totals.load.as_mut().expect("it began").1 = at(1_700_000_000);
        let request = request(&totals, "1-a", at(1_700_000_005)).expect("a load");
        let text = format!("{request:#}\n").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(GOLDEN, &text).expect("a file");
        }
        let golden = std::fs::read_to_string(GOLDEN).expect("a file");
        assert_eq!(text, golden, "UPDATE_GOLDEN=1 writes {GOLDEN}");
    }

    #[test]
    fn names_of_a_list_are_attributes() {
        let request = request(&totals_of_list(), "1-a", UNIX_EPOCH).expect("a load");
        let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let points = |name: &str, kind: &str| -> Vec<Value> {
            let metrics = metrics.as_array().expect("a list");
            let metric = metrics.iter().find(|metric| metric["name"] == name).expect("a metric");
            metric[kind]["dataPoints"].as_array().expect("points").clone()
        };
        let responses = points("weir.name.responses", "sum");
        let names = responses.iter().map(|point| &point["attributes"][0]["value"]["stringValue"]);
        assert_eq!(names.collect::<Vec<_>>(), ["buy \"x\"?", "(others)"]);
        assert_eq!(responses[0]["asInt"], "100");
        let failed = points("weir.name.requests.failed", "sum");
        assert_eq!((failed.len(), &failed[0]["asInt"]), (6, &"10".into()));
        assert_eq!(failed[0]["attributes"][1]["value"]["stringValue"], "bad_response");
        let duration = points("weir.name.response.duration", "histogram");
        assert_eq!(duration[1]["count"], "100");
    }

    #[test]
    fn before_the_load_there_is_nothing_to_send() {
        let now = SystemTime::now();
        assert_eq!(request(&Totals::default(), &instance(), now), None);
    }
}

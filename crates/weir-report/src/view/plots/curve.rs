//! Percentile curves: each nine has the same length, as HdrHistogram plots have it.

use weir_result::document::{Metric, Summary};
use weir_result::quantile::{AllOutcomes, Bound};
use weir_result::{Document, Histogram};

use crate::view::messages::{counts_tokens, titles};
use crate::view::{Axis, AxisUnit, Mark, Plot, Role};

/// Points of a curve in each halving of the share beyond it.
const STEPS: u32 = 4;

/// Plots the latency of a run; `None` without a response.
pub(super) fn latency(document: &Document) -> Option<Plot> {
    if document.results.responses() == 0 {
        return None;
    }
    let results = &document.results;
    if document.results.outcomes.ok == 0 {
        let bad = &results.service_time.times.bad;
        let curve = of_histogram("service time of bad responses", Role::Main, bad);
        return Some(plot(vec![curve], "No response was ok."));
    }
    let (name, headline) = document.headline_time();
    let beside = document.time_beside().unwrap_or(("first byte", &document.latency.first_byte));
    let mut marks: Vec<Mark> = band(headline.headline()).into_iter().collect();
    marks.extend(of_metric(beside.0, [Role::Second, Role::SecondAtLeast], beside.1));
    marks.extend(of_metric(name, [Role::Main, Role::MainAtLeast], headline));
    let about = match document.time_beside() {
        Some(_) => {
            "Response time counts from the planned send, service time from the actual one: where \
             the two part, requests waited before they were sent."
        }
        None => {
            "In a closed loop a slow server delays the next send, and that time is not counted."
        }
    };
    Some(plot(marks, about))
}

fn plot(marks: Vec<Mark>, about: &str) -> Plot {
    let about = format!("The share of requests that were at most this slow. {about}");
    let axes = [Axis::nines(), Axis::log("Time", AxisUnit::Nanoseconds)];
    Plot::new(["latency-percentiles", "Latency by percentile"], about, axes, marks)
}

/// The curve of a metric over all outcomes; where failures hide the value, a second one from there
/// on, with the second role.
fn of_metric(name: &str, [role, at_least]: [Role; 2], metric: &Metric) -> Vec<Mark> {
    let all = AllOutcomes::of(&metric.times);
    let values: Vec<(f64, f64, Bound)> = ranks(all.count())
        .filter_map(|(x, rank)| {
            let value = all.value_at_rank(rank)?;
            Some((x, value.ns.max(1) as f64, value.bound))
        })
        .collect();
    let known = values.iter().take_while(|(_, _, bound)| *bound == Bound::Exact).count();
    let line = |name: &str, role, part: &[(f64, f64, Bound)]| {
        Mark::line(name, role, part.iter().map(|(x, y, _)| (*x, Some(*y))))
    };
    let shown = (known > 0).then(|| line(name, role, &values[..known]));
    let hidden = (known < values.len()).then(|| {
        let hidden = &values[known.saturating_sub(1)..];
        line(&format!("{name}, at least (failures)"), at_least, hidden)
    });
    shown.into_iter().chain(hidden).collect()
}

/// The curve of a histogram.
fn of_histogram(name: &str, role: Role, histogram: &Histogram) -> Mark {
    let at = |(x, rank): (f64, u64)| (x, histogram.value_at_rank(rank).map(|ns| ns.max(1) as f64));
    Mark::line(name, role, ranks(histogram.count()).map(at))
}

/// Positions on the axis of nines with the ranks that they stand for, down to the last request.
fn ranks(count: u64) -> impl Iterator<Item = (f64, u64)> {
    let beyond = move |x: f64| (count as f64 / x) as u64;
    let steps = (0..).map(|step| 2_f64.powf(f64::from(step) / f64::from(STEPS)));
    let inside = steps.take_while(move |x| beyond(*x) > 0);
    let inside = inside.map(move |x| (x, (count - beyond(x)).max(1)));
    inside.chain((count > 0).then_some((2.0 * count as f64, count)))
}

/// The 95% intervals of the percentiles; `None` if there are fewer than two.
fn band(summary: &Summary) -> Option<Mark> {
    let listed = summary.percentiles.iter().filter(|value| value.p < 100.0);
    let ends: Vec<(f64, f64, Option<f64>)> = listed
        .filter_map(|value| {
            let high = value.high_ns.map(|ns| ns.max(1) as f64);
            Some((100.0 / (100.0 - value.p), value.low_ns?.max(1) as f64, high))
        })
        .collect();
    let is_drawn = ends.iter().filter(|(_, _, high)| high.is_some()).count() > 1;
    is_drawn.then(|| Mark::band("95% interval".to_owned(), Role::Main, ends))
}

/// Plots the times to the first message and between messages; `None` if none came.
pub(super) fn messages(document: &Document) -> Option<Plot> {
    let first = document.results.first_message().filter(|first| first.ok.count > 0)?;
    let [first_title, gap_title] = titles(document);
    let mut marks = of_metric(first_title, [Role::Main, Role::MainAtLeast], first);
    let gaps = document.results.message_gap().filter(|gap| gap.ok.count > 0);
    marks.extend(gaps.map(|gap| of_histogram(gap_title, Role::Second, &gap.times.ok)));
    let about = "The time from the planned send to the first, and from each to the next, by the \
                 share that were at most this long.";
    let axes = [Axis::nines(), Axis::log("Time", AxisUnit::Nanoseconds)];
    let title = match counts_tokens(document) {
        true => "First token and gaps",
        false => "First message and gaps",
    };
    Some(Plot::new(["message-times", title], about, axes, marks))
}

/// Plots the times in which connections opened; `None` if none did.
pub(super) fn connection_times(document: &Document) -> Option<Plot> {
    let latency = &document.latency;
    let mut marks: Vec<Mark> = Vec::new();
    for (name, metric, role) in [
        ("connect", Some(&latency.connect), Role::Main),
        ("TLS handshake", latency.tls_handshake.as_ref(), Role::Second),
        ("HTTP/2 settings", latency.opening.as_ref(), Role::Other(0)),
    ] {
        let Some(metric) = metric.filter(|metric| metric.ok.count > 0) else { continue };
        marks.push(of_histogram(name, role, &metric.times.ok));
    }
    let about = "Time to open a connection, warm-up and renewals included.";
    let axes = [Axis::nines(), Axis::log("Time", AxisUnit::Nanoseconds)];
    (!marks.is_empty())
        .then(|| Plot::new(["connection-times", "Connection times"], about, axes, marks))
}

#[cfg(test)]
mod tests {
    use weir_result::document::ScopeMessages;
    use weir_result::{ByOutcome, MessagePlan, MessageProtocol, Plan};

    use super::*;

    /// Messages of 1 to 100 ms, and gaps of twice that; a stream without a message at 1 s.
    #[test]
    fn first_tokens_and_gaps_have_a_plot() {
        let times = |step_ns: u64| {
            let mut ok = Histogram::new();
            (1..=100).for_each(|k| ok.record(k * step_ns));
            let times = ByOutcome { ok, ..ByOutcome::default() };
            Metric { ok: Summary { count: 100, ..Summary::default() }, times, ..Metric::default() }
        };
        let mut first = times(1_000_000);
        first.times.censored.record(1_000_000_000);
        let gap = times(2_000_000);
        let mut document = Document::default();
        assert!(messages(&document).is_none(), "no message came");
        document.results.messages =
            Some(Box::new(ScopeMessages { first, gap: Some(gap), ..ScopeMessages::default() }));
        let names = |document: &Document| {
            let plot = messages(document).expect("messages came");
            let name = |mark: &Mark| match mark {
                Mark::Line { name, .. } => name.clone(),
                other => panic!("{other:?}"),
            };
            (plot.title, plot.marks.iter().map(name).collect::<Vec<_>>().join("; "))
        };
        let expected = "first message; first message, at least (failures); gap";
        assert_eq!(names(&document), ("First message and gaps".to_owned(), expected.to_owned()));
        let messages = MessagePlan {
            protocol: MessageProtocol::Sse,
            tokens: vec!["json:/token".to_owned()],
            usage: None,
            goodput: None,
        };
        document.plan = Plan { messages: Some(messages), ..Plan::default() };
        let expected = "first token (TTFT); first token (TTFT), at least (failures); gap (ITL)";
        assert_eq!(names(&document), ("First token and gaps".to_owned(), expected.to_owned()));
    }

    #[test]
    fn ranks_end_at_the_last_request() {
        assert_eq!(ranks(0).count(), 0);
        assert_eq!(ranks(1).collect::<Vec<_>>(), [(1.0, 1), (2.0, 1)]);
        let ranks: Vec<(f64, u64)> = ranks(1_000).collect();
        assert!(ranks.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{ranks:?}");
        assert!(ranks.contains(&(2.0, 500)) && ranks.last() == Some(&(2_000.0, 1_000)));
    }
}

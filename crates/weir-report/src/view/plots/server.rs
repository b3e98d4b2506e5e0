//! The watched server over time.

use weir_result::Document;
use weir_result::document::{
    MetricSeries, NginxSample, NginxSection, Point, ProcessSample, ServerSection,
};

use super::time::spans;
use crate::view::plot::{named, role_of};
use crate::view::{Axis, AxisUnit, Mark, Plot, Role};

/// A count in a reading of nginx.
type NginxCount = fn(&NginxSample) -> u64;

/// Plots every series of the watched server.
pub(super) fn plots(document: &Document) -> Vec<Plot> {
    let Some(server) = &document.server else { return Vec::new() };
    let mut plots: Vec<Plot> = server.nginx.iter().flat_map(nginx).collect();
    plots.extend(processes(server));
    let metrics = server.prometheus.iter().flat_map(|page| &page.metrics);
    plots.extend((1..).zip(metrics).map(|(nth, metric)| self::metric(nth, metric)));
    for (nth, command) in (1..).zip(&server.commands) {
        let lines = lines(command.series.iter().map(|(name, points)| (name.as_str(), points)));
        let name = format!("command-{nth}");
        let title = named(&command.command);
        plots.push(plot(&name, &title, "Value", AxisUnit::Number, lines));
    }
    let has_points = |mark: &Mark| matches!(mark, Mark::Line { x, .. } if x.len() > 1);
    plots.retain(|plot| plot.marks.iter().any(has_points));
    for plot in &mut plots {
        plot.marks.splice(0..0, spans(document));
    }
    plots
}

fn plot(name: &str, title: &str, axis: &str, unit: AxisUnit, marks: Vec<Mark>) -> Plot {
    let axes = [Axis::time(), Axis::linear(axis, unit)];
    Plot::new([name, title], "As the server reported it during the run.", axes, marks)
}

/// Connections of nginx by state, and its requests per second.
fn nginx(section: &NginxSection) -> [Plot; 2] {
    let states: [(&str, NginxCount); 4] = [
        ("active", |of| of.active),
        ("writing", |of| of.writing),
        ("reading", |of| of.reading),
        ("waiting", |of| of.waiting),
    ];
    let connections = states.iter().enumerate().map(|(index, (name, value))| {
        let points = section.series.iter().map(|of| (of.at_s, Some(value(of) as f64)));
        Mark::line(name, role_of(index), points)
    });
    let requests = section.series.windows(2).map(|pair| {
        let elapsed_s = pair[1].at_s - pair[0].at_s;
        let at_s = pair[1].at_s;
        let count = pair[1].requests.saturating_sub(pair[0].requests) as f64;
        (at_s, (elapsed_s > 0.0).then(|| count / elapsed_s))
    });
    let requests = vec![Mark::line("requests", Role::Main, requests)];
    let axis = "Requests per second";
    let connections = connections.collect();
    [
        plot("nginx-requests", "nginx: requests", axis, AxisUnit::PerSecond, requests),
        plot(
            "nginx-connections",
            "nginx: connections",
            "Connections",
            AxisUnit::Number,
            connections,
        ),
    ]
}

/// CPU time and memory of the processes.
fn processes(server: &ServerSection) -> Vec<Plot> {
    if server.processes.is_empty() {
        return Vec::new();
    }
    let lines = |value: fn(&[ProcessSample], usize) -> Option<f64>| {
        let processes = server.processes.iter().enumerate();
        processes
            .map(|(index, process)| {
                let series = &process.series;
                let points = (0..series.len()).map(|at| (series[at].at_s, value(series, at)));
                Mark::line(&process.name, role_of(index), points)
            })
            .collect()
    };
    let memory = lines(|series, at| Some(series[at].resident_bytes as f64));
    vec![
        plot("server-cpu", "Server: CPU time", "CPUs in use", AxisUnit::Number, lines(cpu)),
        plot("server-memory", "Server: memory", "Resident memory", AxisUnit::Bytes, memory),
    ]
}

/// The CPU time of a reading; none if it is too soon after the one before.
fn cpu(series: &[ProcessSample], at: usize) -> Option<f64> {
    /// The kernel counts hundredths of a second.
    const SPAN_MIN_S: f64 = 0.5;
    let before = series.get(at.checked_sub(1)?)?;
    series[at].cpu.filter(|_| series[at].at_s - before.at_s >= SPAN_MIN_S)
}

/// A metric of Prometheus; a counter as its rate.
fn metric(nth: usize, metric: &MetricSeries) -> Plot {
    let labels: Vec<String> =
        metric.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let title = match labels.is_empty() {
        true => named(&metric.name),
        false => named(&format!("{}{{{}}}", metric.name, labels.join(","))),
    };
    let is_counter = metric.kind == "counter";
    let points: Vec<Point> = match is_counter {
        true => metric.points.windows(2).map(|pair| increase(&pair[0], &pair[1])).collect(),
        false => metric.points.clone(),
    };
    let lines = lines([(metric.name.as_str(), &points)].into_iter());
    let (axis, unit) = match is_counter {
        true => ("Increase per second", AxisUnit::PerSecond),
        false => ("Value", AxisUnit::Number),
    };
    plot(&format!("prometheus-{nth}"), &title, axis, unit, lines)
}

/// The increase of a counter per second; none where it was set back.
fn increase(before: &Point, after: &Point) -> Point {
    let elapsed_s = after.at_s - before.at_s;
    let increase = before.value.zip(after.value).map(|(before, after)| after - before);
    let value = increase.filter(|by| *by >= 0.0 && elapsed_s > 0.0).map(|by| by / elapsed_s);
    Point { at_s: after.at_s, value }
}

fn lines<'d>(series: impl Iterator<Item = (&'d str, &'d Vec<Point>)>) -> Vec<Mark> {
    let line = |(index, (name, points)): (usize, (&str, &Vec<Point>))| {
        Mark::line(name, role_of(index), points.iter().map(|point| (point.at_s, point.value)))
    };
    series.enumerate().map(line).collect()
}

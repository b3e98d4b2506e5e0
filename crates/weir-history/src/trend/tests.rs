//! Trends of runs whose values and changes are known.

use super::*;
use crate::list::Layout;
use crate::tests::{entry, key};
use serde_json::json;
use weir_report::view::{Block, Mark, Plot};
use weir_result::quantile::Bound;
use weir_result::{Arrivals, ConnectionLoad, DueTimes, Load, Rate};

fn metrics(names: &[&str]) -> Vec<NamedMetric> {
    names.iter().map(|name| name.parse().expect("a metric")).collect()
}

/// A run on day `id` of November with this p99 in nanoseconds and this rate.
fn run(id: i64, p99: f64, rate: f64) -> TrendRun {
    let time = format!("2026-11-{id:02}T10:00:00Z");
    let measured = |value| Some(Measured { value, bound: Bound::Exact, low: value, high: value });
    let mut entry = entry(id, "nginx", &time);
    if id == 20 {
        entry.tags = vec!["v2".to_owned()];
    }
    TrendRun {
        entry,
        epoch_unix_ns: 1_761_991_200_000_000_000 + id as u64 * 86_400_000_000_000,
        values: vec![measured(p99), measured(rate)],
        intervals: vec![Some((0.99 * p99, 1.01 * p99)), None],
    }
}

/// Runs 1 to 25: p99 is 20% higher from run 13 on, and run-to-run noise is within 1%.
fn step() -> Vec<TrendRun> {
    let level = |id| if id < 13 { 4.0e6 } else { 4.8e6 };
    let noise = |id: i64| 1.0 + 0.001 * (id * 7 % 11) as f64;
    (1..=25).map(|id| run(id, level(id) * noise(id), 70_000.0 * noise(id + 3))).collect()
}

fn trend(runs: Vec<TrendRun>) -> Trend {
    let series = series_of(runs, &metrics(&["p99", "rate"]));
    let name = "nginx".parse().expect("a name");
    Trend { name, series, failed: 1, void: 0, has_more: false }
}

const TERMINAL: Layout = Layout { width: Some(80), has_blocks: true };

#[test]
fn the_load_of_a_series_has_words() {
    let words = |due: Option<DueTimes>, connections: ConnectionLoad| {
        let load = Load { due, connections, ..Load::default() };
        let plan = json!({ "url": "http://h/", "load": load });
        text::load_of(&plan)
    };
    let rate = Rate { numerator: 500, denominator: 1 };
    let open = Some(DueTimes::constant(rate, Arrivals::Poisson { seed: 0 }));
    let growing = ConnectionLoad::Growing { first: 1, most: 9 };
    assert_eq!(words(open, growing), "http://h/, 1 connection, 500/s, poisson");
    let stages = weir_result::parse_stages("1s@100,2s@200").expect("stages");
    let staged = words(Some(DueTimes::in_stages(stages, Arrivals::Uniform)), 10.into());
    assert_eq!(staged, "http://h/, 10 connections, 1 s at 100/s, 2 s at 200/s");
    assert_eq!(words(None, 2.into()), "http://h/, 2 connections, closed loop");
}

#[test]
fn a_step_is_found_and_printed() {
    let text = trend(step()).to_text(TERMINAL, 3);
    let expected = "\
nginx: 25 runs; left out: 1 failed

Series: 25 runs, 2026-11-01 10:00 to 2026-11-25 10:00
  load     http://127.0.0.1:8080/, 10 connections, closed loop
  machine  bench1, kernel 6.18.0, A CPU, weir 0.1.0

  ID  Time (UTC)        Grade      p99      Rate
  23  2026-11-23 10:00  clean  4.83 ms  70,420/s
  24  2026-11-24 10:00  clean  4.81 ms  70,140/s
  25  2026-11-25 10:00  clean  4.85 ms  70,630/s
  (22 runs before these; `history.last` shows more)

  p99   ▁▁▁▁▁▁▁▁▁▁▁▁▇▇▇▇▇▇▇▇▇▇▇▇▇  4.00 ms to 4.85 ms
        +19.9% from #13 (2026-11-13) on, worse: 4.02 ms → 4.82 ms
  Rate  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  70,000/s to 70,700/s; no change

A change is a candidate: more than the server may have changed.
To confirm it, run the old and the new version in turns: weir ab --help
";
    assert_eq!(text, expected);
}

#[test]
fn a_recent_change_is_a_sentence() {
    let text = "p99 +19.9% from #13 (2026-11-13) on, worse: 4.02 ms → 4.82 ms".to_owned();
    let expected = [RecentChange { text, is_worse: true }];
    assert_eq!(trend(step()).recent_changes(13), expected);
    assert_eq!(trend(step()).recent_changes(12), [], "it began before the newest 12 runs");
}

#[test]
fn another_machine_is_another_series() {
    let mut runs = step();
    for run in &mut runs {
        run.entry.key.plan["load"]["duration_ns"] = 10_000_000_000_u64.into();
    }
    for run in &mut runs[12..] {
        run.entry.key = key("6.19.2", 10);
        run.entry.key.machine["cpu"] = "A CPU with a long name @ 3.00GHz".into();
        run.entry.key.plan["load"]["duration_ns"] = 30_000_000_000_u64.into();
    }
    // One more run on the old machine: it belongs to the first series.
    let mut late = run(26, 4.0e6, 70_000.0);
    late.entry.key.plan["load"]["duration_ns"] = 10_000_000_000_u64.into();
    late.entry.time = "2026-11-25T09:00:00Z".to_owned();
    runs.push(late);
    let trend = trend(runs);
    assert_eq!(trend.series.len(), 2);
    assert_eq!(trend.series[0].runs.len(), 13);
    let found = trend.series.iter().flat_map(|series| &series.metrics);
    let found: Vec<_> = found.map(|of| of.changes.clone()).collect();
    assert_eq!(found, vec![Some(Vec::new()); 4], "a new machine is no change of the server");
    let text = trend.to_text(Layout::default(), 2);
    let expected = "
Series 2 of 2: 13 runs, 2026-11-13 10:00 to 2026-11-25 10:00
  too few runs to find changes: 16 are needed
  plan.load.duration: 10 s → 30 s
  cpu: A CPU → A CPU with a long name @…
  kernel: 6.18.0 → 6.19.2

  ID  Time (UTC)        Grade      p99      Rate
  24  2026-11-24 10:00  clean  4.81 ms  70,140/s
  25  2026-11-25 10:00  clean  4.85 ms  70,630/s
  (11 runs before these; `history.last` shows more)

  p99   4.80 ms to 4.85 ms
  Rate  70,000/s to 70,700/s

Series differ in load or machine, so they are not compared.
";
    assert!(text.ends_with(expected), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_change_with_few_runs_after_it_is_possible() {
    let mut runs = step();
    runs.truncate(12);
    let calm = |id| run(id, 4.0e6 * (1.0 + 0.001 * (id % 7) as f64), 70_000.0);
    runs = (1..=24)
        .map(calm)
        .chain((25..=28).map(|id| run(id, 6.0e6 + id as f64, 70_000.0)))
        .collect();
    let trend = trend(runs);
    let [change] = trend.series[0].metrics[0].changes.as_deref().expect("positive") else {
        panic!("{trend:?}")
    };
    assert_eq!((change.run, change.runs_since, change.point.is_possible), (24, 4, true));
    let text = trend.to_text(Layout::default(), 4);
    assert!(
        text.contains("  25  2026-11-25 10:00  clean  6.00 ms  70,000/s  p99 +50%\n"),
        "{text}"
    );
    assert!(text.contains("from #25 (2026-11-25) on, worse: 4.01 ms → 6.00 ms"), "{text}");
    assert!(text.contains("        only possible: 4 runs since, 5 are needed\n"), "{text}");
    let json = trend.to_json();
    let found = &json["series"][0]["metrics"][0]["changes"][0];
    assert_eq!((&found["id"], &found["possible"]), (&25.into(), &true.into()), "{json}");
}

#[test]
fn runs_without_the_metric_are_passed_over() {
    let mut runs = step();
    runs[3].values[0] = None;
    let changes = changes_of(&runs, 0).expect("positive");
    assert_eq!(changes.iter().map(|change| change.run).collect::<Vec<_>>(), [12]);
    let zero = Measured { value: 0.0, bound: Bound::Exact, low: 0.0, high: 0.0 };
    runs[5].values[0] = Some(zero);
    assert_eq!(changes_of(&runs, 0), None);
    let text = trend(runs).to_text(Layout::default(), 1);
    assert!(text.contains("0 ns to 4.85 ms; changes are found in values above 0 only"), "{text}");
}

#[test]
fn json_has_every_run_and_change() {
    let json = trend(step()).to_json();
    assert_eq!((&json["kind"], &json["schema_version"]), (&"history_trend".into(), &1.into()));
    assert_eq!(json["left_out"]["failed"], 1);
    let series = &json["series"][0];
    assert_eq!(series["runs"].as_array().map(Vec::len), Some(25));
    assert_eq!(series["runs"][0]["values"]["rate"]["bound"], "exact");
    let [change] = &series["metrics"][0]["changes"].as_array().expect("a list")[..] else {
        panic!("{json}")
    };
    assert_eq!((&change["id"], &change["p"]), (&13.into(), &0.001.into()));
    let relative = change["change"].as_f64().expect("a number");
    assert!((relative - 0.2).abs() < 0.01, "{change}");
}

/// The result for exporters has the plots, the change in words, and a row for each metric of each
/// run.
#[test]
fn a_trend_is_built_for_exporters() {
    let built = trend(step()).built(3);
    let blocks = &built.report.sections[0].blocks;
    let plots: Vec<&Plot> = blocks
        .iter()
        .filter_map(|block| if let Block::Plot(plot) = block { Some(plot) } else { None })
        .collect();
    let names: Vec<&str> = plots.iter().map(|plot| plot.name.as_str()).collect();
    assert_eq!(names, ["trend-1-1", "trend-1-2"]);
    let [p99, rate] = [plots[0], plots[1]];
    let mut dots = 0;
    let mut levels = Vec::new();
    let mut events = Vec::new();
    for mark in &p99.marks {
        match mark {
            Mark::Dots { x, labels, .. } => {
                dots = x.len();
                assert_eq!(labels[19], "#20 2026-11-20 10:00 v2");
            }
            Mark::Line { y, .. } => levels = y.iter().flatten().copied().collect(),
            Mark::Events { x, .. } => events = x.clone(),
            Mark::Ranges { low, .. } => assert_eq!(low.len(), 25),
            _ => panic!("{mark:?}"),
        }
    }
    assert_eq!(dots, 25);
    assert_eq!(levels, [4.022e6, 4.022e6, 4.824e6, 4.824e6]);
    assert_eq!(events, [1_761_991_200.0 + 13.0 * 86_400.0]);
    assert!(!rate.marks.iter().any(|mark| matches!(mark, Mark::Events { .. } | Mark::Line { .. })));
    assert_eq!(built.data.rows.len(), 50);
    let row = &built.data.rows[24];
    assert_eq!((&row[1], &row[5], &row[6]), (&13.into(), &"p99".into(), &"ns".into()));
    assert!(row[11].as_f64().is_some_and(|change| (change - 0.199).abs() < 0.01), "{row:?}");
    assert!(built.text.contains("+19.9% from #13") && built.json["kind"] == "history_trend");
}

/// A metric that no run has is no plot, and series have numbers in the titles of their plots.
#[test]
fn a_plot_needs_values() {
    let mut runs = step();
    for run in &mut runs[..3] {
        run.entry.key = key("6.19.2", 10);
        run.values[0] = None;
    }
    let built = trend(runs).built(3);
    let plots = built.report.sections[0].blocks.iter().filter_map(|block| match block {
        Block::Plot(plot) => Some(plot.title.as_str()),
        _ => None,
    });
    let expected = [
        "Requests/s over time, series 1",
        "p99 over time, series 2",
        "Requests/s over time, series 2",
    ];
    assert_eq!(plots.collect::<Vec<_>>(), expected);
}

//! A trend as a result that the formats of weir-report are written from: a report with a plot of
//! each metric over time, and a table of all values.

use serde_json::Value;
use weir_report::findings::{Built, Data};
use weir_report::view::{
    Axis, AxisUnit, Block, Fact, Line, Mark, Plot, Report, Role, Row, Section, Table, TableKind,
    Tone, short,
};
use weir_result::quantile::Bound;
use weir_text::printable;

use super::text::{TOO_FEW, change_lines, changes_at, differences, load_of, machine_of, range};
use super::{MetricTrend, RUNS_MIN, Series, Trend, TrendRun};
use crate::list::{Layout, title};

/// Nanoseconds in a second.
const S: f64 = 1e9;

impl Trend {
    /// Returns the trend for exporters. `rows` is the greatest number of runs in the table of the
    /// report.
    pub fn built(&self, rows: usize) -> Built {
        Built {
            report: self.report(rows),
            text: self.to_text(Layout { width: None, has_blocks: true }, rows),
            json: self.to_json(),
            data: self.data(),
        }
    }

    fn report(&self, rows: usize) -> Report {
        let mut blocks = Vec::new();
        let mut table = None;
        for (index, series) in self.series.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &self.series[before]);
            blocks.push(self.series_block(index, before));
            blocks.extend((0..series.metrics.len()).map(|at| changes(series, at)));
            let number = (self.series.len() > 1).then_some(index + 1);
            let plots = (0..series.metrics.len()).filter_map(|at| plot(series, at, number));
            blocks.extend(plots.map(Block::Plot));
            if self.is_current(series) {
                table = Some(Block::Table(runs(series, rows)));
            }
        }
        let remarks = self.remarks().into_iter().map(|sentences| sentences.join(" "));
        let notes = remarks.map(Block::Note).collect();
        Report {
            title: "Trend".to_owned(),
            about: vec![Fact::text(self.name.to_string()), Fact::text(self.extent())],
            highlights: Vec::new(),
            sections: vec![
                Section { title: "Trend", blocks },
                Section { title: "Runs", blocks: table.into_iter().collect() },
                Section { title: "Notes", blocks: notes },
            ],
        }
    }

    /// The load and the machine of a series, or its differences from the one before.
    fn series_block(&self, index: usize, before: Option<&Series>) -> Block {
        let series = &self.series[index];
        let mut lines = vec![series.extent()];
        match before {
            None => {
                lines.push(load_of(&series.key.plan));
                lines.push(machine_of(&series.key.machine));
            }
            Some(before) => lines.extend(differences(&before.key, &series.key)),
        }
        if series.runs.len() < RUNS_MIN {
            lines.push(TOO_FEW.to_owned());
        }
        let sentences = lines.into_iter().map(|text| Line::sentence(Fact::text(text)));
        Block::entry(&self.title(index), sentences.collect())
    }

    fn data(&self) -> Data {
        let titles = vec![
            "series", "id", "time", "grade", "tags", "metric", "unit", "value", "low", "high",
            "bound", "change",
        ];
        let mut rows = Vec::new();
        for (number, series) in (1..).zip(&self.series) {
            for (index, run) in series.runs.iter().enumerate() {
                let metrics = series.metrics.iter().enumerate();
                rows.extend(metrics.map(|(at, of)| datum(number, run, index, at, of)));
            }
        }
        Data { titles, rows }
    }
}

/// A row of the table for programs: a metric of a run.
fn datum(series: u64, run: &TrendRun, index: usize, at: usize, of: &MetricTrend) -> Vec<Value> {
    let measured = run.values[at];
    let interval = run.intervals[at];
    let change = of.changes.iter().flatten().find(|change| change.run == index);
    vec![
        series.into(),
        run.entry.id.into(),
        run.entry.time.clone().into(),
        run.entry.grade.in_words().into(),
        run.entry.tags.join(" ").into(),
        of.metric.to_string().into(),
        of.metric.unit().into(),
        measured.map(|measured| measured.value).into(),
        interval.map(|(low, _)| low).into(),
        interval.map(|(_, high)| high).filter(|high| high.is_finite()).into(),
        measured.map(|measured| measured.bound.in_words()).into(),
        change.map(|change| change.point.change()).into(),
    ]
}

/// The range of a metric and its changes.
fn changes(series: &Series, at: usize) -> Block {
    let of = &series.metrics[at];
    let values: Vec<Option<f64>> =
        series.runs.iter().map(|run| run.values[at].map(|measured| measured.value)).collect();
    let changes = of.changes.iter().flatten().flat_map(|change| change_lines(series, of, change));
    let changes = changes.map(|text| Fact::text(text).toned(Tone::Main));
    let range = Fact::text(range(of, &values));
    let sentences = [range].into_iter().chain(changes).map(Line::sentence);
    Block::entry(&title(&of.metric.to_string()), sentences.collect())
}

/// Plots a metric over time: its values with their intervals, the levels, and the changes. `number`
/// is the series' number if there are several. Returns `None` if no run has the metric.
fn plot(series: &Series, at: usize, number: Option<usize>) -> Option<Plot> {
    let of = &series.metrics[at];
    let points = points(series, at);
    let label = of.metric.title();
    let named = |name: &str, role, is_bound: bool| {
        let those = points.iter().filter(|point| (point.bound != Bound::Exact) == is_bound);
        let (x, (y, labels)): (Vec<f64>, (Vec<f64>, Vec<String>)) =
            those.map(|point| (point.at_s, (short(point.value), point.label.clone()))).unzip();
        (!x.is_empty()).then(|| Mark::Dots { name: name.to_owned(), role, x, y, labels })
    };
    let dots =
        [named(&label, Role::Main, false), named("a bound of the true value", Role::Second, true)];
    let marks: Vec<Mark> = [ranges(&points), levels(series, of, &points)]
        .into_iter()
        .chain(dots)
        .chain([events(series, of)])
        .flatten()
        .collect();
    let which = number.map_or_else(String::new, |number| format!(", series {number}"));
    let name = format!("trend-{}-{}", number.unwrap_or(1), at + 1);
    let title = format!("{} over time{which}", printable(&label));
    let about = "Each point is a run, at its start (UTC). Triangles mark the runs from which on a \
                 level is new; the dashed line is the median of each level.";
    let x = Axis::linear("Start of the run (UTC)", AxisUnit::Date);
    let axes = [x, Axis::linear("", AxisUnit::of(&of.metric))];
    (!points.is_empty()).then(|| Plot::new([&name, &title], about, axes, marks))
}

/// A value of a plot.
struct PlotPoint {
    run: usize,
    /// Start of the run in seconds since 1970.
    at_s: f64,
    value: f64,
    bound: Bound,
    interval: Option<(f64, f64)>,
    /// ID, time, and tags.
    label: String,
}

fn points(series: &Series, at: usize) -> Vec<PlotPoint> {
    let point = |(run, of): (usize, &TrendRun)| {
        let measured = of.values[at]?;
        let tags: Vec<String> = of.entry.tags.iter().map(|tag| format!(" {tag}")).collect();
        Some(PlotPoint {
            run,
            at_s: of.at_s(),
            value: measured.value,
            bound: measured.bound,
            interval: of.intervals[at].filter(|(_, high)| high.is_finite()),
            label: format!("#{} {}{}", of.entry.id, of.entry.minute(), printable(&tags.concat())),
        })
    };
    series.runs.iter().enumerate().filter_map(point).collect()
}

fn ranges(points: &[PlotPoint]) -> Option<Mark> {
    let known = points.iter().filter_map(|point| Some((point.at_s, point.interval?)));
    let known: Vec<(f64, (f64, f64))> = known.collect();
    (!known.is_empty()).then(|| Mark::Ranges {
        name: "95% interval within the run".to_owned(),
        role: Role::Main,
        x: known.iter().map(|(at_s, _)| *at_s).collect(),
        low: known.iter().map(|(_, (low, _))| short(*low)).collect(),
        high: known.iter().map(|(_, (_, high))| short(*high)).collect(),
    })
}

/// The level of each stretch between two changes, as steps; `None` without a change.
fn levels(series: &Series, of: &MetricTrend, points: &[PlotPoint]) -> Option<Mark> {
    let changes = of.changes.as_ref().filter(|changes| !changes.is_empty())?;
    let mut x = Vec::new();
    let mut y = Vec::new();
    let mut stretch = |from: usize, to: usize, level: f64| {
        let mut inside = points.iter().filter(|point| (from..to).contains(&point.run));
        let Some(first) = inside.next() else { return };
        let last = inside.next_back().unwrap_or(first);
        x.extend([first.at_s, last.at_s, last.at_s]);
        y.extend([Some(short(level)), Some(short(level)), None]);
    };
    stretch(0, changes[0].run, changes[0].point.before);
    let ends = changes.iter().skip(1).map(|next| next.run).chain([series.runs.len()]);
    for (change, end) in changes.iter().zip(ends) {
        stretch(change.run, end, change.point.after);
    }
    Some(Mark::Line { name: "level".to_owned(), role: Role::Reference, x, y })
}

fn events(series: &Series, of: &MetricTrend) -> Option<Mark> {
    let at = |run: usize| series.runs[run].at_s();
    let x: Vec<f64> = of.changes.iter().flatten().map(|change| at(change.run)).collect();
    let count = vec![1; x.len()];
    (!x.is_empty()).then(|| Mark::Events { name: "change".to_owned(), x, count })
}

/// The newest runs of a series, oldest first.
fn runs(series: &Series, rows: usize) -> Table {
    let hidden = series.runs.len().saturating_sub(rows);
    let row = |(index, run): (usize, &TrendRun)| {
        let values = series.metrics.iter().zip(&run.values).map(|(of, measured)| {
            measured.map(|measured| of.metric.print_measured(&measured)).unwrap_or_default()
        });
        let ends = [changes_at(series, index), run.entry.tags.join(" ")];
        let cells = [run.entry.grade.in_words().to_owned()].into_iter().chain(values).chain(ends);
        Row::new(format!("#{} {}", run.entry.id, run.entry.minute()), cells)
    };
    let metrics = series.metrics.iter().map(|of| title(&of.metric.to_string()));
    let ends = ["Change", "Tags"].map(str::to_owned);
    let caption = match hidden {
        0 => String::new(),
        hidden => format!("the newest {} of {}", rows, rows + hidden),
    };
    let columns = ["Grade".to_owned()].into_iter().chain(metrics).chain(ends);
    let rows = series.runs.iter().enumerate().skip(hidden).map(row);
    Table { caption, ..Table::new(TableKind::Metrics, "Run", columns, rows) }
}

impl TrendRun {
    /// Start of the run in seconds since 1970.
    fn at_s(&self) -> f64 {
        self.epoch_unix_ns as f64 / S
    }
}

//! Studies, comparisons and a trend to print, written by hand.

use weir_report::view::{
    Axis, AxisUnit, Block, Entry, Fact, Form, Line, Mark, Plot, Report, Role, Section,
};
use weir_result::document::Tool;
use weir_result::study::{
    Answer, Cell, Comparison, Design, Factor, Hooks, Level, MetricComparison, MetricOverRuns,
    MetricVerdict, Pairing, Repetition, SearchBound, SearchClaim, SearchEffort, SearchEnd,
    SearchResult, SearchTrial, ShiftLevel, Side, StudyResult, StudyState, Sweep, SweepCell, Trial,
    TrialOutcome, TrialUse,
};
use weir_result::{Arrivals, Document, Note, STUDY_VERSION, Study};

use crate::fixture::{Fixture, MS};

/// A comparison of two variants by ten pairs.
pub(crate) fn compared(name: &str, answer: Answer) -> Comparison {
    let metric = |metric: &str, answer, change: f64| MetricComparison {
        metric: metric.to_owned(),
        base: "10,000/s".to_owned(),
        new: "9,000/s".to_owned(),
        change: Some(change),
        is_least: false,
        low: Some(change - 0.01),
        high: Some(change + 0.01),
        p: Some(0.002),
        verdict: MetricVerdict::of(answer),
        sentence: format!("{name} is slower: Requests/s −10.0% [−11.0%, −9.0%]"),
    };
    Comparison {
        base: Side { name: "old".to_owned(), runs: 10 },
        new: Side { name: name.to_owned(), runs: 10 },
        pairing: Pairing::Pairs,
        threshold: 0.02,
        confidence: 0.95,
        metrics: vec![metric("rate", answer, -0.1), metric("p99", Answer::Undecided, 0.001)],
        shift: vec![ShiftLevel {
            percentile: 99.0,
            base_ns: 2 * MS,
            new_ns: 3 * MS,
            change: 0.5,
            low: 0.4,
            high: 0.6,
        }],
        not_comparable: Vec::new(),
        warnings: vec![Note::new("NOT_INTERLEAVED", "the runs of A and B were made apart")],
    }
}

/// The same with a shift function.
pub(crate) fn comparison(name: &str) -> Comparison {
    let level = |percentile: f64| ShiftLevel {
        percentile,
        base_ns: 2 * MS,
        new_ns: 3 * MS,
        change: 0.5,
        low: 0.4,
        high: 0.6,
    };
    let shift = [50.0, 90.0, 99.0, 99.9].map(level).into();
    Comparison { shift, ..compared(name, Answer::Worse) }
}

fn run(service_ns: u64) -> Document {
    Fixture::closed_loop().spread(2_000, service_ns, 2 * service_ns).document()
}

fn study(design: Design, cells: &[&str], rounds: u32, result: StudyResult) -> Study {
    let cell = |name: &&str| Cell {
        name: (*name).to_owned(),
        words: vec!["-c10".to_owned(), format!("http://h/{name}")],
        spec: None,
        levels: Vec::new(),
    };
    let mut trials = Vec::new();
    for round in 1..=rounds {
        for cell in 0..u32::try_from(cells.len()).expect("few") {
            let number = u32::try_from(trials.len()).expect("few") + 1;
            trials.push(Trial {
                number,
                cell,
                round,
                started: "2026-01-02T03:04:05Z".to_owned(),
                settling: None,
                before: None,
                after: None,
                is_superseded: false,
                outcome: TrialOutcome::Measured(Box::new(run(MS + u64::from(number) * 10_000))),
            });
        }
    }
    Study {
        study_version: STUDY_VERSION,
        tool: Tool { name: "weir".to_owned(), version: "0.1.0".to_owned() },
        started: "2026-01-02T03:04:05.123456789Z".to_owned(),
        command: vec!["weir".to_owned()],
        design,
        seed: 7,
        hooks: Hooks::default(),
        cells: cells.iter().map(cell).collect(),
        trials,
        state: StudyState::Complete,
        result: Some(result),
        notes: Vec::new(),
    }
}

/// Two variants in three pairs. The name of B may be hostile.
pub(crate) fn ab(name: &str) -> Study {
    let metrics = vec!["rate".to_owned(), "p99".to_owned()];
    let design = Design::Ab { metrics, threshold: 0.02, pairs: None };
    study(design, &["old", name], 3, StudyResult::Comparison(comparison(name)))
}

fn over_runs(metric: &str, mean: f64) -> MetricOverRuns {
    MetricOverRuns {
        metric: metric.to_owned(),
        runs: 3,
        mean,
        sd: Some(mean / 100.0),
        low: Some(0.97 * mean),
        high: Some(1.03 * mean),
        min: 0.99 * mean,
        max: 1.01 * mean,
        bounds: 1,
        outliers: Vec::new(),
    }
}

pub(crate) fn repeat() -> Study {
    let metrics = vec![over_runs("rate", 20_000.0), over_runs("p99", 2e6)];
    let design = Design::Repeat { runs: 3, metrics: vec!["rate".to_owned(), "p99".to_owned()] };
    study(design, &[""], 3, StudyResult::Repeat(Repetition { runs: 3, metrics }))
}

pub(crate) fn sweep() -> Study {
    let values = ["1", "10", "100"];
    let cells: Vec<SweepCell> = (0..)
        .zip(&values)
        .map(|(cell, value)| {
            let connections: f64 = value.parse().expect("a number");
            let rate = over_runs("rate", 1_000.0 * connections);
            let metrics = vec![Some(rate), Some(over_runs("p99", 1e6 + 1e4 * connections))];
            SweepCell { cell, runs: 3, limit: None, refused: 0, metrics }
        })
        .collect();
    let factors = vec![Factor { name: "c".to_owned(), values: values.map(str::to_owned).to_vec() }];
    let design = Design::Sweep {
        factors,
        repetitions: 1,
        ratio: None,
        metrics: vec!["rate".to_owned(), "p99".to_owned()],
    };
    let result = StudyResult::Sweep(Sweep { cells, ..Sweep::default() });
    let mut study = study(design, &["c=1", "c=10", "c=100"], 1, result);
    for (cell, value) in study.cells.iter_mut().zip(values) {
        cell.levels = vec![Level { factor: "c".to_owned(), value: value.to_owned() }];
    }
    study
}

pub(crate) fn search() -> Study {
    let effort = SearchEffort {
        initial_s: 5.0,
        final_s: 15.0,
        sum_s: 30.0,
        violations_min: 10.0,
        width: 0.1,
        warmup_s: 1.0,
        narrow_trials: 12,
        trials_max: 30,
    };
    let trial = |rate_rps: Option<f64>, used| SearchTrial {
        rate_rps,
        connections: 64,
        duration_s: 15.0,
        completed_rps: rate_rps.unwrap_or(50_000.0),
        shares: vec![0.005],
        waits: Some(0.0),
        growth: None,
        used,
        text: String::new(),
    };
    let bound = |rate_rps, share| SearchBound {
        rate_rps,
        good: 3,
        bad: 0,
        requests: 60_000,
        claim: 0,
        share,
        share_low: 0.8 * share,
        share_high: 1.2 * share,
        reach_rps: None,
        growth: None,
    };
    let found = SearchResult {
        claims: vec![SearchClaim {
            text: "p99 < 10ms".to_owned(),
            share_max: 0.01,
            slow_ns: Some(10 * MS),
        }],
        effort,
        lower: Some(bound(20_000.0, 0.005)),
        upper: Some(bound(22_000.0, 0.05)),
        undecided_rps: Vec::new(),
        end: SearchEnd::WithinGoal,
        support: Some(40.0),
        trials: vec![
            trial(None, TrialUse::Guess),
            trial(Some(40_000.0), TrialUse::Bad),
            trial(Some(20_000.0), TrialUse::Good),
            trial(Some(22_000.0), TrialUse::Bad),
        ],
    };
    let design = Design::Search {
        objective: "p99 < 10ms".to_owned(),
        effort,
        arrivals: Arrivals::Uniform,
        connections: 64,
        connections_max: 1_000,
        rate_max_rps: None,
    };
    study(design, &[""], 4, StudyResult::Search(found))
}

/// The page of a history, with the marks that only it has.
pub(crate) fn trend() -> Report {
    let x: Vec<f64> = (0..20).map(|day| 1.761_991_2e9 + 86_400.0 * f64::from(day)).collect();
    let y: Vec<f64> = (0..20).map(|day| if day < 12 { 4e6 } else { 4.8e6 }).collect();
    let plot = Plot {
        name: "trend-1-1".to_owned(),
        title: "p99 over time".to_owned(),
        about: "Each point is a run.".to_owned(),
        x: Axis::linear("Start of the run (UTC)", AxisUnit::Date),
        y: Axis::linear("", AxisUnit::Nanoseconds),
        marks: vec![
            Mark::Ranges {
                name: "95% interval".to_owned(),
                role: Role::Main,
                x: x.clone(),
                low: y.iter().map(|y| 0.9 * y).collect(),
                high: y.iter().map(|y| 1.1 * y).collect(),
            },
            Mark::Line {
                name: "level".to_owned(),
                role: Role::Reference,
                x: x.clone(),
                y: y.iter().copied().map(Some).collect(),
            },
            Mark::Dots {
                name: "p99".to_owned(),
                role: Role::Main,
                labels: (1..=20).map(|id| format!("#{id} v1")).collect(),
                x: x.clone(),
                y,
            },
            Mark::Events { name: "change".to_owned(), x: vec![x[12]], count: vec![1] },
        ],
    };
    let line = Line { form: Form::Facts, facts: vec![Fact::text("4.00 ms to 4.80 ms")] };
    let entry = Block::Entry(Entry { label: "p99".to_owned(), lines: vec![line] });
    Report {
        title: "Trend".to_owned(),
        about: vec![Fact::text("nginx")],
        highlights: Vec::new(),
        sections: vec![Section { title: "Trend", blocks: vec![entry, Block::Plot(plot)] }],
    }
}

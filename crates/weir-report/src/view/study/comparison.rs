//! The report of a comparison: the verdict on the primary metric, all metrics, the shift function.

use weir_result::document::Note;
use weir_result::study::{Answer, Comparison, MetricComparison, Pairing, ShiftLevel};
use weir_text::units;
use weir_verdict::NamedMetric;

use super::super::plot::study as plot;
use super::super::{Block, Cell, Fact, Notice, Row, Section, Table, TableKind, Tone, titles};

/// The sections of a comparison; `runs` is the plot of its runs, if it has them.
pub(super) fn sections(found: &Comparison, runs: Option<Block>) -> Vec<Section> {
    let metrics = [Block::Table(metrics(found))].into_iter().chain(runs).collect();
    let mut sections = vec![
        Section { title: "Verdict", blocks: verdict(found) },
        Section { title: "Metrics", blocks: metrics },
    ];
    if !found.shift.is_empty() {
        let table = Block::Table(shift(found));
        let blocks = [table].into_iter().chain(plot::shift(found)).collect();
        sections.push(Section { title: "Shift", blocks });
    }
    sections
}

/// The verdict, and what stands against one.
fn verdict(found: &Comparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    if found.not_comparable.is_empty() {
        let primary = found.primary();
        let sentence = primary.map_or("", |primary| primary.sentence.as_str());
        let tone = primary.map_or(Tone::Plain, |primary| tone(primary.verdict.answer));
        blocks.push(Block::sentence("Verdict", Fact::text(sentence).toned(tone)));
    } else {
        blocks.push(Block::sentence("Verdict", Fact::text(found.sentence()).toned(Tone::Bad)));
    }
    let warnings = found.warnings.iter().map(|note| Block::Note(Notice::OfRun(coded(note))));
    blocks.extend(warnings);
    blocks
}

/// Formats a warning with its code if it is one that METHOD names.
fn coded(note: &Note) -> String {
    match note.code.as_str() {
        "NOT_INTERLEAVED" => format!("NOT_INTERLEAVED: {}", note.text),
        _ => note.text.clone(),
    }
}

fn tone(answer: Answer) -> Tone {
    match answer {
        Answer::Better => Tone::Good,
        Answer::Worse => Tone::Bad,
        Answer::Undecided | Answer::None => Tone::Caution,
        Answer::Different | Answer::BelowThreshold | Answer::Equivalent => Tone::Main,
    }
}

/// Greatest length of a name as the title of a column.
const NAME_MAX: usize = 20;

/// Titles of the columns of both sides: their names, if both are short enough to be whole.
pub(super) fn heads(names: [&str; 2]) -> [&str; 2] {
    let is_short = |name: &str| !name.is_empty() && name.chars().count() <= NAME_MAX;
    let are_clear = names[0] != names[1] && names.into_iter().all(is_short);
    if are_clear { names } else { ["A", "B"] }
}

fn heads_of(found: &Comparison) -> [&str; 2] {
    heads([&found.base.name, &found.new.name])
}

fn metrics(found: &Comparison) -> Table {
    let is_test = found.pairing != Pairing::Single;
    let [a, b] = heads_of(found);
    let columns = match is_test {
        true => titles([a, b, "Change", "Interval", "Verdict"]),
        false => titles([a, b, "Change"]),
    };
    let interval = format!("{} intervals", units::short_percent(found.confidence));
    Table {
        kind: TableKind::Metrics,
        title: "Metric",
        caption: if is_test { interval } else { String::new() },
        columns,
        rows: found.metrics.iter().map(|entry| row(entry, is_test)).collect(),
        legend: Vec::new(),
    }
}

fn row(entry: &MetricComparison, is_test: bool) -> Row {
    let title = entry.metric.parse::<NamedMetric>().map(|metric| metric.title());
    let label = Cell::Text(title.unwrap_or_else(|_| entry.metric.clone()));
    let change = match entry.change {
        Some(change) if entry.is_least && change < 0.0 => format!("≤ {}", signed(change)),
        Some(change) if entry.is_least => format!("≥ {}", signed(change)),
        Some(change) => signed(change),
        // Bounds that allow equal values.
        None if entry.is_least => "may be 0%".to_owned(),
        None => "–".to_owned(),
    };
    let mut cells =
        vec![Cell::Text(entry.base.clone()), Cell::Text(entry.new.clone()), Cell::Text(change)];
    if is_test {
        cells.push(Cell::Text(range(entry.low, entry.high)));
        let answer = match entry.verdict.answer {
            Answer::None => "–",
            answer => answer.in_words(),
        };
        cells.push(Cell::Text(answer.to_owned()));
    }
    Row { label, cells, remark: None, tone: tone(entry.verdict.answer) }
}

fn shift(found: &Comparison) -> Table {
    let [a, b] = heads_of(found);
    let row = |level: &ShiftLevel| Row {
        label: Cell::Text(format!("p{}", units::number(level.percentile))),
        cells: vec![
            Cell::Duration(level.base_ns),
            Cell::Duration(level.new_ns),
            Cell::Text(signed(level.change)),
            Cell::Text(range(Some(level.low), Some(level.high))),
        ],
        remark: None,
        tone: Tone::Plain,
    };
    Table {
        kind: TableKind::Metrics,
        title: "Response time",
        caption: format!(
            "difference at each percentile, {} intervals",
            units::short_percent(found.confidence)
        ),
        columns: titles([a, b, "Change", "Interval"]),
        rows: found.shift.iter().map(row).collect(),
        legend: Vec::new(),
    }
}

fn range(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} … {}", signed(low), signed(high)),
        _ => "–".to_owned(),
    }
}

/// Formats a relative change with its sign: `+8.1%`, `−0.6%`.
fn signed(change: f64) -> String {
    let sign = if change < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1}%", 100.0 * change.abs())
}

//! The report of a comparison: the verdict on the primary metric, all metrics, the shift function.

use weir_result::study::{Answer, Comparison, MetricComparison, Pairing, ShiftLevel};
use weir_text::units;
use weir_verdict::NamedMetric;

use super::super::{Block, Fact, Plot, Row, Section, Table, TableKind, Tone};
use crate::view::plots::study as plots;

/// The sections of a comparison; `runs` is the plot of its runs, if it has them.
pub(super) fn sections(found: &Comparison, runs: Option<Plot>) -> Vec<Section> {
    let runs = runs.map(Block::Plot);
    let metrics = [Block::Table(metrics(found))].into_iter().chain(runs).collect();
    let mut sections = vec![
        Section { title: "Verdict", blocks: verdict(found) },
        Section { title: "Metrics", blocks: metrics },
    ];
    if !found.shift.is_empty() {
        let table = Block::Table(shift(found));
        let blocks =
            [table].into_iter().chain(plots::shift(found).into_iter().map(Block::Plot)).collect();
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
    let warnings = found.warnings.iter().map(|note| match note.code.as_str() {
        // METHOD names this one.
        "NOT_INTERLEAVED" => format!("NOT_INTERLEAVED: {}", note.text),
        _ => note.text.clone(),
    });
    blocks.extend(warnings.map(Block::Note));
    blocks
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
    let columns = &[a, b, "Change", "Interval", "Verdict"][..if is_test { 5 } else { 3 }];
    let interval = format!("{} intervals", units::short_percent(found.confidence));
    let caption = if is_test { interval } else { String::new() };
    let rows = found.metrics.iter().map(|entry| row(entry, is_test));
    Table { caption, ..Table::new(TableKind::Metrics, "Metric", columns.iter().copied(), rows) }
}

fn row(entry: &MetricComparison, is_test: bool) -> Row {
    let title = entry.metric.parse::<NamedMetric>().map(|metric| metric.title());
    let label = title.unwrap_or_else(|_| entry.metric.clone());
    let change = match entry.change {
        Some(change) if entry.is_least && change < 0.0 => format!("≤ {}", units::change(change)),
        Some(change) if entry.is_least => format!("≥ {}", units::change(change)),
        Some(change) => units::change(change),
        // Bounds that allow equal values.
        None if entry.is_least => "may be 0%".to_owned(),
        None => "–".to_owned(),
    };
    let mut cells = vec![entry.base.clone(), entry.new.clone(), change];
    if is_test {
        let answer = match entry.verdict.answer {
            Answer::None => "–",
            answer => answer.in_words(),
        };
        cells.extend([range(entry.low, entry.high), answer.to_owned()]);
    }
    Row { tone: tone(entry.verdict.answer), ..Row::new(label, cells) }
}

fn shift(found: &Comparison) -> Table {
    let [a, b] = heads_of(found);
    let row = |level: &ShiftLevel| {
        let change = [units::change(level.change), range(Some(level.low), Some(level.high))];
        let times = [level.base_ns, level.new_ns].map(units::duration);
        let cells = times.into_iter().chain(change);
        Row::new(format!("p{}", units::number(level.percentile)), cells)
    };
    let confidence = units::short_percent(found.confidence);
    let columns = [a, b, "Change", "Interval"];
    let rows = found.shift.iter().map(row);
    Table {
        caption: format!("difference at each percentile, {confidence} intervals"),
        ..Table::new(TableKind::Metrics, "Response time", columns, rows)
    }
}

fn range(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} … {}", units::change(low), units::change(high)),
        _ => "–".to_owned(),
    }
}

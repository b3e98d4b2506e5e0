//! The table `Results by stage` of a load in stages: counts, rates, response times and the grade of
//! each, and the verdict on those that were not clean or missed their plan.

use weir_result::document::{Delivery, Grade, LimitedBy, StageSection, StageVerdict, TargetState};
use weir_result::{Document, Load};
use weir_text::setting::VERBOSE;
use weir_text::units::{self, DurationColumn};

use super::names::is_explained;
use super::scopes::{self, COLUMNS};
use super::{Block, CellValue, Detail, Fact, Form, Line, Row, Table, TableKind, Tone};

/// Sentences about stages that are printed without `verbose`.
const SENTENCES_MAX: usize = 5;

/// Least stages that share a sentence which then stands once.
const SHARED_LEAST: usize = 2;

/// Builds the table and the verdicts; none without stages. `explained` has the explanations of
/// marks that precede them.
pub(super) fn blocks(document: &Document, detail: &Detail, explained: &[Block]) -> Vec<Block> {
    if document.stages.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![table(document, explained)];
    blocks.extend(verdicts(document, detail));
    blocks
}

fn table(document: &Document, explained: &[Block]) -> Block {
    let stages = &document.stages;
    let unit = scopes::unit(stages.iter().map(|stage| &stage.results));
    let rows = stages.iter().enumerate().map(|(index, stage)| row(index, stage, unit));
    let columns = ["due", "failed", "due/s", "responses/s"].into_iter();
    let columns = columns.chain(COLUMNS.map(|(title, _)| title)).chain(["grade", "limit"]);
    let mut table = Table::new(TableKind::Names, "Results by stage", columns, rows);
    table.caption = format!("({})", document.headline_time().0);
    table.legend = legend(document);
    table.legend.retain(|note| !is_explained(note, explained));
    Block::Table(table)
}

/// Returns the verdicts on the stages that were not clean, or missed their plan. A sentence that
/// several stages share stands once, before those of single stages.
fn verdicts(document: &Document, detail: &Detail) -> Option<Block> {
    let stages = document.stages.iter().enumerate();
    let verdicts = stages.filter_map(|(index, stage)| Some((index + 1, stage.verdict.as_ref()?)));
    let all = verdicts.map(|(number, verdict)| (number, sentences(verdict, &document.plan.load)));
    let reported: Vec<_> = all.filter(|(_, sentences)| !sentences.is_empty()).collect();
    let with = |text: &String| -> Vec<usize> {
        let with = reported.iter().filter(|(_, sentences)| sentences.contains(text));
        with.map(|(number, _)| *number).collect()
    };
    let mut lines: Vec<String> = Vec::new();
    for text in reported.iter().flat_map(|(_, sentences)| sentences) {
        let numbers = with(text);
        let line = format!("{}: {text}", runs_of(&numbers));
        if numbers.len() >= SHARED_LEAST && !lines.contains(&line) {
            lines.push(line);
        }
    }
    for (number, sentences) in &reported {
        let own = sentences.iter().filter(|text| with(text).len() < SHARED_LEAST);
        let own: Vec<&str> = own.map(String::as_str).collect();
        if !own.is_empty() {
            lines.push(format!("{number}: {}", own.join("; ")));
        }
    }
    entry("Stages", lines, detail)
}

/// Formats ascending numbers: `1 to 3, 5`.
fn runs_of(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let words = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns an entry with these sentences; the first ones if it is not verbose.
pub(super) fn entry(label: &str, sentences: Vec<String>, detail: &Detail) -> Option<Block> {
    let all = sentences.len();
    let shown = if detail.verbose { all } else { all.min(SENTENCES_MAX) };
    let sentences = sentences.into_iter().take(shown);
    let mut lines: Vec<Line> = sentences.map(|text| Line::item(Fact::text(text))).collect();
    if shown < all {
        let more = Fact::counted((all - shown) as u64, "more sentence");
        let fact = more.then(&format!(": {VERBOSE} shows all")).toned(Tone::Aside);
        lines.push(Line { form: Form::Remark, facts: vec![fact] });
    }
    (!lines.is_empty()).then(|| Block::entry(label, lines))
}

/// Returns the sentences of a verdict that say more than the table.
fn sentences(verdict: &StageVerdict, plan: &Load) -> Vec<String> {
    let StageVerdict { reason, target, load, limit, .. } = verdict;
    let reasons = reason.split("; ").filter(|text| !text.is_empty() && *text != target.text);
    let mut sentences: Vec<String> = reasons.map(str::to_owned).collect();
    sentences.extend((target.state != TargetState::Ok).then(|| format!("target: {}", target.text)));
    sentences.extend((load.delivery != Delivery::AsPlanned).then(|| format!("load {}", load.text)));
    // The line `Limit` of the run has the evidence. In a closed loop it is that of each stage.
    let has_missed = plan.is_open_loop() && limit.by != LimitedBy::Rate;
    sentences.extend(has_missed.then(|| format!("limit {}", limit.by.in_words())));
    sentences
}

fn row(index: usize, stage: &StageSection, unit: DurationColumn) -> Row {
    let results = &stage.results;
    let mut cells = scopes::counts(results).to_vec();
    cells.push(CellValue::from(units::rate(stage.planned_rps).trim_end_matches("/s")));
    cells.push(CellValue::from(scopes::rate(results)));
    cells.extend(scopes::percentiles(results, unit));
    let verdict = stage.verdict.as_ref();
    cells.push(verdict.map_or_else(CellValue::default, |of| {
        let tone = match of.grade {
            Grade::Clean => Tone::Plain,
            Grade::Bounded => Tone::Caution,
            Grade::Failed | Grade::Void => Tone::Bad,
        };
        CellValue::toned(of.grade.in_words(), tone)
    }));
    cells.push(verdict.map_or_else(CellValue::default, |of| of.limit.by.in_words().into()));
    Row::new(format!("{}: {}", index + 1, stage.load), cells)
}

/// Explains the marks in the table.
fn legend(document: &Document) -> Vec<String> {
    let stages = document.stages.iter().map(|stage| &stage.results);
    let mut legend = scopes::marks(stages.clone(), "in this stage");
    if { stages }.any(|of| of.completed_interval.is_some()) {
        legend.push("±: 95% interval, of stages with a constant rate".to_owned());
    }
    legend
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_in_a_row_are_named_together() {
        for (numbers, expected) in
            [(&[1, 2, 3][..], "1 to 3"), (&[2], "2"), (&[1, 2, 5, 7, 8], "1 to 2, 5, 7 to 8")]
        {
            assert_eq!(runs_of(numbers), expected);
        }
    }
}

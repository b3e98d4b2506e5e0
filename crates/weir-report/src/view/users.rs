//! The tables of users: how the scenarios went, and what became of the turns at their steps.

use weir_result::document::{NameSection, StepSection};
use weir_result::{Document, StepCounts};
use weir_text::units::{self, DurationColumn};

use super::names::is_explained;
use super::scopes::{self, COLUMNS};
use super::{Block, CellValue, Row, Table, TableKind, Tone};

/// Builds the tables; none without users. `explained` has the explanations of marks that precede
/// them.
pub(super) fn blocks(document: &Document, explained: &[Block]) -> Vec<Block> {
    let scenarios: Vec<&NameSection> =
        document.names.iter().filter(|name| name.is_of_users()).collect();
    if scenarios.is_empty() {
        return Vec::new();
    }
    let unit = scopes::unit(scenarios.iter().map(|name| &name.results));
    let has_progress = scenarios.iter().any(|name| name.results.in_progress > 0);
    let rows = scenarios.iter().map(|name| row(name, has_progress, unit));
    let columns = ["users", "failed"].into_iter().chain(has_progress.then_some("in progress"));
    let columns = columns.chain(["users/s"]).chain(COLUMNS.map(|(title, _)| title));
    let mut table = Table::new(TableKind::Names, "Users", columns, rows);
    table.caption = "(duration, pauses included)".to_owned();
    let marks = scopes::marks(scenarios.iter().map(|name| &name.results), "of this scenario");
    table.legend = marks.into_iter().filter(|note| !is_explained(note, explained)).collect();
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(steps(&scenarios).map(Block::Table));
    blocks
}

fn row(name: &NameSection, has_progress: bool, unit: DurationColumn) -> Row {
    let results = &name.results;
    let mut cells = scopes::counts(results).to_vec();
    let in_progress = || CellValue::from(units::count(results.in_progress));
    cells.extend(has_progress.then(in_progress));
    cells.push(CellValue::from(scopes::rate(results)));
    cells.extend(scopes::percentiles(results, unit));
    Row::new(&name.name, cells)
}

/// Builds the table of the steps at which users failed or were at the end, or that they did not
/// take; none if they took all.
fn steps(scenarios: &[&NameSection]) -> Option<Table> {
    let steps = scenarios.iter().flat_map(|name| {
        // With several scenarios a step has the name of its own.
        let prefix = (scenarios.len() > 1).then(|| format!("{}: ", name.name));
        name.steps.iter().map(move |step| (prefix.clone().unwrap_or_default(), step))
    });
    let steps: Vec<(String, &StepSection)> = steps.collect();
    let is_whole = |step: &StepSection| {
        let StepCounts { failed, skipped, not_reached, left_at_end, .. } = step.counts;
        failed + skipped + not_reached + left_at_end == 0
    };
    if steps.iter().all(|(_, step)| is_whole(step)) {
        return None;
    }
    let cell = |count: u64, tone: Tone| match count {
        0 => CellValue::default(),
        count => CellValue::toned(units::count(count), tone),
    };
    let rows = steps.iter().map(|(prefix, step)| {
        let counts = &step.counts;
        let cells = [
            CellValue::from(units::count(counts.reached)),
            cell(counts.failed, Tone::Bad),
            cell(counts.skipped, Tone::Plain),
            cell(counts.not_reached, Tone::Plain),
            cell(counts.left_at_end, Tone::Plain),
        ];
        Row::new(format!("{prefix}{}", step.name), cells)
    });
    let columns = ["reached", "failed here", "skipped", "not reached", "left at end"];
    let mut table = Table::new(TableKind::Names, "Steps", columns, rows);
    table.caption = "(of the users who arrived in the window)".to_owned();
    Some(table)
}

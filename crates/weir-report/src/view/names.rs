//! The table `Requests by name` of a run with a list: counts, rate and latency of each name.

use std::cmp::Reverse;

use weir_result::Document;
use weir_result::document::NameSection;
use weir_result::quantile::{Bound, least_count};
use weir_text::setting::VERBOSE;
use weir_text::units::{self, DurationColumn};

use super::percentiles::of_load;
use super::scopes::{self, COLUMNS};
use super::{Block, CellValue, Detail, Row, Table, TableKind};

/// Names in the table of a report that is not verbose: half of them have the most requests, the
/// others the greatest p99.
const SHOWN_MAX: usize = 20;

/// Builds the table; none without a list. `explained` has the explanations of marks that precede
/// it.
pub(super) fn blocks(document: &Document, detail: &Detail, explained: &[Block]) -> Option<Block> {
    if document.names.is_empty() {
        return None;
    }
    let has_users = document.plan.users().is_some();
    let shown = shown(document, detail.verbose);
    let unit = scopes::unit(shown.iter().map(|name| &name.results));
    let rows = shown.iter().map(|name| row(document, name, unit));
    let has_open = document.results.open_streams() > 0;
    let columns = ["requests", "failed"].into_iter().chain(has_open.then_some("open"));
    let columns = columns.chain(["requests/s"]).chain(COLUMNS.map(|(title, _)| title));
    let title = if has_users { "Requests by step" } else { "Requests by name" };
    let mut table = Table::new(TableKind::Names, title, columns, rows);
    table.caption = format!("({})", document.headline_time().0);
    table.legend = legend(document, &shown);
    table.legend.retain(|note| !is_explained(note, explained));
    Some(Block::Table(table))
}

/// Returns the names of requests.
fn of_requests(document: &Document) -> impl Iterator<Item = &NameSection> {
    let list = document.plan.list.as_ref().filter(|list| list.redirects > 0);
    // Names of redirected requests are behind all others.
    let redirects = list.map_or(usize::MAX, |list| list.request_names() / 2);
    let is_shown = move |index: usize, name: &NameSection| {
        !name.is_of_users() && (index < redirects || name.results.planned > 0)
    };
    let names = document.names.iter().enumerate();
    names.filter(move |(index, name)| is_shown(*index, name)).map(|(_, name)| name)
}

/// Returns the names to show, in the order of the list.
fn shown(document: &Document, verbose: bool) -> Vec<&NameSection> {
    let names: Vec<&NameSection> = of_requests(document).collect();
    if verbose || names.len() <= SHOWN_MAX {
        return names;
    }
    let p99_ns = |index: &usize| {
        let summary = names[*index].results.response_time.headline();
        summary.percentile(99.0).map(|value| value.ns).or(summary.max_ns)
    };
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|index| Reverse(names[*index].results.planned));
    order[SHOWN_MAX / 2..].sort_by_key(|index| Reverse(p99_ns(index)));
    order.truncate(SHOWN_MAX);
    order.sort_unstable();
    order.into_iter().map(|index| names[index]).collect()
}

fn row(document: &Document, name: &NameSection, unit: DurationColumn) -> Row {
    let results = &name.results;
    let mut cells = scopes::counts(results).to_vec();
    if document.results.open_streams() > 0 {
        cells.push(CellValue::from(units::count(results.open_streams())));
    }
    cells.push(CellValue::from(scopes::rate(results)));
    cells.extend(scopes::percentiles(results, unit));
    Row::new(&name.name, cells)
}

/// Counts the names that are left out, and explains the marks in the table.
fn legend(document: &Document, shown: &[&NameSection]) -> Vec<String> {
    let mut legend: Vec<String> = left_out(document, shown.len()).into_iter().collect();
    legend.extend(scopes::marks(shown.iter().map(|name| &name.results), "with this name"));
    let (_, p99) = COLUMNS[1];
    if shown.iter().any(|name| name.results.response_time.headline().percentile(p99).is_none()) {
        let least = units::count(least_count(p99));
        legend.push(format!("a name needs {least} requests to have a p{p99}"));
    }
    let headline = of_load(document).first().map(|(_, metric)| metric.headline());
    let mut of_run = headline.into_iter().flat_map(|summary| &summary.percentiles);
    let is_inflated = of_run.any(|value| matches!(value.bound, Bound::Upper | Bound::Unknown));
    if is_inflated && !legend.iter().any(|mark| mark.starts_with('≤')) {
        legend.push("times by name include client overhead".to_owned());
    }
    let with_intervals = document.plan.list.as_ref().map_or(0, |list| list.with_intervals.len());
    let has_interval = |name: &&NameSection| name.results.completed_interval.is_some();
    let is_mixed = shown.iter().any(has_interval) && !shown.iter().all(has_interval);
    if is_mixed && with_intervals < of_requests(document).count() {
        legend.push(format!(
            "±: 95% interval; only the {with_intervals} names with the greatest weight have one"
        ));
    }
    legend
}

/// Counts the names that the table leaves out, and those of them with failures.
fn left_out(document: &Document, shown: usize) -> Option<String> {
    let more = of_requests(document).count().checked_sub(shown).filter(|more| *more > 0)?;
    let half = SHOWN_MAX / 2;
    Some(format!(
        "{half} names with the most requests, {half} others with the greatest p99; {VERBOSE} \
         shows {} more",
        units::count(more as u64)
    ))
}

/// True if a table of these has the explanation already.
pub(super) fn is_explained(note: &String, blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Table(table) if table.legend.contains(note)))
}

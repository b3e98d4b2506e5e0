//! `cargo xtask pages`: the pages of verdicts and the table in README.md, from the measured entries
//! in `docs/measured/`. It measures nothing.

use std::fs;

use anyhow::{Context, Result};
use xtask::measured::{self, ACCURACY, Entry, PAGES, PERFORMANCE, Table};

use crate::shell::root;

/// The page with the table, from the root of the repository.
pub(crate) const README: &str = "README.md";

/// The lines around the table in README.md.
const BEGIN: &str = "<!-- measured: written by `cargo xtask pages` -->\n";
const END: &str = "<!-- end of measured -->\n";

/// The server and the connections of the figures.
const SERVER: &str = "nginx, 1 worker";
const CONNECTIONS: &str = "50";

/// The separator of a program's figure and the ratio of weir to it, in a cell.
const RATIO: &str = " · ";

/// A cell without a figure.
const NONE: &str = "–";

/// Rewrites the pages and the table.
pub(crate) fn pages() -> Result<()> {
    let root = root()?;
    for page in PAGES {
        measured::render(&root, page)?;
    }
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let readme = read(README).with_context(|| format!("failed to read {README}"))?;
    let text = updated(&readme, read)?;
    let text = text.with_context(|| format!("{README} has no line `{}`", BEGIN.trim_end()))?;
    fs::write(root.join(README), text).with_context(|| format!("failed to write {README}"))
}

/// The README with the table of these entries; `None` if it has no place for it. `read` returns the
/// text of an entry's file.
pub(crate) fn updated(
    readme: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>> {
    let entry = |path: String| match read(&path) {
        Some(text) => Entry::from_json(&text).with_context(|| format!("failed to read {path}")),
        None => Ok(Entry::default()),
    };
    let defaults = entry(PERFORMANCE.file("defaults"))?;
    let others = entry(ACCURACY.file("V26"))?;
    let Some((before, rest)) = readme.split_once(BEGIN) else { return Ok(None) };
    let Some((_, after)) = rest.split_once(END) else { return Ok(None) };
    Ok(Some(format!("{before}{BEGIN}{}{END}{after}", table(&defaults, &others))))
}

/// Returns the table. A row on speed comes from one row of one table, whose programs ran in the
/// same rounds, and every program that was measured there has a column.
fn table(defaults: &Entry, others: &Entry) -> String {
    let throughput = measured(defaults.tables.first());
    let efficiency = measured(defaults.tables.get(1));
    let stall = stalled(others.tables.first());
    let programs = programs(&throughput, &stall);
    let row = |what: &str, of: &dyn Fn(&str) -> Option<String>| {
        let cells = programs.iter().map(|program| of(program).unwrap_or_else(|| NONE.to_owned()));
        format!("| {what} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let truth = cell(&stall, "**true, by plan**").unwrap_or(NONE);
    [
        row("measured", &|program| Some(program.to_owned())),
        format!("|{}\n", "---|".repeat(programs.len() + 1)),
        row("requests/s, 50 connections to nginx", &|program| own(&throughput, program)),
        row("weir's requests/s ÷ the program's, with its 95% interval", &|program| {
            ratio(&throughput, program)
        }),
        row("the same of requests per client CPU-second", &|program| ratio(&efficiency, program)),
        row(&format!("printed p99 when the true p99 is {truth}"), &|program| {
            cell(&stall, program).map(str::to_owned)
        }),
    ]
    .concat()
}

/// The cells of a table's row, each with its head.
type HeadedCells<'a> = Vec<(&'a str, &'a str)>;

/// Returns the row of the figures.
fn measured(table: Option<&Table>) -> HeadedCells<'_> {
    let is_meant = |row: &HeadedCells<'_>| {
        cell(row, "server") == Some(SERVER) && cell(row, "connections") == Some(CONNECTIONS)
    };
    table.and_then(|table| table.cells().find(is_meant)).unwrap_or_default()
}

/// Returns what each program prints as p99 after a stall, and the truth.
fn stalled(table: Option<&Table>) -> HeadedCells<'_> {
    let rows = table.into_iter().flat_map(Table::cells);
    rows.filter_map(|row| Some((cell(&row, "")?, cell(&row, "p99")?))).collect()
}

/// Returns the programs with a figure: weir, then those that ran beside it, then the rest.
fn programs<'a>(throughput: &HeadedCells<'a>, stall: &HeadedCells<'a>) -> Vec<&'a str> {
    let mut programs = vec!["weir"];
    let stalled = stall.iter().filter(|(name, p99)| !name.contains('*') && *p99 != NONE);
    for (name, _) in throughput.iter().skip(3).chain(stalled) {
        if !programs.contains(name) {
            programs.push(name);
        }
    }
    programs
}

/// Returns a program's own figure.
fn own(row: &HeadedCells<'_>, program: &str) -> Option<String> {
    Some(cell(row, program)?.split(RATIO).next()?.to_owned())
}

/// Returns the ratio of weir to a program, with its interval; none without one.
fn ratio(row: &HeadedCells<'_>, program: &str) -> Option<String> {
    let both = cell(row, program)?;
    if program == "weir" {
        return Some("1".to_owned());
    }
    let (_, ratio) = both.split_once(RATIO)?;
    let has_interval = ratio.contains('–');
    has_interval.then(|| ratio.replace('*', ""))
}

fn cell<'a>(row: &[(&str, &'a str)], head: &str) -> Option<&'a str> {
    row.iter().find(|(known, _)| *known == head).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(heads: &[&str], rows: &[&[&str]]) -> Table {
        let mut table = Table::new(heads);
        rows.iter().for_each(|row| table.row(row));
        table
    }

    /// Returns the file of an entry.
    fn file(path: &str) -> Option<String> {
        let heads = ["server", "connections", "weir", "wrk", "ab", "hey"];
        let ten = ["nginx, 1 worker", "10", "1,000", "1,000 · **1.00** (0.90–1.20)", "failed", "–"];
        let fifty = ["nginx, 1 worker", "50"];
        let throughput =
            ["66,680", "60,659 · **1.18** (0.93–1.41)", "7 · **0.95** (0.9–1.0)", "failed"];
        let efficiency =
            ["100", "90 · **1.17** (1.06–1.37)", "80 · **1.25** (too few rounds)", "failed"];
        let tables = if path == PERFORMANCE.file("defaults") {
            vec![
                table(&heads, &[&ten, &[&fifty[..], &throughput].concat()]),
                table(&heads, &[&[&fifty[..], &efficiency].concat()]),
            ]
        } else {
            let rows: [&[&str]; 5] = [
                &["**true, by plan**", "1 ms", "461 ms"],
                &["weir", "1 ms", "460 ms"],
                &["ab", "1 ms", "3.5 ms"],
                &["h2load", "–", "–"],
                &["oha", "1 ms", "2 ms"],
            ];
            vec![table(&["", "p50", "p99"], &rows), table(&["", "p50", "p99"], &[])]
        };
        Some(Entry { tables, ..Entry::default() }.to_json())
    }

    #[test]
    fn figures_come_from_one_table_with_a_column_for_each_program() {
        let readme = format!("# weir\n{BEGIN}old\n{END}rest\n");
        let new = updated(&readme, file).expect("whole files").expect("it has the place");
        let rows = [
            "| measured | weir | wrk | ab | hey | oha |",
            "| requests/s, 50 connections to nginx | 66,680 | 60,659 | 7 | failed | – |",
            "interval | 1 | 1.18 (0.93–1.41) | 0.95 (0.9–1.0) | – | – |",
            "CPU-second | 1 | 1.17 (1.06–1.37) | – | – | – |",
            "true p99 is 461 ms | 460 ms | – | 3.5 ms | – | 2 ms |",
        ];
        for row in rows {
            assert!(new.contains(row), "{row} in {new}");
        }
        assert!(new.starts_with("# weir\n") && new.ends_with("rest\n"));
        assert_eq!(updated(&new, file).expect("whole files"), Some(new), "it is stable");
    }

    #[test]
    fn entries_without_figures_leave_dashes() {
        let new = updated(&format!("{BEGIN}{END}"), |_| None).expect("no file is broken");
        let new = new.expect("it has the place");
        assert!(new.contains("| requests/s, 50 connections to nginx | – |"), "{new}");
        assert_eq!(updated("# weir\n", file).expect("whole files"), None);
        assert!(updated(&new, |_| Some("{".to_owned())).is_err());
    }
}

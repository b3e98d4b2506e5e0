//! `cargo xtask readme`: the table of measured figures in README.md, from docs/PERFORMANCE.md and
//! docs/ACCURACY.md. It measures nothing.

use std::fs;

use anyhow::{Context, Result};

use crate::shell::root;

/// The pages with the figures, from the root of the repository.
pub(crate) const PERFORMANCE: &str = "docs/PERFORMANCE.md";
pub(crate) const ACCURACY: &str = "docs/ACCURACY.md";
pub(crate) const README: &str = "README.md";

/// The lines around the table in README.md.
const BEGIN: &str = "<!-- measured: written by `cargo xtask readme` -->\n";
const END: &str = "<!-- end of measured -->\n";

/// The server and the connections of the figures.
const SERVER: &str = "nginx, 1 worker";
const CONNECTIONS: &str = "50";

/// The separator of a program's figure and the ratio of weir to it, in a cell.
const RATIO: &str = " · ";

/// A cell without a figure.
const NONE: &str = "–";

/// Rewrites the table.
pub(crate) fn readme() -> Result<()> {
    let root = root()?;
    let read = |page: &str| {
        fs::read_to_string(root.join(page)).with_context(|| format!("failed to read {page}"))
    };
    let text = updated(&read(README)?, &read(PERFORMANCE)?, &read(ACCURACY)?);
    let text = text.with_context(|| format!("{README} has no line `{}`", BEGIN.trim_end()))?;
    fs::write(root.join(README), text).with_context(|| format!("failed to write {README}"))
}

/// The README with the table of these pages; `None` if it has no place for it.
pub(crate) fn updated(readme: &str, performance: &str, accuracy: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", table(performance, accuracy)))
}

/// Returns the table. A row on speed comes from one row of one table, whose programs ran in the
/// same rounds, and every program that was measured there has a column.
fn table(performance: &str, accuracy: &str) -> String {
    let section = section(performance, "## defaults");
    let throughput = measured(section, "### Requests/s");
    let efficiency = measured(section, "### Requests per client CPU-second");
    let stall = stalled(accuracy);
    let programs = programs(&throughput, &stall);
    let row = |what: &str, of: &dyn Fn(&str) -> Option<String>| {
        let cells = programs.iter().map(|program| of(program).unwrap_or_else(|| NONE.to_owned()));
        format!("| {what} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let truth = cell(&stall, "**true, by plan**").unwrap_or(NONE);
    [
        format!(
            "| measured | {} |\n|{}\n",
            programs.join(" | "),
            "---|".repeat(programs.len() + 1)
        ),
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
type Row<'a> = Vec<(&'a str, &'a str)>;

/// Returns the row of the figures in the table below this heading.
fn measured<'a>(defaults: &'a str, heading: &str) -> Row<'a> {
    let rows = rows(section(defaults, heading), "| server | connections | weir |");
    let is_meant = |row: &Row<'_>| {
        cell(row, "server") == Some(SERVER) && cell(row, "connections") == Some(CONNECTIONS)
    };
    rows.into_iter().find(is_meant).unwrap_or_default()
}

/// Returns what each program prints as p99 after a stall, and the truth.
fn stalled(accuracy: &str) -> Row<'_> {
    let rows = rows(section(accuracy, "## V26"), "|  | p50 |");
    rows.iter().filter_map(|row| Some((cell(row, "")?, cell(row, "p99")?))).collect()
}

/// Returns the programs with a figure: weir, then those that ran beside it, then the rest.
fn programs<'a>(throughput: &Row<'a>, stall: &Row<'a>) -> Vec<&'a str> {
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
fn own(row: &Row<'_>, program: &str) -> Option<String> {
    Some(cell(row, program)?.split(RATIO).next()?.to_owned())
}

/// Returns the ratio of weir to a program, with its interval; none without one.
fn ratio(row: &Row<'_>, program: &str) -> Option<String> {
    let both = cell(row, program)?;
    if program == "weir" {
        return Some("1".to_owned());
    }
    let (_, ratio) = both.split_once(RATIO)?;
    let has_interval = ratio.contains('–');
    has_interval.then(|| ratio.replace('*', ""))
}

/// A section of a page, from the line that begins with this heading to the next of its level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.find(heading).unwrap_or(page.len());
    let rest = &page[from..];
    let level = heading.split(' ').next().unwrap_or_default();
    let end = rest[heading.len().min(rest.len())..].find(&format!("\n{level} "));
    end.map_or(rest, |end| &rest[..heading.len() + end])
}

/// The rows of the first table that begins with `head`, each as its cells with their heads.
fn rows<'a>(section: &'a str, head: &str) -> Vec<Row<'a>> {
    let mut lines = section.lines().skip_while(|line| !line.starts_with(head));
    let Some(heads) = lines.next() else { return Vec::new() };
    let body = lines.skip(1).take_while(|line| line.starts_with('|'));
    body.map(|line| cells(heads).zip(cells(line)).collect()).collect()
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    let inner = line.trim().strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').map(str::trim)
}

fn cell<'a>(row: &[(&str, &'a str)], head: &str) -> Option<&'a str> {
    row.iter().find(|(known, _)| *known == head).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
## defaults: bare commands

### Requests/s

| server | connections | weir | wrk | ab | hey |
| --- | ---: | ---: | ---: | ---: | ---: |
| nginx, 1 worker | 10 | 1,000 | 1,000 · **1.00** (0.90–1.20) | failed | failed |
| nginx, 1 worker | 50 | 66,680 | 60,659 · **1.18** (0.93–1.41) | 7 · **0.95** (0.9–1.0) | failed |

### Requests per client CPU-second

| server | connections | weir | wrk | ab | hey |
| --- | ---: | ---: | ---: | ---: | ---: |
| nginx, 1 worker | 50 | 100 | 90 · **1.17** (1.06–1.37) | 80 · **1.25** (too few rounds) | failed |

## depth

### Requests/s
";

    const TRUTH: &str = "## V26: others\n\n|  | p50 | p99 |\n| --- | --- | --- |\n\
                         | **true, by plan** | 1 ms | 461 ms |\n| weir | 1 ms | 460 ms |\n\
                         | ab | 1 ms | 3.5 ms |\n| h2load | – | – |\n| oha | 1 ms | 2 ms |\n\n\
                         ## V27: bounds\n";

    #[test]
    fn figures_come_from_one_table_with_a_column_for_each_program() {
        let readme = format!("# weir\n{BEGIN}old\n{END}rest\n");
        let new = updated(&readme, PAGE, TRUTH).expect("it has the place");
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
        assert_eq!(updated(&new, PAGE, TRUTH), Some(new), "it is stable");
    }

    #[test]
    fn pages_without_figures_leave_dashes() {
        let new = updated(&format!("{BEGIN}{END}"), "", "").expect("it has the place");
        assert!(new.contains("| requests/s, 50 connections to nginx | – |"), "{new}");
        assert_eq!(updated("# weir\n", PAGE, TRUTH), None);
    }
}

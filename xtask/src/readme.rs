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

/// The programs, in the order of the columns.
const PROGRAMS: [&str; 6] = ["weir", "wrk", "wrk2", "oha", "hey", "h2load"];

/// The server, the threads and the connections of the figures.
const SERVER: &str = "nginx, 1 worker";
const CONNECTIONS: &str = "50";

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

fn table(performance: &str, accuracy: &str) -> String {
    let measured = Measured::of(performance);
    let row = |what: &str, cell: &dyn Fn(&str) -> Option<String>| {
        let cells = PROGRAMS.map(|program| cell(program).unwrap_or_else(|| NONE.to_owned()));
        format!("| {what} | {} |\n", cells.join(" | "))
    };
    let heads = format!("| measured | {} |\n|{}\n", PROGRAMS.join(" | "), "---|".repeat(7));
    let rps = row("requests/s, 50 connections to nginx", &|program| measured.rps(program));
    let efficiency =
        row("requests per client CPU-second, weir = 1", &|program| measured.efficiency(program));
    let truth = p99(accuracy, "**true, by plan**").unwrap_or_else(|| NONE.to_owned());
    let what = format!("printed p99 when the true p99 is {truth}");
    let stall = row(&what, &|program| p99(accuracy, program));
    [heads, rps, efficiency, stall].concat()
}

/// The cells of a table's row, each with its head.
type Row<'a> = Vec<(&'a str, &'a str)>;

/// The section of docs/PERFORMANCE.md on runs as people do them.
struct Measured<'a> {
    /// Of weir and the other programs: `65,000 (120k)`.
    others: Row<'a>,
    /// Beside wrk.
    wrk: Row<'a>,
}

impl<'a> Measured<'a> {
    fn of(performance: &'a str) -> Measured<'a> {
        let section = section(performance, "## defaults");
        let find = |head: &str, is_meant: &dyn Fn(&Row<'_>) -> bool| {
            let rows = rows(section, head);
            rows.into_iter().find(|row| is_meant(row)).unwrap_or_default()
        };
        let is_server = |row: &Row<'_>| cell(row, "server") == Some(SERVER);
        Measured {
            others: find("| server | weir |", &is_server),
            wrk: find("| server | threads |", &|row| {
                is_server(row)
                    && cell(row, "connections") == Some(CONNECTIONS)
                    && cell(row, "threads").is_some_and(|threads| threads.starts_with("default"))
            }),
        }
    }

    fn rps(&self, program: &str) -> Option<String> {
        let rps = match program {
            "wrk" => cell(&self.wrk, "wrk requests/s"),
            _ => cell(&self.others, program).and_then(|both| both.split(' ').next()),
        };
        rps.map(str::to_owned)
    }

    fn efficiency(&self, program: &str) -> Option<String> {
        if program == "weir" {
            return Some("1".to_owned());
        }
        let ratio = match program {
            "wrk" => {
                let ratio = cell(&self.wrk, "requests per CPU-second ÷ wrk's")?;
                1.0 / ratio.split(' ').next()?.trim_matches('*').parse::<f64>().ok()?
            }
            _ => thousands(cell(&self.others, program)?)? / thousands(cell(&self.others, "weir")?)?,
        };
        Some(format!("{ratio:.2}"))
    }
}

/// The number in `65,000 (120k)` that is in parentheses.
fn thousands(both: &str) -> Option<f64> {
    both.split_once('(')?.1.strip_suffix("k)")?.parse().ok()
}

/// The p99 that a program prints after a stall.
fn p99(accuracy: &str, program: &str) -> Option<String> {
    let rows = rows(section(accuracy, "## V26"), "|  | p50 |");
    let row = rows.into_iter().find(|row| cell(row, "") == Some(program))?;
    cell(&row, "p99").map(str::to_owned)
}

/// A section of a page, from its heading to the next of its level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.find(heading).unwrap_or(page.len());
    let rest = &page[from..];
    let end = rest[heading.len().min(rest.len())..].find("\n## ");
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
## defaults: as people run it

| server | threads | connections | wrk requests/s | requests per CPU-second ÷ wrk's | again |
| --- | ---: | ---: | ---: | ---: | ---: |
| nginx, 1 worker | 1 | 50 | 1,000 | **1.10** (1.00–1.20) |  |
| nginx, 1 worker | default (2) | 50 | 60,000 | **1.25** (1.20–1.30) |  |

| server | weir | hey |
| --- | ---: | ---: |
| nginx, 1 worker | 65,000 (120k) | 20,000 (30k) |

## depth
";

    const TRUTH: &str = "## V26: others\n\n|  | p50 | p99 |\n| --- | --- | --- |\n\
                         | **true, by plan** | 1 ms | 461 ms |\n| weir | 1 ms | 460 ms |\n\
                         | hey | 1 ms | 3.5 ms |\n\n## V27: bounds\n";

    #[test]
    fn figures_come_from_the_pages() {
        let readme = format!("# weir\n{BEGIN}old\n{END}rest\n");
        let new = updated(&readme, PAGE, TRUTH).expect("it has the place");
        let expected = "| requests/s, 50 connections to nginx | 65,000 | 60,000 | – | – | 20,000 |";
        assert!(new.contains(expected), "{new}");
        assert!(new.contains("weir = 1 | 1 | 0.80 | – | – | 0.25 | – |"), "{new}");
        assert!(new.contains("true p99 is 461 ms | 460 ms | – | – | – | 3.5 ms | – |"), "{new}");
        assert!(new.starts_with("# weir\n") && new.ends_with("rest\n"));
        assert_eq!(updated(&new, PAGE, TRUTH), Some(new), "it is stable");
    }

    #[test]
    fn pages_without_figures_leave_dashes() {
        let new = updated(&format!("{BEGIN}{END}"), "", "").expect("it has the place");
        assert!(new.contains("| – | – | – | – | – | – |"), "{new}");
        assert_eq!(updated("# weir\n", PAGE, TRUTH), None);
    }
}

//! A measured case: its question, verdict, tables and origin. This file knows the names in a case's
//! file, but neither the layout of that file nor the page.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// A case as it was measured last: its verdict for the page, and all of its tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// Name of the case: `V5-tls`, `depth`.
    pub id: String,
    /// Subject in a few words.
    pub title: String,
    /// Question that the case answers, for a reader who knows benchmarks but not this program.
    pub question: String,
    /// Load, and the expected values as they were known before the measurement.
    pub method: String,
    /// Result of the comparison with what was expected.
    pub outcome: Outcome,
    /// Answer in one or two sentences, with the figures that decide it.
    pub verdict: String,
    /// Conditions that failed.
    pub failures: Vec<String>,
    /// Conditions that failed on a machine too busy to judge them.
    pub doubts: Vec<String>,
    /// Remarks on the measurement.
    pub notes: Vec<String>,
    /// The one small table of the page.
    pub summary: Option<Table>,
    /// All tables of the measurement.
    pub tables: Vec<Table>,
    /// Day of the measurement in UTC.
    pub date: String,
    /// Commit that was measured; it ends in `-dirty` if its sources were changed.
    pub commit: String,
    /// Properties of the machine, at least its `CPU`.
    pub machine: BTreeMap<String, String>,
    /// Length of the measurement in seconds.
    pub seconds: u64,
    /// State of the machine meanwhile: CPU contention and steal.
    pub conditions: String,
}

/// Result of the comparison with what was expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Outcome {
    /// All conditions hold.
    #[default]
    #[serde(rename = "as expected")]
    AsExpected,
    /// Some condition failed.
    #[serde(rename = "NOT as expected")]
    NotAsExpected,
    /// The machine was busy, and what failed may be its fault.
    #[serde(rename = "not judged")]
    NotJudged,
    /// The case has no conditions: its figures are compared with aims at most.
    #[serde(rename = "reported")]
    Reported,
}

/// A table of formatted figures: the first column is text, the others are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Table {
    /// Line above the table; empty for none.
    pub above: String,
    /// Names of the columns.
    pub heads: Vec<String>,
    /// Formatted cells, as many in each row as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows.
    pub fn new(heads: &[&str]) -> Table {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Table { heads, ..Table::default() }
    }

    /// Adds a row of cells, each with the head of its column. The first row names the columns.
    pub fn add(&mut self, cells: &[(&str, &dyn Display)]) {
        if self.rows.is_empty() {
            self.heads = cells.iter().map(|(head, _)| (*head).to_owned()).collect();
        }
        self.row(&cells.iter().map(|(_, cell)| cell.to_string()).collect::<Vec<_>>());
    }

    /// Adds a row, which has a cell for each column.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        assert_eq!(cells.len(), self.heads.len(), "a cell for each column");
        self.rows.push(cells.iter().map(|cell| cell.as_ref().to_owned()).collect());
    }

    /// Sets the line above the table.
    #[must_use]
    pub fn under(mut self, above: &str) -> Table {
        above.clone_into(&mut self.above);
        self
    }

    /// Returns some columns of the table, in this order; columns that it lacks are left out.
    #[must_use]
    pub fn select(&self, heads: &[&str]) -> Table {
        let places = heads.iter().filter_map(|head| self.heads.iter().position(|has| has == head));
        let places: Vec<usize> = places.collect();
        let pick = |cells: &[String]| places.iter().map(|at| cells[*at].clone()).collect();
        let rows = self.rows.iter().map(|row| pick(row)).collect();
        Table { heads: pick(&self.heads), rows, ..Table::default() }
    }

    /// Returns the rows in which the column has one of these texts.
    #[must_use]
    pub fn filter(&self, head: &str, texts: &[&str]) -> Table {
        let at = self.heads.iter().position(|has| has == head);
        let has = |row: &&Vec<String>| at.is_some_and(|at| texts.contains(&row[at].as_str()));
        Table { rows: self.rows.iter().filter(has).cloned().collect(), ..self.clone() }
    }

    /// Returns the sum of a column of counts such as `1,234`; other cells count 0.
    pub fn sum(&self, head: &str) -> u64 {
        let Some(at) = self.heads.iter().position(|has| has == head) else { return 0 };
        self.rows.iter().filter_map(|row| row[at].replace(',', "").parse::<u64>().ok()).sum()
    }

    /// Returns the rows, each as its cells with their heads.
    pub fn cells(&self) -> impl Iterator<Item = Vec<(&str, &str)>> {
        let heads = || self.heads.iter().map(String::as_str);
        self.rows.iter().map(move |row| heads().zip(row.iter().map(String::as_str)).collect())
    }

    /// Returns the table in Markdown, with the line above it.
    pub fn in_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let above = if self.above.is_empty() { "" } else { "\n\n" };
        let rule = format!("|---|{}\n", "---:|".repeat(self.heads.len().saturating_sub(1)));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{above}{}{rule}{rows}", self.above, line(&self.heads))
    }
}

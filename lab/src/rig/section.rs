//! One case as it is measured: the question, the expected values, the tables, the conditions, and
//! the verdict. It becomes a measured entry.

use std::fmt::Display;

use xtask::measured::{Entry, Outcome, Table};

/// Result of a case.
pub(crate) struct Section {
    entry: Entry,
}

impl Section {
    /// Returns a section without figures. `question` is for readers who know benchmarks but not
    /// this program; `method` has the load and the expected values, which are known before the
    /// measurement.
    pub(crate) fn new(
        title: &str,
        question: impl Into<String>,
        method: impl Into<String>,
    ) -> Section {
        let title = title.to_owned();
        let question = question.into();
        let method = method.into();
        Section { entry: Entry { title, question, method, ..Entry::default() } }
    }

    /// Marks a case without conditions.
    pub(crate) fn reported(mut self) -> Section {
        self.entry.outcome = Outcome::Reported;
        self
    }

    /// Appends to the title.
    pub(crate) fn extend_title(&mut self, more: &str) {
        self.entry.title.push_str(more);
    }

    /// Adds a row to the last table; the first row names the columns.
    pub(crate) fn row(&mut self, cells: &[(&str, &dyn Display)]) {
        if self.entry.tables.is_empty() {
            self.begin_table("");
        }
        self.entry.tables.last_mut().expect("one was begun").add(cells);
    }

    /// Begins a table with a line above it; the first without one begins by itself.
    pub(crate) fn begin_table(&mut self, above: &str) {
        self.table(above, Table::default());
    }

    /// Returns the number of rows of the last table.
    pub(crate) fn rows(&self) -> usize {
        self.entry.tables.last().map_or(0, |table| table.rows.len())
    }

    /// Returns the sum of a column of counts of the last table.
    pub(crate) fn sum(&self, head: &str) -> u64 {
        self.entry.tables.last().map_or(0, |table| table.sum(head))
    }

    /// Shows some columns of the last table on the page.
    pub(crate) fn show_columns(&mut self, heads: &[&str]) {
        self.show_rows(&[], heads);
    }

    /// Shows some columns of the rows that have one of these texts in each of these columns.
    pub(crate) fn show_rows(&mut self, texts: &[(&str, &[&str])], heads: &[&str]) {
        let Some(table) = self.entry.tables.last() else { return };
        let rows = texts.iter().fold(table.clone(), |rows, (head, texts)| rows.filter(head, texts));
        self.show(rows.select(heads));
    }

    /// Adds a table with a line above it, if there is one.
    pub(crate) fn table(&mut self, above: &str, table: Table) {
        self.entry.tables.push(table.under(above));
    }

    /// Sets the small table of the page, unless it has one.
    pub(crate) fn show(&mut self, table: Table) {
        self.entry.summary.get_or_insert(table);
    }

    /// Adds a sentence to the verdict. It gives measured figures and is true whatever the outcome.
    pub(crate) fn verdict(&mut self, sentence: impl AsRef<str>) {
        let verdict = &mut self.entry.verdict;
        verdict.push_str(if verdict.is_empty() { "" } else { " " });
        verdict.push_str(sentence.as_ref());
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.entry.notes.push(note.into());
    }

    /// Checks a condition: if it is false, the case fails with the message `what`.
    pub(crate) fn must(&mut self, is: bool, what: impl FnOnce() -> String) {
        if !is {
            self.entry.failures.push(what());
        }
    }

    /// Checks a condition that must hold on an idle machine. Elsewhere a failure is reported but
    /// does not count.
    pub(crate) fn must_if_quiet(&mut self, is: bool, what: impl FnOnce() -> String) {
        if !is {
            self.entry.doubts.push(what());
        }
    }

    /// Adds conditions that failed.
    pub(crate) fn fail(&mut self, failures: impl IntoIterator<Item = String>) {
        self.entry.failures.extend(failures);
    }

    /// Ends the case. The failures of `must_if_quiet` count if the machine was quiet.
    pub(crate) fn settle(&mut self, was_quiet: bool) {
        let Entry { outcome, failures, doubts, .. } = &mut self.entry;
        if was_quiet {
            failures.append(doubts);
        }
        match (failures.is_empty(), doubts.is_empty()) {
            (false, _) => *outcome = Outcome::NotAsExpected,
            (true, false) => *outcome = Outcome::NotJudged,
            (true, true) => {}
        }
    }

    /// Returns the conditions that failed.
    #[cfg(test)]
    pub(crate) fn failures(&self) -> &[String] {
        &self.entry.failures
    }

    /// Returns the entry of a settled case, with the date, the commit and the machine of another.
    pub(crate) fn entry(
        self,
        id: &str,
        occasion: &Entry,
        seconds: f64,
        conditions: String,
    ) -> Entry {
        let Entry { date, commit, machine, .. } = occasion.clone();
        let id = id.to_owned();
        let seconds = seconds.round() as u64;
        Entry { id, date, commit, machine, seconds, conditions, ..self.entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(mut section: Section, was_quiet: bool) -> Entry {
        section.settle(was_quiet);
        let occasion = Entry { date: "2026-01-02".to_owned(), ..Entry::default() };
        section.entry("V0", &occasion, 1.6, "idle".to_owned())
    }

    #[test]
    fn a_section_becomes_an_entry() {
        let mut section = Section::new("time", "Does it fly?", "wings");
        section.table("Seen:", Table::new(&["a"]));
        section.show(Table::new(&["b"]));
        section.show(Table::new(&["c"]));
        section.verdict("It flew.");
        section.verdict("It landed.");
        section.must(1 + 1 == 2, || "arithmetic".to_owned());
        let entry = entry_of(section, true);
        assert_eq!((entry.outcome, entry.seconds), (Outcome::AsExpected, 2));
        assert_eq!(entry.verdict, "It flew. It landed.");
        assert_eq!(entry.tables[0].above, "Seen:");
        assert_eq!(entry.summary, Some(Table::new(&["b"])));
    }

    #[test]
    fn failures_decide_the_outcome() {
        let mut section = Section::new("time", "Does it fly?", "wings").reported();
        section.must(false, || "it does not fly".to_owned());
        let entry = entry_of(section, false);
        assert_eq!(entry.outcome, Outcome::NotAsExpected);
        assert_eq!(entry.failures, ["it does not fly"]);
        let section = Section::new("time", "Does it fly?", "wings").reported();
        assert_eq!(entry_of(section, false).outcome, Outcome::Reported);
    }

    #[test]
    fn a_busy_machine_is_not_judged() {
        let late = || {
            let mut section = Section::new("time", "Does it fly?", "wings");
            section.must_if_quiet(false, || "late".to_owned());
            section
        };
        let busy = entry_of(late(), false);
        assert_eq!((busy.outcome, busy.failures.len()), (Outcome::NotJudged, 0));
        let quiet = entry_of(late(), true);
        assert_eq!((quiet.outcome, quiet.failures), (Outcome::NotAsExpected, vec!["late".into()]));
    }
}

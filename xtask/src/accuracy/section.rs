//! One case's part of the page: what is claimed, what was expected, what came, and whether the two
//! agree.

use std::fmt::Write;

/// What a case found out.
pub(super) struct Section {
    title: &'static str,
    /// In plain words, for somebody who knows benchmarks and not this program.
    claim: String,
    /// What must come, from theory or from the server, before anything was measured.
    expected: String,
    body: String,
    notes: Vec<String>,
    failures: Vec<String>,
    /// What fails only where the machine had nothing else to do.
    doubts: Vec<String>,
}

impl Section {
    pub(super) fn new(
        title: &'static str,
        claim: impl Into<String>,
        expected: impl Into<String>,
    ) -> Section {
        Section {
            title,
            claim: claim.into(),
            expected: expected.into(),
            body: String::new(),
            notes: Vec::new(),
            failures: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// Adds a finished table with the line that stands above it, if there is one.
    pub(super) fn table(&mut self, above: &str, table: &str) {
        let gap = if above.is_empty() { "" } else { "\n\n" };
        writeln!(self.body, "{above}{gap}{table}").expect("strings take everything");
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// What must be: if it is not, the case has failed, and `what` says how.
    pub(super) fn must(&mut self, is: bool, what: impl FnOnce() -> String) {
        if !is {
            self.failures.push(what());
        }
    }

    /// What must be on a machine that has nothing else to do. Elsewhere it is told and not judged.
    pub(super) fn must_if_quiet(&mut self, is: bool, what: impl FnOnce() -> String) {
        if !is {
            self.doubts.push(what());
        }
    }

    /// The case is over: whether the machine was quiet meanwhile.
    pub(super) fn settle(&mut self, was_quiet: bool) {
        if was_quiet {
            self.failures.append(&mut self.doubts);
        }
    }

    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }

    fn outcome(&self) -> &'static str {
        match (self.failures.is_empty(), self.doubts.is_empty()) {
            (false, _) => "NOT as expected",
            (true, false) => "not judged: the machine was busy",
            (true, true) => "as expected",
        }
    }

    /// Its text, in Markdown.
    pub(super) fn text(&self, id: &str) -> String {
        let outcome = self.outcome();
        let Section { title, claim, expected, body, notes, failures, doubts, .. } = self;
        let mut text = format!(
            "\n## {id}: {title} ({outcome})\n\n{claim}\n\n*Expected:* {expected}\n\n{body}"
        );
        for failure in failures {
            writeln!(text, "- **not as expected:** {failure}").expect("strings take everything");
        }
        for doubt in doubts {
            writeln!(text, "- to be seen on a quiet machine: {doubt}").expect("the same");
        }
        for note in notes {
            writeln!(text, "- {note}").expect("strings take everything");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_in_the_heading() {
        let mut section = Section::new("time", "It flies.", "wings");
        section.table("Seen:", "| a |\n");
        section.must(1 + 1 == 2, || "arithmetic".to_owned());
        let text = section.text("V0");
        assert_eq!(
            text,
            "\n## V0: time (as expected)\n\nIt flies.\n\n*Expected:* wings\n\nSeen:\n\n| a |\n\n"
        );
        section.must(false, || "it does not fly".to_owned());
        assert_eq!(section.failures(), ["it does not fly"]);
        let text = section.text("V0");
        assert!(text.contains("(NOT as expected)"));
        assert!(text.ends_with("- **not as expected:** it does not fly\n"));
    }

    #[test]
    fn a_busy_machine_is_not_judged() {
        let late = || {
            let mut section = Section::new("time", "It flies.", "wings");
            section.must_if_quiet(false, || "late".to_owned());
            section
        };
        let mut section = late();
        section.settle(false);
        assert!(section.failures().is_empty());
        assert!(section.text("V0").contains("(not judged: the machine was busy)"));
        let mut section = late();
        section.settle(true);
        assert_eq!(section.failures(), ["late"]);
    }
}

//! One case's part of the page: the claim, the expected and the measured values, and the result of
//! the comparison.

use std::fmt::Write;

/// Result of a case.
pub(super) struct Section {
    title: String,
    /// Claim in plain words, for readers who know benchmarks but not this program.
    claim: String,
    /// Expected values, from theory or from the server, known before the measurement.
    expected: String,
    body: String,
    notes: Vec<String>,
    failures: Vec<String>,
    /// Failures that count only if the machine was otherwise idle.
    doubts: Vec<String>,
}

impl Section {
    pub(super) fn new(
        title: &str,
        claim: impl Into<String>,
        expected: impl Into<String>,
    ) -> Section {
        Section {
            title: title.to_owned(),
            claim: claim.into(),
            expected: expected.into(),
            body: String::new(),
            notes: Vec::new(),
            failures: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// Appends to the title.
    pub(super) fn extend_title(&mut self, more: &str) {
        self.title.push_str(more);
    }

    /// Adds a finished table with a line above it, if there is one.
    pub(super) fn table(&mut self, above: &str, table: &str) {
        let gap = if above.is_empty() { "" } else { "\n\n" };
        writeln!(self.body, "{above}{gap}{table}").expect("strings take everything");
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Checks a condition: if it is false, the case fails with the message `what`.
    pub(super) fn must(&mut self, is: bool, what: impl FnOnce() -> String) {
        if !is {
            self.failures.push(what());
        }
    }

    /// Checks a condition that must hold on an idle machine. Elsewhere a failure is reported but
    /// does not count.
    pub(super) fn must_if_quiet(&mut self, is: bool, what: impl FnOnce() -> String) {
        if !is {
            self.doubts.push(what());
        }
    }

    /// Ends the case. The failures of `must_if_quiet` count if the machine was quiet.
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

    /// Returns the section's text, in Markdown.
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
            writeln!(text, "- not judged, repeat on a quiet machine: {doubt}").expect("the same");
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

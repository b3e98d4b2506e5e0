//! The pages of verdicts, rendered from the files of measured entries.

use anyhow::Result;

use super::entry::{Entry, Outcome};

/// A page and its entries.
#[derive(Debug)]
pub struct Page {
    /// Path of the page, from the root of the repository.
    pub path: &'static str,
    /// Directory of the entries' files, from the root of the repository.
    pub directory: &'static str,
    /// Task that measures: `accuracy` or `bench`.
    pub task: &'static str,
    introduction: &'static str,
    /// Names of all entries, with blanks between them, in the order of the page. An entry named
    /// like another with a suffix, `V5-tls`, is a variant, which the other's section tells.
    entries: &'static str,
}

/// Both pages.
pub const PAGES: [&Page; 2] = [&ACCURACY, &PERFORMANCE];

/// weir's figures against known truths.
pub const ACCURACY: Page = Page {
    path: "docs/ACCURACY.md",
    directory: "docs/measured/accuracy",
    task: "accuracy",
    introduction: "\
# Accuracy

weir's figures beside a truth that is known without weir: from theory, or from the server's own log.
The cases are specified in [METHOD 2.1](../METHOD.md). Client and server share one machine, over
loopback. Where a figure needs an otherwise idle machine and had none, the case is not judged.

`cargo xtask accuracy` measures all cases and writes this page; `--only V2` measures one. The data
have all tables, the expected values, the machine and what else it did.
",
    entries: "\
        V2 V2-tls V2-http2 V3 V4 V5 V5-tls V5-http2 V6 V7 V8 V9 V10 V10-tls V10-http2 V11 V11-tls
        V11-http2 V12 V12-tls V12-http2 V13 V14 V15 V15-tls V15-http2 V16 V17 V18 V26 V27 V28 V29
        V30 V31 V32 V33 V34 V35 V36 V37 V38 V39 V40 V41
        V41-grpcio V41-grpc-go V41-websockets V41-ws V42 V43 V44",
};

/// weir's speed beside its peers.
pub const PERFORMANCE: Page = Page {
    path: "docs/PERFORMANCE.md",
    directory: "docs/measured/performance",
    task: "bench",
    introduction: "\
# Performance

weir's costs beside its peers'. A cost is CPU time as the kernel accounts it to a process, start and
end included; requests are counted by the server. A ratio is the median over paired rounds: both
sides run within seconds of each other, in an order that changes. In brackets is its 95% interval
(order statistics). Absolute figures belong to the machine; ratios travel better. weir runs as it
comes, with kernel timestamps on a sample of connections, health sampling and verdict. Nothing is
pinned in `defaults`; in all others the clients share one CPU.

`cargo xtask bench` measures all cases and writes this page; `--only tls` measures one. The data
have all tables, the load, the machine and what else it did.
",
    entries: "\
        defaults depth pipelining bodies close tls http2 pacing connections million endurance
        fleet watching serve scripts lists users messages held",
};

impl Page {
    /// Returns the names of all entries, in the order of the page.
    pub fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.entries.split_whitespace()
    }

    /// Returns the path of an entry's file, from the root of the repository.
    pub fn file(&self, id: &str) -> String {
        format!("{}/{id}.json", self.directory)
    }

    /// Renders the page. `read` returns the text of a file, or none if there is no such file.
    pub fn text(&self, read: impl Fn(&str) -> Option<String>) -> Result<String> {
        let mut text = self.introduction.to_owned();
        for id in self.entries() {
            let entry = read(&self.file(id)).map(|text| Entry::from_json(&text)).transpose()?;
            let is_variant =
                id.split_once('-').is_some_and(|(of, _)| self.entries().any(|id| id == of));
            text.push_str(&match (entry, is_variant) {
                (Some(entry), false) => self.section(&entry),
                (Some(entry), true) => self.variant(&entry),
                (None, true) => format!("\n- {id}: not measured yet\n"),
                (None, false) => format!("\n## {id}: not measured yet\n"),
            });
        }
        Ok(text)
    }

    fn section(&self, entry: &Entry) -> String {
        let Entry { id, title, question, summary, .. } = entry;
        let summary = summary.as_ref().map(|table| format!("\n{}", table.in_markdown()));
        let summary = summary.unwrap_or_default();
        let verdict = verdict(entry);
        let origin = self.origin(entry);
        format!("\n## {id}: {title}\n\n{question} {verdict}\n{summary}\n{origin}\n")
    }

    fn variant(&self, entry: &Entry) -> String {
        format!("\n- {}: {} {}\n", entry.id, verdict(entry), self.origin(entry))
    }

    /// Returns the link to the data, with when they were measured.
    fn origin(&self, entry: &Entry) -> String {
        let place = self.file(&entry.id);
        let place = place.strip_prefix("docs/").unwrap_or(&place);
        format!("[data]({place}), {}, commit {}.", entry.date, entry.commit)
    }
}

impl Entry {
    /// Returns the entry in Markdown with all of its tables, as a measurement prints it.
    pub fn in_full(&self) -> String {
        let Entry { id, title, question, method, date, commit, seconds, conditions, .. } = self;
        let cpu = self.machine.get("CPU").map_or("an unknown machine", String::as_str);
        let tables = self.tables.iter().map(|table| format!("\n{}", table.in_markdown()));
        let notes = self.notes.iter().chain(&self.doubts).map(|note| format!("\n- {note}"));
        let body: String = tables.chain(notes).collect();
        format!(
            "\n## {id}: {title}\n\n{question}\n\n{method}\n\n{}\n{body}\n\n{date}, \
             commit {commit}, {cpu}; {seconds} s; {conditions}.\n",
            verdict(self)
        )
    }
}

/// Returns the outcome with what failed, and the verdict.
fn verdict(entry: &Entry) -> String {
    let outcome = match entry.outcome {
        Outcome::AsExpected => "As expected.".to_owned(),
        Outcome::NotAsExpected => format!("NOT as expected: {}.", entry.failures.join("; ")),
        Outcome::NotJudged => format!("Not judged, busy machine: {}.", entry.doubts.join("; ")),
        Outcome::Reported => return entry.verdict.clone(),
    };
    format!("**{outcome}** {}", entry.verdict).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::entry::Table;
    use super::*;

    const PAGE: Page = Page {
        path: "docs/A.md",
        directory: "docs/measured/a",
        task: "accuracy",
        introduction: "# A\n",
        entries: "V1 V1-tls V2",
    };

    fn entry(id: &str) -> Entry {
        Entry {
            id: id.to_owned(),
            title: "time".to_owned(),
            question: "Does it fly?".to_owned(),
            verdict: "It flew 3 times.".to_owned(),
            date: "2026-01-02".to_owned(),
            commit: "abc1234".to_owned(),
            machine: [("CPU".to_owned(), "2 × A".to_owned())].into(),
            ..Entry::default()
        }
    }

    fn text(entries: &[Entry]) -> String {
        let read = |path: &str| {
            let found = entries.iter().find(|entry| PAGE.file(&entry.id) == path);
            found.map(Entry::to_json)
        };
        PAGE.text(read).expect("the entries are whole")
    }

    #[test]
    fn sections_have_question_verdict_table_and_data() {
        let mut first = entry("V1");
        let mut table = Table::new(&["a"]);
        table.row(&["1"]);
        first.summary = Some(table.clone());
        first.tables = vec![table, Table::new(&["hidden"])];
        let page = text(&[first, entry("V1-tls")]);
        let expected = "# A\n\n## V1: time\n\nDoes it fly? **As expected.** It flew 3 times.\n\n\
            | a |\n|---|\n| 1 |\n\n\
            [data](measured/a/V1.json), 2026-01-02, commit abc1234.\n\n\
            - V1-tls: **As expected.** It flew 3 times. \
            [data](measured/a/V1-tls.json), 2026-01-02, commit abc1234.\n\n\
            ## V2: not measured yet\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn what_failed_is_reported() {
        let mut entry = entry("V1");
        entry.outcome = Outcome::NotAsExpected;
        entry.failures = vec!["it fell".to_owned(), "twice".to_owned()];
        assert!(text(&[entry.clone()]).contains("**NOT as expected: it fell; twice.** It flew"));
        entry.outcome = Outcome::NotJudged;
        entry.doubts = vec!["wind".to_owned()];
        assert!(text(&[entry.clone()]).contains("**Not judged, busy machine: wind.** It flew"));
        entry.outcome = Outcome::Reported;
        assert!(text(&[entry]).contains("Does it fly? It flew"));
    }

    #[test]
    fn a_broken_file_is_an_error() {
        assert!(PAGE.text(|_| Some("{".to_owned())).is_err());
    }
}

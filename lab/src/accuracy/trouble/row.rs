//! A row of the table: an event, and what it led to.

use std::ops::Range;

use anyhow::{Context, Result};

use super::trial::{RATE_RPS, TroubleSeen, last_name};
use crate::rig::{Section, rate};

/// A row, with the conditions that failed.
pub(super) struct Row {
    event: String,
    report: String,
    code: String,
    before: String,
    after: String,
    failures: Vec<String>,
    doubts: Vec<String>,
}

impl Row {
    /// Makes the row of an event with the lines of the report that matter.
    pub(super) fn of(event: &str, seen: &TroubleSeen, report: &str) -> Row {
        let text = |count: &u64| count.to_string();
        let after: Vec<String> = seen.by_second().iter().map(text).collect();
        Row {
            event: event.to_owned(),
            report: report.replace('\n', " "),
            code: seen.end.code.map_or("–".to_owned(), |code| code.to_string()),
            before: rate(seen.rate_rps(-1.0, 0.0)),
            after: if after.is_empty() { "nothing".to_owned() } else { after.join(" ") },
            failures: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// Checks a condition.
    pub(super) fn must(&mut self, is: bool, failure: impl FnOnce() -> String) {
        if !is {
            self.failures.push(failure());
        }
    }

    /// Checks a condition that must hold on an idle machine.
    pub(super) fn must_if_quiet(&mut self, is: bool, doubt: impl FnOnce() -> String) {
        if !is {
            self.doubts.push(doubt());
        }
    }

    /// Requires that all parts are complete, with each slot at the server once.
    pub(super) fn must_be_complete(&mut self, seen: &TroubleSeen) -> Result<()> {
        let document = seen.document()?;
        let lost = document.fleet.as_ref().map_or(0, |fleet| fleet.lost().count());
        self.must(lost == 0 && document.missing_parts().next().is_none(), || {
            format!("{lost} agents are lost")
        });
        self.must(seen.end.code == Some(0), || format!("exit status {:?}", seen.end.code));
        let ok = document.results.outcomes.ok;
        let planned = document.results.planned;
        self.must(ok == planned, || format!("{ok} of {planned} ok"));
        self.must_be_counted(seen)
    }

    /// Requires that the document has as many requests as the log, none of them twice.
    pub(super) fn must_be_counted(&mut self, seen: &TroubleSeen) -> Result<()> {
        let sent = seen.document()?.accounting.sent.total;
        let logged = seen.log.len() as u64;
        let doubled = seen.doubled();
        self.must(sent == logged && doubled == 0, || {
            format!("{sent} requests in the document, {logged} in the log, {doubled} slots twice")
        });
        Ok(())
    }

    /// Requires exit status 4, and a line `Parts` above all others that has the last agent's name
    /// and these words.
    pub(super) fn must_name(&mut self, seen: &TroubleSeen, words: &str) {
        self.must(seen.end.code == Some(4), || format!("exit status {:?}", seen.end.code));
        let parts = seen.line("Parts").unwrap_or_default();
        self.must(parts.contains(last_name()) && parts.contains(words), || {
            format!("Parts: {parts}")
        });
        self.must(seen.is_above("Parts", "Target"), || "`Parts` is not above `Target`".to_owned());
    }

    /// Requires a share of the load in a span after the event.
    pub(super) fn must_have_rate(&mut self, seen: &TroubleSeen, share: f64, span_s: Range<f64>) {
        let Range { start: from_s, end: to_s } = span_s;
        let found = seen.rate_rps(from_s, to_s) / RATE_RPS;
        self.must((found - share).abs() < 0.02, || {
            format!("{found:.3} of the load from {from_s} to {to_s} s")
        });
    }

    /// Requires that no request came later than this after the event.
    pub(super) fn must_end(&mut self, seen: &TroubleSeen, within_s: f64) {
        let last_s = seen.last_s();
        self.must(last_s <= within_s, || format!("the last request came after {last_s:.2} s"));
    }

    /// Requires that the time at which the last agent was heard last is that of the event.
    pub(super) fn must_tell_the_time(&mut self, seen: &TroubleSeen) -> Result<()> {
        let fleet = seen.document()?.fleet.as_ref().context("the document has no fleet")?;
        let heard_ns = fleet.lost().find_map(|agent| agent.heard_until_ns);
        let heard_s = heard_ns.context("the document has no time")? as f64 / 1e9;
        let event_s = seen.event_s();
        // An agent says something four times a second.
        self.must((heard_s - event_s).abs() < 0.6, || {
            format!("heard until {heard_s:.2} s, and ended at {event_s:.2} s")
        });
        Ok(())
    }

    /// Adds the row to the table. Returns true if all conditions hold.
    pub(super) fn add_to(self, section: &mut Section) -> bool {
        let Row { event, report, code, before, after, failures, doubts } = self;
        section.row(&[
            ("event", &event),
            ("report", &report),
            ("exit status", &code),
            ("load before, /s", &before),
            ("load after it, by second", &after),
        ]);
        let is_good = failures.is_empty() && doubts.is_empty();
        section.fail(failures.into_iter().map(|failure| format!("{event}: {failure}")));
        for doubt in doubts {
            section.must_if_quiet(false, || format!("{event}: {doubt}"));
        }
        is_good
    }
}

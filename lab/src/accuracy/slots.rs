//! V15: every request has a number, and the server receives each number once.

use anyhow::{Context, Result};
use xtask::shell::root;

use crate::rig::{Fixture, Record, Section, thousands};

/// A script that numbers requests, from the root of the repository.
const SCRIPT: &str = "lab/src/accuracy/slots/numbers.lua";

/// Divisor of a request's number that gives the thread.
const THREAD: u64 = 1_000_000_000_000;

/// Runs case V15 of METHOD 2.1.
pub(super) fn slots(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(5.0, 2.0);
    let mut section = Section::new(
        "every request once",
        "A script numbers the requests. Does the server read each number once?",
        "The numbers that the server reads are 0, 1, 2, … of each thread without a gap and without \
         a repetition, as many as weir says it sent in all phases together.",
    );
    let script = root()?.join(SCRIPT);
    let script = script.display();
    for load in ["-t2 -c20 -R5000", "-t2 -c20"] {
        for fault in ["", "--fault close:1/50", "--fault reset:1/50"] {
            let flags = format!("{load} -d{window_s}s --warmup 500ms -s {script}");
            let (document, log) = fixture.run(fault, &flags)?;
            let sent = document.accounting.sent.total;
            let audit = audit(&log)?;
            let server = if fault.is_empty() { "well" } else { fault };
            section.row(&[
                ("load", &format!("`{load}`")),
                ("server", &server),
                ("sent by weir", &thousands(sent)),
                ("read", &thousands(log.len() as u64)),
                ("repeated", &thousands(audit.repeated)),
                ("missing", &thousands(audit.missing)),
                ("errors", &thousands(document.results.outcomes.transport_error)),
            ]);
            let name = format!("`{load}` {fault}");
            section.must(audit == Audit::default(), || format!("{name}: {audit:?}"));
            section.must(log.len() as u64 == sent, || {
                format!("{name}: sent {sent}, read {}", log.len())
            });
        }
    }
    section.verdict(format!(
        "Of {} numbers {} are repeated and {} missing.",
        thousands(section.sum("sent by weir")),
        section.sum("repeated"),
        section.sum("missing")
    ));
    Ok(section)
}

/// Defects of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Audit {
    repeated: u64,
    /// Numbers below the highest of their thread that did not arrive.
    missing: u64,
}

fn audit(log: &[Record]) -> Result<Audit> {
    let slots: Option<Vec<u64>> = log.iter().map(|record| record.slot).collect();
    let mut slots = slots.context("the server has read a request without a number")?;
    slots.sort_unstable();
    let mut audit = Audit::default();
    let mut next = 0;
    for slot in slots {
        if slot / THREAD > next / THREAD {
            next = slot / THREAD * THREAD;
        }
        if slot < next {
            audit.repeated += 1;
        } else {
            audit.missing += slot - next;
            next = slot + 1;
        }
    }
    Ok(audit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_repetitions_are_found() {
        let check = |slots: &[u64], repeated, missing| {
            let record = |slot: &u64| Record {
                connection: 0,
                received_ns: 0,
                sent_ns: None,
                slot: Some(*slot),
            };
            let log: Vec<Record> = slots.iter().map(record).collect();
            assert_eq!(
                audit(&log).expect("all have one"),
                Audit { repeated, missing },
                "{slots:?}"
            );
        };
        check(&[], 0, 0);
        check(&[1, 0, 2, THREAD, THREAD + 1], 0, 0);
        check(&[0, 1, 1, 3, THREAD + 2], 1, 3);
        let record = Record { connection: 0, received_ns: 0, sent_ns: None, slot: None };
        assert!(audit(&[record]).is_err());
    }
}

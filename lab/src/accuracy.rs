//! `cargo xtask accuracy`: compares weir's figures with known values on this machine, and writes
//! the results (METHOD 2).
//!
//! Each case is a function that measures against a server with known behaviour, from theory or from
//! its own log, and returns a [`Section`]. Each measured case replaces its file in
//! `docs/measured/`, and docs/ACCURACY.md is rendered anew; with `--print`, neither. A run fails if
//! a case is not as expected, after printing all sections.

mod curve;
mod distribution;
mod fixture;
mod h2load;
mod log;
mod options;
mod peers;
mod plan;
mod quota;
mod rows;
mod theory;

mod attribution;
mod blame;
mod bounds;
mod capture;
mod causality;
mod closed;
mod concordance;
mod delivery;
mod departures;
mod everyday;
mod faults;
mod foreign;
mod link;
mod occupancy;
mod overload;
mod queues;
mod search;
mod slots;
mod stall;
mod stops;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xtask::measured::{self, ACCURACY};
use xtask::shell::root;

use crate::rig::machine::{self, Occasion, Pressure};
use crate::rig::section::Section;
use fixture::{Fixture, Over};
pub(crate) use options::Options;

/// Largest share of time a thread may wait for a CPU in a quiet round.
const WAITED_MAX: f64 = 0.005;

/// A case of METHOD 2.1.
struct Case {
    id: &'static str,
    run: fn(&Fixture) -> Result<Section>,
    over: Over,
}

impl Case {
    const fn new(id: &'static str, run: fn(&Fixture) -> Result<Section>) -> Case {
        Case { id, run, over: Over::Http1 }
    }

    const fn over(self, id: &'static str, over: Over) -> Case {
        Case { id, over, ..self }
    }
}

/// All cases, in the order of measuring.
const CASES: &[Case] = &[
    Case::new("V2", delivery::delivery),
    Case::new("V3", queues::laws),
    Case::new("V4", causality::causality),
    Case::new("V5", stall::open_loop),
    Case::new("V6", closed::stall),
    Case::new("V7", stall::half_the_time),
    Case::new("V8", overload::overload),
    Case::new("V9", queues::queues),
    Case::new("V10", faults::black_hole),
    Case::new("V11", stall::at_the_end),
    Case::new("V12", faults::resets),
    Case::new("V13", blame::blame),
    Case::new("V14", departures::departures),
    Case::new("V15", slots::slots),
    Case::new("V16", causality::report),
    Case::new("V17", occupancy::occupancy),
    Case::new("V18", capture::capture),
    Case::new("V26", concordance::concordance),
    Case::new("V27", bounds::bounds),
    Case::new("V28", attribution::attribution),
    Case::new("V29", everyday::everyday_commands),
    Case::new("V30", foreign::foreign),
    Case::new("V31", stops::stops),
    Case::new("V32", search::search),
    Case::new("V2", delivery::delivery).over("V2-tls", Over::Tls),
    Case::new("V2", delivery::delivery).over("V2-http2", Over::Http2 { streams: 10 }),
    Case::new("V5", stall::open_loop).over("V5-tls", Over::Tls),
    Case::new("V5", stall::open_loop).over("V5-http2", Over::Http2 { streams: 100 }),
    Case::new("V10", faults::black_hole).over("V10-tls", Over::Tls),
    Case::new("V10", faults::black_hole).over("V10-http2", Over::Http2 { streams: 10 }),
    Case::new("V11", stall::at_the_end).over("V11-tls", Over::Tls),
    Case::new("V11", stall::at_the_end).over("V11-http2", Over::Http2 { streams: 10 }),
    Case::new("V12", faults::resets).over("V12-tls", Over::Tls),
    Case::new("V12", faults::resets).over("V12-http2", Over::Http2 { streams: 1 }),
    Case::new("V15", slots::slots).over("V15-tls", Over::Tls),
    Case::new("V15", slots::slots).over("V15-http2", Over::Http2 { streams: 1 }),
];

/// Builds weir, runs the cases, writes their files and the page.
pub(crate) fn accuracy(options: Options) -> Result<()> {
    let mut fixture = Fixture::new(options)?;
    let root = root()?;
    let occasion = Occasion::now([
        ("places", fixture.placement.describe()),
        ("weir", machine::version(&fixture.weir, "--version")?),
        ("nginx", machine::version(&fixture.nginx, "-v")?),
    ])?;
    let mut failed = Vec::new();
    let cases: Vec<&Case> = CASES.iter().filter(|case| fixture.options.wants(case.id)).collect();
    for case in cases {
        fixture.over = case.over;
        let (since, pressure) = (Instant::now(), Pressure::now());
        let section = (case.run)(&fixture);
        let mut section = section.with_context(|| format!("failed to run {}", case.id))?;
        let taken = pressure.taken();
        let waited = fixture.take_waited();
        section.settle(waited <= WAITED_MAX && taken.has_no_steal());
        section.extend_title(&case.over.to_string());
        let short = if fixture.options.is_quick { "short windows (`--quick`), " } else { "" };
        let conditions = format!(
            "{short}a thread of server or client was runnable but not running {:.2} % of the \
             time; {taken}",
            waited * 100.0
        );
        let entry = section.entry(case.id, &occasion, since.elapsed().as_secs_f64(), conditions);
        print!("{}", entry.in_full());
        for failure in &entry.failures {
            eprintln!("accuracy: {} is not as expected: {failure}", case.id);
            failed.push(case.id);
        }
        if fixture.options.writes_page {
            measured::write(&root, &ACCURACY, &entry)?;
            eprintln!("accuracy: wrote {}", ACCURACY.file(case.id));
        }
    }
    failed.dedup();
    ensure!(failed.is_empty(), "not as expected: {}", failed.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_all_cases() {
        let mut cases: Vec<&str> = CASES.iter().map(|case| case.id).collect();
        let mut entries = ACCURACY.entries.to_vec();
        cases.sort_unstable();
        entries.sort_unstable();
        assert_eq!(cases, entries);
    }
}

//! `cargo xtask accuracy`: compares weir's figures with known values on this machine, and writes
//! the page with the results (METHOD 2).
//!
//! Each case is a function that measures against a server with known behaviour, from theory or from
//! its own log, and returns a [`Section`]. The sections of the measured cases are replaced in
//! `docs/ACCURACY.md`; with `--print`, none. A run fails if a case is not as expected, after
//! printing all sections.

mod curve;
mod distribution;
mod fixture;
mod log;
mod options;
mod peers;
mod quota;
mod rows;
mod section;
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
mod link;
mod occupancy;
mod overload;
mod queues;
mod slots;
mod stall;

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xtask::shell::root;

use crate::rig::machine::{self, Pressure};
use crate::rig::page::Page;
use fixture::Fixture;
pub(crate) use options::Options;
use section::Section;

/// Page that a full run writes.
const PAGE: &str = "docs/ACCURACY.md";

/// Largest share of time a thread may wait for a CPU in a quiet round.
const WAITED_MAX: f64 = 0.005;

/// A case of METHOD 2.1.
struct Case {
    id: &'static str,
    run: fn(&Fixture) -> Result<Section>,
}

/// All cases, in the order of the page.
const CASES: &[Case] = &[
    Case { id: "V2", run: delivery::delivery },
    Case { id: "V3", run: queues::laws },
    Case { id: "V4", run: causality::causality },
    Case { id: "V5", run: stall::open_loop },
    Case { id: "V6", run: closed::stall },
    Case { id: "V7", run: stall::half_the_time },
    Case { id: "V8", run: overload::overload },
    Case { id: "V9", run: queues::queues },
    Case { id: "V10", run: faults::black_hole },
    Case { id: "V11", run: stall::at_the_end },
    Case { id: "V12", run: faults::resets },
    Case { id: "V13", run: blame::blame },
    Case { id: "V14", run: departures::departures },
    Case { id: "V15", run: slots::slots },
    Case { id: "V16", run: causality::report },
    Case { id: "V17", run: occupancy::occupancy },
    Case { id: "V18", run: capture::capture },
    Case { id: "V26", run: concordance::concordance },
    Case { id: "V27", run: bounds::bounds },
    Case { id: "V28", run: attribution::attribution },
    Case { id: "V29", run: everyday::everyday_commands },
];

/// Builds weir, runs the cases, writes the page.
pub(crate) fn accuracy(options: Options) -> Result<()> {
    let fixture = Fixture::new(options)?;
    let place = root()?.join(PAGE);
    let mut page = Page::of(&fs::read_to_string(&place).unwrap_or_default());
    let about = machine::occasion()?;
    let mut failed = Vec::new();
    for case in CASES.iter().filter(|case| fixture.options.wants(case.id)) {
        let (since, pressure) = (Instant::now(), Pressure::now());
        let section = (case.run)(&fixture);
        let mut section = section.with_context(|| format!("failed to run {}", case.id))?;
        let taken = pressure.taken();
        let waited = fixture.take_waited();
        section.settle(waited <= WAITED_MAX && taken.has_no_steal());
        let short = if fixture.options.is_quick { "short windows (`--quick`), " } else { "" };
        section.note(format!(
            "{about}; {short}{:.0} s; a thread of server or client was runnable but not running \
             {:.2} % of the time; {taken}.",
            since.elapsed().as_secs_f64(),
            waited * 100.0
        ));
        let text = section.text(case.id);
        print!("{text}");
        page.put(case.id, text);
        for failure in section.failures() {
            eprintln!("accuracy: {} is not as expected: {failure}", case.id);
            failed.push(case.id);
        }
    }
    if fixture.options.writes_page {
        let text = page.text(&introduction(&fixture)?, CASES.iter().map(|case| case.id));
        fs::write(place, text).with_context(|| format!("failed to write {PAGE}"))?;
        eprintln!("accuracy: wrote {PAGE}");
    }
    failed.dedup();
    ensure!(failed.is_empty(), "not as expected: {}", failed.join(", "));
    Ok(())
}

/// Returns the introduction of the page.
fn introduction(fixture: &Fixture) -> Result<String> {
    let mut lines = machine::describe();
    lines.extend([
        ("places", fixture.placement.describe()),
        ("weir", machine::version(&fixture.weir, "--version")?),
        ("nginx", machine::version(&fixture.nginx, "-v")?),
    ]);
    let mut text = INTRODUCTION.to_owned();
    for (name, value) in lines {
        text.push_str(&format!("- {name}: {value}\n"));
    }
    Ok(text)
}

const INTRODUCTION: &str = "\
# Accuracy

Written by `make accuracy`, which may also measure some of the cases anew; each says when it was
measured. Each case sets up a truth that is known without weir, from theory or from the server's own
log, and holds weir's figures against it. The cases are those of [METHOD 2.1](../METHOD.md). Client
and server share one machine, over loopback. Each case ends with what else the machine did
meanwhile: lateness that comes of it is in the figures. Where a figure depends on a machine that has
nothing else to do and it had, the case is shown and not judged.

";

//! The cases of a page: measures each that is selected, prints it, and writes its file and the
//! page.

use std::time::Instant;

use anyhow::{Result, ensure};
use xtask::measured::{self, Page};
use xtask::shell::root;

use super::fixture::{CaseTransport, Fixture, Options};
use super::machine::{self, Pressure};
use super::peers::Peer;
use super::section::Section;

/// Largest share of time a thread may wait for a CPU in a quiet round.
const WAITED_MAX: f64 = 0.005;

/// A case of METHOD 2.1, or a benchmark: a function that measures.
pub(crate) struct Case {
    pub(crate) id: &'static str,
    run: fn(&Fixture) -> Result<Section>,
    over: CaseTransport,
}

impl Case {
    pub(crate) const fn new(id: &'static str, run: fn(&Fixture) -> Result<Section>) -> Case {
        Case { id, run, over: CaseTransport::Http1 }
    }

    pub(crate) const fn over(self, id: &'static str, over: CaseTransport) -> Case {
        Case { id, over, ..self }
    }
}

/// Builds weir and carries out the cases of a page that the command line selects.
pub(crate) fn measure(page: &Page, cases: &[Case], words: &[&str]) -> Result<()> {
    let task = page.task;
    let mut fixture = Fixture::new(task, Options::parse(page, words)?)?;
    let root = root()?;
    let occasion = machine::occasion([
        ("places", fixture.placement.describe()),
        ("weir", machine::version(&fixture.weir, "--version")?),
        ("nginx", machine::version(&fixture.nginx, "-v")?),
        ("wrk", Peer::Wrk.version()?),
    ])?;
    let mut failed = Vec::new();
    for case in cases.iter().filter(|case| fixture.options.wants(case.id)) {
        fixture.over = case.over;
        let since = Instant::now();
        let pressure = Pressure::now();
        let section = (case.run)(&fixture);
        let taken = pressure.taken();
        let waited = fixture.take_waited();
        let mut section = match section {
            Ok(section) => section,
            // The cases after it are measured all the same.
            Err(error) => {
                eprintln!("{task}: failed to run {}: {error:#}", case.id);
                failed.push(case.id);
                continue;
            }
        };
        let short = if fixture.options.is_quick { "short windows (`--quick`), " } else { "" };
        let (is_quiet, conditions) = match task {
            // Its servers and clients are not watched, and its rounds are paired.
            "bench" => (true, taken.to_string()),
            _ => (
                waited <= WAITED_MAX && taken.has_no_steal(),
                format!(
                    "{short}a thread of server or client was runnable but not running {:.2} % of \
                     the time; {taken}",
                    waited * 100.0
                ),
            ),
        };
        section.settle(is_quiet);
        section.extend_title(&case.over.to_string());
        let entry = section.entry(case.id, &occasion, since.elapsed().as_secs_f64(), conditions);
        print!("{}", entry.in_full());
        for failure in &entry.failures {
            eprintln!("{task}: {} is not as expected: {failure}", case.id);
        }
        // An entry is written at once, so that a failing case loses none of those before it.
        if fixture.options.writes_page {
            measured::write(&root, page, &entry)?;
            eprintln!("{task}: wrote {}", page.file(case.id));
        }
        failed.extend((!entry.failures.is_empty()).then_some(case.id));
    }
    ensure!(failed.is_empty(), "failed, or not as expected: {}", failed.join(", "));
    Ok(())
}

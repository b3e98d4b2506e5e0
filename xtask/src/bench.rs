//! `cargo xtask bench`: weir beside its peers, on this machine, and the page that says so.
//!
//! Every comparison is of paired rounds: both sides run within seconds of each other, in an order
//! that turns round each time, and what is reported is the median of the rounds' ratios. A full
//! run writes `docs/PERFORMANCE.md`; one that is quick or of some cases only prints.

mod connections;
mod cost;
mod options;
mod pacing;
mod paired;
mod scripts;
mod serving;
mod window;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::rig::clients;
use crate::rig::machine::{self, Placement};
use crate::rig::servers::Server;
use crate::shell::{cargo, find_program, root, run, target_dir};
use options::Case;
pub(crate) use options::Options;

/// The page that a full run writes.
const PAGE: &str = "docs/PERFORMANCE.md";

/// From this load on, before anything was started, the page says that the machine was busy.
const BUSY_LOAD: f64 = 0.5;

/// What the cases work with.
struct Lab {
    options: Options,
    weir: PathBuf,
    /// Absent where it is not installed.
    wrk: Option<PathBuf>,
    nginx: PathBuf,
    placement: Placement,
    /// The I/O engines that work here, by the name that weir takes.
    engines: Vec<&'static str>,
}

/// One case's part of the page.
struct Section {
    title: &'static str,
    text: String,
    /// What must not be and was.
    failures: Vec<String>,
}

/// Builds weir, runs the cases, writes the page.
pub(crate) fn bench(options: Options) -> Result<()> {
    let load_average = machine::load_average();
    let lab = Lab::new(options)?;
    let mut page = lab.introduction(load_average)?;
    let mut failures = Vec::new();
    for case in &lab.options.cases {
        let section = match case {
            Case::Cost => cost::cost(&lab),
            Case::Connections => connections::connections(&lab),
            Case::Pacing => pacing::pacing(&lab),
            Case::Window => window::window(&lab),
            Case::Serve => serving::serving(&lab),
            Case::Scripts => scripts::scripts(&lab),
        };
        let section = section.with_context(|| format!("failed to run the case {case}"))?;
        page.push_str(&format!("\n## {}\n\n{}", section.title, section.text));
        failures.extend(section.failures);
    }
    print!("{page}");
    if lab.options.writes_page() {
        fs::write(root()?.join(PAGE), page).with_context(|| format!("failed to write {PAGE}"))?;
        eprintln!("bench: wrote {PAGE}");
    }
    ensure!(failures.is_empty(), "what must not be: {}", failures.join("; "));
    Ok(())
}

impl Lab {
    fn new(options: Options) -> Result<Lab> {
        let nginx =
            find_program("nginx").context("failed to find nginx: cargo xtask setup bench")?;
        run(&mut cargo(&["build", "--locked", "--release", "--package", "weir"])?)?;
        let mut lab = Lab {
            options,
            weir: target_dir()?.join("release").join("weir"),
            wrk: find_program("wrk"),
            nginx,
            placement: Placement::of_this_machine(),
            engines: Vec::new(),
        };
        let server = lab.weir_serve()?;
        lab.engines = ["uring", "epoll"].into_iter().filter(|io| lab.works(io, &server)).collect();
        ensure!(!lab.engines.is_empty(), "weir answers with no I/O engine");
        Ok(lab)
    }

    fn works(&self, io: &str, server: &Server) -> bool {
        let options = ["-t1", "-c1", "-d", "50ms", "--warmup", "0", "--io", io];
        let tried = clients::weir(&self.weir, None, &options, &server.url);
        if let Err(error) = &tried {
            eprintln!("bench: without --io {io}: {error:#}");
        }
        tried.is_ok()
    }

    fn nginx(&self) -> Result<Server> {
        Server::nginx(&self.nginx, self.placement.server)
    }

    fn weir_serve(&self) -> Result<Server> {
        Server::weir(&self.weir, self.placement.server)
    }

    /// What stands before the cases.
    fn introduction(&self, load_average: f64) -> Result<String> {
        let wrk = match &self.wrk {
            Some(wrk) => machine::version(wrk, "-v")?,
            None => "absent".to_owned(),
        };
        let mut lines = vec![("date", machine::date()?)];
        lines.extend(machine::describe());
        lines.extend([
            ("places", self.placement.describe()),
            ("weir", machine::version(&self.weir, "--version")?),
            ("wrk", wrk),
            ("nginx", machine::version(&self.nginx, "-v")?),
            ("I/O engines", self.engines.join(", ")),
        ]);
        let mut text = INTRODUCTION.to_owned();
        for (name, value) in lines {
            text.push_str(&format!("- {name}: {value}\n"));
        }
        if load_average > BUSY_LOAD {
            text.push_str(&format!(
                "\n**The machine was not idle** (load average {load_average:.1} before the first \
                 run): ratios of paired rounds stand, absolute figures are worse than they would \
                 be.\n"
            ));
        }
        Ok(text)
    }
}

const INTRODUCTION: &str = "\
# Performance

Written by `make bench`; every figure here is from one run of it. Costs are CPU time as the kernel
accounts it to a process, by the same method for every program. A ratio is the median over paired
rounds (both sides within seconds of each other, in an order that turns round each time), with an
interval that holds the true median with 95 % confidence whatever the distribution (order
statistics). Absolute figures belong to this machine; the ratios travel better.

";

//! `cargo xtask bench`: compares weir with its peers on this machine, and writes the page with the
//! results.
//!
//! Every comparison consists of paired rounds: both sides run within seconds of each other, in an
//! order that alternates. The result is the median of the rounds' ratios. The sections of the
//! measured cases are replaced in `docs/PERFORMANCE.md`; with `--print`, none.

mod bare;
mod client;
mod connections;
mod defaults;
mod floors;
mod http2;
mod load;
mod matrix;
mod million;
mod options;
mod others;
mod pacing;
mod paired;
mod peers;
mod scripts;
mod serving;
mod tls;
mod watching;
mod window;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xtask::shell::{cargo, find_program, root, run, target_dir};

use crate::rig::clients;
use crate::rig::machine::{self, Placement, Pressure};
use crate::rig::page::Page;
use crate::rig::servers::{Server, Transport};
pub(crate) use options::Options;
use peers::Peer;

/// Page that a run writes.
const PAGE: &str = "docs/PERFORMANCE.md";

/// A benchmark.
struct Case {
    name: &'static str,
    run: fn(&Fixture) -> Result<Section>,
}

/// All cases, in the order of the page.
const CASES: &[Case] = &[
    Case { name: "defaults", run: defaults::defaults },
    Case { name: "depth", run: matrix::depth },
    Case { name: "pipelining", run: matrix::pipelining },
    Case { name: "bodies", run: matrix::bodies },
    Case { name: "close", run: matrix::close },
    Case { name: "tls", run: tls::tls },
    Case { name: "http2", run: http2::http2 },
    Case { name: "others", run: others::others },
    Case { name: "pacing", run: pacing::pacing },
    Case { name: "connections", run: connections::connections },
    Case { name: "million", run: million::million },
    Case { name: "watching", run: watching::watching },
    Case { name: "window", run: window::window },
    Case { name: "serve", run: serving::serving },
    Case { name: "scripts", run: scripts::scripts },
];

/// Environment of the cases.
struct Fixture {
    options: Options,
    weir: PathBuf,
    /// Output of `weir --help`.
    help: String,
    /// Path of wrk; none if it is not installed.
    wrk: Option<PathBuf>,
    nginx: PathBuf,
    placement: Placement,
    /// I/O engines available here, each as the flags that select it.
    engines: Vec<&'static [&'static str]>,
    /// Directory for files that clients need, in the build directory.
    directory: PathBuf,
}

/// One case's part of the page.
struct Section {
    title: &'static str,
    text: String,
    /// Conditions that failed.
    failures: Vec<String>,
}

/// Builds weir, runs the cases, writes the page.
pub(crate) fn bench(options: Options) -> Result<()> {
    let fixture = Fixture::new(options)?;
    let place = root()?.join(PAGE);
    let mut page = Page::of(&fs::read_to_string(&place).unwrap_or_default());
    let about = machine::occasion()?;
    let head = fixture.introduction()?;
    let mut failures = Vec::new();
    for case in CASES.iter().filter(|case| fixture.options.wants(case.name)) {
        let (since, pressure) = (Instant::now(), Pressure::now());
        let section = (case.run)(&fixture)
            .with_context(|| format!("failed to run the case {}", case.name))?;
        let text = format!(
            "\n## {}: {}\n\n{}\n{about}; {:.0} s; {}.\n",
            case.name,
            section.title,
            section.text,
            since.elapsed().as_secs_f64(),
            pressure.taken()
        );
        print!("{text}");
        page.put(case.name, text);
        failures.extend(section.failures);
        // The page is written after each case, so that a failing case loses none of those before
        // it.
        if fixture.options.writes_page {
            let text = page.text(&head, CASES.iter().map(|case| case.name));
            fs::write(&place, text).with_context(|| format!("failed to write {PAGE}"))?;
            eprintln!("bench: wrote {PAGE}");
        }
    }
    ensure!(failures.is_empty(), "what must not be: {}", failures.join("; "));
    Ok(())
}

impl Fixture {
    fn new(options: Options) -> Result<Fixture> {
        let nginx =
            find_program("nginx").context("failed to find nginx: cargo xtask setup bench")?;
        run(&mut cargo(&["build", "--locked", "--release", "--package", "weir-load"])?)?;
        let weir = target_dir()?.join("release").join("weir");
        let help = Command::new(&weir).arg("--help").output().context("failed to start weir")?;
        let directory = target_dir()?.join("bench");
        fs::create_dir_all(&directory).context("failed to make a directory for clients")?;
        let mut fixture = Fixture {
            options,
            weir,
            help: String::from_utf8_lossy(&help.stdout).into_owned(),
            wrk: find_program("wrk"),
            nginx,
            placement: Placement::of_this_machine(),
            engines: Vec::new(),
            directory,
        };
        let server = fixture.weir_serve()?;
        let engines: [&[&str]; 2] = [&["--io", "uring"], &["--io", "epoll"]];
        fixture.engines =
            engines.into_iter().filter(|flags| fixture.works(flags, &server)).collect();
        ensure!(!fixture.engines.is_empty(), "weir answers with no I/O engine");
        Ok(fixture)
    }

    fn works(&self, flags: &[&str], server: &Server) -> bool {
        let options = ["-t1", "-c1", "-d", "50ms", "--warmup", "0"];
        let tried = clients::weir(&self.weir, None, &[&options, flags].concat(), &server.url);
        if let Err(error) = &tried {
            eprintln!("bench: without {}: {error:#}", flags.join(" "));
        }
        tried.is_ok()
    }

    /// True if weir has this flag.
    fn knows(&self, flag: &str) -> bool {
        self.help.split_whitespace().any(|word| word.trim_end_matches(',') == flag)
    }

    fn nginx(&self) -> Result<Server> {
        Server::nginx(&self.nginx, self.placement.server, 1)
    }

    fn nginx_over(&self, transport: Transport) -> Result<Server> {
        Server::nginx_over(transport, &self.nginx, self.placement.server, 1)
    }

    fn h2o(&self) -> Result<Server> {
        let program = find_program("h2o").context("failed to find h2o: cargo xtask setup bench")?;
        Server::h2o(&program, self.placement.server)
    }

    fn weir_serve(&self) -> Result<Server> {
        Server::weir(&self.weir, self.placement.server, 1)
    }

    /// Returns the method of a comparison, in a sentence.
    fn method(&self, seconds: u32, more: &str) -> String {
        let rounds = self.options.rounds;
        format!("{rounds} rounds of {seconds} s for each program; {more}.")
    }

    /// Returns the introduction of the page.
    fn introduction(&self) -> Result<String> {
        let mut lines = machine::describe();
        lines.extend([
            ("places", self.placement.describe()),
            ("weir", machine::version(&self.weir, "--version")?),
            ("nginx", machine::version(&self.nginx, "-v")?),
            ("wrk", Peer::Wrk.version()?),
        ]);
        let mut text = INTRODUCTION.to_owned();
        for (name, value) in lines {
            text.push_str(&format!("- {name}: {value}\n"));
        }
        Ok(text)
    }
}

const INTRODUCTION: &str = "\
# Performance

Written by `make bench`, which may also measure some of the cases anew; each ends with when it was
measured and what else the machine did meanwhile. Costs are CPU time as the kernel accounts it to a
process, start and end included, by the same method for every program; requests are counted by the
server. A ratio is the median over paired rounds (both sides within seconds of each other, in an
order that changes from round to round), with an interval that holds the true median with 95 %
confidence whatever the distribution (order statistics). Absolute figures belong to this machine;
the ratios travel better. weir runs as it comes: with the kernel's stamps on its sample of
connections, its health sampling and its verdict. In the first section nothing is pinned; in all
others the clients run on the same one CPU. The list is of the machine that measured last; a section
with programs that are not in it has their versions.

";

//! `cargo xtask bench`: compares weir with its peers on this machine, and writes the results.
//!
//! Every comparison consists of paired rounds: both sides run within seconds of each other, in an
//! order that alternates. The result is the median of the rounds' ratios. Each measured
//! case replaces its file in `docs/measured/`, and docs/PERFORMANCE.md is rendered anew; with
//! `--print`, neither.

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
use xtask::measured::{self, PERFORMANCE};
use xtask::shell::{cargo, find_program, root, run, target_dir};

use crate::rig::clients;
use crate::rig::machine::{self, Occasion, Placement, Pressure};
use crate::rig::section::Section;
use crate::rig::servers::{Server, Transport};
pub(crate) use options::Options;
use peers::Peer;

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

/// Builds weir, runs the cases, writes their files and the page.
pub(crate) fn bench(options: Options) -> Result<()> {
    let fixture = Fixture::new(options)?;
    let root = root()?;
    let occasion = Occasion::now([
        ("places", fixture.placement.describe()),
        ("weir", machine::version(&fixture.weir, "--version")?),
        ("nginx", machine::version(&fixture.nginx, "-v")?),
        ("wrk", Peer::Wrk.version()?),
    ])?;
    let mut failures = Vec::new();
    for case in CASES.iter().filter(|case| fixture.options.wants(case.name)) {
        let (since, pressure) = (Instant::now(), Pressure::now());
        let mut section = (case.run)(&fixture)
            .with_context(|| format!("failed to run the case {}", case.name))?;
        section.settle(true);
        let (elapsed_s, conditions) = (since.elapsed().as_secs_f64(), pressure.taken().to_string());
        let entry = section.entry(case.name, &occasion, elapsed_s, conditions);
        print!("{}", entry.in_full());
        // An entry is written at once, so that a failing case loses none of those before it.
        if fixture.options.writes_page {
            measured::write(&root, &PERFORMANCE, &entry)?;
            eprintln!("bench: wrote {}", PERFORMANCE.file(case.name));
        }
        failures.extend(entry.failures);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_all_cases_in_their_order() {
        assert!(CASES.iter().map(|case| case.name).eq(PERFORMANCE.entries.iter().copied()));
    }
}

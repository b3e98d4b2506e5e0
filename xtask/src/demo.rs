//! `cargo xtask demo`: weir against its own server, once for each kind of load, in half a minute.
//!
//! The server stalls in the second run, so that response time and service time differ. It ends with
//! this program, even if this program is killed. One client thread leaves the server a CPU.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::guard::Guarded;
use crate::shell::{cargo, root, run, show, target_dir};

/// Directory of the demo's documents, from the root of the repository.
const DOCUMENTS: &str = "demo";

const RATE_LESSON: &str = "
What to look at: the server stopped for 1.4 s, once, in the middle of the second run.
  response      counts from the moment a request was due. The 2,800 requests that came due
                meanwhile had to wait: p90 is about 0.4 s and p99 about 1.3 s.
  service       counts from the moment a request was sent. Only those in flight, at most 50 of
                20,000, saw the stall: p90 and p99 look as if nothing had happened. A closed
                loop, the first run, measures nothing else.
  Target, Load, Limit
                how the server answered, whether it got the planned load, and what kept the
                rate from being higher.
  ~ and ≤       ~ is imprecise: it rests on that one stall, and a longer run would tell more.
                ≤ is an upper bound: a part of it is weir's own, since client and server share
                this machine. Neither is withheld.";

/// Builds weir, starts the server, runs the loads, and explains the results.
pub(crate) fn demo() -> Result<()> {
    run(&mut cargo(&["build", "--locked", "--release", "--package", "weir-load"])?)?;
    let weir = target_dir()?.join("release").join("weir");
    let documents = root()?.join(DOCUMENTS);
    fs::create_dir_all(&documents).context("failed to make the directory of the documents")?;

    println!(
        "\n1. A closed loop: 20 connections, each sends again once its response is complete.\n"
    );
    let server = Server::start(&weir, &[])?;
    load(&weir, &["-t1", "-c20", "-d5s", "--warmup", "1s"], "closed.json", &server)?;
    drop(server);

    println!("\n2. A constant rate: 2,000 requests per second, and one stall of the server.\n");
    let server = Server::start(&weir, &["--stall", "6s+1.4s"])?;
    load(&weir, &["-t1", "-c50", "-d10s", "-R", "2k", "--warmup", "1s"], "rate.json", &server)?;
    drop(server);

    println!("{RATE_LESSON}\n\nThe documents: {DOCUMENTS}/closed.json, {DOCUMENTS}/rate.json");
    Ok(())
}

fn load(weir: &Path, options: &[&str], document: &str, server: &Server) -> Result<()> {
    let document = PathBuf::from(DOCUMENTS).join(document);
    let mut command = Command::new(weir);
    command.args(options).arg("-o").arg(document).arg(&server.url).current_dir(root()?);
    let shown = show(&command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("failed to start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// A running `weir serve`, killed when the value is dropped.
struct Server {
    #[expect(dead_code, reason = "ends the server when it is dropped")]
    guarded: Guarded,
    url: String,
}

impl Server {
    fn start(weir: &Path, options: &[&str]) -> Result<Server> {
        let mut words = vec![weir.as_os_str()];
        words.extend(["serve", "--listen", "127.0.0.1:0"].map(OsStr::new));
        words.extend(options.iter().map(OsStr::new));
        let mut guarded = Guarded::start(&words)?;
        let url = guarded.listening_url()?;
        Ok(Server { guarded, url })
    }
}

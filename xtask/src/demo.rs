//! `cargo xtask demo`: weir against its own server, once for each kind of load, in half a minute.
//!
//! The server stalls in the second run, so that response time and service time differ. It ends with
//! this program, even if this program is killed. One client thread leaves the server a CPU.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::guard::Guarded;
use crate::shell::{build_demo, root, run};

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
    let weir = build_demo()?;
    let documents = root()?.join(DOCUMENTS);
    fs::create_dir_all(&documents).context("failed to make the directory of the documents")?;

    println!(
        "\n1. A closed loop: 20 connections, each sends again once its response is complete.\n"
    );
    load(&weir, "", "-t1 -c20 -d5s --warmup 1s", "closed.json")?;
    println!("\n2. A constant rate: 2,000 requests per second, and one stall of the server.\n");
    load(&weir, "--stall 6s+1.4s", "-t1 -c50 -d10s -R 2k --warmup 1s", "rate.json")?;
    println!("{RATE_LESSON}\n\nThe documents: {DOCUMENTS}/closed.json, {DOCUMENTS}/rate.json");
    Ok(())
}

/// Runs a load against a fresh `weir serve` with these flags.
fn load(weir: &Path, server: &str, flags: &str, document: &str) -> Result<()> {
    let serve = format!("serve --listen 127.0.0.1:0 {server}");
    let mut words = vec![weir.as_os_str()];
    words.extend(serve.split_whitespace().map(OsStr::new));
    let mut server = Guarded::start(&words)?;
    let mut command = Command::new(weir);
    command.args(flags.split(' ')).arg("-o").arg(Path::new(DOCUMENTS).join(document));
    run(command.arg(server.listening_url()?).current_dir(root()?))
}

//! `cargo xtask demo`: weir against its own server, once for each kind of load, in half a minute.
//!
//! The second run meets a stall of the server, so that response time and service time part. The
//! server ends with this program, however this program ends.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::guard::Guarded;
use crate::shell::{cargo, root, run, show, target_dir};

/// Where the documents of the demo go, from the root of the repository.
const DOCUMENTS: &str = "demo";

const RATE_LESSON: &str = "
What to look at: the server stood still for 1.4 s, once, in the middle of the second run.
  response time   from the moment a request was due. The 2,800 that came due meanwhile had to
                  wait: the stall shows in the mean and the max.
  service time    from the moment a request was sent. Only the few that were on their way, at
                  most 50 of 20,000, saw the stall: nothing of it in the mean. A closed loop, the
                  first run, has no other time to show.
  the verdict     on top: whether the numbers may be believed, and what of them was weir's own.
                  Server and client share this machine, which is no good client.
  p90, p99        rest on that one stall, so weir does not print them as if they were known, but
                  says how long a run would tell. -L prints them all the same.";

/// An answer, an answer with doubts (exit code 3): both are what a demo shows.
const SHOWN: [i32; 2] = [0, 3];

/// Builds weir, serves, loads, explains.
pub(crate) fn demo() -> Result<()> {
    run(&mut cargo(&["build", "--locked", "--release", "--package", "weir"])?)?;
    let weir = target_dir()?.join("release").join("weir");
    let documents = root()?.join(DOCUMENTS);
    fs::create_dir_all(&documents).context("failed to make the directory of the documents")?;

    println!("\n1. A closed loop: 20 connections, each asks again as soon as it is answered.\n");
    let server = Server::start(&weir, &[])?;
    load(&weir, &["-t1", "-c20", "-d5s", "--warmup", "1s"], "closed.json", &server)?;
    drop(server);

    println!("\n2. A constant rate: 2,000 requests a second, and one stall of the server.\n");
    let server = Server::start(&weir, &["--stall", "6s+1.4s"])?;
    load(&weir, &["-c50", "-d10s", "-R", "2k", "--warmup", "1s"], "rate.json", &server)?;
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
    let is_shown = status.code().is_some_and(|code| SHOWN.contains(&code));
    ensure!(is_shown, "`{shown}` ended with {status}");
    Ok(())
}

/// A running `weir serve`, which ends when this value does.
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

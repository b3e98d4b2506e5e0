//! `cargo xtask demo`: weir against its own server, once for each kind of load, in half a minute.
//!
//! The second run meets a stall of the server, so that response time and service time part. The
//! server ends with this program, however this program ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, run, target_dir};

/// Where the documents of the demo go, from the root of the repository.
const DOCUMENTS: &str = "demo";

const RATE_LESSON: &str = "
What to look at: the server stood still for 1.4 s, once, in the middle of the second run.
  response time   from the moment a request was due. The 2,800 that came due meanwhile had to
                  wait: the stall shows from the p90 on.
  service time    from the moment a request was sent. Only the few that were on their way, at
                  most 50 of 20,000, saw the stall: nothing of it in the p99. A closed loop, the
                  first run, has no other time to show.";

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
    run(&mut command)
}

/// A running `weir serve`, which ends when this value does.
struct Server {
    guard: Child,
    /// Closed by the kernel when this program ends, whatever ends it.
    lifeline: Option<ChildStdin>,
    /// Held open, so that the server may go on printing.
    output: BufReader<ChildStdout>,
    url: String,
}

/// A shell between this program and the server: it ends the server when its own input ends. A
/// signal that ends this program can thus not leave the server behind, and needs no handler here.
/// It closes its own output, so that the end of the server's shows.
const GUARD: &str = r#"
trap '' INT
"$@" </dev/null &
server=$!
exec >&-
read -r end
kill "$server" 2>/dev/null
wait "$server"
"#;

impl Server {
    fn start(weir: &Path, options: &[&str]) -> Result<Server> {
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "guard"]).arg(weir);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(options);
        let mut guard = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start sh, which guards the server")?;
        let lifeline = guard.stdin.take();
        let output = guard.stdout.take().context("failed to read what the server prints")?;
        let mut server =
            Server { guard, lifeline, output: BufReader::new(output), url: String::new() };
        server.url = server.listening_url()?;
        Ok(server)
    }

    /// Reads on until the server has said where it listens.
    fn listening_url(&mut self) -> Result<String> {
        let mut printed = String::new();
        loop {
            let start = printed.len();
            let bytes = self.output.read_line(&mut printed).context("failed to read the server")?;
            if let Some(url) = url_in(&printed[start..]) {
                return Ok(url.to_owned());
            }
            if bytes == 0 {
                bail!("the server ended without saying where it listens: {printed}");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lifeline = None;
        // The guard has killed the server by then; how it ended matters to nobody.
        self.guard.wait().ok();
    }
}

/// The address in `listening on http://127.0.0.1:8080`.
fn url_in(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("listening on ")?;
    after.split_whitespace().next().filter(|url| url.starts_with("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found() {
        assert_eq!(url_in("listening on http://127.0.0.1:1/\n"), Some("http://127.0.0.1:1/"));
        assert_eq!(url_in("listening on a whim\n"), None);
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error() {
        let error = Server::start(Path::new("true"), &[]).err().expect("true is no server");
        assert!(error.to_string().contains("ended without saying"), "{error:#}");
    }
}

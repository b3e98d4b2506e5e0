//! Servers that end with this program, however this program ends.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A shell between this program and the server: it ends the server when its own input ends. A
/// signal that ends this program can thus not leave the server behind, and needs no handler here.
/// It closes its own output, so that the end of the server's shows. It says the server's number
/// first, and lets it have as many files as this user may.
const GUARD: &str = r#"
trap '' INT
ulimit -n "$(ulimit -Hn)" 2>/dev/null
"$@" </dev/null &
server=$!
echo "$server"
exec >&-
read -r end
kill "$server" 2>/dev/null
wait "$server"
"#;

/// A running server, which ends when this value does.
pub(crate) struct Guarded {
    guard: Child,
    /// Closed by the kernel when this program ends, whatever ends it.
    lifeline: Option<ChildStdin>,
    /// Held open, so that the server may go on printing.
    output: BufReader<ChildStdout>,
    /// The server's process.
    pub(crate) pid: u32,
}

impl Guarded {
    /// Starts the server that these words name.
    pub(crate) fn start<W: AsRef<OsStr>>(words: &[W]) -> Result<Guarded> {
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start sh, which guards the server")?;
        let lifeline = guard.stdin.take();
        let output = guard.stdout.take().context("failed to read what the server prints")?;
        let mut server = Guarded { guard, lifeline, output: BufReader::new(output), pid: 0 };
        let mut number = String::new();
        server.output.read_line(&mut number).context("failed to read the server's guard")?;
        server.pid = number.trim().parse().context("failed to read the server's number")?;
        Ok(server)
    }

    /// Reads on until the server has printed this line.
    #[cfg(feature = "accuracy")]
    pub(crate) fn await_line(&mut self, line: &str) -> Result<()> {
        let mut printed = String::new();
        loop {
            let start = printed.len();
            let bytes = self.output.read_line(&mut printed).context("failed to read the server")?;
            if printed[start..].trim() == line {
                return Ok(());
            }
            if bytes == 0 {
                bail!("the server ended without saying `{line}`: {printed}");
            }
        }
    }

    /// Reads on until a `weir serve` has said where it listens.
    pub(crate) fn listening_url(&mut self) -> Result<String> {
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

impl Drop for Guarded {
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
        let mut server = Guarded::start(&["true"]).expect("true can be started");
        assert!(server.pid > 1);
        let error = server.listening_url().expect_err("true is no server");
        assert!(error.to_string().contains("ended without saying"), "{error:#}");
    }
}

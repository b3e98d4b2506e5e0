//! Servers that end with this program, even if this program is killed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A shell between this program and the server, which kills the server when its own standard input
/// ends. A signal that kills this program therefore leaves no server behind, and this program needs
/// no signal handler. The shell closes its own standard output, so that the end of the server's is
/// visible. It prints the server's process id first, and raises the limit of open files to this
/// user's maximum.
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

/// A running server, killed when the value is dropped.
#[derive(Debug)]
pub struct Guarded {
    /// The shell. The kernel closes its input when this program ends, whatever the cause.
    guard: Child,
    /// Kept open, so that the server can continue to print.
    output: BufReader<ChildStdout>,
    /// Process id of the server.
    pub pid: u32,
}

impl Guarded {
    /// Starts the server with this command line. Fails if there is no shell to guard it.
    pub fn start<W: AsRef<OsStr>>(words: &[W]) -> Result<Guarded> {
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start sh, which guards the server")?;
        let output = guard.stdout.take().context("failed to read what the server prints")?;
        let mut server = Guarded { guard, output: BufReader::new(output), pid: 0 };
        let mut number = String::new();
        server.output.read_line(&mut number).context("failed to read the server's guard")?;
        server.pid = number.trim().parse().context("failed to read the server's number")?;
        Ok(server)
    }

    /// Reads until the server has printed this line. Fails if it ends before.
    pub fn await_line(&mut self, line: &str) -> Result<()> {
        self.find_line(line, |printed| (printed.trim() == line).then_some(()))
    }

    /// Reads until a `weir serve` has printed its address, and returns that. Fails if it ends
    /// before.
    pub fn listening_url(&mut self) -> Result<String> {
        self.find_line("listening on", |printed| url_in(printed).map(str::to_owned))
    }

    fn find_line<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        let mut printed = String::new();
        loop {
            let start = printed.len();
            let bytes = self.output.read_line(&mut printed).context("failed to read the server")?;
            if let Some(found) = find(&printed[start..]) {
                return Ok(found);
            }
            if bytes == 0 {
                bail!("the server ended without saying `{what}`: {printed}");
            }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // This closes the guard's input first, so the guard kills the server. Its exit status is
        // irrelevant.
        self.guard.wait().ok();
    }
}

/// Returns the address in `listening on http://127.0.0.1:8080`.
fn url_in(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("listening on ")?;
    after.split_whitespace().next().filter(|url| url.starts_with("http"))
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

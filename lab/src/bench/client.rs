//! One side of a comparison: a program that runs a load once, and the checks that it ran the load
//! correctly.
//!
//! The server counts the requests, so that no program's own count is trusted.

use std::ffi::OsString;

use anyhow::{Context, Result, ensure};

use super::load::ClosedLoad;
use crate::rig::{
    ClientRun, Fixture, Peer, Server, ServerCounts, clients, failures, pinned, show, timed,
};

/// A program with its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// weir with these flags in addition to the load's.
    Weir(&'static [&'static str]),
    Peer(Peer),
}

impl Client {
    pub(super) fn name(self) -> String {
        match self {
            Client::Weir(flags) => [&["weir"], flags].concat().join(" "),
            Client::Peer(peer) => peer.name().to_owned(),
        }
    }

    /// Returns the command line.
    fn words(
        self,
        fixture: &Fixture,
        load: &ClosedLoad,
        seconds: u32,
        url: &str,
    ) -> Result<Vec<OsString>> {
        let (program, words) = match self {
            Client::Weir(flags) => (fixture.weir.clone(), weir_words(load, flags, seconds, url)),
            Client::Peer(peer) => (
                peer.find().with_context(|| format!("failed to find {}", peer.name()))?,
                peer.words(load, seconds, url, &fixture.directory)?,
            ),
        };
        Ok([pinned(fixture.placement.client, &program), words].concat())
    }

    /// Runs the load once.
    pub(super) fn run(
        self,
        fixture: &Fixture,
        server: &Server,
        load: &ClosedLoad,
        seconds: u32,
    ) -> Result<ClientRun> {
        let words = self.words(fixture, load, seconds, &load.url(server))?;
        let good = if matches!(self, Client::Weir(_)) { &[0, 3] as &[i32] } else { &[0] };
        let before = server.counts()?;
        let timed = timed(&words, good)?;
        let counts = server.counts_since(before)?;
        self.check(&timed.stdout)
            .and_then(|()| check_connections(load, counts))
            .with_context(|| format!("`{}` is no fair comparison", show(&words)))?;
        Ok(ClientRun::of(counts.requests, &timed))
    }

    /// Checks the program's output for reported errors, if it reports them.
    fn check(self, stdout: &str) -> Result<()> {
        match self {
            Client::Weir(_) => {
                let failures = failures(&clients::document(stdout)?);
                ensure!(failures == 0, "{failures} requests failed");
            }
            Client::Peer(Peer::Wrk) => {
                let is_bad = stdout.contains("errors:") || stdout.contains("Non-2xx");
                ensure!(!is_bad, "wrk met errors:\n{stdout}");
            }
            Client::Peer(_) => {}
        }
        Ok(())
    }
}

/// Returns weir's command line. All defaults stay on except the warm-up, which wrk does not have.
/// The preflight request stays: it determines which bodies weir need not copy.
fn weir_words(load: &ClosedLoad, flags: &[&str], seconds: u32, url: &str) -> Vec<OsString> {
    let ClosedLoad { connections, depth, http2, .. } = *load;
    let plan = format!("-t1 -c{connections} -d{seconds}s --warmup 0 --format json");
    let mut words: Vec<OsString> = plan.split(' ').map(OsString::from).collect();
    let flag = if http2 { "--streams" } else { "--pipeline" };
    if depth > 1 || http2 {
        words.extend([flag.into(), depth.to_string().into()]);
    }
    if url.starts_with("https:") {
        // As its peers, which verify no certificate.
        words.push("--insecure".into());
    }
    let names_an_end = flags.contains(&"--close");
    if load.is_closing && !names_an_end {
        words.extend(["-H", "Connection: close"].map(OsString::from));
    }
    words.extend(flags.iter().map(OsString::from));
    words.push(url.into());
    words
}

/// Checks that connections lived as long as they should. Some programs open a few more than they
/// use.
fn check_connections(load: &ClosedLoad, counts: ServerCounts) -> Result<()> {
    let ServerCounts { accepted, requests } = counts;
    ensure!(requests > 0, "it sent nothing");
    if load.is_closing {
        let least = requests - requests / 50;
        ensure!(accepted >= least, "{accepted} connections for {requests} requests");
    } else {
        let most = u64::from(load.connections) * 2 + 10;
        ensure!(accepted <= most, "{accepted} connections for {}", load.connections);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_must_live_as_long_as_they_should() {
        let check = |load: &ClosedLoad, accepted, requests, is_fair| {
            let outcome = check_connections(load, ServerCounts { accepted, requests });
            assert_eq!(outcome.is_ok(), is_fair, "{accepted} for {requests}");
        };
        let load = ClosedLoad::of(10);
        check(&load, 10, 1_000, true);
        check(&load, 500, 1_000, false);
        check(&load, 10, 0, false);
        check(&load.closing(), 1_000, 1_000, true);
        check(&load.closing(), 10, 1_000, false);
    }

    #[test]
    fn weir_gets_the_load() {
        let words = |load: ClosedLoad, flags: &[&str]| {
            show(&weir_words(&load, flags, 2, "URL")).to_string()
        };
        let plan = "-t1 -c20 -d2s --warmup 0 --format json --pipeline 16";
        assert_eq!(words(ClosedLoad::of(20).pipelined(16), &[]), format!("{plan} URL"));
        let streams = words(ClosedLoad::of(20).streams(1), &[]);
        assert_eq!(streams, "-t1 -c20 -d2s --warmup 0 --format json --streams 1 URL");
        let closing = words(ClosedLoad::of(20).closing(), &["--close", "client"]);
        assert!(closing.ends_with("--close client URL") && !closing.contains("-H"));
        assert!(words(ClosedLoad::of(20).closing(), &[]).contains("-H Connection: close"));
    }
}

//! `weir serve` in a container of its own, and its count of requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::podman::Podman;
use super::profile::Profile;
use crate::guard::Guarded;

/// Longest time of a read of its counters.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server.
pub(super) struct ContainerServer<'a> {
    podman: &'a Podman<'a>,
    pub(super) url: String,
    /// podman, which ends the container when it is ended.
    _guard: Guarded,
}

impl<'a> ContainerServer<'a> {
    /// Starts a server with these words under a profile.
    pub(super) fn start(
        podman: &'a Podman<'a>,
        profile: &Profile,
        words: &[&str],
    ) -> Result<ContainerServer<'a>> {
        let command = podman.confined(profile);
        let words = ["serve", "--listen", "127.0.0.1:0"].iter().chain(words).map(AsRef::as_ref);
        let command: Vec<_> =
            iter::once(command.get_program()).chain(command.get_args()).chain(words).collect();
        let mut guard = Guarded::start(&command)?;
        Ok(ContainerServer { podman, url: guard.listening_url()?, _guard: guard })
    }

    /// Checks that the server has no privileges, and passes a seccomp filter.
    pub(super) fn check_confinement(&self) -> Result<()> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.podman.pid()?))?;
        for line in [
            "Uid:\t65532\t65532\t65532\t65532",
            "CapEff:\t0000000000000000",
            "CapBnd:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            ensure!(status.lines().any(|of_it| of_it == line), "no `{line}` in {status}");
        }
        Ok(())
    }

    /// Returns the number of requests that it has counted. It does not count this one.
    pub(super) fn requests(&self) -> Result<u64> {
        let (_, address) = self.url.split_once("://").context("an address has a scheme")?;
        let mut stream = TcpStream::connect(address.trim_end_matches('/'))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(
            b"GET /weir/stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (_, body) = response.split_once("\r\n\r\n").context("no response")?;
        let counters: Value = serde_json::from_str(body)?;
        counters["requests"].as_u64().with_context(|| format!("no count: {body}"))
    }
}

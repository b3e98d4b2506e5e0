//! A load of users on the shop: its protocol, and the processes that carry it out. It judges
//! nothing.

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use weir_result::Document;
use xtask::shell::path_with;

use crate::accuracy::fleet::processes::nats_directory;
use crate::accuracy::interop::server::{ForeignServer, ServerKind};
use crate::rig::{Fixture, clients, pinned, timed};

/// Users who arrive per second in an open loop, and the flags of each load.
pub(super) const RATE_RPS: u64 = 250;
const FLAGS: &str = "-t2 -c100 --warmup 0 --drain 60s --seed 43";

/// Time from the start of two parts to that of their load, in seconds.
const START_AFTER_S: u64 = 4;

const SHOP_SEED: u64 = 43;

/// A load before its start.
pub(super) struct ShopLoad {
    pub(super) is_http2: bool,
    pub(super) is_tls: bool,
    pub(super) is_open_loop: bool,
    pub(super) processes: LoadProcesses,
}

/// The processes that carry a load out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadProcesses {
    One,
    /// Two parts, whose documents `weir report` merges.
    Parts,
    /// Two agents, with a coordinator and a bus of their own.
    Agents,
}

impl ShopLoad {
    /// Returns the shop of this protocol.
    pub(super) fn shop(&self, fixture: &Fixture) -> ForeignServer {
        let http = if self.is_http2 { "--http2" } else { "" };
        let file = |name| fixture.directory.join(name).display().to_string();
        let tls = match self.is_tls {
            true => format!("--certificate {} {}", file("cert.pem"), file("key.pem")),
            false => String::new(),
        };
        ForeignServer { kind: ServerKind::Shop, flags: format!("{http} {tls}"), seed: SHOP_SEED }
    }

    /// Returns the protocol and the processes, for readers.
    pub(super) fn describe(&self) -> String {
        let http = if self.is_http2 { "HTTP/2" } else { "HTTP/1.1" };
        let tls = if self.is_tls { ", TLS" } else { "" };
        let processes = match self.processes {
            LoadProcesses::One => "",
            LoadProcesses::Parts => ", two parts",
            LoadProcesses::Agents => ", two agents",
        };
        let open_loop = if self.is_open_loop { ", open loop" } else { "" };
        format!("{http}{tls}{processes}{open_loop}")
    }

    /// Returns weir's flags for so many users, without the scenario.
    pub(super) fn flags(&self, users: u64) -> String {
        let http = if self.is_http2 { "--http 2 --streams 10" } else { "--http 1.1" };
        let tls = if self.is_tls { " --insecure" } else { "" };
        let rate = match self.is_open_loop {
            true => format!(" -R {RATE_RPS}"),
            false => String::new(),
        };
        let agents = if self.processes == LoadProcesses::Agents { " --agents 2" } else { "" };
        format!("{FLAGS} {http}{tls}{rate} -n {users}{agents}")
    }

    /// Runs weir with these flags on the shop at this URL, and returns the whole document.
    pub(super) fn run(&self, fixture: &Fixture, flags: &str, url: &str) -> Result<Document> {
        let words = match self.processes {
            LoadProcesses::One => Vec::new(),
            LoadProcesses::Parts => return parts(fixture, flags, url),
            LoadProcesses::Agents => {
                let mut path = OsString::from("PATH=");
                path.push(path_with([nats_directory()?])?);
                vec!["env".into(), path]
            }
        };
        fixture.start_weir_by(words, flags, url)?.finish()
    }
}

/// Runs two parts at once, and returns the merged document.
fn parts(fixture: &Fixture, flags: &str, url: &str) -> Result<Document> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("it is before 1970")?;
    let start_at = now.as_secs() + START_AFTER_S;
    let files = ["part-1.json", "part-2.json"].map(|name| fixture.directory.join(name));
    let mut running = Vec::new();
    for (part, file) in (1..).zip(&files) {
        let flags = format!("{flags} --part {part}/2 --start-at {start_at} -o {}", file.display());
        running.push(fixture.start_weir(&flags, url)?);
    }
    for weir in running {
        weir.finish()?;
    }
    let mut words = pinned(fixture.placement.client, &fixture.weir);
    words.extend(["report", "--format", "json"].map(OsString::from));
    words.extend(files.map(OsString::from));
    clients::document(&timed(&words, &[0, 3])?.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_the_flags_of_its_description() {
        let check = |load: ShopLoad, name: &str, flags: &str| {
            assert_eq!(load.describe(), name);
            assert_eq!(load.flags(500), format!("{FLAGS} {flags}"), "{name}");
        };
        let plain = || ShopLoad {
            is_http2: false,
            is_tls: false,
            is_open_loop: false,
            processes: LoadProcesses::One,
        };
        check(plain(), "HTTP/1.1", "--http 1.1 -n 500");
        let load = ShopLoad { is_http2: true, is_tls: true, ..plain() };
        check(load, "HTTP/2, TLS", "--http 2 --streams 10 --insecure -n 500");
        let load = ShopLoad { processes: LoadProcesses::Parts, ..plain() };
        check(load, "HTTP/1.1, two parts", "--http 1.1 -n 500");
        let processes = LoadProcesses::Agents;
        let load = ShopLoad { is_open_loop: true, processes, ..plain() };
        let flags = "--http 1.1 -R 250 -n 500 --agents 2";
        check(load, "HTTP/1.1, two agents, open loop", flags);
    }
}

//! A slow link between two private network namespaces, which are removed when the value is dropped.
//! A forwarder delays its packets, or its bandwidth is limited. netem(8) is not in every kernel;
//! TUN devices and tbf(8) are.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result};
use xtask::guard::Guarded;
use xtask::shell::{need_program, run};

use crate::rig::python;

/// Names of the namespaces; one program at a time uses them.
pub(super) const CLIENT: &str = "weir-client";
pub(super) const SERVER: &str = "weir-server";

/// Addresses of the two ends.
const CLIENT_ADDRESS: &str = "10.99.0.1";
pub(super) const SERVER_ADDRESS: &str = "10.99.0.2";

/// Cause of the slowness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slowness {
    /// Delay of each packet in each direction, in ms.
    Delay(u32),
    /// Bandwidth towards the client, in Mbit/s.
    Bandwidth(u32),
}

/// A slow link.
pub(super) struct NetworkLink {
    _forwarder: Option<Guarded>,
}

impl NetworkLink {
    pub(super) fn new(slowness: Slowness) -> Result<NetworkLink> {
        // Removes namespaces left by an earlier run that was killed.
        remove();
        // Cleans up if a later step fails.
        let mut link = NetworkLink { _forwarder: None };
        for namespace in [CLIENT, SERVER] {
            ip(&["netns", "add", namespace])?;
        }
        match slowness {
            Slowness::Delay(ms) => {
                link._forwarder = Some(forwarder(ms)?);
                ip(&["link", "set", "weir0", "netns", CLIENT])?;
                ip(&["link", "set", "weir1", "netns", SERVER])?;
            }
            Slowness::Bandwidth(_) => {
                let client_end = ["link", "add", "weir0", "netns", CLIENT, "type", "veth"];
                ip(&[&client_end[..], &["peer", "name", "weir1", "netns", SERVER]].concat())?;
            }
        }
        for (device, namespace, own, other) in [
            ("weir0", CLIENT, CLIENT_ADDRESS, SERVER_ADDRESS),
            ("weir1", SERVER, SERVER_ADDRESS, CLIENT_ADDRESS),
        ] {
            ip(&["-n", namespace, "addr", "add", own, "peer", other, "dev", device])?;
            ip(&["-n", namespace, "link", "set", device, "up"])?;
            ip(&["-n", namespace, "link", "set", "lo", "up"])?;
        }
        if let Slowness::Bandwidth(mbit) = slowness {
            let rate = format!("{mbit}mbit");
            let mut tc = within(SERVER)?;
            tc.extend(["tc", "qdisc", "add", "dev", "weir1", "root", "tbf"].map(OsString::from));
            tc.extend(["rate", &rate, "burst", "32kb", "latency", "2s"].map(OsString::from));
            run(Command::new(&tc[0]).args(&tc[1..]))?;
        }
        Ok(link)
    }
}

impl Drop for NetworkLink {
    fn drop(&mut self) {
        remove();
    }
}

/// Returns the words that run the command after them in a namespace.
pub(super) fn within(namespace: &str) -> Result<Vec<OsString>> {
    let ip = need_program("ip", "accuracy")?.into_os_string();
    Ok([ip].into_iter().chain(["netns", "exec", namespace].map(OsString::from)).collect())
}

fn ip(words: &[&str]) -> Result<()> {
    run(Command::new(need_program("ip", "accuracy")?).args(words))
        .context("failed to make a link; as root?")
}

/// Removes the namespaces, if they exist, and with them their devices.
fn remove() {
    for namespace in [CLIENT, SERVER] {
        let mut ip = Command::new("ip");
        let gone = ip.args(["netns", "del", namespace]).stderr(std::process::Stdio::null());
        gone.status().ok();
    }
}

fn forwarder(delay_ms: u32) -> Result<Guarded> {
    let arguments = [&*delay_ms.to_string(), "weir0", "weir1"];
    let mut forwarder = python(None, "accuracy/link/forwarder.py", &arguments)?;
    forwarder.await_line("ready")?;
    Ok(forwarder)
}

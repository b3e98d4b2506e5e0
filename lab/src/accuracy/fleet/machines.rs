//! Machines of a fleet: network namespaces on one switch, which are removed when the value is
//! dropped.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use xtask::shell::{need_program, run};

/// Names of the namespaces; one program at a time uses them.
const SWITCH: &str = "weir-switch";
pub(super) const COORDINATOR: &str = "weir-lead";
pub(super) const SERVER: &str = "weir-target";
pub(super) const AGENTS: [&str; 3] = ["weir-gen1", "weir-gen2", "weir-gen3"];

pub(super) const BUS_ADDRESS: &str = "10.98.0.1";
pub(super) const SERVER_ADDRESS: &str = "10.98.0.2";

/// All machines but the switch, with the last number of their address.
fn places() -> impl Iterator<Item = (&'static str, u32)> {
    [COORDINATOR, SERVER].into_iter().chain(AGENTS).zip(1..)
}

/// The machines.
pub(super) struct Machines(());

impl Machines {
    /// Makes them. Those that a killed run has left are removed before.
    pub(super) fn make() -> Result<Machines> {
        remove();
        // Cleans up if a later step fails.
        let machines = Machines(());
        ip(&["netns", "add", SWITCH])?;
        ip(&["-n", SWITCH, "link", "add", "br0", "type", "bridge"])?;
        ip(&["-n", SWITCH, "link", "set", "br0", "up"])?;
        for (place, number) in places() {
            let (port, address) = (port(place), format!("10.98.0.{number}/24"));
            ip(&["netns", "add", place])?;
            let own_end = ["link", "add", "eth0", "netns", place, "type", "veth"];
            ip(&[&own_end[..], &["peer", "name", &port, "netns", SWITCH]].concat())?;
            ip(&["-n", SWITCH, "link", "set", &port, "master", "br0", "up"])?;
            ip(&["-n", place, "addr", "add", &address, "dev", "eth0"])?;
            ip(&["-n", place, "link", "set", "eth0", "up"])?;
            ip(&["-n", place, "link", "set", "lo", "up"])?;
        }
        Ok(machines)
    }

    /// Cuts a machine off from all others.
    pub(super) fn cut_off(&self, place: &str) -> Result<()> {
        ip(&["-n", SWITCH, "link", "set", &port(place), "down"])
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        remove();
    }
}

/// The switch's port to a machine.
fn port(place: &str) -> String {
    place.replace("weir-", "port-")
}

fn ip(words: &[&str]) -> Result<()> {
    run(Command::new(need_program("ip", "accuracy")?).args(words))
        .context("failed to make a machine; as root?")
}

fn remove() {
    for place in places().map(|(place, _)| place).chain([SWITCH]) {
        let mut ip = Command::new("ip");
        ip.args(["netns", "del", place]).stderr(Stdio::null()).status().ok();
    }
}

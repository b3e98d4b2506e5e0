//! Machines of a fleet: network namespaces on two switches, one for the bus and one for the load,
//! which are removed when the value is dropped.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use xtask::shell::{need_program, run};

/// Names of the namespaces; one program at a time uses them.
const SWITCH: &str = "weir-switch";
pub(in crate::accuracy) const COORDINATOR: &str = "weir-lead";
pub(in crate::accuracy) const SERVER: &str = "weir-target";
pub(in crate::accuracy) const AGENTS: [&str; 3] = ["weir-gen1", "weir-gen2", "weir-gen3"];
pub(in crate::accuracy) const MANY_AGENTS: [&str; 8] = [
    AGENTS[0],
    AGENTS[1],
    AGENTS[2],
    "weir-gen4",
    "weir-gen5",
    "weir-gen6",
    "weir-gen7",
    "weir-gen8",
];

pub(in crate::accuracy) const BUS_ADDRESS: &str = "10.98.0.1";
pub(in crate::accuracy) const SERVER_ADDRESS: &str = "10.97.0.2";

/// A network that all machines are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::accuracy) enum Network {
    /// The way to the bus.
    Bus,
    /// The way to the server.
    Load,
}

pub(in crate::accuracy) const NETWORKS: [Network; 2] = [Network::Bus, Network::Load];

impl Network {
    pub(in crate::accuracy) fn name(self) -> &'static str {
        match self {
            Network::Bus => "bus",
            Network::Load => "load",
        }
    }

    /// Returns the address of the machine with this number.
    fn address(self, number: u32) -> String {
        match self {
            Network::Bus => format!("10.98.0.{number}/24"),
            Network::Load => format!("10.97.0.{number}/24"),
        }
    }

    /// Returns the name of the switch's port to a machine.
    fn port(self, place: &str) -> String {
        place.replace("weir", self.name())
    }
}

/// The machines.
pub(in crate::accuracy) struct Machines {
    /// Names of the agents' machines.
    agents: &'static [&'static str],
}

impl Machines {
    /// Makes the coordinator's, the server's and these. Those that a killed run has left are
    /// removed before.
    pub(in crate::accuracy) fn make(agents: &'static [&'static str]) -> Result<Machines> {
        // Cleans up if a later step fails.
        let machines = Machines { agents };
        machines.remove();
        ip(&["netns", "add", SWITCH])?;
        for network in NETWORKS {
            ip(&["-n", SWITCH, "link", "add", network.name(), "type", "bridge"])?;
            ip(&["-n", SWITCH, "link", "set", network.name(), "up"])?;
        }
        for (place, number) in machines.places() {
            ip(&["netns", "add", place])?;
            ip(&["-n", place, "link", "set", "lo", "up"])?;
            for network in NETWORKS {
                let device = network.name();
                let port = network.port(place);
                let own_end = ["link", "add", device, "netns", place, "type", "veth"];
                ip(&[&own_end[..], &["peer", "name", &port, "netns", SWITCH]].concat())?;
                ip(&["-n", SWITCH, "link", "set", &port, "master", device, "up"])?;
                ip(&["-n", place, "addr", "add", &network.address(number), "dev", device])?;
                ip(&["-n", place, "link", "set", device, "up"])?;
            }
        }
        Ok(machines)
    }

    /// Returns all but the switch, with the last number of their addresses.
    fn places(&self) -> impl Iterator<Item = (&'static str, u32)> {
        [COORDINATOR, SERVER].into_iter().chain(self.agents.iter().copied()).zip(1..)
    }

    /// Returns a machine's address on a network.
    pub(in crate::accuracy) fn address(&self, place: &str, network: Network) -> Option<String> {
        let (_, number) = self.places().find(|(known, _)| *known == place)?;
        network.address(number).strip_suffix("/24").map(str::to_owned)
    }

    /// Cuts a machine off from all others on these networks.
    pub(in crate::accuracy) fn cut_off(&self, place: &str, networks: &[Network]) -> Result<()> {
        networks.iter().try_for_each(|network| set(*network, place, "down"))
    }

    /// Connects it again.
    pub(in crate::accuracy) fn connect(&self, place: &str, networks: &[Network]) -> Result<()> {
        networks.iter().try_for_each(|network| set(*network, place, "up"))
    }

    fn remove(&self) {
        for place in self.places().map(|(place, _)| place).chain([SWITCH]) {
            let mut ip = Command::new("ip");
            ip.args(["netns", "del", place]).stderr(Stdio::null()).status().ok();
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Sets the state of the switch's port to a machine.
fn set(network: Network, place: &str, state: &str) -> Result<()> {
    ip(&["-n", SWITCH, "link", "set", &network.port(place), state])
}

pub(in crate::accuracy) fn ip(words: &[&str]) -> Result<()> {
    run(Command::new(need_program("ip", "accuracy")?).args(words))
        .context("failed to make a machine; as root?")
}

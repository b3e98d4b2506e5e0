//! A fleet: the runner of `--agents`, with the processes that it starts on this machine.

mod local_agent;
mod permissions;
mod private_bus;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, Result, bail};
use weir_fleet::{
    AgentWeights, BusAccess, FleetRunner, FleetSettings, Identity, OnLoss, Role, WatchPlace,
};
use weir_runner::credentials::split_userinfo;
use weir_runner::{Error, Interrupts, LocalRunner, Observer, PreparedRun, RunSpec, Runner};

use crate::args::fleet::{AgentCount, BusArgs, FleetArgs, LossChoice, PlaceChoice, WeightChoice};

use local_agent::LocalAgent;
use private_bus::PrivateBus;

/// Time between two attempts to reach a bus that may not be there yet.
const AGAIN: Duration = Duration::from_millis(250);

/// Version that all parts of a fleet must have: also its commit, where it is known.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("WEIR_COMMIT"));

/// Returns the runner of a fleet, and starts what the flags want on this machine.
///
/// # Errors
/// When the bus cannot be reached or started.
pub(crate) fn runner(
    count: AgentCount,
    args: &FleetArgs,
    rows: Option<&Path>,
    local: LocalRunner,
) -> Result<Box<dyn Runner>> {
    let given = args.bus.clone().or_else(|| env::var(local_agent::BUS).ok());
    let identity = identity_of(args.identity.as_deref(), &[Role::Coordinator])?;
    if identity.is_some() {
        check_locked(count, given.as_deref())?;
    }
    let private = match &given {
        None if count.is_one_local => bail!("--agents local+N: the others need --bus URL"),
        None => Some(PrivateBus::start()?),
        Some(address) => {
            check_bus(address, args.insecure_bus)?;
            None
        }
    };
    let address = private.as_ref().map(|bus| bus.address.clone()).or(given).unwrap_or_default();
    let started = match private {
        Some(_) => count.all,
        None => count.is_one_local.into(),
    };
    // On a bus of its own no other agent has the name.
    let name = |number: u32| match private {
        Some(_) => format!("agent-{number}"),
        None => format!("local-{}", std::process::id()),
    };
    let agents = (1..=started).map(|number| LocalAgent::start(&name(number), &address));
    let agents = agents.collect::<Result<_>>()?;
    let on_loss = match args.on_loss {
        LossChoice::Stop => OnLoss::Stop,
        LossChoice::Continue => OnLoss::Continue,
    };
    let settings = FleetSettings {
        bus: BusAccess { address, identity },
        agents: count.all,
        gather_ns: args.agents_within,
        on_loss,
        rows: rows.map(Path::to_owned),
        watched_by: match args.on {
            PlaceChoice::Coordinator => WatchPlace::Coordinator,
            PlaceChoice::Agents => WatchPlace::Agents,
        },
        weights: weights(&args.agent_weight)?,
        version: VERSION.trim_end().to_owned(),
        local,
    };
    let runner = within(args.bus_within, || false, || FleetRunner::connect(settings.clone()))?;
    Ok(Box::new(Fleet { runner, _agents: agents, _bus: private }))
}

/// Connects to a bus that may be there within a time only: again and again until it is there, or
/// `is_ended`.
///
/// # Errors
/// That of the last attempt.
pub(crate) fn within<T>(
    limit_ns: Option<u64>,
    is_ended: impl Fn() -> bool,
    connect: impl Fn() -> Result<T>,
) -> Result<T> {
    let begun = Instant::now();
    let limit = Duration::from_nanos(limit_ns.unwrap_or(0));
    loop {
        match connect() {
            Err(_) if begun.elapsed() < limit && !is_ended() => thread::sleep(AGAIN),
            connected => return connected,
        }
    }
}

/// Checks that a bus on a network and agents with identities of their own are meant.
///
/// # Errors
/// When a bus or an agent would have to be started here.
fn check_locked(count: AgentCount, bus: Option<&str>) -> Result<()> {
    if bus.is_none() {
        bail!("--identity is for a bus on a network: give its address, --bus tls://HOST");
    }
    if count.is_one_local {
        bail!(
            "--agents local+N: the agent on this machine needs an identity of its own; start it \
             with weir agent --identity DIR, and give --agents N"
        );
    }
    Ok(())
}

/// Returns the weights of agents.
///
/// # Errors
/// When they contradict each other.
fn weights(choices: &[WeightChoice]) -> Result<AgentWeights> {
    let mut named = BTreeMap::new();
    for choice in choices {
        match choice {
            WeightChoice::Cores if choices.len() == 1 => return Ok(AgentWeights::Cores),
            WeightChoice::Cores => bail!("--agent-weight cores is for all agents: give it alone"),
            WeightChoice::Named(name, weight) => {
                if named.insert(name.clone(), *weight).is_some() {
                    bail!("--agent-weight {name} is there twice: give one number for an agent");
                }
            }
        }
    }
    Ok(if named.is_empty() { AgentWeights::Equal } else { AgentWeights::Named(named) })
}

/// A fleet, with its processes on this machine.
struct Fleet {
    runner: FleetRunner,
    // In this order they end.
    _agents: Vec<LocalAgent>,
    _bus: Option<PrivateBus>,
}

impl Runner for Fleet {
    fn prepare(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer,
    ) -> Result<Box<dyn PreparedRun>, Error> {
        self.runner.prepare(spec, observer)
    }

    fn idle_latency(&self, spec: &RunSpec, interrupts: &Interrupts) -> Result<Option<u64>, Error> {
        self.runner.idle_latency(spec, interrupts)
    }
}

/// Checks that passwords and requests do not cross a network in the clear.
///
/// # Errors
/// When they would.
fn check_bus(address: &str, is_insecure: bool) -> Result<()> {
    let host = split_userinfo(address).0;
    let host = host.split_once("://").map_or(host.as_str(), |(_, host)| host);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let is_loopback = name == "localhost"
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_loopback || is_insecure || address.starts_with("tls://") {
        return Ok(());
    }
    bail!(
        "--bus {}: requests and passwords would cross the network unencrypted; use tls://, or \
         allow it with --insecure-bus",
        split_userinfo(address).0
    );
}

/// Returns the bus that a command uses.
///
/// # Errors
/// When there is none, passwords would cross a network in the clear, or the identity is none of the
/// roles that may use the command.
pub(crate) fn access(args: &BusArgs, roles: &[Role]) -> Result<BusAccess> {
    let address = args.bus.clone().or_else(|| env::var(local_agent::BUS).ok());
    let address = address.context("give the address of the bus: --bus nats://HOST")?;
    check_bus(&address, args.insecure_bus)?;
    let identity = identity_of(args.identity.as_deref(), roles)?;
    Ok(BusAccess { address, identity })
}

/// Reads an identity, which must be of one of these roles.
///
/// # Errors
/// When it is of another role, or there is none in the directory.
fn identity_of(directory: Option<&Path>, roles: &[Role]) -> Result<Option<Identity>> {
    let identity = directory.map(Identity::read).transpose().context("--identity")?;
    identity.iter().try_for_each(|identity| identity.must_be(roles)).context("--identity")?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_do_not_contradict_each_other() {
        let named = |name: &str, weight| WeightChoice::Named(name.to_owned(), weight);
        assert_eq!(weights(&[]).expect("none"), AgentWeights::Equal);
        assert_eq!(weights(&[WeightChoice::Cores]).expect("one"), AgentWeights::Cores);
        let both = [("a".to_owned(), 2), ("b".to_owned(), 1)].into();
        let two = weights(&[named("a", 2), named("b", 1)]).expect("two agents");
        assert_eq!(two, AgentWeights::Named(both));
        for wrong in [vec![WeightChoice::Cores, named("a", 1)], vec![named("a", 1), named("a", 2)]]
        {
            assert!(weights(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_bus_elsewhere_is_encrypted_or_allowed() {
        for (address, is_insecure, is_fine) in [
            ("nats://127.0.0.1:4222", false, true),
            ("nats://me:secret@[::1]:4222", false, true),
            ("localhost", false, true),
            ("nats://lab0:4222", false, false),
            ("nats://127.0.0.1@lab0", false, false),
            ("nats://lab0", true, true),
            ("tls://lab0", false, true),
        ] {
            assert_eq!(check_bus(address, is_insecure).is_ok(), is_fine, "{address}");
        }
    }
}

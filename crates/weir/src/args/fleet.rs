//! Flags of a fleet: the agents of a run, and `weir agent`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use weir_runner::credentials;
use weir_text::units;

use super::manifest::FleetManifestArgs;
use super::permissions::PermissionArgs;
use super::values::positive_duration;

/// The agents of a run.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetArgs {
    /// Carry out the load on this many agents together, each weir agent being one; without --bus
    /// they are started on this machine, and so is their bus, which needs nats-server; local+N: one
    /// on this machine and N others
    #[arg(long, value_name = "N|local+N", help_heading = "Fleet")]
    pub(crate) agents: Option<AgentCount>,
    /// Address of the bus that the agents are connected to, as in nats://lab0 or
    /// nats://USER:PASSWORD@lab0:4222 [default: WEIR_BUS, or a bus on this machine]
    #[arg(long, value_name = "URL", requires = "agents", help_heading = "Fleet")]
    pub(crate) bus: Option<String>,
    /// Longest wait until the bus is there [default: it must be there]
    #[arg(long, value_name = "T", value_parser = positive_duration, requires = "bus",
          help_heading = "Fleet")]
    pub(crate) bus_within: Option<u64>,
    /// Longest wait until all agents are there
    #[arg(long, value_name = "T", value_parser = positive_duration, default_value = "15s",
          requires = "agents", help_heading = "Fleet")]
    pub(crate) agents_within: u64,
    /// Directory of the coordinator's identity, which weir fleet init makes, for a bus on a
    /// network
    #[arg(long, value_name = "DIR", requires = "agents", help_heading = "Fleet")]
    pub(crate) identity: Option<PathBuf>,
    /// Use a bus on another machine without encryption
    #[arg(long, requires = "agents", help_heading = "Fleet")]
    pub(crate) insecure_bus: bool,
    /// Machines that carry out --watch-… and --capture: that of the command, which sees the whole
    /// run, or each agent's
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "coordinator|agents",
        requires = "agents",
        help_heading = "Fleet"
    )]
    pub(crate) on: PlaceChoice,
    /// Weight of the agents: the number of their CPUs, or a number for the agent of a name; may be
    /// repeated [default: all have the same]
    #[arg(long, value_name = "cores|NAME=N", requires = "agents", help_heading = "Fleet")]
    pub(crate) agent_weight: Vec<WeightChoice>,
    /// When an agent is lost: stop the others, or let them continue with their parts
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "stop|continue",
        requires = "agents",
        help_heading = "Fleet"
    )]
    pub(crate) on_loss: LossChoice,
}

impl FleetArgs {
    /// Returns the flags as words of a command line, those that differ from their defaults; none
    /// without agents.
    pub(crate) fn words(&self) -> Vec<String> {
        let Some(count) = self.agents else { return Vec::new() };
        let time = |ns: u64| units::exact_duration(ns).replace(' ', "");
        let mut words = vec![format!("--agents={count}")];
        let bus = self.bus.as_deref().map(credentials::without_userinfo);
        words.extend(bus.map(|bus| format!("--bus={bus}")));
        words.extend(self.bus_within.map(|ns| format!("--bus-within={}", time(ns))));
        if self.agents_within != AGENTS_WITHIN_NS {
            words.push(format!("--agents-within={}", time(self.agents_within)));
        }
        words.extend(
            self.identity.iter().map(|path| format!("--identity={}", path.to_string_lossy())),
        );
        if self.insecure_bus {
            words.push("--insecure-bus".to_owned());
        }
        if self.on != PlaceChoice::default() {
            words.push("--on=agents".to_owned());
        }
        words.extend(self.agent_weight.iter().map(|choice| match choice {
            WeightChoice::Cores => "--agent-weight=cores".to_owned(),
            WeightChoice::Named(name, weight) => format!("--agent-weight={name}={weight}"),
        }));
        if self.on_loss != LossChoice::default() {
            words.push("--on-loss=continue".to_owned());
        }
        words
    }
}

/// Default of `--agents-within`.
const AGENTS_WITHIN_NS: u64 = 15_000_000_000;

/// Choices of `--on-loss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LossChoice {
    /// The others stop.
    #[default]
    Stop,
    /// The others continue.
    Continue,
}

/// A value of `--agent-weight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WeightChoice {
    /// The number of CPUs.
    Cores,
    /// A number for the agent of this name.
    Named(String, u32),
}

impl FromStr for WeightChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<WeightChoice, Self::Err> {
        const WRONG: &str = "give cores, or the name of an agent and a number: gen-2=2";
        if text == "cores" {
            return Ok(WeightChoice::Cores);
        }
        let (name, weight) = text.rsplit_once('=').ok_or(WRONG)?;
        match weight.parse() {
            Ok(weight @ 1..=WEIGHT_MAX) if !name.is_empty() => {
                Ok(WeightChoice::Named(name.to_owned(), weight))
            }
            _ => Err(WRONG),
        }
    }
}

/// Greatest weight: an agent has a thread for each of it.
const WEIGHT_MAX: u32 = 1_000;

/// Choices of `--on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlaceChoice {
    /// The machine of the command.
    #[default]
    Coordinator,
    /// Each agent's.
    Agents,
}

/// Number of agents of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgentCount {
    /// All of them, at least 1.
    pub(crate) all: u32,
    /// True if one of them is started on this machine.
    pub(crate) is_one_local: bool,
}

impl fmt::Display for AgentCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_one_local {
            true => write!(f, "local+{}", self.all - 1),
            false => write!(f, "{}", self.all),
        }
    }
}

impl FromStr for AgentCount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<AgentCount, Self::Err> {
        const WRONG: &str = "give a number of agents from 1 on, or local+N";
        let (others, is_one_local) = match text.strip_prefix("local+") {
            Some(others) => (others, true),
            None => (text, false),
        };
        let others: u32 = others.parse().map_err(|_| WRONG)?;
        let all = others.checked_add(is_one_local.into()).ok_or(WRONG)?;
        // Part counts them.
        if others == 0 || all > MOST { Err(WRONG) } else { Ok(AgentCount { all, is_one_local }) }
    }
}

/// Greatest number of agents.
const MOST: u32 = 1_000;

/// `weir agent`.
#[derive(Debug, Args)]
#[command(after_help = "\
An agent connects to the bus, waits for runs, and carries out its part of each that a coordinator
begins: weir --agents N --bus URL. It ends by a signal, or with --once after a run. A load that is
under way at a signal ends in order, and its result is handed over. A load also ends by itself once
the coordinator is not heard for 10 s.

A load may connect to loopback alone, unless --allow gives other addresses. No coordinator changes
these limits: a run that exceeds them is refused with the reason, and nothing is sent.
Header fields such as -H 'Authorization: Bearer {{env:TOKEN}}' have the value of each agent's own
variable, with --permit env:TOKEN.

With the address in WEIR_BUS, its password is in no list of processes.

Exit status: 0 ended by a signal, or with --once after a run; with --once 130 (SIGINT) or 143
(SIGTERM) if a signal came first; 2 usage error or no bus at the address.

Examples:
  nats-server --jetstream --addr 127.0.0.1
  weir agent --bus nats://127.0.0.1
  weir --agents 1 --bus nats://127.0.0.1 -R 1k http://127.0.0.1:8080/
  weir agent --bus tls://lab0 --identity ./agent-1 --allow 10.0.0.0/8:443   # of weir fleet init")]
pub(crate) struct AgentArgs {
    /// The bus.
    #[command(flatten)]
    pub(crate) bus: BusArgs,
    /// Name of the agent, which no other one on the bus may have [default: that of the identity, or
    /// the host's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Longest wait until the bus is there [default: it must be there]
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    pub(crate) bus_within: Option<u64>,
    /// End after the first run
    #[arg(long)]
    pub(crate) once: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The limits of all runs.
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
}

/// `weir fleet`.
#[derive(Debug, Args)]
pub(crate) struct FleetCommandArgs {
    /// Its command.
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

/// Commands of `weir fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// List the agents on a bus, and the runs that it keeps: those under way, and those whose
    /// coordinator has ended without a report
    Status(BusArgs),
    /// Make the identities of a fleet, for a bus on a network
    Init(FleetInitArgs),
    /// Print the Kubernetes objects of one run on a fleet, for kubectl apply -f -
    Manifest(Box<FleetManifestArgs>),
    /// Add agents to a fleet
    Add(FleetAddArgs),
    /// Remove identities from a fleet: its bus lets them in no more
    Remove(FleetRemoveArgs),
    /// Report a run whose coordinator has ended, from what the bus keeps for a week
    Resume(FleetResumeArgs),
}

/// The address of a bus.
#[derive(Debug, Args)]
pub(crate) struct BusArgs {
    /// Address of the bus, as in nats://lab0 or nats://USER:PASSWORD@lab0:4222 [default: WEIR_BUS]
    #[arg(long, value_name = "URL")]
    pub(crate) bus: Option<String>,
    /// Directory of an identity, which weir fleet init makes
    #[arg(long, value_name = "DIR")]
    pub(crate) identity: Option<PathBuf>,
    /// Use a bus on another machine without encryption
    #[arg(long)]
    pub(crate) insecure_bus: bool,
}

/// `weir fleet init`.
#[derive(Debug, Args)]
#[command(after_help = "\
It makes DIR with an authority and, each in a directory of its own, the identities of a server, a
coordinator, a viewer and the agents; server/nats.conf lets each say only what its role needs. Only
you can read them. Copy to each machine the directory of its identity and nothing else: who has
DIR/ca.key can make further ones.

Example:
  weir fleet init ./fleet --agents 8 --host lab0.example.org
  (cd ./fleet/server && nats-server -c nats.conf)
  weir agent --bus tls://lab0.example.org --identity ./fleet/agent-1 --allow 10.0.0.0/8
  weir --agents 8 --bus tls://lab0.example.org --identity ./fleet/coordinator URL")]
pub(crate) struct FleetInitArgs {
    /// Directory to make
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Number of agents, which are agent-1, agent-2 and so on, or their names
    #[arg(long, value_name = "N|NAME,…")]
    pub(crate) agents: NewAgents,
    /// Names and addresses by which the machine of nats-server is reached, besides localhost
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub(crate) host: Vec<String>,
    /// Days for which the certificates are valid
    #[arg(long, value_name = "N", default_value_t = 365,
          value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub(crate) days: u32,
}

/// `weir fleet add`.
#[derive(Debug, Args)]
#[command(after_help = "\
It makes the identities in DIR, and writes DIR/server/users.conf anew. Copy that to the bus, and let
it be read again: nats-server --signal reload.

Example:
  weir fleet add ./fleet agent-9 agent-10")]
pub(crate) struct FleetAddArgs {
    /// Directory of weir fleet init
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Names of the agents
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    /// Days for which the certificates are valid
    #[arg(long, value_name = "N", default_value_t = 365,
          value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub(crate) days: u32,
}

/// `weir fleet remove`.
#[derive(Debug, Args)]
#[command(after_help = "\
It removes the identities from DIR, and writes DIR/server/users.conf anew. Copy that to the bus, and
let it be read again: nats-server --signal reload. The bus then ends their connections, and lets
them in no more, though their certificates are valid.

Example:
  weir fleet remove ./fleet agent-3")]
pub(crate) struct FleetRemoveArgs {
    /// Directory of weir fleet init
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Names of agents, or viewer
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

/// Names of the agents of a new fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewAgents(pub(crate) Vec<String>);

impl FromStr for NewAgents {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NewAgents, Self::Err> {
        match text.parse::<u32>() {
            Ok(count @ 1..=MOST) => {
                Ok(NewAgents((1..=count).map(|number| format!("agent-{number}")).collect()))
            }
            Ok(_) => Err("give a number of agents from 1 to 1000, or their names"),
            Err(_) => Ok(NewAgents(text.split(',').map(str::to_owned).collect())),
        }
    }
}

/// `weir fleet resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
It waits until the agents have ended, and prints the report. An agent that hears no coordinator ends
its load after 10 s.

Exit status: as weir report; 2 if the bus keeps no such run.")]
pub(crate) struct FleetResumeArgs {
    /// Name of the run, from weir fleet status
    pub(crate) run: String,
    /// The bus.
    #[command(flatten)]
    pub(crate) bus: BusArgs,
    /// Write the document to this file, as JSON; weir report prints it in other forms
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Run {
        #[command(flatten)]
        fleet: FleetArgs,
    }

    #[test]
    fn flags_become_the_words_that_they_were() {
        let words = |line: &str| {
            let words = ["weir"].into_iter().chain(line.split_whitespace());
            Run::try_parse_from(words).expect("flags").fleet.words().join(" ")
        };
        let all = "--agents=local+2 --bus=tls://h --bus-within=1m --agents-within=90s \
                   --identity=./coordinator --insecure-bus --on=agents --agent-weight=a=2 \
                   --on-loss=continue";
        assert_eq!(words(all), all.replace("=1m", "=60s"));
        assert_eq!(words("--agents 3 --agents-within 15s --on-loss stop"), "--agents=3");
        let secret = "--agents 3 --bus nats://me:SECRET@h:1";
        assert_eq!(words(secret), "--agents=3 --bus=nats://[redacted]@h:1");
        assert_eq!(words(""), "");
    }

    #[test]
    fn numbers_of_agents_are_read() {
        let read = |text: &str| {
            let count = text.parse::<AgentCount>().ok()?;
            assert_eq!(count.to_string(), text);
            Some((count.all, count.is_one_local))
        };
        for (text, expected) in [
            ("1", Some((1, false))),
            ("local+3", Some((4, true))),
            ("0", None),
            ("local", None),
            ("local+0", None),
            ("1001", None),
            ("-1", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn weights_are_read() {
        let named = |name: &str, weight| Ok(WeightChoice::Named(name.to_owned(), weight));
        assert_eq!("cores".parse(), Ok(WeightChoice::Cores));
        assert_eq!("gen-2=3".parse(), named("gen-2", 3));
        for wrong in ["", "core", "gen-2", "=2", "gen-2=0", "gen-2=1001", "gen-2=x"] {
            assert!(wrong.parse::<WeightChoice>().is_err(), "{wrong}");
        }
    }
}

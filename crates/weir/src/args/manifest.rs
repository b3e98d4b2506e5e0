//! Flags of `weir fleet manifest`.

use std::path::PathBuf;

use clap::Args;
use weir_runner::AllowedTarget;

use super::values::positive_duration;

/// Image that `make dist` makes.
const IMAGE: &str = concat!("weir:", env!("CARGO_PKG_VERSION"));

/// `weir fleet manifest`.
#[derive(Debug, Args)]
#[command(after_help = "\
The objects are a bus, a job of agents, a job of the coordinator, their secrets and network
policies. The report is the log of the coordinator's job. The words after -- are those of weir
without --agents and --bus; words with credentials are put into a secret. Without --fleet the
identities are new ones, for this run alone. The output has private keys.

Exit status: 0, 2 usage error.

Examples:
  weir fleet manifest --agents 8 --allow 10.0.0.0/8:443 -- -R 100k -c 512 -d 60s https://shop/ \\
    | kubectl apply -f -
  kubectl logs -f --pod-running-timeout=15m job/weir
  kubectl delete job,deploy,svc,secret,netpol -l app.kubernetes.io/instance=weir")]
pub(crate) struct FleetManifestArgs {
    /// Number of agents, each a pod [default: those of --fleet]
    #[arg(long, value_name = "N", required_unless_present = "fleet",
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) agents: Option<u32>,
    /// Permissions of the agents.
    #[command(flatten)]
    pub(crate) permissions: AgentPermissionArgs,
    /// The objects, and those that are there already.
    #[command(flatten)]
    pub(crate) objects: ObjectArgs,
    /// The pods.
    #[command(flatten)]
    pub(crate) pods: PodArgs,
    /// The demands of the cluster on all pods.
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The words of weir: options and URL
    #[arg(last = true, required = true, value_name = "OPTIONS URL")]
    pub(crate) words: Vec<String>,
}

/// Permissions of the agents, as words that are passed on: `weir agent` reads and checks them.
#[derive(Debug, Args)]
pub(crate) struct AgentPermissionArgs {
    /// Addresses and ports that the agents may connect to, as in 10.0.0.0/8:443,
    /// 10.1.2.3:80,8000-8010, [fd00::/8]:443 or any; repeatable; without it, none
    #[arg(long, value_name = "CIDR[:PORTS]|any")]
    pub(crate) allow: Vec<String>,
    /// Highest rate of an agent
    #[arg(long, value_name = "R")]
    pub(crate) max_rate: Option<String>,
    /// Most connections of an agent
    #[arg(long, value_name = "C")]
    pub(crate) max_connections: Option<String>,
    /// Longest load of an agent
    #[arg(long, value_name = "T")]
    pub(crate) max_duration: Option<String>,
    /// Permissions of the agents, as of weir agent
    #[arg(long, value_name = "LIST")]
    pub(crate) permit: Option<String>,
}

/// The objects of a manifest: their names and image, and those that are there already.
#[derive(Debug, Args)]
#[command(next_help_heading = "Objects")]
pub(crate) struct ObjectArgs {
    /// Name of the coordinator's job, with which the names of all objects begin
    #[arg(long, value_name = "NAME", default_value = "weir")]
    pub(crate) name: String,
    /// Namespace of all objects [default: that of kubectl]
    #[arg(long, value_name = "NS")]
    pub(crate) namespace: Option<String>,
    /// Image of all containers
    #[arg(long, value_name = "REF", default_value = IMAGE)]
    pub(crate) image: String,
    /// Directory of weir fleet init --host NAME-nats, with the identities [default: new ones]
    #[arg(long, value_name = "DIR")]
    pub(crate) fleet: Option<PathBuf>,
    /// Address of a bus that is there already, as in tls://lab0 or tls://lab0:4222, of the fleet in
    /// --fleet [default: a bus of its own]
    #[arg(long, value_name = "URL", requires = "fleet")]
    pub(crate) bus: Option<String>,
    /// Claim of a volume, on which the coordinator writes NAME.json, and the files of -o
    #[arg(long, value_name = "CLAIM")]
    pub(crate) results_claim: Option<String>,
}

/// Resources, isolation and lifetime of the pods.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pods")]
pub(crate) struct PodArgs {
    /// CPUs of each agent, whole ones
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub(crate) cpus: u32,
    /// Memory of each agent
    #[arg(long, value_name = "SIZE", default_value = "2Gi")]
    pub(crate) memory: String,
    /// Spread agents evenly over the nodes: required, then an agent waits for a node, or preferred
    #[arg(long, value_enum, default_value_t, value_name = "required|preferred")]
    pub(crate) spread: SpreadChoice,
    /// Seccomp profile: RuntimeDefault, Unconfined, or the path of one that each node has below
    /// /var/lib/kubelet/seccomp
    #[arg(long, value_name = "PROFILE", default_value = "RuntimeDefault")]
    pub(crate) seccomp_profile: String,
    /// Longest time of both jobs, with the wait for nodes and images
    #[arg(long, value_name = "T", value_parser = positive_duration, default_value = "1h")]
    pub(crate) deadline: u64,
    /// Time for which ended jobs and their logs are kept
    #[arg(long, value_name = "T", value_parser = positive_duration, default_value = "24h")]
    pub(crate) keep: u64,
}

/// Choices of `--spread`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SpreadChoice {
    /// An agent waits until its node has room.
    #[default]
    Required,
    /// Evenness is tried.
    Preferred,
}

/// Demands of the cluster on all pods.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Secret with which the image is pulled; repeatable
    #[arg(long, value_name = "SECRET")]
    pub(crate) pull_secret: Vec<String>,
    /// Label of the nodes on which pods may run; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) node_selector: Vec<(String, String)>,
    /// Taint of nodes that pods tolerate; repeatable
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]", value_parser = toleration)]
    pub(crate) toleration: Vec<TolerationChoice>,
    /// Service account of the pods [default: that of the namespace]
    #[arg(long, value_name = "NAME")]
    pub(crate) service_account: Option<String>,
    /// Further label of all objects and pods, as of a queue; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) label: Vec<(String, String)>,
    /// Secret whose keys are environment variables of the agents, for {{env:NAME}} with --permit
    /// env:NAME; repeatable
    #[arg(long, value_name = "SECRET")]
    pub(crate) env_from: Vec<String>,
    /// User and group of the processes; platform: chosen by the cluster, as OpenShift does
    #[arg(long, value_name = "ID|platform", value_parser = user, default_value = "65532")]
    pub(crate) user_id: UserChoice,
    /// Further addresses that the coordinator may connect to, as for --otlp; repeatable
    #[arg(long, value_name = "CIDR[:PORTS]")]
    pub(crate) egress: Vec<AllowedTarget>,
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// A value of `--toleration`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TolerationChoice {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
    pub(crate) effect: Option<String>,
}

/// A value of `--user-id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserChoice {
    /// This user and group.
    Id(u32),
    /// The cluster chooses.
    Platform,
}

fn toleration(text: &str) -> Result<TolerationChoice, &'static str> {
    let (taint, effect) = text.rsplit_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
    let (key, value) = taint.split_once('=').map_or((taint, None), |(a, b)| (a, Some(b)));
    match key.is_empty() {
        true => Err("write KEY[=VALUE][:EFFECT]"),
        false => Ok(TolerationChoice {
            key: key.to_owned(),
            value: value.map(str::to_owned),
            effect: effect.map(str::to_owned),
        }),
    }
}

fn user(text: &str) -> Result<UserChoice, &'static str> {
    match (text, text.parse()) {
        ("platform", _) => Ok(UserChoice::Platform),
        (_, Ok(id @ 1..)) => Ok(UserChoice::Id(id)),
        _ => Err("write a number from 1 on, or platform"),
    }
}

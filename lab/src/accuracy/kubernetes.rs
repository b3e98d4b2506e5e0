//! V40: the manifest of `weir fleet manifest` under a Kubernetes control plane, whose nodes are
//! network namespaces: complete, with one pod deleted, and with one node lost.

mod api;
mod cluster;
mod container;
mod control_plane;
mod hollow_node;
mod pod;
mod sandbox;
mod volumes;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::accuracy::fleet::machines::{MANY_AGENTS, NETWORKS};
use crate::accuracy::fleet::processes::FleetTarget;
use crate::rig::{Fixture, Record, Section, thousands};
use cluster::{Cluster, RunEnd};

/// Planned rate and connections over all agents.
const RATE_RPS: u64 = 4_000;
const CONNECTIONS: u32 = 40;

/// Agents of the fleet.
const AGENTS: usize = MANY_AGENTS.len();

/// Time from the begin of the load until something goes wrong.
const BEFORE: Duration = Duration::from_secs(3);

/// Index of the pod that is deleted, and of the one whose node is lost.
const DELETED: usize = 3;
const LOST: usize = 5;

/// How the nodes differ from those of a cluster.
const HOLLOW: &str = "\
    No kubelet runs: a hollow node does in its place what the manifest needs. It registers the \
    node and renews its lease, with the rights of a node; makes the volumes of a bound pod; starts \
    the container's command in the node's network and in a root directory with the files of weir's \
    image, as the user of the pod and without capabilities; reports the status; and ends the \
    process of a deleted pod with SIGTERM, then SIGKILL. No image is pulled. In place of \
    kube-proxy and DNS, the address of a Service is given to the node of its pod, and its name is \
    in /etc/hosts. A NetworkPolicy is admitted, but nothing enforces it; limits of CPU and memory, \
    probes and seccomp profiles are not applied.";

/// Runs case V40 of METHOD 2.1.
pub(super) fn kubernetes(fixture: &Fixture) -> Result<Section> {
    let whole_s = fixture.span(15, 5);
    let troubled_s = fixture.span(20, 15);
    let mut section = Section::new(
        "a fleet in Kubernetes",
        "Does the manifest of `weir fleet manifest` make one load under the control plane of \
         Kubernetes, and is the loss of a pod or a node reported?",
        format!(
            "kube-apiserver, kube-controller-manager, kube-scheduler and etcd on loopback, and \
             nine nodes in network namespaces. {HOLLOW} {AGENTS} agents, {RATE_RPS}/s over \
             {CONNECTIONS} connections for {whole_s} s: every planned request is in the server's \
             log. Then, in {troubled_s} s each, one agent's pod is deleted by kubectl, and one \
             node is cut off and reports no more: the report names the agent in a line above the \
             target's, the coordinator's pod ends with status 4, and the Job makes no other pod."
        ),
    );
    let cluster = Cluster::start(fixture)?;
    section.begin_table("The control plane, and the documents that it admitted:");
    section.row(&[
        ("Kubernetes", &cluster.version()?),
        ("ready after", &format!("{:.1} s", cluster.ready_after().as_secs_f64())),
        ("nodes ready", &cluster.ready_nodes()?),
        ("documents", &cluster.admitted(&words(whole_s, "http://10.97.0.2:8080"))?),
    ]);
    section.begin_table("The runs:");
    whole(fixture, &cluster, whole_s, &mut section)?;
    deleted(fixture, &cluster, troubled_s, &mut section)?;
    lost(fixture, &cluster, troubled_s, &mut section)?;
    section.show_columns(&[
        "run",
        "reported",
        "in the server's log",
        "exit status",
        "line `Parts`",
        "agents' Job",
    ]);
    section.verdict(
        "The load was complete, and both losses were reported. The control plane is real; in place \
         of a kubelet, kube-proxy and DNS, a hollow node makes volumes and the names of Services, \
         and starts each container's command in the network namespace of its node, as the pod's \
         user, from files instead of an image. Nothing enforces network policies, limits and \
         seccomp profiles.",
    );
    Ok(section)
}

/// Returns the words of the run. Requests of the probe thread would have numbers of their own.
fn words(seconds: u32, url: &str) -> Vec<String> {
    let words = format!(
        "-R {RATE_RPS} -c {CONNECTIONS} -t {AGENTS} -d {seconds}s --warmup 0 --no-preflight \
         --witness off {url}"
    );
    words.split(' ').chain(["-H", "x-slot: {{seq}}"]).map(str::to_owned).collect()
}

/// A complete run.
fn whole(fixture: &Fixture, cluster: &Cluster, seconds: u32, section: &mut Section) -> Result<()> {
    let target = FleetTarget::start(fixture)?;
    let since = Instant::now();
    let run = cluster.begin(&words(seconds, &target.url))?;
    target.await_load()?;
    let begun_s = since.elapsed().as_secs_f64();
    let nodes = run.nodes()?;
    let (node, readers) = run.readers()?;
    let end = run.end()?;
    let planned = RATE_RPS * u64::from(seconds);
    let logged = Logged::of(&target.finish()?, planned);
    row(section, "complete", &end, &logged);
    section.must(end.code == Some(0), || format!("the exit status is {:?}", end.code));
    section.must(end.ok == Some(planned) && logged.slots == planned && logged.doubled == 0, || {
        format!("{planned} planned, {:?} reported, {logged:?}", end.ok)
    });
    let is_complete = end.job.as_deref() == Some("Complete");
    section.must(is_complete, || format!("the agents' Job: {:?}", end.job));
    section.must(end.parts.is_none(), || "a part is missing".to_owned());
    let mut distinct = nodes.clone();
    distinct.sort();
    distinct.dedup();
    section.must(nodes.len() == AGENTS && distinct.len() == AGENTS, || format!("nodes: {nodes:?}"));
    section.must(readers == [node], || format!("the coordinator's Secret: {readers:?}"));
    section.note(format!(
        "The {AGENTS} agents were on {} nodes. Of nine nodes, {} may read the coordinator's \
         Secret. The load began {begun_s:.1} s after kubectl apply.",
        distinct.len(),
        readers.len()
    ));
    Ok(())
}

/// A run of which one pod is deleted.
fn deleted(
    fixture: &Fixture,
    cluster: &Cluster,
    seconds: u32,
    section: &mut Section,
) -> Result<()> {
    let target = FleetTarget::start(fixture)?;
    let run = cluster.begin(&words(seconds, &target.url))?;
    target.await_load()?;
    thread::sleep(BEFORE);
    let pod = run.agent(DELETED)?;
    cluster.kubectl(&["delete", "pod", "--wait=false", name(&pod)])?;
    let end = run.end()?;
    let planned = RATE_RPS * u64::from(seconds);
    judge(section, "one pod deleted", DELETED, &end, &Logged::of(&target.finish()?, planned));
    Ok(())
}

/// A run of which one node is lost.
fn lost(fixture: &Fixture, cluster: &Cluster, seconds: u32, section: &mut Section) -> Result<()> {
    let target = FleetTarget::start(fixture)?;
    let run = cluster.begin(&words(seconds, &target.url))?;
    target.await_load()?;
    thread::sleep(BEFORE);
    let node = run.agent(LOST)?["spec"]["nodeName"].as_str().context("no node")?.to_owned();
    cluster.machines.cut_off(&node, &NETWORKS)?;
    cluster.nodes.lose(&node);
    let since = Instant::now();
    cluster.await_not_ready(&node)?;
    section.note(format!(
        "Kubernetes called the lost node NotReady after {:.0} s (grace period set to 10 s).",
        since.elapsed().as_secs_f64()
    ));
    let end = run.end()?;
    let planned = RATE_RPS * u64::from(seconds);
    judge(section, "one node lost", LOST, &end, &Logged::of(&target.finish()?, planned));
    Ok(())
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Planned requests in the server's log.
#[derive(Debug)]
struct Logged {
    /// Slots of the plan that are there.
    slots: u64,
    /// Slots that are there a second time.
    doubled: usize,
}

impl Logged {
    fn of(log: &[Record], planned: u64) -> Logged {
        let slots = log.iter().filter_map(|record| record.slot).filter(|slot| *slot < planned);
        let mut slots: Vec<u64> = slots.collect();
        slots.sort_unstable();
        let all = slots.len();
        slots.dedup();
        Logged { slots: slots.len() as u64, doubled: all - slots.len() }
    }
}

/// Judges a run that has lost the agent of an index.
fn judge(section: &mut Section, run: &str, index: usize, end: &RunEnd, logged: &Logged) {
    row(section, run, end, logged);
    section.must(end.code == Some(4), || format!("{run}: the exit status is {:?}", end.code));
    let agent = format!("agent weir-{index} ");
    let names = end.parts.as_ref().is_some_and(|parts| parts.contains(&agent));
    section.must(names, || format!("{run}: {agent}is not named in {:?}", end.parts));
    section.must(end.other_pods == 0, || format!("{run}: {} other pods", end.other_pods));
    let reported = end.ok.unwrap_or(0);
    section.must(reported > 0 && reported <= logged.slots && logged.doubled == 0, || {
        format!("{run}: {reported} reported, {logged:?}")
    });
}

fn row(section: &mut Section, run: &str, end: &RunEnd, logged: &Logged) {
    section.row(&[
        ("run", &run),
        ("reported", &end.ok.map_or("none".to_owned(), thousands)),
        ("in the server's log", &thousands(logged.slots)),
        ("exit status", &end.code.map_or(-1, |code| code)),
        ("line `Parts`", &end.parts.as_deref().unwrap_or("–")),
        ("other pods of agents", &end.other_pods),
        ("agents' Job", &end.job.as_deref().unwrap_or("goes on")),
    ]);
}

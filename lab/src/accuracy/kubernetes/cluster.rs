//! A cluster of machines with the manifest of a fleet, and one run in it. It judges nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::shell::output;

use super::api::Api;
use super::control_plane::{ControlPlane, SERVICES};
use super::hollow_node::{HollowNode, HollowNodes};
use super::volumes::list;
use crate::accuracy::fleet::machines::{COORDINATOR, MANY_AGENTS, Machines, Network, ip};
use crate::accuracy::fleet::processes::nats_directory;
use crate::rig::Fixture;

/// Longest time for a run, and the time between two looks.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Longest time from the end of the coordinator to that of the agents' Job.
const SOON: Duration = Duration::from_secs(10);

/// Network of the target, whose requests an agent allows.
const TARGETS: &str = "10.97.0.0/24:8080";

/// The cluster. Its pods end before the control plane, and both before the machines.
pub(super) struct Cluster {
    pub(super) nodes: HollowNodes,
    plane: ControlPlane,
    pub(super) machines: Machines,
    weir: PathBuf,
    /// File of the manifest of the last run.
    manifest: PathBuf,
}

impl Cluster {
    pub(super) fn start(fixture: &Fixture) -> Result<Cluster> {
        let directory = fixture.directory.join("kubernetes");
        let machines = Machines::make(&MANY_AGENTS)?;
        let places = [COORDINATOR].into_iter().chain(MANY_AGENTS);
        for place in places.clone() {
            ip(&["-n", place, "route", "add", SERVICES, "dev", Network::Bus.name()])?;
        }
        let plane = ControlPlane::start(directory.clone())?;
        let nodes = places.map(|place| {
            let address = machines.address(place, Network::Bus).context("no such machine")?;
            let api = Api::new(plane.proxy, place);
            Ok(HollowNode { name: place.to_owned(), address, api })
        });
        let nodes = nodes.collect::<Result<Vec<HollowNode>>>()?;
        let image = vec![fixture.weir.clone(), nats_directory()?.join("nats-server")];
        let nodes = HollowNodes::start(nodes, directory.join("pods"), image)?;
        let weir = fixture.weir.clone();
        let manifest = directory.join("manifest.yaml");
        let cluster = Cluster { nodes, plane, machines, weir, manifest };
        cluster.plane.await_that("the nodes are not ready", || {
            cluster.ready_nodes().is_ok_and(|ready| ready == MANY_AGENTS.len() + 1)
        })?;
        Ok(cluster)
    }

    pub(super) fn version(&self) -> Result<String> {
        self.plane.version()
    }

    pub(super) fn ready_after(&self) -> Duration {
        self.plane.ready_after
    }

    pub(super) fn kubectl(&self, words: &[&str]) -> Result<String> {
        self.plane.kubectl(words)
    }

    pub(super) fn ready_nodes(&self) -> Result<usize> {
        let nodes = self.plane.get(&["nodes"])?;
        Ok(list(&nodes["items"]).iter().filter(|node| is_ready(node)).count())
    }

    pub(super) fn await_not_ready(&self, node: &str) -> Result<()> {
        self.plane.await_that("the node is ready", || {
            self.plane.get(&["node", node]).is_ok_and(|node| !is_ready(&node))
        })
    }

    /// Returns the kinds of the documents of a run's manifest, which the API server admits without
    /// making any.
    pub(super) fn admitted(&self, words: &[String]) -> Result<String> {
        self.write_manifest(words)?;
        let printed =
            self.kubectl(&["apply", "--dry-run=server", "-o", "name", "-f", "manifest.yaml"])?;
        let mut kinds: Vec<(String, u32)> = Vec::new();
        for line in printed.lines() {
            let kind = line.split(['/', '.']).next().unwrap_or_default();
            match kinds.iter_mut().find(|(known, _)| known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind.to_owned(), 1)),
            }
        }
        let shown = kinds.iter().map(|(kind, count)| format!("{count} {kind}"));
        Ok(shown.collect::<Vec<_>>().join(", "))
    }

    /// Applies the manifest of a run with these words.
    pub(super) fn begin(&self, words: &[String]) -> Result<ClusterRun<'_>> {
        self.plane.await_that("pods of the run before are there", || {
            self.plane.get(&["pods"]).is_ok_and(|pods| list(&pods["items"]).is_empty())
        })?;
        self.write_manifest(words)?;
        self.kubectl(&["apply", "-f", "manifest.yaml"])?;
        let jobs = self.plane.get(&["jobs"])?;
        let named = |is_indexed: bool| {
            let found = list(&jobs["items"])
                .iter()
                .find(|job| (job["spec"]["completionMode"] == "Indexed") == is_indexed);
            let name = found.and_then(|job| job["metadata"]["name"].as_str());
            name.map(|name| format!("batch.kubernetes.io/job-name={name}"))
        };
        let agents = named(true).context("the manifest has no Job of agents")?;
        let coordinator = named(false).context("the manifest has no Job of a coordinator")?;
        let mut run = ClusterRun { cluster: self, agents, coordinator, first: Vec::new() };
        self.plane.await_that("not all pods run", || {
            run.pods(&run.agents).is_ok_and(|pods| {
                pods.len() == MANY_AGENTS.len()
                    && pods.iter().all(|pod| pod["status"]["phase"] == "Running")
            })
        })?;
        run.first = run.pods(&run.agents)?.iter().map(uid).collect();
        Ok(run)
    }

    fn write_manifest(&self, words: &[String]) -> Result<()> {
        let mut weir = Command::new(&self.weir);
        let agents = MANY_AGENTS.len().to_string();
        weir.args(["fleet", "manifest", "--agents", &agents, "--allow", TARGETS, "--"]).args(words);
        fs::write(&self.manifest, output(&mut weir)?).context("failed to write the manifest")
    }
}

/// A run under way; what it made is deleted when the value is dropped.
pub(super) struct ClusterRun<'a> {
    cluster: &'a Cluster,
    /// Selectors of the pods of the agents and of the coordinator.
    agents: String,
    coordinator: String,
    /// Ids of the agents' pods at the begin.
    first: Vec<String>,
}

/// The end of a run.
pub(super) struct RunEnd {
    /// Exit status of the coordinator's container.
    pub(super) code: Option<i64>,
    /// Requests with the status 200 that the report has.
    pub(super) ok: Option<u64>,
    /// The line `Parts` of the report, if it is above that of the target.
    pub(super) parts: Option<String>,
    /// Pods of agents that the Job has made since the begin.
    pub(super) other_pods: usize,
    /// End of the agents' Job, if it has come soon after.
    pub(super) job: Option<String>,
}

impl ClusterRun<'_> {
    /// Returns the nodes of the agents.
    pub(super) fn nodes(&self) -> Result<Vec<String>> {
        let pods = self.pods(&self.agents)?;
        let nodes = pods.iter().map(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned));
        nodes.collect::<Option<Vec<_>>>().context("a pod has no node")
    }

    /// Returns the node of the coordinator, and the nodes whose kubelet may read its Secret.
    pub(super) fn readers(&self) -> Result<(String, Vec<String>)> {
        let pods = self.pods(&self.coordinator)?;
        let spec = &pods.first().context("there is no coordinator")?["spec"];
        let secret =
            list(&spec["volumes"]).iter().find_map(|of| of["secret"]["secretName"].as_str());
        let path = format!("/api/v1/namespaces/default/secrets/{}", secret.context("no Secret")?);
        let own = spec["nodeName"].as_str().context("the coordinator has no node")?.to_owned();
        let all = [COORDINATOR].into_iter().chain(MANY_AGENTS);
        let readers =
            all.filter(|node| Api::new(self.cluster.plane.proxy, node).get(&path).is_ok());
        Ok((own, readers.map(str::to_owned).collect()))
    }

    /// Returns the pod of an agent.
    pub(super) fn agent(&self, index: usize) -> Result<Value> {
        let label = format!("{},batch.kubernetes.io/job-completion-index={index}", self.agents);
        self.pods(&label)?.first().cloned().context("there is no such agent")
    }

    /// Waits for the end of the coordinator, and reads its report.
    pub(super) fn end(self) -> Result<RunEnd> {
        let since = Instant::now();
        let (pod, code) = loop {
            let pods = self.pods(&self.coordinator)?;
            let pod = pods.first().context("there is no coordinator")?;
            let status = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
            if let Some(code) = status["exitCode"].as_i64() {
                break (pod.clone(), code);
            }
            ensure!(since.elapsed() < PATIENCE, "the coordinator does not end");
            thread::sleep(LOOK_EVERY);
        };
        let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
        let log =
            self.cluster.nodes.log(&name(&pod["metadata"]), &name(&pod["spec"]["containers"][0]));
        let report = fs::read_to_string(log).context("the coordinator printed nothing")?;
        eprintln!("{report}");
        let job = self.end_of_agents();
        let agents = self.pods(&self.agents)?;
        let other_pods = agents.iter().filter(|pod| !self.first.contains(&uid(pod))).count();
        Ok(RunEnd { code: Some(code), ok: ok(&report), parts: parts(&report), other_pods, job })
    }

    /// Returns the condition with which the agents' Job ends; none if it goes on.
    fn end_of_agents(&self) -> Option<String> {
        let (_, name) = self.agents.split_once('=')?;
        let since = Instant::now();
        while since.elapsed() < SOON {
            let job = self.cluster.plane.get(&["job", name]).ok()?;
            let conditions = list(&job["status"]["conditions"]).iter();
            let types = conditions.filter(|of| of["status"] == "True").map(|of| &of["type"]);
            let end =
                types.filter_map(Value::as_str).find(|of| ["Complete", "Failed"].contains(of));
            if let Some(end) = end {
                return Some(end.to_owned());
            }
            thread::sleep(LOOK_EVERY);
        }
        None
    }

    fn pods(&self, selector: &str) -> Result<Vec<Value>> {
        let pods = self.cluster.plane.get(&["pods", "--selector", selector])?;
        Ok(list(&pods["items"]).to_vec())
    }
}

impl Drop for ClusterRun<'_> {
    fn drop(&mut self) {
        let words = ["delete", "-f", "manifest.yaml", "--timeout=40s", "--grace-period=5"];
        if let Err(error) = self.cluster.kubectl(&words) {
            eprintln!("accuracy: {error:#}");
        }
    }
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn is_ready(node: &Value) -> bool {
    let conditions = list(&node["status"]["conditions"]);
    conditions.iter().any(|of| of["type"] == "Ready" && of["status"] == "True")
}

/// Returns the number of requests with the status 200 in a report.
fn ok(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.trim_start().starts_with("Status codes"))?;
    let (_, after) = line.split_once("200: ")?;
    after.split([' ', '\n']).next()?.replace(',', "").trim().parse().ok()
}

/// Returns the paragraph `Parts` of a report, if it is above that of the target.
fn parts(report: &str) -> Option<String> {
    let mut lines = report.lines().skip_while(|line| !line.trim_start().starts_with("Parts"));
    let first = lines.next()?.trim().strip_prefix("Parts")?.trim().to_owned();
    let lines: Vec<&str> = lines.collect();
    let is_head = |line: &&&str| line.trim_start().starts_with("Target");
    lines.iter().find(is_head)?;
    let more = lines.iter().take_while(|line| line.starts_with("         "));
    Some(more.fold(first, |text, line| format!("{text} {}", line.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
  Command  weir

  Parts         INCOMPLETE: agent-4 was lost
                after 3 s
  Target        OK

  Status codes  200: 17,500   503: 2
";

    #[test]
    fn reports_are_read() {
        assert_eq!(ok(REPORT), Some(17_500));
        let expected = "INCOMPLETE: agent-4 was lost after 3 s";
        assert_eq!(parts(REPORT).as_deref(), Some(expected));
        assert_eq!(parts("  Target  OK\n  Parts  late\n"), None);
        assert_eq!((ok(""), parts("")), (None, None));
    }
}

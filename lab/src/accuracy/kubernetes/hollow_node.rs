//! Hollow nodes: a thread that does for network namespaces of this machine what a kubelet and the
//! cluster's services do for machines. It registers them, renews their leases, runs the pods that
//! are bound to them, and makes Services reachable. It judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use xtask::shell::{need_program, output};

use super::api::{Api, ApiMethod};
use super::pod::{self, PodNode, PodRun};
use super::volumes::list;

/// Time between two looks at the pods of all nodes, and between two renewals of a lease.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const RENEW_EVERY: Duration = Duration::from_secs(3);

/// Path of the leases.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// A node that a namespace of the same name stands for.
pub(super) struct HollowNode {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) api: Api,
}

/// The running nodes, whose pods end when the value is dropped.
pub(super) struct HollowNodes {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<()>>,
    directory: PathBuf,
}

/// Orders to the thread.
#[derive(Default)]
struct Orders {
    is_over: AtomicBool,
    /// Nodes that neither report nor look at their pods any more.
    lost: Mutex<BTreeSet<String>>,
}

impl HollowNodes {
    /// Registers the nodes, and runs their pods with the files of each in a directory of its name.
    /// `image` is the programs of weir's image.
    pub(super) fn start(
        nodes: Vec<HollowNode>,
        directory: PathBuf,
        image: Vec<PathBuf>,
    ) -> Result<HollowNodes> {
        nodes.iter().try_for_each(HollowNode::register)?;
        let orders = Arc::new(Orders::default());
        let theirs = Arc::clone(&orders);
        let own = Kubelets {
            nodes,
            directory: directory.clone(),
            image,
            pods: BTreeMap::new(),
            hosts: String::new(),
            services: BTreeMap::new(),
        };
        let builder = thread::Builder::new().name("hollow-nodes".to_owned());
        let thread = builder.spawn(move || own.serve(&theirs)).context("no thread")?;
        Ok(HollowNodes { orders, thread: Some(thread), directory })
    }

    /// Ends the reports of a node. Its processes go on until the end, as those of a machine that is
    /// cut off.
    pub(super) fn lose(&self, node: &str) {
        self.orders.lost.lock().expect("no thread panics").insert(node.to_owned());
    }

    /// Returns the file with the output of a container.
    pub(super) fn log(&self, pod: &str, container: &str) -> PathBuf {
        pod::log(&self.directory.join(pod), container)
    }
}

impl Drop for HollowNodes {
    fn drop(&mut self) {
        self.orders.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            thread.join().ok();
        }
    }
}

impl HollowNode {
    fn register(&self) -> Result<()> {
        let now = now()?;
        let room = json!({ "cpu": "16", "memory": "64Gi", "pods": "32" });
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": self.name, "labels": {
                "kubernetes.io/hostname": self.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            } },
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "KubeletReady",
                    "lastHeartbeatTime": now, "lastTransitionTime": now,
                }],
                "addresses": [
                    { "type": "InternalIP", "address": self.address },
                    { "type": "Hostname", "address": self.name },
                ],
            },
        });
        self.api.request(ApiMethod::Post, "/api/v1/nodes", &node)?;
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": self.name },
            "spec": { "holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now },
        });
        self.api.request(ApiMethod::Post, LEASES, &lease).map(|_| ())
    }

    fn renew(&self, now: &str) -> Result<()> {
        let path = format!("{LEASES}/{}", self.name);
        let body = json!({ "spec": { "renewTime": now } });
        self.api.request(ApiMethod::Patch, &path, &body).map(|_| ())
    }

    /// Returns the pods that are bound to it.
    fn pods(&self) -> Result<Vec<Value>> {
        let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", self.name);
        Ok(list(&self.api.get(&path)?["items"]).to_vec())
    }
}

/// The nodes with their pods, in the thread.
struct Kubelets {
    nodes: Vec<HollowNode>,
    directory: PathBuf,
    image: Vec<PathBuf>,
    /// By the id of the pod.
    pods: BTreeMap<String, PodRun>,
    /// The names of the Services, in the form of hosts(5).
    hosts: String,
    /// Node that has the address of a Service.
    services: BTreeMap<String, String>,
}

impl Kubelets {
    /// Serves until the end is ordered. A failure is printed and tried again, as by a kubelet.
    fn serve(mut self, orders: &Orders) {
        let mut renewed_at: Option<Instant> = None;
        while !orders.is_over.load(Ordering::Relaxed) {
            let is_due = renewed_at.is_none_or(|at| at.elapsed() >= RENEW_EVERY);
            if is_due {
                renewed_at = Some(Instant::now());
            }
            if let Err(error) = self.step(orders, is_due) {
                eprintln!("accuracy: a node failed: {error:#}");
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn step(&mut self, orders: &Orders, renews: bool) -> Result<()> {
        let lost = orders.lost.lock().expect("no thread panics").clone();
        let now = now()?;
        let mut all = Vec::new();
        for node in self.nodes.iter().filter(|node| !lost.contains(&node.name)) {
            if renews {
                node.renew(&now)?;
            }
            for pod in node.pods()? {
                let seen = PodNode {
                    api: &node.api,
                    name: &node.name,
                    address: &node.address,
                    image: &self.image,
                };
                let directory = &self.directory;
                // The other pods go on.
                if let Err(error) = step(&mut self.pods, &seen, &pod, directory, &self.hosts, &now)
                {
                    eprintln!("accuracy: pod {} failed: {error:#}", pod["metadata"]["name"]);
                }
                all.push((node, pod));
            }
        }
        let node = self.nodes.iter().find(|node| !lost.contains(&node.name));
        let node = node.context("all nodes are lost")?;
        let services = node.api.get("/api/v1/services")?;
        let mut hosts = "127.0.0.1 localhost\n".to_owned();
        for service in list(&services["items"]) {
            let at = all.iter().find(|(_, pod)| is_behind(pod, service)).map(|(node, _)| *node);
            hosts += &offer(&mut self.services, service, at)?;
        }
        if hosts != self.hosts {
            self.pods.values().try_for_each(|pod| pod.name_hosts(&hosts))?;
            self.hosts = hosts;
        }
        Ok(())
    }
}

/// Starts a pod that is new, and carries out what is ordered of one that is known.
fn step(
    pods: &mut BTreeMap<String, PodRun>,
    node: &PodNode<'_>,
    pod: &Value,
    directory: &Path,
    hosts: &str,
    now: &str,
) -> Result<()> {
    let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default();
    let id = text("uid");
    match pods.get_mut(id) {
        Some(run) => {
            if run.step(node, pod, now)? {
                pods.remove(id);
            }
        }
        None if !pod["metadata"]["deletionTimestamp"].is_null() => pod::forget(node.api, pod)?,
        None => {
            let run = PodRun::start(node, pod, directory.join(text("name")), hosts, now)?;
            pods.insert(id.to_owned(), run);
        }
    }
    Ok(())
}

/// True if a running pod is one of those that a Service selects.
fn is_behind(pod: &Value, service: &Value) -> bool {
    let Some(selector) = service["spec"]["selector"].as_object() else { return false };
    let labels = &pod["metadata"]["labels"];
    pod["metadata"]["namespace"] == service["metadata"]["namespace"]
        && pod["status"]["phase"] == "Running"
        && pod["metadata"]["deletionTimestamp"].is_null()
        && selector.iter().all(|(name, value)| &labels[name] == value)
}

/// Gives the address of a Service to the node of its pod, and returns the line of its names.
fn offer(
    services: &mut BTreeMap<String, String>,
    service: &Value,
    at: Option<&HollowNode>,
) -> Result<String> {
    let text = |name: &str| service["metadata"][name].as_str().unwrap_or_default();
    let address = service["spec"]["clusterIP"].as_str().unwrap_or("None");
    let shown = match (address, at) {
        ("None", None) => return Ok(String::new()),
        ("None", Some(node)) => &node.address,
        (address, _) => address,
    };
    if let (Some(node), true) = (at, address != "None")
        && services.get(address) != Some(&node.name)
    {
        let device = [address, "dev", "bus"];
        if let Some(before) = services.insert(address.to_owned(), node.name.clone()) {
            ip(&[&["-n", &before, "addr", "del"], &device[..]].concat())?;
        }
        ip(&[&["-n", &node.name, "addr", "add"], &device[..]].concat())?;
    }
    let name = text("name");
    let namespace = text("namespace");
    Ok(format!(
        "{shown} {name} {name}.{namespace} {name}.{namespace}.svc \
                {name}.{namespace}.svc.cluster.local\n"
    ))
}

fn ip(words: &[&str]) -> Result<()> {
    let mut ip = Command::new(need_program("ip", "fleet")?);
    let status = ip.args(words).stderr(Stdio::null()).status().context("no ip")?;
    anyhow::ensure!(status.success(), "ip {} failed", words.join(" "));
    Ok(())
}

/// Returns the time as the API server reads it.
fn now() -> Result<String> {
    output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.%6NZ"]))
}

//! A pod that is bound to a node: its containers as processes of this machine, from its start until
//! it is deleted, and the status that a kubelet would report.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::api::{Api, ApiMethod};
use super::container::{self, Container};
use super::sandbox::{Sandbox, SandboxProcess};
use super::volumes::{self, list};

/// A node, as its pods see it.
pub(super) struct PodNode<'a> {
    pub(super) api: &'a Api,
    pub(super) name: &'a str,
    pub(super) address: &'a str,
    /// Programs of weir's image.
    pub(super) image: &'a [PathBuf],
}

/// A pod with its processes, which end with the value.
pub(super) struct PodRun {
    containers: Vec<PodContainer>,
    path: String,
    directory: PathBuf,
    begun: String,
    /// When the processes are killed, once they have received SIGTERM.
    kill_at: Option<Instant>,
    reported: Value,
}

struct PodContainer {
    container: Container,
    sandbox: Sandbox,
    spec: Value,
    process: SandboxProcess,
}

impl PodRun {
    /// Starts the containers of a pod, with its files in a directory. `now` is the time.
    pub(super) fn start(
        node: &PodNode<'_>,
        pod: &Value,
        directory: PathBuf,
        hosts: &str,
        now: &str,
    ) -> Result<PodRun> {
        let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default();
        let path = format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"));
        fs::create_dir_all(&directory)?;
        let volumes = directory.join("volumes");
        volumes::make(node.api, pod, &volumes)?;
        let mut containers = Vec::new();
        for spec in list(&pod["spec"]["containers"]) {
            let name = spec["name"].as_str().context("a container has no name")?;
            let process = container::process(node.api, pod, spec, node.address)?;
            let root = directory.join(name);
            let mut sandbox = Sandbox::make(root.clone(), node.image)?;
            Sandbox::name_hosts(&root, hosts)?;
            container::mount(&mut sandbox, spec, &process, &volumes)?;
            let log = log(&directory, name);
            let container = Container::start(&sandbox, node.name, spec, &process, &log, now)?;
            containers.push(PodContainer { container, sandbox, spec: spec.clone(), process });
        }
        let begun = now.to_owned();
        let reported = Value::Null;
        Ok(PodRun { containers, path, directory, begun, kill_at: None, reported })
    }

    /// Writes the names of hosts anew.
    pub(super) fn name_hosts(&self, hosts: &str) -> Result<()> {
        let roots = self.containers.iter().map(|of| self.directory.join(&of.container.name));
        roots.into_iter().try_for_each(|root| Sandbox::name_hosts(&root, hosts))
    }

    /// Carries out what the pod's object orders, and reports its status. Returns true if the pod is
    /// gone.
    pub(super) fn step(&mut self, node: &PodNode<'_>, pod: &Value, now: &str) -> Result<bool> {
        let is_deleted = !pod["metadata"]["deletionTimestamp"].is_null();
        self.containers.iter_mut().try_for_each(|of| of.container.look())?;
        match self.kill_at {
            None if is_deleted => {
                let grace_s = pod["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or(30);
                self.kill_at = Some(Instant::now() + Duration::from_secs(grace_s));
                self.containers.iter().try_for_each(|of| of.container.signal("TERM"))?;
            }
            Some(at) if Instant::now() >= at => {
                self.containers.iter().try_for_each(|of| of.container.signal("KILL"))?;
            }
            _ => {}
        }
        if !is_deleted && pod["spec"]["restartPolicy"] == "Always" {
            self.restart(node, now)?;
        }
        let status = self.status(node);
        if status != self.reported {
            let body = json!({ "status": status });
            node.api.request(ApiMethod::Patch, &format!("{}/status", self.path), &body)?;
            self.reported = status;
        }
        let is_gone = is_deleted && self.containers.iter().all(|of| of.container.code.is_some());
        if is_gone {
            forget(node.api, pod)?;
            fs::remove_dir_all(self.directory.join("volumes")).ok();
        }
        Ok(is_gone)
    }

    /// Starts the containers that have ended again.
    fn restart(&mut self, node: &PodNode<'_>, now: &str) -> Result<()> {
        for of in self.containers.iter_mut().filter(|of| of.container.code.is_some()) {
            let log = log(&self.directory, &of.container.name);
            let restarts = of.container.restarts + 1;
            of.container =
                Container::start(&of.sandbox, node.name, &of.spec, &of.process, &log, now)?;
            of.container.restarts = restarts;
        }
        Ok(())
    }

    fn status(&self, node: &PodNode<'_>) -> Value {
        let codes: Vec<Option<i32>> = self.containers.iter().map(|of| of.container.code).collect();
        let (phase, is_ready) = match codes.iter().copied().collect::<Option<Vec<i32>>>() {
            None => ("Running", codes.iter().all(Option::is_none)),
            Some(codes) if codes.iter().all(|code| *code == 0) => ("Succeeded", false),
            Some(_) => ("Failed", false),
        };
        let condition = |name: &str, holds: bool| {
            let status = if holds { "True" } else { "False" };
            json!({ "type": name, "status": status })
        };
        json!({
            "phase": phase,
            "hostIP": node.address,
            "podIP": node.address,
            "podIPs": [{ "ip": node.address }],
            "startTime": self.begun,
            "conditions": [
                condition("PodScheduled", true),
                condition("Initialized", true),
                condition("ContainersReady", is_ready),
                condition("Ready", is_ready),
            ],
            "containerStatuses":
                self.containers.iter().map(|of| of.container.status()).collect::<Vec<_>>(),
        })
    }
}

/// Removes the object of a pod that has no process any more.
pub(super) fn forget(api: &Api, pod: &Value) -> Result<()> {
    let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default();
    let path = format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"));
    api.delete(&path, text("uid"))
}

/// Returns the file with the output of a container, in the directory of its pod.
pub(super) fn log(directory: &Path, container: &str) -> PathBuf {
    directory.join(format!("{container}.log"))
}

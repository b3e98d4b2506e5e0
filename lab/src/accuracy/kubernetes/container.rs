//! A container of a pod: the process that its specification describes, and how it ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::api::Api;
use super::sandbox::{Sandbox, SandboxProcess};
use super::volumes::{self, ObjectKind, list};
use crate::rig::signal;

/// Entry point of weir's image.
const ENTRY_POINT: &str = "/usr/bin/weir";

/// A container's process, killed when the value is dropped.
pub(super) struct Container {
    pub(super) name: String,
    image: String,
    child: Child,
    /// Its exit status, or 128 more than the signal that ended it.
    pub(super) code: Option<i32>,
    pub(super) restarts: u32,
    begun: String,
}

impl Container {
    /// Starts the process of a container in its sandbox, with its output in a file. `begun` is the
    /// time.
    pub(super) fn start(
        sandbox: &Sandbox,
        node: &str,
        spec: &Value,
        process: &SandboxProcess,
        log: &Path,
        begun: &str,
    ) -> Result<Container> {
        let text = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
        let log = File::options().create(true).append(true).open(log)?;
        let mut command = sandbox.command(node, process)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("failed to start a container")?;
        let name = text("name");
        let image = text("image");
        let begun = begun.to_owned();
        Ok(Container { name, image, child, code: None, restarts: 0, begun })
    }

    /// Looks whether the process has ended.
    pub(super) fn look(&mut self) -> Result<()> {
        if self.code.is_none()
            && let Some(status) = self.child.try_wait().context("failed to wait for a container")?
        {
            self.code = status.code().or(status.signal().map(|signal| 128 + signal));
        }
        Ok(())
    }

    /// Sends a signal, unless the process has ended.
    pub(super) fn signal(&self, name: &str) -> Result<()> {
        match self.code {
            None => signal(name, self.child.id()),
            Some(_) => Ok(()),
        }
    }

    /// Returns the status that a kubelet reports of it.
    pub(super) fn status(&self) -> Value {
        let state = match self.code {
            None => json!({ "running": { "startedAt": self.begun } }),
            Some(code) => json!({ "terminated": {
                "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
                "startedAt": self.begun, "containerID": "",
            } }),
        };
        json!({
            "name": self.name, "image": self.image, "imageID": "", "state": state,
            "ready": self.code.is_none(), "started": self.code.is_none(),
            "restartCount": self.restarts,
        })
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the process of a container of a pod, whose status has its address.
pub(super) fn process(
    api: &Api,
    pod: &Value,
    spec: &Value,
    address: &str,
) -> Result<SandboxProcess> {
    let environment = environment(api, pod, spec, address)?;
    let words = |name: &str| -> Vec<String> {
        let words = list(&spec[name]).iter().filter_map(Value::as_str);
        words.map(|word| expanded(word, &environment)).collect()
    };
    let command = words("command");
    let arguments = words("args");
    let command = if command.is_empty() { vec![ENTRY_POINT.to_owned()] } else { command };
    let number = |name: &str| {
        let own = spec["securityContext"][name].as_u64();
        own.or(pod["spec"]["securityContext"][name].as_u64())
    };
    Ok(SandboxProcess {
        words: [command, arguments].concat(),
        directory: spec["workingDir"].as_str().map(str::to_owned),
        user: number("runAsUser"),
        group: number("runAsGroup"),
        volumes_group: number("fsGroup"),
        environment: environment.into_iter().collect(),
    })
}

/// Mounts the volumes of a container, which are in a directory.
pub(super) fn mount(
    sandbox: &mut Sandbox,
    spec: &Value,
    process: &SandboxProcess,
    volumes: &Path,
) -> Result<()> {
    let environment = process.environment.iter().cloned().collect();
    for mount in list(&spec["volumeMounts"]) {
        let text = |name: &str| mount[name].as_str();
        let below = text("subPathExpr").map(|path| expanded(path, &environment));
        let below = below.or(text("subPath").map(str::to_owned)).unwrap_or_default();
        let source = volumes.join(text("name").context("a mount has no name")?).join(below);
        let at = text("mountPath").context("a mount has no path")?;
        ensure!(source.exists(), "there is no {} for {at}", source.display());
        sandbox.mount(&source, Path::new(at))?;
    }
    Ok(())
}

/// Returns the variables of a container.
fn environment(
    api: &Api,
    pod: &Value,
    spec: &Value,
    address: &str,
) -> Result<BTreeMap<String, String>> {
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default");
    let mut environment = BTreeMap::new();
    for variable in list(&spec["env"]) {
        let name = variable["name"].as_str().context("a variable has no name")?;
        let from = &variable["valueFrom"];
        let value = if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
            field(pod, path, address).with_context(|| format!("a pod has no {path}"))?
        } else if !from["secretKeyRef"].is_null() {
            volumes::value(api, namespace, ObjectKind::Secret, &from["secretKeyRef"])?
        } else if !from["configMapKeyRef"].is_null() {
            volumes::value(api, namespace, ObjectKind::ConfigMap, &from["configMapKeyRef"])?
        } else {
            expanded(variable["value"].as_str().unwrap_or_default(), &environment)
        };
        environment.insert(name.to_owned(), value);
    }
    Ok(environment)
}

/// Returns a field of a pod by its path in the downward API.
fn field(pod: &Value, path: &str, address: &str) -> Option<String> {
    if path == "status.podIP" {
        return Some(address.to_owned());
    }
    let value = match path.split_once("['") {
        Some((map, key)) => &pod.pointer(&pointer(map))?[key.trim_end_matches("']")],
        None => pod.pointer(&pointer(path))?,
    };
    value.as_str().map(str::to_owned)
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

/// Returns a text with each `$(NAME)` replaced by that variable, and each `$$` by `$`; unknown
/// names stay.
fn expanded(text: &str, environment: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let named = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        let value = named.and_then(|(name, after)| Some((environment.get(name)?.as_str(), after)));
        let (new, after) = value.unwrap_or(("$", after.strip_prefix('$').unwrap_or(after)));
        expanded.push_str(new);
        rest = after;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_expanded() {
        let environment = [("INDEX".to_owned(), "3".to_owned())].into();
        let check = |text: &str, expected: &str| assert_eq!(expanded(text, &environment), expected);
        check("agent-$(INDEX)/$(OTHER)", "agent-3/$(OTHER)");
        check("$$(INDEX) $$ $", "$(INDEX) $ $");
        check("$(INDEX", "$(INDEX");
    }

    #[test]
    fn fields_of_a_pod_are_found() {
        let pod = json!({
            "metadata": { "name": "a", "annotations": { "example.org/index": "7" } },
            "spec": { "nodeName": "n" },
        });
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(field(&pod, path, "10.0.0.1").as_deref(), expected, "{path}");
        };
        check("metadata.name", Some("a"));
        check("metadata.annotations['example.org/index']", Some("7"));
        check("spec.nodeName", Some("n"));
        check("status.podIP", Some("10.0.0.1"));
        check("metadata.labels['a']", None);
    }
}

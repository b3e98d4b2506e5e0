//! Volumes of a pod, as directories of this machine: Secrets, ConfigMaps, projections of both, and
//! empty ones. Of a service account's token nothing is made.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::api::Api;

/// Makes all volumes of a pod, each as a directory of its name in this one.
pub(super) fn make(api: &Api, pod: &Value, directory: &Path) -> Result<()> {
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default");
    let group = pod["spec"]["securityContext"]["fsGroup"].as_u64().map(|group| group as u32);
    for volume in list(&pod["spec"]["volumes"]) {
        let name = volume["name"].as_str().context("a volume has no name")?;
        let place = directory.join(name);
        fs::create_dir_all(&place)?;
        if !volume["emptyDir"].is_null() {
            own(&place, group, 0o777)?;
            continue;
        }
        for file in files(api, namespace, volume).with_context(|| format!("volume {name}"))? {
            let path = place.join(&file.path);
            fs::create_dir_all(path.parent().context("a file has no directory")?)?;
            fs::write(&path, &file.content)?;
            // The kubelet lets the group read what it owns.
            own(&path, group, file.mode | if group.is_some() { 0o440 } else { 0 })?;
        }
    }
    Ok(())
}

/// Returns the value of a key of a Secret or a ConfigMap.
pub(super) fn value(api: &Api, namespace: &str, kind: ObjectKind, of: &Value) -> Result<String> {
    let name = of["name"].as_str().context("it has no name")?;
    let key = of["key"].as_str().context("it has no key")?;
    let data = data(api, namespace, kind, name)?;
    let found = data.into_iter().find(|(known, _)| known == key);
    let (_, content) = found.with_context(|| format!("{name} has no key {key}"))?;
    String::from_utf8(content).context("it is not text")
}

/// Returns the elements of a list; none if the value is none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Kind of an object with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Secret,
    ConfigMap,
}

struct VolumeFile {
    path: String,
    content: Vec<u8>,
    mode: u32,
}

/// Returns the files of a volume.
fn files(api: &Api, namespace: &str, volume: &Value) -> Result<Vec<VolumeFile>> {
    let projected = &volume["projected"];
    let sources = if projected.is_null() {
        std::slice::from_ref(volume)
    } else {
        list(&projected["sources"])
    };
    let mut files = Vec::new();
    for source in sources {
        let (kind, of) = match (&source["secret"], &source["configMap"]) {
            (Value::Null, Value::Null) if !projected.is_null() => continue,
            (Value::Null, Value::Null) => bail!("no node of this cluster has such a volume"),
            (Value::Null, of) => (ObjectKind::ConfigMap, of),
            (of, _) => (ObjectKind::Secret, of),
        };
        let name = of["secretName"].as_str().or(of["name"].as_str()).context("it has no name")?;
        let mode = of["defaultMode"].as_u64().or(projected["defaultMode"].as_u64());
        let mode = mode.unwrap_or(0o644) as u32;
        let data = data(api, namespace, kind, name)?;
        if of["items"].is_null() {
            let all = data.into_iter();
            files.extend(all.map(|(path, content)| VolumeFile { path, content, mode }));
            continue;
        }
        for item in list(&of["items"]) {
            let key = item["key"].as_str().context("an item has no key")?;
            let found = data.iter().find(|(known, _)| known == key);
            let (_, content) = found.with_context(|| format!("{name} has no key {key}"))?;
            let path = item["path"].as_str().context("an item has no path")?.to_owned();
            let mode = item["mode"].as_u64().map_or(mode, |mode| mode as u32);
            files.push(VolumeFile { path, content: content.clone(), mode });
        }
    }
    Ok(files)
}

/// Returns the keys of an object with their contents.
fn data(
    api: &Api,
    namespace: &str,
    kind: ObjectKind,
    name: &str,
) -> Result<Vec<(String, Vec<u8>)>> {
    let kinds = match kind {
        ObjectKind::Secret => "secrets",
        ObjectKind::ConfigMap => "configmaps",
    };
    let object = api.get(&format!("/api/v1/namespaces/{namespace}/{kinds}/{name}"))?;
    let entries = object["data"].as_object().into_iter().flatten();
    let read = entries.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        let content = match kind {
            ObjectKind::Secret => STANDARD.decode(text).context("it is not base64")?,
            ObjectKind::ConfigMap => text.as_bytes().to_vec(),
        };
        Ok((key.clone(), content))
    });
    read.collect()
}

fn own(path: &Path, group: Option<u32>, mode: u32) -> Result<()> {
    chown(path, None, group)?;
    fs::set_permissions(path, Permissions::from_mode(mode)).context("failed to set a mode")
}

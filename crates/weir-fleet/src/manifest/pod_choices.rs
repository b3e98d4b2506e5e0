//! Demands of a cluster on all pods: where they may run, as whom, and what they are called.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use weir_runner::AllowedTarget;

/// User and group of the image, who is not root and owns nothing.
const USER: u32 = 65_532;

/// Begin of the labels by which the objects select pods.
const OWN_LABELS: &str = "app.kubernetes.io/";

/// The user of the pods' processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUser {
    /// This one.
    Id(u32),
    /// The platform chooses it, as OpenShift does for each namespace.
    Platform,
}

impl Default for PodUser {
    fn default() -> PodUser {
        PodUser::Id(USER)
    }
}

/// A taint of nodes that pods tolerate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// Key of the taint.
    pub key: String,
    /// Its value; none for any.
    pub value: Option<String>,
    /// Its effect; none for all.
    pub effect: Option<String>,
}

/// Demands of a cluster on all pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodChoices {
    /// Secrets with which the image is pulled.
    pub pull_secrets: Vec<String>,
    /// Labels of the nodes on which pods may run.
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that they tolerate.
    pub tolerations: Vec<Toleration>,
    /// Their service account; none for that of the namespace.
    pub service_account: Option<String>,
    /// Further labels of all objects and pods.
    pub labels: BTreeMap<String, String>,
    /// Secrets whose keys are environment variables of the agents.
    pub env_from: Vec<String>,
    /// The user of their processes.
    pub user: PodUser,
    /// Further addresses that the coordinator may connect to.
    pub egress: Vec<AllowedTarget>,
    /// Port at which the coordinator serves metrics.
    pub metrics_port: Option<u16>,
}

impl PodChoices {
    /// Checks the names, which Kubernetes would refuse otherwise.
    ///
    /// # Errors
    /// When one is none, or a label is one of ours.
    pub(super) fn check(&self) -> Result<()> {
        let names = self.pull_secrets.iter().chain(&self.env_from).chain(&self.service_account);
        for name in names {
            let is_name = !name.is_empty() && name.len() <= 253 && name.split('.').all(is_label);
            ensure!(is_name, "the name {name:?}: a to z, digits, - and dots");
        }
        let pairs = self.labels.iter().chain(&self.node_selector);
        for (key, value) in pairs {
            ensure!(is_key(key) && is_value(value), "the label {key}={value}: give KEY=VALUE");
        }
        for Toleration { key, value, effect } in &self.tolerations {
            let is_right = is_key(key) && value.as_deref().is_none_or(is_value);
            ensure!(is_right, "the toleration {key:?}: give KEY[=VALUE][:EFFECT]");
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            let is_effect = effect.as_deref().is_none_or(|effect| effects.contains(&effect));
            ensure!(is_effect, "the toleration of {key}: its effect is one of {effects:?}");
        }
        let own = self.labels.keys().find(|key| key.starts_with(OWN_LABELS));
        ensure!(own.is_none(), "the label {}: weir sets it", own.map_or("", String::as_str));
        Ok(())
    }

    /// Adds the further labels to those of an object or of pods.
    pub(super) fn add_labels(&self, labels: &mut Value) {
        for (key, value) in &self.labels {
            labels[key] = json!(value);
        }
    }

    /// Adds what all pods have in common to the specification of one.
    pub(super) fn add_to(&self, spec: &mut Value) {
        let user = match self.user {
            PodUser::Id(id) => Some(id),
            PodUser::Platform => None,
        };
        // The group of the pod reads the secrets, whose owner is root.
        for field in ["fsGroup", "runAsGroup", "runAsUser"] {
            user.iter().for_each(|id| spec["securityContext"][field] = json!(id));
        }
        if !self.pull_secrets.is_empty() {
            let secret = |name: &String| json!({ "name": name });
            spec["imagePullSecrets"] = self.pull_secrets.iter().map(secret).collect();
        }
        if !self.node_selector.is_empty() {
            spec["nodeSelector"] = json!(self.node_selector);
        }
        if !self.tolerations.is_empty() {
            spec["tolerations"] = self.tolerations.iter().map(toleration).collect();
        }
        if let Some(account) = &self.service_account {
            spec["serviceAccountName"] = json!(account);
        }
    }

    /// Adds the environment of the agents to their container.
    pub(super) fn add_environment(&self, container: &mut Value) {
        if !self.env_from.is_empty() {
            let source = |name: &String| json!({ "secretRef": { "name": name } });
            container["envFrom"] = self.env_from.iter().map(source).collect();
        }
    }
}

fn toleration(Toleration { key, value, effect }: &Toleration) -> Value {
    let mut fields = Map::new();
    fields.insert("key".to_owned(), json!(key));
    let operator = if value.is_some() { "Equal" } else { "Exists" };
    fields.insert("operator".to_owned(), json!(operator));
    fields.extend(value.iter().map(|value| ("value".to_owned(), json!(value))));
    fields.extend(effect.iter().map(|effect| ("effect".to_owned(), json!(effect))));
    Value::Object(fields)
}

/// True for a label of RFC 1123.
pub(super) fn is_label(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(is_fit)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// True for the key of a label: a name, with a domain and a slash before it or without.
fn is_key(key: &str) -> bool {
    let (domain, name) = key.rsplit_once('/').map_or((None, key), |(of, name)| (Some(of), name));
    let is_domain = |of: &str| of.len() <= 253 && of.split('.').all(is_label);
    !name.is_empty() && is_value(name) && domain.is_none_or(is_domain)
}

/// True for the value of a label.
fn is_value(value: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    value.len() <= 63
        && value.chars().all(is_fit)
        && (value.is_empty() || (value.starts_with(is_end) && value.ends_with(is_end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        let of = |key: &str, value: &str| {
            let labels = [(key.to_owned(), value.to_owned())].into();
            PodChoices { labels, ..PodChoices::default() }.check().is_ok()
        };
        for (key, value) in [("team", "a"), ("kueue.x-k8s.io/queue-name", "load_1"), ("a", "")] {
            assert!(of(key, value), "{key}={value}");
        }
        let long = "a".repeat(64);
        for (key, value) in [
            ("", "a"),
            ("a b", "a"),
            ("A.B/c", "a"),
            ("a", "-"),
            ("a", "b c"),
            ("a", &long),
            ("app.kubernetes.io/name", "mine"),
        ] {
            assert!(!of(key, value), "{key}={value}");
        }
        let secrets = |name: &str| {
            let pull_secrets = vec![name.to_owned()];
            PodChoices { pull_secrets, ..PodChoices::default() }.check().is_ok()
        };
        assert!(secrets("registry.key-1") && !secrets("A") && !secrets("a..b") && !secrets(""));
    }

    #[test]
    fn a_platform_chooses_the_user() {
        let of = |user| {
            let mut spec = json!({ "securityContext": {} });
            PodChoices { user, ..PodChoices::default() }.add_to(&mut spec);
            spec["securityContext"].clone()
        };
        let all = json!({ "fsGroup": 65_532, "runAsGroup": 65_532, "runAsUser": 65_532 });
        assert_eq!(of(PodUser::default()), all);
        assert_eq!(of(PodUser::Id(7))["runAsUser"], 7);
        assert_eq!(of(PodUser::Platform), json!({}));
    }
}

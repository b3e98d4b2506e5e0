//! The settings of a manifest. Which flags give them, the program knows.

use std::time::Duration;

use anyhow::{Result, ensure};
use weir_runner::PermittedTargets;

use super::pod_choices::{PodChoices, is_label};

/// Most bytes of a name: the names of objects and pods are made of it, and have 63.
const NAME_MAX: usize = 40;

/// A word of the command line of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodWord {
    /// A word that everyone may read who can read the job.
    Plain(String),
    /// A word with a credential. It is in a secret.
    Secret(String),
}

/// The seccomp profile of the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeccompChoice {
    /// That of the container runtime.
    RuntimeDefault,
    /// None.
    Unconfined,
    /// A file on each node, by its path below the kubelet's directory of profiles.
    Localhost(String),
}

/// The settings of a manifest.
#[derive(Clone, Debug)]
pub struct ManifestSettings {
    /// Name of the coordinator's job; those of the other objects begin with it.
    pub name: String,
    /// Namespace of all objects; without one, that of the command that applies them.
    pub namespace: Option<String>,
    /// Image of all containers.
    pub image: String,
    /// Host and port of a bus that is there already. Without one the manifest has a bus.
    pub other_bus: Option<(String, u16)>,
    /// Words of the agents.
    pub agent: Vec<PodWord>,
    /// Words of the coordinator.
    pub coordinator: Vec<PodWord>,
    /// Targets that the pods may connect to.
    pub allowed: PermittedTargets,
    /// CPUs of each agent.
    pub cpus: u32,
    /// Memory of each agent, as Kubernetes writes it.
    pub memory: String,
    /// The seccomp profile.
    pub seccomp: SeccompChoice,
    /// True if an agent waits for a node rather than share one unevenly.
    pub is_spread_required: bool,
    /// Longest time of the jobs.
    pub deadline: Duration,
    /// Time for which ended jobs, and with them their logs, are kept.
    pub kept: Duration,
    /// Claim of a volume for the coordinator's files.
    pub results_claim: Option<String>,
    /// Demands of the cluster on all pods.
    pub pods: PodChoices,
}

impl ManifestSettings {
    /// Checks the names, which Kubernetes would refuse otherwise.
    ///
    /// # Errors
    /// When one is no name of RFC 1123, or a quantity is none.
    pub fn check(&self) -> Result<()> {
        let is_short = self.name.len() <= NAME_MAX;
        let is_named = self.name.starts_with(|c: char| c.is_ascii_lowercase());
        ensure!(
            is_label(&self.name) && is_short && is_named,
            "the name {:?}: a to z, digits and -, a letter first, at most {NAME_MAX}",
            self.name
        );
        for name in self.namespace.iter().chain(&self.results_claim) {
            ensure!(is_label(name), "the name {name:?}: a to z, digits and -, at most 63");
        }
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        ensure!(is_word(&self.image), "the image {:?}: give NAME:TAG", self.image);
        let is_long = self.deadline.as_secs() > 0 && self.kept.as_secs() > 0;
        ensure!(is_long, "the deadline and the time to keep: at least 1 s");
        ensure!(is_quantity(&self.memory), "the memory {:?}: give 512Mi or 2Gi", self.memory);
        self.pods.check()
    }
}

/// Returns the host name of the bus of a manifest.
pub fn bus_host(name: &str) -> String {
    format!("{name}-nats")
}

/// True for a number of bytes as Kubernetes writes it.
fn is_quantity(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let is_unit = ["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&unit);
    is_unit && digits.parse::<u64>().is_ok_and(|number| number > 0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Settings of a fleet with a bus of its own.
    pub(in crate::manifest) fn settings() -> ManifestSettings {
        ManifestSettings {
            name: "weir".to_owned(),
            namespace: None,
            image: "weir:1".to_owned(),
            other_bus: None,
            agent: Vec::new(),
            coordinator: Vec::new(),
            allowed: PermittedTargets::Any,
            cpus: 2,
            memory: "2Gi".to_owned(),
            seccomp: SeccompChoice::RuntimeDefault,
            is_spread_required: true,
            deadline: Duration::from_hours(1),
            kept: Duration::from_hours(24),
            results_claim: None,
            pods: PodChoices::default(),
        }
    }

    #[test]
    fn names_are_labels() {
        let longest = "a".repeat(63);
        for name in ["a", "load-1", "1a", &longest] {
            assert!(is_label(name), "{name}");
        }
        let too_long = "a".repeat(64);
        for name in ["", "-a", "a-", "A", "a.b", "a_b", "ä", "a b", &too_long] {
            assert!(!is_label(name), "{name}");
        }
    }

    #[test]
    fn memory_is_a_quantity() {
        for text in ["2Gi", "512Mi", "1000000", "2G"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", "Gi", "0Gi", "2GB", "2 Gi", "1.5Gi", "-1Gi", "2Gi\n"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}

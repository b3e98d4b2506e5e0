//! Kubernetes objects that carry out one run on a fleet: secrets, network policies, the bus, and
//! the jobs of the agents and of the coordinator. This module talks to no cluster.

mod pods;
mod policies;
mod secrets;

mod fleet_files;
mod objects;
mod settings;

mod pod_choices;

mod yaml;

pub use fleet_files::FleetFiles;
pub use objects::{IDENTITY_PLACE, RESULTS_PLACE};
pub use pod_choices::{PodChoices, PodUser, Toleration};
pub use settings::{ManifestSettings, PodWord, SeccompChoice, bus_host};

/// Returns the objects as one stream of YAML documents.
pub fn manifest(settings: &ManifestSettings, files: &FleetFiles) -> String {
    let mut objects = secrets::secrets(settings, files);
    objects.extend(policies::policies(settings));
    objects.extend(pods::pods(settings, files));
    objects.iter().map(|object| format!("---\n{}", yaml::document(object))).collect()
}

//! Parts that the objects of a manifest have in common: heads, labels, and the places in pods.

use serde_json::{Value, json};

use super::settings::ManifestSettings;

/// Directory of the identity in a pod of an agent or of the coordinator.
pub const IDENTITY_PLACE: &str = "/identity";

/// Directory of the coordinator's files.
pub const RESULTS_PLACE: &str = "/results";

/// Port of a bus.
pub(super) const BUS_PORT: u16 = 4222;

/// The components of a fleet, as their label has them.
pub(super) const BUS: &str = "nats";
pub(super) const AGENT: &str = "agent";
pub(super) const COORDINATOR: &str = "coordinator";

const COMPONENT: &str = "app.kubernetes.io/component";

/// Kind of an object, with the version of its interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManifestKind {
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
}

/// Returns an object of a component with nothing but its head.
pub(super) fn object(
    settings: &ManifestSettings,
    kind: ManifestKind,
    name: &str,
    component: &str,
) -> Value {
    let mut object = json!({
        "apiVersion": kind.version,
        "kind": kind.kind,
        "metadata": { "labels": labels(settings, component), "name": name },
    });
    settings.pods.add_labels(&mut object["metadata"]["labels"]);
    if let Some(namespace) = &settings.namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// Returns the labels of an object, or of the pods of a component.
pub(super) fn labels(settings: &ManifestSettings, component: &str) -> Value {
    json!({
        COMPONENT: component,
        "app.kubernetes.io/instance": settings.name,
        "app.kubernetes.io/name": "weir",
    })
}

/// Returns the selector of the pods that carry out the run.
pub(super) fn members(settings: &ManifestSettings) -> Value {
    let components = json!([AGENT, COORDINATOR]);
    json!({
        "matchExpressions": [{ "key": COMPONENT, "operator": "In", "values": components }],
        "matchLabels": {
            "app.kubernetes.io/instance": settings.name,
            "app.kubernetes.io/name": "weir",
        },
    })
}

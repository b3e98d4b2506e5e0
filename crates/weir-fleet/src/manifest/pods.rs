//! The pods: the bus with its service, the job of the agents, and that of the coordinator.

use serde_json::{Value, json};

use super::fleet_files::FleetFiles;
use super::objects::{
    AGENT, BUS, BUS_PORT, COORDINATOR, IDENTITY_PLACE, ManifestKind, RESULTS_PLACE, labels, object,
};
use super::secrets::{IDENTITY, agent_mounts, agents_volume, volume, words_name, words_of};
use super::settings::{ManifestSettings, PodWord, SeccompChoice, bus_host};

/// Places of the bus: its configuration and keys, and its store, as the configuration names it.
const BUS_PLACE: &str = "/server";
const STORE_PLACE: &str = "/server/jetstream";
const STORE_MAX: &str = "4Gi";

/// CPUs and memory of the bus and of the coordinator.
const SMALL_CPUS: u32 = 1;
const SMALL_MEMORY: &str = "1Gi";

const SERVICE: ManifestKind = ManifestKind { version: "v1", kind: "Service" };
const DEPLOYMENT: ManifestKind = ManifestKind { version: "apps/v1", kind: "Deployment" };
const JOB: ManifestKind = ManifestKind { version: "batch/v1", kind: "Job" };

/// Returns the objects that make pods.
pub(super) fn pods(settings: &ManifestSettings, files: &FleetFiles) -> Vec<Value> {
    let bus = settings.other_bus.is_none().then(|| [service(settings), bus(settings, files)]);
    let jobs = [agents(settings, files), coordinator(settings)];
    bus.into_iter().flatten().chain(jobs).collect()
}

fn service(settings: &ManifestSettings) -> Value {
    let mut service = object(settings, SERVICE, &bus_host(&settings.name), BUS);
    service["spec"] = json!({
        "ports": [{ "name": "nats", "port": BUS_PORT, "protocol": "TCP", "targetPort": BUS_PORT }],
        "selector": labels(settings, BUS),
    });
    service
}

fn bus(settings: &ManifestSettings, files: &FleetFiles) -> Value {
    let mut container = container(settings, "nats", SMALL_CPUS, SMALL_MEMORY);
    container["command"] = json!(["/usr/bin/nats-server", "-c", "nats.conf"]);
    // The paths of the configuration are relative to it.
    container["workingDir"] = json!(BUS_PLACE);
    container["ports"] = json!([{ "containerPort": BUS_PORT, "name": "nats", "protocol": "TCP" }]);
    // Each file by itself: in the mount of a secret there is no place for the store.
    let file = |name: &String| {
        let place = format!("{BUS_PLACE}/{name}");
        json!({ "mountPath": place, "name": IDENTITY, "readOnly": true, "subPath": name })
    };
    let mut mounts: Vec<Value> = files.server.keys().map(file).collect();
    mounts.push(json!({ "mountPath": STORE_PLACE, "name": "store" }));
    container["volumeMounts"] = json!(mounts);
    let store = json!({ "emptyDir": { "sizeLimit": STORE_MAX }, "name": "store" });
    let mut template = template(settings, BUS, container, vec![volume(settings, BUS), store]);
    template["spec"]["restartPolicy"] = json!("Always");
    let mut bus = object(settings, DEPLOYMENT, &bus_host(&settings.name), BUS);
    bus["spec"] = json!({
        "replicas": 1,
        "selector": { "matchLabels": labels(settings, BUS) },
        "strategy": { "type": "Recreate" },
        "template": template,
    });
    bus
}

fn agents(settings: &ManifestSettings, files: &FleetFiles) -> Value {
    let mut container = container(settings, AGENT, settings.cpus, &settings.memory);
    words(settings, AGENT, &settings.agent, &mut container);
    settings.pods.add_environment(&mut container);
    container["volumeMounts"] = json!(agent_mounts(files));
    let volumes = vec![agents_volume(settings, files)];
    let mut template = template(settings, AGENT, container, volumes);
    let unsatisfiable = match settings.is_spread_required {
        true => "DoNotSchedule",
        false => "ScheduleAnyway",
    };
    template["spec"]["topologySpreadConstraints"] = json!([{
        "labelSelector": { "matchLabels": labels(settings, AGENT) },
        "maxSkew": 1,
        // Otherwise nodes that take no such pod count as empty.
        "nodeTaintsPolicy": "Honor",
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": unsatisfiable,
    }]);
    let mut job = object(settings, JOB, &format!("{}-agents", settings.name), AGENT);
    job["spec"] = json!({
        "activeDeadlineSeconds": settings.deadline.as_secs(),
        // A part that has failed does not begin again: that would be another load.
        "backoffLimitPerIndex": 0,
        "completionMode": "Indexed",
        "completions": files.agents(),
        "parallelism": files.agents(),
        "podReplacementPolicy": "Failed",
        "template": template,
        "ttlSecondsAfterFinished": settings.kept.as_secs(),
    });
    job
}

fn coordinator(settings: &ManifestSettings) -> Value {
    let mut container = container(settings, COORDINATOR, SMALL_CPUS, SMALL_MEMORY);
    words(settings, COORDINATOR, &settings.coordinator, &mut container);
    let identity = json!({ "mountPath": IDENTITY_PLACE, "name": IDENTITY, "readOnly": true });
    let mut mounts = vec![identity];
    let mut volumes = vec![volume(settings, COORDINATOR)];
    if let Some(claim) = &settings.results_claim {
        container["workingDir"] = json!(RESULTS_PLACE);
        mounts.push(json!({ "mountPath": RESULTS_PLACE, "name": "results" }));
        let claim = json!({ "claimName": claim });
        volumes.push(json!({ "name": "results", "persistentVolumeClaim": claim }));
    }
    container["volumeMounts"] = json!(mounts);
    if let Some(port) = settings.pods.metrics_port {
        let port = json!({ "containerPort": port, "name": "metrics", "protocol": "TCP" });
        container["ports"] = json!([port]);
    }
    let mut job = object(settings, JOB, &settings.name, COORDINATOR);
    job["spec"] = json!({
        "activeDeadlineSeconds": settings.deadline.as_secs(),
        "backoffLimit": 0,
        "template": template(settings, COORDINATOR, container, volumes),
        "ttlSecondsAfterFinished": settings.kept.as_secs(),
    });
    job
}

/// Returns a container with equal requests and limits: its pod is of the class Guaranteed.
fn container(settings: &ManifestSettings, name: &str, cpus: u32, memory: &str) -> Value {
    let resources = json!({ "cpu": cpus.to_string(), "memory": memory });
    json!({
        "image": settings.image,
        "name": name,
        "resources": { "limits": resources, "requests": resources },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
    })
}

/// Returns the template of a component's pods. Its group may read the secrets, whose owner is root.
fn template(
    settings: &ManifestSettings,
    component: &str,
    container: Value,
    volumes: Vec<Value>,
) -> Value {
    let seccomp = match &settings.seccomp {
        SeccompChoice::RuntimeDefault => json!({ "type": "RuntimeDefault" }),
        SeccompChoice::Unconfined => json!({ "type": "Unconfined" }),
        SeccompChoice::Localhost(path) => json!({ "localhostProfile": path, "type": "Localhost" }),
    };
    let mut template = json!({
        "metadata": {
            "annotations": {
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
                "karpenter.sh/do-not-disrupt": "true",
                // A proxy would end with no job, and be in the way of each request.
                "linkerd.io/inject": "disabled",
                "sidecar.istio.io/inject": "false",
            },
            "labels": labels(settings, component),
        },
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [container],
            "enableServiceLinks": false,
            "restartPolicy": "Never",
            "securityContext": { "runAsNonRoot": true, "seccompProfile": seccomp },
            "volumes": volumes,
        },
    });
    settings.pods.add_labels(&mut template["metadata"]["labels"]);
    settings.pods.add_to(&mut template["spec"]);
    template
}

/// Adds the words of a command line to a container. Those with credentials come from variables.
fn words(settings: &ManifestSettings, component: &str, words: &[PodWord], container: &mut Value) {
    let secret = words_name(settings, component);
    let mut args = Vec::new();
    let mut variables = Vec::new();
    for (key, word) in words_of(words) {
        match word {
            PodWord::Plain(word) => args.push(escaped(word)),
            PodWord::Secret(_) => {
                args.push(format!("$({key})"));
                let source = json!({ "secretKeyRef": { "key": key, "name": secret } });
                variables.push(json!({ "name": key, "valueFrom": source }));
            }
        }
    }
    container["args"] = json!(args);
    if !variables.is_empty() {
        container["env"] = json!(variables);
    }
}

/// Returns a word that Kubernetes leaves as it is: it expands `$(NAME)`, and takes `$$` for `$`.
fn escaped(word: &str) -> String {
    word.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::settings::tests::settings;

    /// Expands a word as the kubelet does, where `A` is the only variable.
    fn expanded(word: &str) -> String {
        let mut out = String::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = after;
            if let Some(after) = rest.strip_prefix('$') {
                (out, rest) = (out + "$", after);
            } else if let Some(after) = rest.strip_prefix("(A)") {
                (out, rest) = (out + "value", after);
            } else {
                out.push('$');
            }
        }
        out + rest
    }

    #[test]
    fn words_reach_the_program_as_they_are() {
        assert_eq!(expanded("$(A)"), "value");
        for word in ["$(A)", "$$(A)", "$$$(A)", "a$", "$$", "$", "-b{\"a\":\"$(A) $$\"}", "a\nb"] {
            assert_eq!(expanded(&escaped(word)), word);
        }
    }

    #[test]
    fn a_credential_is_in_no_argument() {
        let mut container = json!({});
        let given = [PodWord::Plain("-u".to_owned()), PodWord::Secret("me:pw".to_owned())];
        words(&settings(), COORDINATOR, &given, &mut container);
        assert_eq!(container["args"], json!(["-u", "$(WORD_1)"]));
        let source = &container["env"][0]["valueFrom"]["secretKeyRef"];
        assert_eq!(*source, json!({ "key": "WORD_1", "name": "weir-coordinator-words" }));
        assert!(!container.to_string().contains("me:pw"));
    }
}

//! The secrets: the files of each role, and words with credentials. Where pods mount them stands
//! beside the names of their keys.

use serde_json::{Value, json};

use super::fleet_files::{FileTexts, FleetFiles};
use super::objects::{AGENT, BUS, COORDINATOR, IDENTITY_PLACE, ManifestKind, object};
use super::settings::{ManifestSettings, PodWord};

/// Most agents of one secret, which may have 1 MiB, and 256 KiB if `kubectl apply` keeps its text
/// as an annotation.
const AGENTS_MAX: usize = 50;

const SECRET: ManifestKind = ManifestKind { version: "v1", kind: "Secret" };

/// The file mode of keys. With the pod's group it is the mode that Kubernetes gives a secret.
const MODE: u32 = 0o440;

/// Volume with the identity of a pod.
pub(super) const IDENTITY: &str = "identity";

/// Returns the secrets of all roles.
pub(super) fn secrets(settings: &ManifestSettings, files: &FleetFiles) -> Vec<Value> {
    let secret = |name: &str, component: &str, text: Value| {
        let mut secret = object(settings, SECRET, name, component);
        secret["stringData"] = text;
        secret["type"] = json!("Opaque");
        secret
    };
    let mut secrets = Vec::new();
    if settings.other_bus.is_none() {
        secrets.push(secret(&name_of(settings, BUS), BUS, json!(files.server)));
    }
    let of_coordinator = json!(files.coordinator);
    secrets.push(secret(&name_of(settings, COORDINATOR), COORDINATOR, of_coordinator));
    for (component, words) in [(AGENT, &settings.agent), (COORDINATOR, &settings.coordinator)] {
        let found = words_of(words).filter_map(|(key, word)| hidden(key, word));
        let found: FileTexts = found.collect();
        if !found.is_empty() {
            secrets.push(secret(&words_name(settings, component), component, json!(found)));
        }
    }
    for (number, name) in agent_secrets(settings, files).into_iter().enumerate() {
        let first = number * AGENTS_MAX;
        let agents = files.agents.iter().enumerate().skip(first).take(AGENTS_MAX);
        let of_agent = |(index, of_agent): (usize, &FileTexts)| {
            let own = of_agent.clone().into_iter();
            own.filter(|(name, _)| number == 0 && index == 0 || !files.is_common(name))
                .map(|(name, text)| (agent_key(files, &index.to_string(), &name), text))
                .collect::<FileTexts>()
        };
        let text: FileTexts = agents.flat_map(of_agent).collect();
        secrets.push(secret(&name, AGENT, json!(text)));
    }
    secrets
}

/// Returns the name of the secret of a component.
fn name_of(settings: &ManifestSettings, component: &str) -> String {
    format!("{}-{component}", settings.name)
}

/// Returns the name of the secret with the words of a component.
pub(super) fn words_name(settings: &ManifestSettings, component: &str) -> String {
    format!("{}-{component}-words", settings.name)
}

/// Returns the words with the keys that those with credentials have.
pub(super) fn words_of(words: &[PodWord]) -> impl Iterator<Item = (String, &PodWord)> {
    words.iter().enumerate().map(|(index, word)| (format!("WORD_{index}"), word))
}

fn hidden(key: String, word: &PodWord) -> Option<(String, String)> {
    match word {
        PodWord::Secret(word) => Some((key, word.clone())),
        PodWord::Plain(_) => None,
    }
}

/// Returns the names of the agents' secrets.
fn agent_secrets(settings: &ManifestSettings, files: &FleetFiles) -> Vec<String> {
    let count = files.agents.len().div_ceil(AGENTS_MAX);
    (0..count).map(|number| format!("{}-agents-{number}", settings.name)).collect()
}

/// Returns the key of a file of the agent with an index.
fn agent_key(files: &FleetFiles, index: &str, name: &str) -> String {
    match files.is_common(name) {
        true => name.to_owned(),
        false => format!("{index}.{name}"),
    }
}

/// Returns the volume with the secret of the bus, or of the coordinator.
pub(super) fn volume(settings: &ManifestSettings, component: &str) -> Value {
    let secret = json!({ "defaultMode": MODE, "secretName": name_of(settings, component) });
    json!({ "name": IDENTITY, "secret": secret })
}

/// Returns the volume with the identities of all agents. A container has the files of one.
pub(super) fn agents_volume(settings: &ManifestSettings, files: &FleetFiles) -> Value {
    let names = agent_secrets(settings, files);
    match &names[..] {
        [name] => {
            json!({ "name": IDENTITY, "secret": { "defaultMode": MODE, "secretName": name } })
        }
        names => {
            let source = |name: &String| json!({ "secret": { "name": name } });
            let sources: Vec<Value> = names.iter().map(source).collect();
            json!({ "name": IDENTITY, "projected": { "defaultMode": MODE, "sources": sources } })
        }
    }
}

/// Returns the mounts of the files of one agent, each by itself. The pod's index leads to them.
pub(super) fn agent_mounts(files: &FleetFiles) -> Vec<Value> {
    let mount = |name: &String| {
        let key = agent_key(files, "$(JOB_COMPLETION_INDEX)", name);
        let place = format!("{IDENTITY_PLACE}/{name}");
        let field = if files.is_common(name) { "subPath" } else { "subPathExpr" };
        json!({ field: key, "mountPath": place, "name": IDENTITY, "readOnly": true })
    };
    files.agents[0].keys().map(mount).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::settings::tests::settings;

    fn fleet(agents: usize) -> FleetFiles {
        let of = |number: usize| {
            let own = [("ca.pem", "ca".to_owned()), ("key.pem", format!("key {number}"))];
            own.map(|(name, text)| (name.to_owned(), text)).into_iter().collect::<FileTexts>()
        };
        FleetFiles {
            server: of(1_000),
            coordinator: of(1_001),
            agents: (0..agents).map(of).collect(),
        }
    }

    #[test]
    fn each_agent_mounts_its_own_key_alone() {
        let files = fleet(2);
        let mounts = agent_mounts(&files);
        assert_eq!(mounts[0]["subPath"], "ca.pem");
        assert_eq!(mounts[1]["subPathExpr"], "$(JOB_COMPLETION_INDEX).key.pem");
        assert_eq!(mounts[1]["mountPath"], "/identity/key.pem");
        let secrets = secrets(&settings(), &files);
        let names: Vec<&Value> = secrets.iter().map(|it| &it["metadata"]["name"]).collect();
        assert_eq!(names, ["weir-nats", "weir-coordinator", "weir-agents-0"]);
        let expected = json!({ "0.key.pem": "key 0", "1.key.pem": "key 1", "ca.pem": "ca" });
        assert_eq!(secrets[2]["stringData"], expected);
        assert_eq!(secrets[1]["stringData"]["key.pem"], "key 1001");
    }

    #[test]
    fn the_key_of_a_lone_agent_is_its_own_too() {
        assert!(agent_mounts(&fleet(1))[1]["subPathExpr"].is_string());
    }

    #[test]
    fn many_agents_have_several_secrets() {
        let files = fleet(AGENTS_MAX + 1);
        let volume = agents_volume(&settings(), &files);
        assert_eq!(volume["projected"]["sources"].as_array().map(Vec::len), Some(2));
        let all = secrets(&settings(), &files);
        let last = &all.last().expect("one")["stringData"];
        assert_eq!(*last, json!({ format!("{AGENTS_MAX}.key.pem"): format!("key {AGENTS_MAX}") }));
    }

    #[test]
    fn a_word_with_a_credential_is_in_a_secret() {
        let mut settings = settings();
        settings.coordinator =
            vec![PodWord::Plain("-u".to_owned()), PodWord::Secret("me:pw".to_owned())];
        let all = secrets(&settings, &fleet(1));
        let words = all.iter().find(|it| it["metadata"]["name"] == "weir-coordinator-words");
        assert_eq!(words.expect("one")["stringData"], json!({ "WORD_1": "me:pw" }));
    }
}

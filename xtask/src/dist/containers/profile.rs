//! Seccomp profiles: the container engine's, the same with io_uring denied and allowed, and ours.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::write;
use crate::shell::root;

/// System calls of io_uring(7).
const URING: [&str; 3] = ["io_uring_enter", "io_uring_register", "io_uring_setup"];

/// Profile for nodes of Kubernetes, from the root of the repository.
const OURS: &str = "integrations/kubernetes/seccomp.json";

const ALLOW: &str = "SCMP_ACT_ALLOW";

/// A profile.
pub(super) struct Profile {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// Its file; none for the engine's.
    pub(super) file: Option<PathBuf>,
    /// Name of the I/O engine that works under it.
    pub(super) engine: &'static str,
    /// True if it is weir's.
    pub(super) is_ours: bool,
}

/// Makes the profiles, from the container engine's.
pub(super) fn profiles(default: &Path, place: &Path) -> Result<[Profile; 4]> {
    let text = fs::read_to_string(default);
    let text = text.with_context(|| format!("failed to read {}", default.display()))?;
    let default: Value = serde_json::from_str(&text)?;
    let ours = root()?.join(OURS);
    let text: Value = serde_json::from_str(&fs::read_to_string(&ours)?)?;
    let beyond: Vec<String> = allowed(&text).difference(&allowed(&default)).cloned().collect();
    let is_expected = beyond.iter().all(|name| URING.contains(&&**name));
    ensure!(is_expected, "{OURS} allows more than the default: {beyond:?}");
    let denied = json!({ "names": URING, "action": "SCMP_ACT_ERRNO", "errnoRet": 1 });
    let permitted = json!({ "names": URING, "action": ALLOW });
    let made = |name: &str, rule: Value| -> Result<PathBuf> {
        let file = place.join(name);
        write(&file, &with_uring(&default, rule).to_string())?;
        Ok(file)
    };
    let denied = made("denied.json", denied)?;
    let permitted = made("allowed.json", permitted)?;
    let has_uring = URING.iter().all(|name| allowed(&default).contains(*name));
    let profile = |name, file, has_uring| Profile {
        name,
        file,
        engine: if has_uring { "io_uring" } else { "epoll" },
        is_ours: false,
    };
    Ok([
        profile("podman's default", None, has_uring),
        profile("the same, io_uring denied (EPERM)", Some(denied), false),
        profile("the same, io_uring allowed", Some(permitted), true),
        Profile { is_ours: true, ..profile("`seccomp.json`", Some(ours), true) },
    ])
}

/// Returns a profile in which this is the only rule of io_uring.
fn with_uring(profile: &Value, rule: Value) -> Value {
    let mut profile = profile.clone();
    let Some(rules) = profile["syscalls"].as_array_mut() else { return profile };
    for names in rules.iter_mut().filter_map(|rule| rule["names"].as_array_mut()) {
        names.retain(|name| !URING.iter().any(|call| name == call));
    }
    rules.push(rule);
    profile
}

/// Returns the calls that a profile allows, under whatever condition.
fn allowed(profile: &Value) -> BTreeSet<String> {
    let rules = profile["syscalls"].as_array().into_iter().flatten();
    let rules = rules.filter(|rule| rule["action"] == ALLOW);
    let names = rules.filter_map(|rule| rule["names"].as_array()).flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_is_the_only_one_of_io_uring() {
        let rule = |names: &[&str], action| json!({ "names": names, "action": action });
        let default = json!({ "syscalls": [rule(&["read", "io_uring_setup"], ALLOW)] });
        let denied = with_uring(&default, rule(&URING, "SCMP_ACT_ERRNO"));
        assert_eq!(denied["syscalls"][0]["names"], json!(["read"]));
        assert_eq!(allowed(&denied), BTreeSet::from(["read".to_owned()]));
        assert_eq!(allowed(&with_uring(&default, rule(&URING, ALLOW))).len(), 4);
    }

    #[test]
    fn ours_has_io_uring_and_no_call_of_administrators() {
        let text = include_str!("../../../../integrations/kubernetes/seccomp.json");
        let ours: Value = serde_json::from_str(text).expect("it is JSON");
        let allowed = allowed(&ours);
        assert!(URING.iter().all(|name| allowed.contains(*name)));
        for name in ["bpf", "clone3", "init_module", "mount", "ptrace", "reboot", "setns"] {
            assert!(!allowed.contains(name), "{name}");
        }
    }
}

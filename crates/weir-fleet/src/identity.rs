//! Identities: the certificate with which a process connects to the bus, and the role for which the
//! bus lets it speak. `weir fleet init` makes them, each in a directory of its own.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use weir_runner::{SETTINGS_MAX_BYTES, read_text_input};

/// Files of an identity.
pub(crate) const AUTHORITY: &str = "ca.pem";
pub(crate) const CERTIFICATE: &str = "cert.pem";
pub(crate) const KEY: &str = "key.pem";
pub(crate) const DESCRIPTION: &str = "identity.json";

/// File of a coordinator with the key that signs its orders, and of an agent with the public keys
/// of the coordinators whose orders it takes.
pub(crate) const SIGNING_KEY: &str = "signing-key.pem";
pub(crate) const COORDINATORS: &str = "coordinators.txt";

/// Domain of the names in certificates, by which nats-server knows an identity.
const DOMAIN: &str = "weir";

/// The role of an identity, which decides what the bus takes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It plans and starts runs.
    Coordinator,
    /// It carries out parts of runs.
    Agent,
    /// It sees the agents and changes nothing.
    Viewer,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Coordinator => "coordinator",
            Role::Agent => "agent",
            Role::Viewer => "viewer",
        })
    }
}

/// The content of [`DESCRIPTION`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdentityFile {
    pub(crate) role: Role,
    pub(crate) name: String,
}

/// An identity on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its directory.
    pub directory: PathBuf,
    /// Its role.
    pub role: Role,
    /// Its name on the bus.
    pub name: String,
}

impl Identity {
    /// Reads the identity in a directory.
    ///
    /// # Errors
    /// When there is none, or others can read its key.
    pub fn read(directory: &Path) -> Result<Identity> {
        let shown = directory.display();
        let description = directory.join(DESCRIPTION);
        let text = read_file(&description).with_context(|| {
            format!("{shown} has no identity: weir fleet init makes directories of them")
        })?;
        let IdentityFile { role, name } = serde_json::from_str(&text)
            .with_context(|| format!("{shown}/{DESCRIPTION} is no description of an identity"))?;
        let file = |name: &str| {
            let path = directory.join(name);
            fs::metadata(&path).with_context(|| format!("failed to read {}", path.display()))
        };
        file(AUTHORITY)?;
        file(CERTIFICATE)?;
        let identity = Identity { directory: directory.to_owned(), role, name };
        identity.secret(KEY)?;
        Ok(identity)
    }

    /// Checks that it is of one of these roles.
    ///
    /// # Errors
    /// When it is of another one.
    pub fn must_be(&self, roles: &[Role]) -> Result<()> {
        let needed: Vec<String> = roles.iter().map(Role::to_string).collect();
        ensure!(
            roles.contains(&self.role),
            "the identity in {} has the role {}, and this needs the role {}",
            self.directory.display(),
            self.role,
            needed.join(" or "),
        );
        Ok(())
    }

    /// Returns the text of one of its files that has a key.
    ///
    /// # Errors
    /// When it cannot be read, or others can read it.
    pub(crate) fn secret(&self, name: &str) -> Result<String> {
        let path = self.file(name);
        let shown = self.shown(name);
        let found = fs::metadata(&path).with_context(|| format!("failed to read {shown}"))?;
        ensure!(
            is_private(found.mode(), found.uid(), user()),
            "{shown} can be read by other users: chmod 600 {shown}"
        );
        read_file(&path)
    }

    fn shown(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    /// Returns the path of one of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Reads a file of a fleet, none of which is long.
pub(crate) fn read_file(path: &Path) -> Result<String> {
    read_text_input("the file", path, SETTINGS_MAX_BYTES)
}

/// True if only this process and root can read a file. A group may read one of root's: Kubernetes
/// gives a secret to a user who is not root in no other way, and the group is the pod's own.
fn is_private(mode: u32, owner: u32, user: Option<u32>) -> bool {
    let is_of_root = owner == 0 && user.is_some_and(|user| user != 0);
    mode & 0o077 == 0 || is_of_root && mode & 0o037 == 0
}

/// Returns the user of this process, proc(5).
fn user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|process| process.uid())
}

/// A bus, and the identity with which it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusAccess {
    /// Address of the bus, `nats://[USER:PASSWORD@]HOST[:PORT]` or `tls://…`.
    pub address: String,
    /// The identity; none for a bus that needs no certificate.
    pub identity: Option<Identity>,
}

/// Returns the name in the certificate of an identity.
pub(crate) fn domain_name(name: &str) -> String {
    format!("{name}.{DOMAIN}")
}

/// Returns the start of the subjects on which an identity hears answers. No other one hears them.
pub(crate) fn inbox_of(name: &str) -> String {
    format!("_INBOX.{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_may_read_a_key_of_roots_and_no_other() {
        for (mode, owner, user, expected) in [
            (0o100_600, 1_000, Some(1_000), true),
            (0o100_400, 0, Some(0), true),
            (0o100_440, 0, Some(65_532), true),
            (0o100_640, 0, Some(65_532), true),
            (0o100_660, 0, Some(65_532), false),
            (0o100_444, 0, Some(65_532), false),
            (0o100_440, 65_532, Some(65_532), false),
            (0o100_440, 1_000, Some(65_532), false),
            (0o100_440, 0, Some(0), false),
            (0o100_440, 0, None, false),
        ] {
            assert_eq!(is_private(mode, owner, user), expected, "{mode:o} {owner} {user:?}");
        }
    }

    #[test]
    fn a_role_is_named_when_another_one_is_needed() {
        let identity =
            Identity { directory: "d".into(), role: Role::Viewer, name: "viewer".to_owned() };
        identity.must_be(&[Role::Coordinator, Role::Viewer]).expect("it is one");
        let error = identity.must_be(&[Role::Agent]).expect_err("it is none").to_string();
        assert!(error.contains("the role viewer, and this needs the role agent"), "{error}");
    }
}

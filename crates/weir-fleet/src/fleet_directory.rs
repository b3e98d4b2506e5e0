//! The directory of a fleet: its authority, the configuration of its bus, and an identity in each
//! directory below.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rcgen::{ExtendedKeyUsagePurpose, KeyPair, PKCS_ED25519};

use crate::authority::Authority;
use crate::bus_users::{USERS, configuration, users};
use crate::identity::{
    COORDINATORS, DESCRIPTION, Identity, IdentityFile, Role, SIGNING_KEY, domain_name, read_file,
};
use crate::order::public_key;
use crate::private_files::{make_directory, replace, write};

/// Directory of the bus.
const SERVER: &str = "server";

/// Names of the identities that every fleet has.
const COORDINATOR: &str = "coordinator";
const VIEWER: &str = "viewer";

/// A fleet to be made.
#[derive(Clone, Debug)]
pub struct FleetPlan {
    /// Names of the agents.
    pub agents: Vec<String>,
    /// Host names and addresses of the bus; loopback is always among them.
    pub hosts: Vec<String>,
    /// Time for which the certificates are valid.
    pub valid: Duration,
}

impl FleetPlan {
    /// Makes a directory with the authority, the server, a coordinator, the agents and a viewer.
    /// Only this user can read it.
    ///
    /// # Errors
    /// When a name is none, the directory is there already, or it cannot be written.
    pub fn make(&self, directory: &Path) -> Result<()> {
        ensure!(!self.agents.is_empty(), "a fleet has at least one agent");
        check_names(&self.agents)?;
        make_directory(directory)?;
        let authority = Authority::make(directory, self.valid)?;
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
        let hosts = hosts.chain(self.hosts.iter().cloned()).collect();
        let server = directory.join(SERVER);
        let purpose = ExtendedKeyUsagePurpose::ServerAuth;
        authority.sign(&server, hosts, purpose, self.valid)?;
        let signing = KeyPair::generate_for(&PKCS_ED25519)?;
        let agents = self.agents.iter().map(|name| (Role::Agent, name.as_str()));
        let identities = [(Role::Coordinator, COORDINATOR), (Role::Viewer, VIEWER)];
        let identities = identities.into_iter().chain(agents);
        let all: Vec<IdentityFile> =
            identities.map(|(role, name)| IdentityFile { role, name: name.to_owned() }).collect();
        for identity in &all {
            make_identity(&authority, directory, identity, &signing, self.valid)?;
        }
        write(&server.join(USERS), &users(&all))?;
        write(&server.join("nats.conf"), &configuration())
    }
}

/// Adds agents to a fleet in a directory. Their certificates are valid for a time.
///
/// # Errors
/// When a name is none or is taken, or the directory has no fleet or cannot be written.
pub fn add_agents(directory: &Path, names: &[String], valid: Duration) -> Result<()> {
    check_names(names)?;
    let mut all = identities(directory)?;
    if let Some(taken) = names.iter().find(|name| all.iter().any(|other| other.name == **name)) {
        bail!("{taken}: two identities have this name");
    }
    let authority = Authority::read(directory)?;
    let coordinator = Identity::read(&directory.join(COORDINATOR))?;
    let signing = KeyPair::from_pem(&coordinator.secret(SIGNING_KEY)?)?;
    for name in names {
        let identity = IdentityFile { role: Role::Agent, name: name.clone() };
        make_identity(&authority, directory, &identity, &signing, valid)?;
        all.push(identity);
    }
    replace(&directory.join(SERVER).join(USERS), &users(&all))
}

/// Removes identities from a fleet in a directory: the bus lets them in no more, once it has read
/// its users again.
///
/// # Errors
/// When one is not there, or is the coordinator, or the directory cannot be written.
pub fn remove_identities(directory: &Path, names: &[String]) -> Result<()> {
    let all = identities(directory)?;
    for name in names {
        ensure!(
            name != COORDINATOR,
            "{name}: the agents take its orders; make the fleet anew with weir fleet init"
        );
        let is_there = all.iter().any(|identity| identity.name == *name);
        ensure!(is_there, "{}: there is no identity {name}", directory.display());
    }
    let left: Vec<IdentityFile> =
        all.into_iter().filter(|identity| !names.contains(&identity.name)).collect();
    // First what shuts them out.
    replace(&directory.join(SERVER).join(USERS), &users(&left))?;
    for name in names {
        let place = directory.join(name);
        let removed = fs::remove_dir_all(&place);
        removed.with_context(|| format!("failed to remove {}", place.display()))?;
    }
    Ok(())
}

fn check_names(names: &[String]) -> Result<()> {
    for (index, name) in names.iter().enumerate() {
        let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 63 || !name.chars().all(is_fit) {
            bail!("{name}: a name has a to z, digits and -, at most 63");
        }
        let is_taken = [SERVER, COORDINATOR, VIEWER].contains(&name.as_str());
        if is_taken || names[..index].contains(name) {
            bail!("{name}: two identities have this name");
        }
    }
    Ok(())
}

/// Returns the identities of a fleet, the coordinator first, in the order of their names.
fn identities(directory: &Path) -> Result<Vec<IdentityFile>> {
    let shown = directory.display();
    let entries = fs::read_dir(directory).with_context(|| format!("{shown} has no fleet"))?;
    let mut identities = Vec::new();
    for entry in entries {
        let Ok(text) = read_file(&entry?.path().join(DESCRIPTION)) else { continue };
        let identity: IdentityFile = serde_json::from_str(&text)
            .with_context(|| format!("a {DESCRIPTION} in {shown} describes no identity"))?;
        identities.push(identity);
    }
    ensure!(
        identities.iter().any(|identity| identity.role == Role::Coordinator),
        "{shown} has no fleet: weir fleet init makes one"
    );
    identities.sort_by_key(|identity| (identity.role != Role::Coordinator, identity.name.clone()));
    Ok(identities)
}

/// Makes the directory of an identity of a fleet whose coordinator signs with a key.
fn make_identity(
    authority: &Authority,
    fleet: &Path,
    identity: &IdentityFile,
    signing: &KeyPair,
    valid: Duration,
) -> Result<()> {
    let place = fleet.join(&identity.name);
    let name = domain_name(&identity.name);
    authority.sign(&place, vec![name], ExtendedKeyUsagePurpose::ClientAuth, valid)?;
    match identity.role {
        Role::Coordinator => write(&place.join(SIGNING_KEY), &signing.serialize_pem())?,
        Role::Agent => {
            let text = "# Keys of the coordinators whose orders this agent takes.\n";
            let line = format!("{text}{} {COORDINATOR}\n", public_key(signing));
            write(&place.join(COORDINATORS), &line)?;
        }
        Role::Viewer => {}
    }
    write(&place.join(DESCRIPTION), &(serde_json::to_string(identity)? + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_subjects() {
        let check = |names: &[&str]| {
            check_names(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        check(&["gen-1", "gen-2"]).expect("they are");
        for wrong in [&[""][..], &["a.b"], &["*"], &["a", "a"], &["viewer"], &["A"], &["server"]] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
    }
}

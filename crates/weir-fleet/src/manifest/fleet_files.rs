//! The files of a fleet's identities, as they go into secrets: those of a directory that was made
//! before, or new ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use weir_machine::sys;

use crate::fleet_directory::FleetPlan;
use crate::identity::{CERTIFICATE, DESCRIPTION, IdentityFile, KEY, Role, read_file};

/// Name and text of the files of one directory.
pub(super) type FileTexts = BTreeMap<String, String>;

/// The files of a fleet.
#[derive(Clone, Debug)]
pub struct FleetFiles {
    /// Those of the bus.
    pub(super) server: FileTexts,
    /// Those of the coordinator.
    pub(super) coordinator: FileTexts,
    /// Those of each agent, in the order of their indices.
    pub(super) agents: Vec<FileTexts>,
}

/// Longest file of an identity, in bytes: the users of 1,000 agents are the longest one, with room.
const FILE_MAX: usize = 512 << 10;

impl FleetFiles {
    /// Makes a fleet of which nothing else remains.
    ///
    /// # Errors
    /// When a name is none, or there is no place for the files.
    pub fn fresh(plan: &FleetPlan) -> Result<FleetFiles> {
        let name = format!("weir-fleet-{}-{}", std::process::id(), sys::monotonic_ns());
        // A container may have the second place alone.
        let made = |place: PathBuf| {
            let directory = Removed(place.join(&name));
            plan.make(&directory.0)?;
            FleetFiles::read(&directory.0, None)
        };
        made(std::env::temp_dir()).or_else(|_| made(PathBuf::from("/dev/shm")))
    }

    /// Reads a fleet that was made in a directory: its agents in the order of their names, as many
    /// as are asked for.
    ///
    /// # Errors
    /// When there is none, or it has fewer agents.
    pub fn read(directory: &Path, count: Option<u32>) -> Result<FleetFiles> {
        let shown = directory.display();
        let entries = fs::read_dir(directory).with_context(|| format!("no fleet in {shown}"))?;
        let mut coordinator = None;
        let mut agents = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Ok(text) = read_file(&path.join(DESCRIPTION)) else { continue };
            let IdentityFile { role, name } = serde_json::from_str(&text)
                .with_context(|| format!("{} has no identity", path.display()))?;
            match role {
                Role::Coordinator => coordinator = Some(files(&path, |_| true)?),
                Role::Agent => agents.push((order_of(&name), files(&path, |_| true)?)),
                Role::Viewer => {}
            }
        }
        agents.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut agents: Vec<FileTexts> = agents.into_iter().map(|(_, files)| files).collect();
        let there = agents.len();
        let wanted = count.map_or(there, |count| count as usize);
        ensure!(wanted <= there, "{shown} has {there} agents, and {wanted} are wanted");
        ensure!(wanted > 0, "{shown} has no agents");
        agents.truncate(wanted);
        let first: Vec<&String> = agents[0].keys().collect();
        if !agents.iter().all(|files| files.keys().eq(first.iter().copied())) {
            bail!("{shown}: the agents have different files");
        }
        let of_server = |name: &str| name.ends_with(".pem") || name.ends_with(".conf");
        let server = files(&directory.join("server"), of_server)?;
        let coordinator = coordinator.with_context(|| format!("{shown} has no coordinator"))?;
        Ok(FleetFiles { server, coordinator, agents })
    }

    /// Returns the number of agents.
    pub fn agents(&self) -> u32 {
        u32::try_from(self.agents.len()).expect("a fleet has at most 1,000 agents")
    }

    /// Returns the size of the greatest file, which has all users of the bus.
    pub fn users_bytes(&self) -> usize {
        self.server.values().map(String::len).max().unwrap_or(0)
    }

    /// True if the certificate of the bus is valid for a host name.
    pub fn is_server(&self, host: &str) -> bool {
        let certificate = self.server.get(CERTIFICATE).map(|pem| decoded(pem)).unwrap_or_default();
        // The name as a certificate has it: RFC 5280 §4.2.1.6, dNSName with its length.
        let length = u8::try_from(host.len()).unwrap_or(u8::MAX);
        let name = [&[0x82, length], host.as_bytes()].concat();
        certificate.windows(name.len()).any(|window| window == name)
    }

    /// True if a file is the same for all agents.
    pub(super) fn is_common(&self, name: &str) -> bool {
        name != KEY && self.agents.iter().all(|files| files.get(name) == self.agents[0].get(name))
    }
}

/// A directory that is removed with this value.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _stays = fs::remove_dir_all(&self.0);
    }
}

/// Returns the order of a name: that of its number, if it ends with one.
fn order_of(name: &str) -> (String, u64, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().unwrap_or(0);
    (stem.to_owned(), number, name.to_owned())
}

/// Reads the files of a directory that are wanted; its directories are none of an identity.
fn files(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<FileTexts> {
    let shown = directory.display();
    let entries = fs::read_dir(directory).with_context(|| format!("failed to read {shown}"))?;
    let mut files = FileTexts::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || !path.is_file() || !is_wanted(&name) {
            continue;
        }
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let text = read_file(&path)?;
        if !name.chars().all(is_fit) || text.len() > FILE_MAX {
            bail!("{} is no file of an identity", path.display());
        }
        files.insert(name, text);
    }
    ensure!(files.contains_key(KEY), "{shown} has no {KEY}");
    Ok(files)
}

/// Returns the bytes of a certificate in PEM.
fn decoded(pem: &str) -> Vec<u8> {
    let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    BASE64_STANDARD.decode(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fresh_fleet_leaves_no_file() {
        let agents = (0..11).map(|index| format!("weir-{index}")).collect();
        let hosts = vec!["weir-nats".to_owned()];
        let plan = FleetPlan { agents, hosts, valid: Duration::from_hours(1) };
        let fleet = FleetFiles::fresh(&plan).expect("a place");
        assert_eq!(fleet.agents(), 11);
        for (index, files) in fleet.agents.iter().enumerate() {
            let expected = format!("\"weir-{index}\"");
            assert!(files[DESCRIPTION].contains(&expected), "{index}: {files:?}");
        }
        assert!(fleet.is_server("weir-nats") && !fleet.is_server("weir-nat"));
        assert!(fleet.is_common("ca.pem") && !fleet.is_common(CERTIFICATE));
        assert!(fleet.server.contains_key("nats.conf"));
        let agents = (0..1_000).map(|index| format!("a-long-name-of-an-agent-{index}")).collect();
        let plan = FleetPlan { agents, hosts: Vec::new(), valid: Duration::from_hours(1) };
        assert_eq!(FleetFiles::fresh(&plan).expect("a place").agents(), 1_000);
        let begin = format!("weir-fleet-{}-", std::process::id());
        for entry in fs::read_dir(std::env::temp_dir()).expect("it is there") {
            let name = entry.expect("an entry").file_name();
            assert!(!name.to_string_lossy().starts_with(&begin), "{name:?}");
        }
    }
}

//! The control groups that may limit the CPU time of this process, of either version, from its own
//! group up to the root of what is mounted here (cgroups(7)).

use std::path::Path;

use crate::proc;
use crate::root::Root;

/// A control group with the cpu controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    /// Directory, relative to the root of the machine.
    pub(crate) directory: String,
    /// True for version 2.
    pub(crate) is_v2: bool,
}

/// Returns the groups whose files are visible here.
pub(crate) fn groups(root: &Root) -> Vec<Group> {
    let cgroup = root.text("proc/self/cgroup").unwrap_or_default();
    let mountinfo = root.text("proc/self/mountinfo").unwrap_or_default();
    let mut groups = candidates(&cgroup, &mountinfo);
    groups.retain(|group| root.has(&format!("{}/cpu.stat", group.directory)));
    groups
}

impl Group {
    /// Returns the quota in CPUs; `None` without one.
    pub(crate) fn quota_cpus(&self, root: &Root) -> Option<f64> {
        let read = |name: &str| root.text(&format!("{}/{name}", self.directory)).ok();
        let text = match self.is_v2 {
            true => read("cpu.max")?,
            false => format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        };
        // No quota is `max` in version 2 and -1 in version 1.
        let mut words = text.split_whitespace().map_while(|word| word.parse::<f64>().ok());
        let (quota, period) = (words.next()?, words.next()?);
        (quota > 0.0 && period > 0.0).then_some(quota / period)
    }

    /// Returns the command that removes the quota, outside of containers.
    pub(crate) fn unlimited(&self) -> String {
        match self.is_v2 {
            true => format!("echo max | sudo tee /{}/cpu.max", self.directory),
            false => format!("echo -1 | sudo tee /{}/cpu.cfs_quota_us", self.directory),
        }
    }
}

/// Returns the periods in which the group was throttled, from its `cpu.stat`.
pub(crate) fn throttled_periods(cpu_stat: &str) -> Option<u64> {
    proc::value(cpu_stat, "nr_throttled")
}

/// The candidates, from the kernel's lists of groups and mounts.
fn candidates(cgroup: &str, mountinfo: &str) -> Vec<Group> {
    let mounts: Vec<Mount<'_>> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut groups = Vec::new();
    for line in cgroup.lines() {
        // HIERARCHY:CONTROLLERS:GROUP; version 2 has no controllers.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|name| name == "cpu") {
            continue;
        }
        for mount in mounts.iter().filter(|mount| mount.is_v2 == is_v2) {
            // In a container only a part of the tree is mounted, and the group may be outside it.
            let below = Path::new(path).strip_prefix(mount.root).unwrap_or(Path::new(""));
            let directories = below.ancestors().map(|group| mount.place.join(group));
            groups.extend(directories.map(|directory| {
                let directory = directory.to_string_lossy().trim_matches('/').to_owned();
                Group { directory, is_v2 }
            }));
        }
    }
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// A mounted hierarchy that can hold the cpu controller.
struct Mount<'a> {
    is_v2: bool,
    /// The part of the hierarchy that is mounted.
    root: &'a str,
    place: &'a Path,
}

impl<'a> Mount<'a> {
    /// Parses a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (head, tail) = line.split_once(" - ")?;
        let mut head = head.split(' ').skip(3);
        let (root, place) = (head.next()?, Path::new(head.next()?));
        let mut tail = tail.split(' ');
        let (kind, options) = (tail.next()?, tail.nth(1)?);
        match kind {
            "cgroup2" => Some(Mount { is_v2: true, root, place }),
            "cgroup" if options.split(',').any(|option| option == "cpu") => {
                Some(Mount { is_v2: false, root, place })
            }
            _ => None,
        }
    }
}

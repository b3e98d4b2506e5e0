//! The control groups that may limit the CPU time of this process, of either version, from its own
//! group up to the root of what is mounted here (cgroups(7)).

use std::path::{Path, PathBuf};

use crate::root::Root;
use crate::table::value;

/// The controller of CPU time.
const CPU: &str = "cpu";

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Directory, relative to the root of the machine.
    pub directory: String,
    /// True for version 2.
    pub is_v2: bool,
}

/// Returns the groups whose files are visible here.
pub fn groups(root: &Root) -> Vec<Group> {
    let mut groups = with_controller(root, CPU);
    groups.retain(|group| root.has(&group.cpu_stat()));
    groups
}

/// Returns the groups whose directories may have the files of a controller.
pub(crate) fn with_controller(root: &Root, controller: &str) -> Vec<Group> {
    let cgroup = root.text("proc/self/cgroup").unwrap_or_default();
    candidates(&cgroup, &mounted(root, controller), controller)
}

/// Returns the lowest CPU quota of this process's groups, in CPUs; `None` if there is none.
pub fn cpu_quota(root: &Root) -> Option<f64> {
    groups(root).iter().filter_map(|group| group.quota_cpus(root)).min_by(f64::total_cmp)
}

impl Group {
    /// Returns its `cpu.stat`, relative to the root of the machine.
    pub fn cpu_stat(&self) -> String {
        format!("{}/cpu.stat", self.directory)
    }

    /// Returns the quota in CPUs; `None` without one.
    pub fn quota_cpus(&self, root: &Root) -> Option<f64> {
        let read = |name: &str| root.text(&format!("{}/{name}", self.directory)).ok();
        let text = match self.is_v2 {
            true => read("cpu.max")?,
            false => format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        };
        parse_quota(&text)
    }

    /// Returns the command that removes the quota, outside of containers.
    pub fn unlimited(&self) -> String {
        match self.is_v2 {
            true => format!("echo max | sudo tee /{}/cpu.max", self.directory),
            false => format!("echo -1 | sudo tee /{}/cpu.cfs_quota_us", self.directory),
        }
    }
}

/// Returns the periods in which the group was throttled, from its `cpu.stat`.
pub fn throttled_periods(cpu_stat: &str) -> Option<u64> {
    value(cpu_stat, "nr_throttled")
}

/// Returns the time for which its quota throttled the tasks of a group, in nanoseconds, from its
/// `cpu.stat`: `throttled_time` in version 1, `throttled_usec` in version 2.
pub fn throttled_ns(cpu_stat: &str) -> Option<u64> {
    let v2 = || value(cpu_stat, "throttled_usec")?.checked_mul(1000);
    value(cpu_stat, "throttled_time").or_else(v2)
}

/// Parses quota and period into a number of CPUs. No quota is `max` in version 2, -1 in version 1.
fn parse_quota(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace().map_while(|word| word.parse::<f64>().ok());
    let quota = words.next()?;
    let period = words.next()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// The candidates, from the kernel's lists of groups and mounts.
fn candidates(cgroup: &str, mounts: &[Hierarchy], controller: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in cgroup.lines() {
        // HIERARCHY:CONTROLLERS:GROUP; version 2 has no controllers.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        for mount in mounts.iter().filter(|mount| mount.is_v2 == is_v2) {
            // In a container only a part of the tree is mounted, and the group may be outside it.
            let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
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

/// The mounted hierarchies that can hold a controller.
fn mounted(root: &Root, controller: &str) -> Vec<Hierarchy> {
    let mountinfo = root.text("proc/self/mountinfo").unwrap_or_default();
    mountinfo.lines().filter_map(|line| Hierarchy::parse(line, controller)).collect()
}

/// A mounted hierarchy of control groups that can hold a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// True for version 2.
    pub is_v2: bool,
    /// Where it is mounted.
    pub place: PathBuf,
    /// The part of the hierarchy that is mounted.
    root: String,
}

impl Hierarchy {
    /// Returns the hierarchies that are mounted here and can hold the cpu controller.
    pub fn mounted(root: &Root) -> Vec<Hierarchy> {
        mounted(root, CPU)
    }

    /// Parses a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
    fn parse(line: &str, controller: &str) -> Option<Hierarchy> {
        let (head, tail) = line.split_once(" - ")?;
        let mut head = head.split(' ').skip(3);
        let root = head.next()?.to_owned();
        let place = PathBuf::from(head.next()?);
        let mut tail = tail.split(' ');
        let kind = tail.next()?;
        let options = tail.nth(1)?;
        let is_v2 = match kind {
            "cgroup2" => true,
            "cgroup" if options.split(',').any(|option| option == controller) => false,
            _ => return None,
        };
        Some(Hierarchy { is_v2, place, root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cgroup: &str, mountinfo: &str, expected: &[&str]) {
        let mounts: Vec<Hierarchy> =
            mountinfo.lines().filter_map(|line| Hierarchy::parse(line, CPU)).collect();
        let groups = candidates(cgroup, &mounts, CPU);
        let mut files: Vec<String> =
            groups.iter().map(|group| format!("/{}", group.cpu_stat())).collect();
        files.sort();
        assert_eq!(files, expected, "{cgroup}");
    }

    #[test]
    fn version_2_up_to_the_root() {
        check(
            "0::/user.slice/app.scope\n",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
            &[
                "/sys/fs/cgroup/cpu.stat",
                "/sys/fs/cgroup/user.slice/app.scope/cpu.stat",
                "/sys/fs/cgroup/user.slice/cpu.stat",
            ],
        );
    }

    #[test]
    fn both_versions_side_by_side() {
        check(
            "9:name=systemd:/\n4:memory:/a\n2:cpuacct:/\n1:cpu:/half\n0::/\n",
            "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
             32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
             33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
            &[
                "/sys/fs/cgroup/cpu/cpu.stat",
                "/sys/fs/cgroup/cpu/half/cpu.stat",
                "/sys/fs/cgroup/unified/cpu.stat",
            ],
        );
    }

    #[test]
    fn a_container_sees_a_part() {
        let mountinfo = "1 0 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup \
                         rw,cpu,cpuacct\n";
        let root = "/sys/fs/cgroup/cpu,cpuacct/cpu.stat";
        check("4:cpu,cpuacct:/docker/abc\n", mountinfo, &[root]);
        check("4:cpu,cpuacct:/elsewhere\n", mountinfo, &[root]);
        let child = "/sys/fs/cgroup/cpu,cpuacct/child/cpu.stat";
        check("4:cpu,cpuacct:/docker/abc/child\n", mountinfo, &[child, root]);
    }

    #[test]
    fn lines_without_a_cgroup_have_no_files() {
        check("", "", &[]);
        check("0::/a\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\nnonsense\n", &[]);
        check("nonsense\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", &[]);
    }

    #[test]
    fn hierarchies_are_those_with_the_controller() {
        let check = |line: &str, expected: Option<(&str, bool)>| {
            let found = Hierarchy::parse(line, CPU);
            let found =
                found.as_ref().map(|found| (found.place.to_str().expect("text"), found.is_v2));
            assert_eq!(found, expected, "{line}");
        };
        let v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu";
        check(v1, Some(("/sys/fs/cgroup/cpu", false)));
        check("32 31 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct", None);
        let v2 = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        check(v2, Some(("/sys/fs/cgroup", true)));
        check("22 1 8:1 / / rw - ext4 /dev/sda1 rw", None);
    }

    #[test]
    fn throttling_of_both_versions() {
        let v1 = "nr_periods 12\nnr_throttled 3\nthrottled_time 49123456\nnr_bursts 0\n";
        let v2 = "usage_usec 911\nuser_usec 5\nnr_periods 12\nnr_throttled 3\n\
                  throttled_usec 49123\n";
        let without_the_controller = "usage_usec 911\nuser_usec 5\nsystem_usec 6\n";
        assert_eq!(throttled_ns(v1), Some(49_123_456));
        assert_eq!(throttled_ns(v2), Some(49_123_000));
        assert_eq!(throttled_ns(without_the_controller), None);
        assert_eq!(throttled_ns("throttled_time many"), None);
        assert_eq!((throttled_periods(v1), throttled_periods("")), (Some(3), None));
    }

    #[test]
    fn quotas_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_quota("max 100000"), None);
        assert_eq!(parse_quota("-1 100000"), None);
        assert_eq!(parse_quota("150000 100000"), Some(1.5));
        assert_eq!(parse_quota(""), None);
        assert!(cpu_quota(&Root::machine()).is_none_or(|quota| quota > 0.0));
    }
}

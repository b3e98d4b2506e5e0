//! The `cpu.stat` files with the time for which a CPU quota throttled this program: those of its
//! control groups, of either version, up to the root (cgroups(7)).

use std::fs;
use std::path::{Path, PathBuf};

/// Returns every existing `cpu.stat`: any group up to the root may have the quota that limits.
pub(super) fn cpu_stat_files() -> Vec<PathBuf> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut files = candidates(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
    files.retain(|file| file.is_file());
    files
}

/// The candidate paths of the files, from the kernel's lists of groups and mounts.
fn candidates(cgroup: &str, mountinfo: &str) -> Vec<PathBuf> {
    let mounts: Vec<Mount<'_>> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut files = Vec::new();
    for line in cgroup.lines() {
        // HIERARCHY:CONTROLLERS:GROUP; version 2 has no controllers.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|name| name == "cpu") {
            continue;
        }
        for mount in mounts.iter().filter(|mount| mount.is_v2 == is_v2) {
            // In a container only a part of the tree is mounted, and the group may be outside it.
            let below = Path::new(group).strip_prefix(mount.root).unwrap_or(Path::new(""));
            let groups = below.ancestors().map(|group| mount.place.join(group).join("cpu.stat"));
            files.extend(groups);
        }
    }
    files.sort_unstable();
    files.dedup();
    files
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cgroup: &str, mountinfo: &str, expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(candidates(cgroup, mountinfo), expected, "{cgroup}");
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
}

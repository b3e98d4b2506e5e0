//! A control group of this program's own with half a CPU, of whichever version of control groups
//! this machine has (cgroups(7)). It goes when its value does.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result};

/// The length of a period of the quota, and what of it may be used.
const PERIOD_US: u32 = 100_000;
const QUOTA_US: u32 = PERIOD_US / 2;

/// Enters the group named first and becomes the rest.
const ENTER: &str = r#"echo $$ >"$1" && shift && exec "$@""#;

/// Half a CPU for whoever enters.
pub(super) struct HalfCpu {
    group: PathBuf,
}

impl HalfCpu {
    /// Makes the group; `None` where this user may not, or no hierarchy has the controller.
    pub(super) fn new() -> Option<HalfCpu> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        mounts.lines().filter_map(hierarchy).find_map(|(place, is_v2)| {
            let half = HalfCpu { group: place.join(format!("weir-accuracy-{}", process::id())) };
            fs::create_dir(&half.group).ok()?;
            half.limit(is_v2).ok()?;
            Some(half)
        })
    }

    /// Nothing but the quota is to hold it back: among others the group weighs the most it can.
    fn limit(&self, is_v2: bool) -> Result<()> {
        let set = |file: &str, value: String| {
            fs::write(self.group.join(file), value).with_context(|| format!("failed to set {file}"))
        };
        if is_v2 {
            set("cpu.weight", "10000".to_owned())?;
            return set("cpu.max", format!("{QUOTA_US} {PERIOD_US}"));
        }
        set("cpu.shares", "262144".to_owned())?;
        set("cpu.cfs_period_us", PERIOD_US.to_string())?;
        set("cpu.cfs_quota_us", QUOTA_US.to_string())
    }

    /// What starts a program inside the group from its first instruction on, for weir looks for its
    /// groups when it starts.
    pub(super) fn words(&self) -> Vec<OsString> {
        let procs = self.group.join("cgroup.procs");
        vec!["sh".into(), "-c".into(), ENTER.into(), "enter".into(), procs.into()]
    }
}

impl Drop for HalfCpu {
    fn drop(&mut self) {
        // It is empty: whoever was in it has ended.
        fs::remove_dir(&self.group).ok();
    }
}

/// Where a line of /proc/self/mountinfo mounts a hierarchy with the CPU controller, and whether it
/// is version 2.
fn hierarchy(line: &str) -> Option<(PathBuf, bool)> {
    let (head, tail) = line.split_once(" - ")?;
    let place = Path::new(head.split(' ').nth(4)?).to_owned();
    let mut tail = tail.split(' ');
    let (kind, options) = (tail.next()?, tail.nth(1)?);
    match kind {
        "cgroup2" => Some((place, true)),
        "cgroup" if options.split(',').any(|option| option == "cpu") => Some((place, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found() {
        let check = |line: &str, expected: Option<(&str, bool)>| {
            let expected = expected.map(|(place, is_v2)| (PathBuf::from(place), is_v2));
            assert_eq!(hierarchy(line), expected, "{line}");
        };
        let v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu";
        check(v1, Some(("/sys/fs/cgroup/cpu", false)));
        check("32 31 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct", None);
        let v2 = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        check(v2, Some(("/sys/fs/cgroup", true)));
        check("22 1 8:1 / / rw - ext4 /dev/sda1 rw", None);
    }
}

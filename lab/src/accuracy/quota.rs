//! A private control group limited to half a CPU, in either version of control groups (cgroups(7)).
//! It is removed when the value is dropped.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process;

use anyhow::{Context, Result};
use weir_machine::{Hierarchy, Root};

/// Length of a period of the quota, and the usable part of it.
const PERIOD_US: u32 = 100_000;
const QUOTA_US: u32 = PERIOD_US / 2;

/// Enters the group named first and execs the rest.
const ENTER: &str = r#"echo $$ >"$1" && shift && exec "$@""#;

/// A control group limited to half a CPU.
pub(super) struct HalfCpu {
    group: PathBuf,
}

impl HalfCpu {
    /// Makes the group; `None` if this user may not, or if no hierarchy has the controller.
    pub(super) fn new() -> Option<HalfCpu> {
        Hierarchy::mounted(&Root::machine()).into_iter().find_map(
            |Hierarchy { place, is_v2, .. }| {
                let half =
                    HalfCpu { group: place.join(format!("weir-accuracy-{}", process::id())) };
                fs::create_dir(&half.group).ok()?;
                half.limit(is_v2).ok()?;
                Some(half)
            },
        )
    }

    /// Sets the quota. The weight is the maximum, so that only the quota limits the group.
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

    /// Returns the words that start a program inside the group from its first instruction on,
    /// because weir reads its groups when it starts.
    pub(super) fn words(&self) -> Vec<OsString> {
        let procs = self.group.join("cgroup.procs");
        vec!["sh".into(), "-c".into(), ENTER.into(), "enter".into(), procs.into()]
    }
}

impl Drop for HalfCpu {
    fn drop(&mut self) {
        // The group is empty: its processes have ended.
        fs::remove_dir(&self.group).ok();
    }
}

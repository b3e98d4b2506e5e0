//! Where a run took place: enough to tell whether two documents may be compared. The caller finds
//! these facts; nothing is probed here.

use serde::{Deserialize, Serialize};

use crate::plan::IoEngine;

/// Where a run took place; what a machine does not tell is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The program's version, once more: a fingerprint is whole.
    pub weir_version: String,
    /// The commit that the program was built from; absent if the build did not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weir_commit: Option<String>,
    /// The I/O engine that ran.
    pub io_engine: IoEngine,
    /// The machine's name, where the user lets it be told.
    pub hostname: Option<String>,
    /// Operating system and architecture: `linux x86_64`.
    pub os: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The CPU's model name.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus_online: Option<u32>,
    /// CPUs that the process may use: affinity and cgroup quota.
    pub cpus_usable: Option<u32>,
    /// The frequency governor, `mixed` where CPUs differ.
    pub cpu_governor: Option<String>,
    /// Memory of the machine in bytes.
    pub memory_total_bytes: Option<u64>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// What one reading of the clock costs, in nanoseconds.
    pub clock_read_ns: Option<f64>,
    /// TCP congestion control.
    pub congestion_control: Option<String>,
    /// Connections a process may have open: the soft limit of open files.
    pub open_files_max: Option<u64>,
}

impl Environment {
    /// An environment of which nothing else is known.
    pub fn unknown(weir_version: &str, io_engine: IoEngine) -> Environment {
        Environment {
            weir_version: weir_version.to_owned(),
            weir_commit: None,
            io_engine,
            hostname: None,
            os: None,
            kernel: None,
            cpu_model: None,
            cpus_online: None,
            cpus_usable: None,
            cpu_governor: None,
            memory_total_bytes: None,
            clock_source: None,
            clock_read_ns: None,
            congestion_control: None,
            open_files_max: None,
        }
    }
}

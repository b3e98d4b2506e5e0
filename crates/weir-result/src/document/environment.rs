//! The machine and program of a run: enough to decide if two documents are comparable. The caller
//! finds these facts; this module probes nothing.

use serde::{Deserialize, Serialize};

use crate::plan::IoEngine;

/// Machine and program that ran the load; null for facts that the machine does not provide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Version of weir, repeated here so that this section alone identifies the environment.
    pub weir_version: String,
    /// Commit that weir was built from; absent if unknown to the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weir_commit: Option<String>,
    /// I/O engine of the run.
    pub io_engine: IoEngine,
    /// Name of the machine, if the user permits storing it.
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
    /// Frequency governor, `mixed` if CPUs differ.
    pub cpu_governor: Option<String>,
    /// Memory of the machine in bytes.
    pub memory_total_bytes: Option<u64>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Cost of one reading of the clock, in nanoseconds.
    pub clock_read_ns: Option<f64>,
    /// TCP congestion control algorithm.
    pub congestion_control: Option<String>,
    /// Limit of connections a process may have open: the soft limit of open files.
    pub open_files_max: Option<u64>,
}

impl Environment {
    /// Creates an environment with everything else unknown.
    pub fn unknown(weir_version: &str, io_engine: IoEngine) -> Environment {
        let weir_version = weir_version.to_owned();
        Environment { weir_version, io_engine, ..Environment::default() }
    }
}

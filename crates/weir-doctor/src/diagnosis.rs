//! The diagnosis: all findings on a machine, as one versioned value that text and JSON are made of.

use serde::Serialize;

use crate::checks::CHECKS;
use crate::finding::{Finding, Severity};
use crate::subject::ExaminedSystem;
use crate::target::TargetServer;
use crate::virtualisation::is_virtual;

/// Version of [`Diagnosis`] as JSON. It rises when a field changes its meaning; new fields, checks
/// and remedies do not change it.
pub const DIAGNOSIS_VERSION: u32 = 1;

/// All findings on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_VERSION`].
    pub schema_version: u32,
    /// Version of weir.
    pub weir_version: &'static str,
    /// The machine.
    pub machine: MachineSummary,
    /// Target of the measurement, if one was given.
    pub target: Option<TargetServer>,
    /// Findings, the most harmful first.
    pub findings: Vec<Finding>,
}

/// The machine, as far as it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineSummary {
    /// Its name.
    pub hostname: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// CPUs on which weir may run.
    pub cpus_usable: Option<usize>,
    /// True for a virtual machine.
    pub is_virtual: Option<bool>,
}

impl Diagnosis {
    /// Makes all checks.
    pub fn of(subject: &ExaminedSystem<'_>) -> Diagnosis {
        let mut findings: Vec<Finding> =
            CHECKS.iter().filter_map(|check| check.finding(subject)).collect();
        // Stable, so findings of one severity stay in the order of the checks.
        findings.sort_by_key(|finding| finding.severity);
        let line = |path| subject.root.text(path).ok().filter(|text| !text.is_empty());
        Diagnosis {
            schema_version: DIAGNOSIS_VERSION,
            weir_version: env!("CARGO_PKG_VERSION"),
            machine: MachineSummary {
                hostname: line("proc/sys/kernel/hostname"),
                kernel: line("proc/sys/kernel/osrelease"),
                cpus_usable: subject.usable_cpus().ok().map(<[u32]>::len),
                is_virtual: is_virtual(subject.root),
            },
            target: subject.target.cloned(),
            findings,
        }
    }

    /// True if there is neither a problem nor a warning.
    pub fn is_clean(&self) -> bool {
        !self.findings.iter().any(|finding| finding.severity <= Severity::Warning)
    }

    /// Returns the findings of one severity, in order.
    pub fn of_severity(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.severity == severity)
    }
}

//! The machine that a process runs on, as far as a fleet needs to know it.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use weir_doctor::{Diagnosis, ExaminedSystem, Facts, Finding, Sample, Severity};
use weir_machine::Root;
use weir_result::Note;

/// Time for which other programs are observed: a run does not wait longer for an agent.
const EXAMINED_FOR: Duration = Duration::from_millis(250);

/// Returns a name of CLOCK_MONOTONIC: processes that have the same name for it have the same clock.
pub fn clock_name() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    match boot.trim() {
        // Then no other process has the name.
        "" => format!("{:016x}", incarnation()),
        boot => format!("{boot} {}", namespace.display()),
    }
}

/// Makes the checks of `weir doctor` for a moment, and returns the problems of an agent's machine:
/// the numbers of one that has any will be wrong.
pub(crate) fn problems(agent: &str) -> Vec<Note> {
    let (root, facts) = (Root::machine(), Facts::gather(None));
    let sample = Sample::over(&root, EXAMINED_FOR);
    let subject = ExaminedSystem { root: &root, facts: &facts, sample: &sample, target: None };
    let diagnosis = Diagnosis::of(&subject);
    let text = |finding: &Finding| {
        format!("agent {agent}, by weir doctor: {}: {}", finding.title, finding.evidence)
    };
    let note = |finding| Note::new("machine_problem", text(finding));
    diagnosis.of_severity(Severity::Problem).map(note).collect()
}

/// Returns a random number, which no other process has.
pub(crate) fn incarnation() -> u64 {
    RandomState::new().build_hasher().finish()
}

//! The subject of an examination: everything that a check may look at.

use weir_machine::{Root, Unreadable};

use crate::facts::Facts;
use crate::sample::Sample;
use crate::target::TargetServer;

/// The machine and, if there is one, the target of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct ExaminedSystem<'a> {
    /// The kernel's files.
    pub root: &'a Root,
    /// Values that need system calls.
    pub facts: &'a Facts,
    /// Counters at the beginning and the end of a span.
    pub sample: &'a Sample,
    /// Target of the measurement.
    pub target: Option<&'a TargetServer>,
}

impl ExaminedSystem<'_> {
    /// Returns the CPUs on which this process may run, in ascending order.
    pub(crate) fn usable_cpus(&self) -> Result<&[u32], Unreadable> {
        match &self.facts.usable_cpus {
            Ok(cpus) => Ok(cpus),
            Err(reason) => Err(reason.clone()),
        }
    }

    /// True if the server is, or may be, on this machine; also without a target.
    pub(crate) fn may_serve(&self) -> bool {
        self.target.is_none_or(|target| target.is_local != Some(false))
    }

    /// True if the server is known to be on this machine.
    pub(crate) fn serves(&self) -> bool {
        self.target.is_some_and(|target| target.is_local == Some(true))
    }
}

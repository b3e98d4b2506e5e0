//! A value that a stage of planning has made, with what came to light meanwhile, and the sum of
//! that over a run.

use weir_result::Note;
use weir_result::document::Input;

use crate::prepare::redaction::{FoundSecrets, Redaction};
use crate::spec::RunSpec;

/// A value that a stage of planning has made.
#[derive(Debug)]
pub(crate) struct Planned<T> {
    /// The value.
    pub(crate) value: T,
    /// Remarks for the report.
    pub(crate) notes: Vec<Note>,
    /// Files that were read for it.
    pub(crate) inputs: Vec<Input>,
    /// Credentials that came with it, beyond those of the specification.
    pub(crate) secrets: FoundSecrets,
}

impl<T> Planned<T> {
    /// Returns a value that came alone.
    pub(crate) fn of(value: T) -> Planned<T> {
        let secrets = FoundSecrets::default();
        Planned { value, notes: Vec::new(), inputs: Vec::new(), secrets }
    }

    /// Returns a value for which files were read.
    pub(crate) fn read(value: T, inputs: Vec<Input>) -> Planned<T> {
        Planned { inputs, ..Planned::of(value) }
    }

    /// Returns a value with remarks.
    pub(crate) fn noted(value: T, notes: Vec<Note>) -> Planned<T> {
        Planned { notes, ..Planned::of(value) }
    }
}

/// Notes, files and secrets that came to light while a run was planned.
#[derive(Debug)]
pub(crate) struct PlanningRecord {
    /// Remarks for the report.
    pub(crate) notes: Vec<Note>,
    /// Files that were read.
    pub(crate) inputs: Vec<Input>,
    /// Credentials of the run.
    pub(crate) redaction: Redaction,
}

impl PlanningRecord {
    /// Returns the record of a run that only its specification is known of.
    pub(crate) fn of(spec: &RunSpec) -> PlanningRecord {
        let redaction = Redaction::of(spec);
        PlanningRecord { notes: Vec::new(), inputs: Vec::new(), redaction }
    }

    /// Keeps what came with a value, and returns the value.
    pub(crate) fn take<T>(&mut self, planned: Planned<T>) -> T {
        self.notes.extend(planned.notes);
        self.inputs.extend(planned.inputs);
        self.redaction.add(planned.secrets);
        planned.value
    }
}

//! A turn of a user.

/// A turn of a user: a step, and the number of times that it was taken before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTurn {
    /// Index of the step in its scenario.
    pub step: u16,
    /// Number of turns at this step before.
    pub visit: u16,
}

//! The trial of a row.

/// A trial of a study, which each of its rows names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTrial {
    /// Number of the trial, from 1, as in the study.
    pub number: u32,
    /// Name of its variant; empty if all trials are alike.
    pub variant: String,
}

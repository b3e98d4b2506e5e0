//! The document of a study: its design, one run document per trial, and the result.
//!
//! A study is written after every trial, so that its file is valid whenever it ends. What comes
//! next follows from the file alone, which is why an interrupted study can be resumed.

mod comparison;
mod content;
mod design;
mod load;
mod repeat;
mod search;
mod sweep;
mod trial;

pub use comparison::{
    Answer, Comparison, Gate, MetricComparison, MetricVerdict, Pairing, ShiftLevel, Side,
};
pub use content::{Hooks, STUDY_VERSION, Study, StudyResult, StudyState};
pub use design::{Cell, Design, Factor, Level};
pub use load::StudyError;
pub use repeat::{MetricOverRuns, Repetition};
pub use search::{
    BacklogGrowth, SearchBound, SearchClaim, SearchEffort, SearchEnd, SearchResult, SearchTrial,
    TrialUse,
};
pub use sweep::{Fit, Knee, Sweep, SweepCell, SweepCurve, SweepMetric, SweepRatio};
pub use trial::{HookRun, Settling, Trial, TrialOutcome};

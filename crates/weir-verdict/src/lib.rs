//! The judge of a run: the verdict on a document, the bounds of its numbers, and assertions.
//!
//! All of it are functions of the document (weir-result), so that a loaded or merged one is judged
//! like a fresh one. They change with METHOD; the schema does not. Nothing here measures, prints,
//! or reads a clock.
#![forbid(unsafe_code)]

mod assertion;
mod bounds;
mod delivery;
mod grade;
mod judge;
mod knee;
mod lateness;
mod limit;
mod overhead;
mod rules;
mod spans;
mod stages;
mod stationarity;
mod target;
mod thresholds;

pub use assertion::{
    AbortCondition, Assertion, AssertionError, Better, Measured, NamedMetric, ShareClaim,
    parse_response_condition, split_conditions,
};
pub use judge::{assemble, judge, merge, verdict};
pub use stages::{RateSteps, steps};

//! Assertions: claims like `p99 < 5ms` that a document is judged by (docs/CI.md).
//!
//! A claim compares the measured value with its limit and passes or fails. It also gives the
//! one-sided confidence that the true value lies on the same side. This module depends on no flag
//! and no exit code.

mod abort;
mod claim;
mod comparison;
mod condition;
mod confidence;
mod estimate;
mod metric;
mod named;
mod path;
mod reason;
mod scope;
mod scoped;
mod share;
mod unit;

pub use abort::AbortCondition;
pub use claim::Assertion;
pub use condition::{parse_response_condition, split_conditions};
pub use metric::AssertionError;
pub use named::{Better, Measured, NamedMetric};
pub use share::ShareClaim;

//! Conducts studies: makes each trial with a [`Runner`](weir_runner::Runner), runs hooks around it,
//! and waits until the machine and the target have recovered. A study's order and its result are in
//! weir-study; files, the screen and the history belong to the caller, a [`Keeper`].
#![forbid(unsafe_code)]

mod conductor;
mod variant;

mod estimate;
mod hook;
mod settle;

pub use conductor::{Conductor, Keeper};
pub use estimate::of_study as estimate;
pub use variant::{Variant, redacted};

//! Studies: several runs for one question.
//!
//! A [`Study`](weir_result::Study) says what comes next by itself: [`next_trial`] is a function of
//! it, and so is its result. [`conduct()`] makes trials in a [`TrialRunner`] until the design has
//! enough; a [`Conductor`] is one with a runner. Nothing else here starts a process, opens a socket
//! or reads a clock, so that studies run in virtual time too.
#![forbid(unsafe_code)]

mod compare;
mod conduct;
mod conductor;
mod designs;
mod difference;
mod names;
mod pairs;
mod primary;
mod ratios;
mod sameness;
pub mod search;
mod shift;
mod spread;
mod sweep;
mod wording;

pub use compare::{Question, compare_pairs, compare_sets};
pub use conduct::{HookKind, TrialRunner, conduct, reopen};
pub use conductor::{Conductor, Keeper, Variant, estimate, redacted};
pub use designs::{Upcoming, evaluate, next_trial, trials_planned};
pub use names::check_names;
pub use pairs::undecidable;
pub use sameness::differences;
pub use sweep::cells;

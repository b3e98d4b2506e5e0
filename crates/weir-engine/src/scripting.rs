//! The types of weir-script, or types without values in an engine without the feature `script`.

#[cfg(not(feature = "script"))]
mod absent;

#[cfg(not(feature = "script"))]
pub(crate) use absent::{About, Calls, ScriptError, Worker};
#[cfg(feature = "script")]
pub(crate) use weir_script::{About, Calls, ScriptError, Worker};

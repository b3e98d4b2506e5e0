//! Values of any kind from a script, wherever it can hand one over.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::script_values(input));

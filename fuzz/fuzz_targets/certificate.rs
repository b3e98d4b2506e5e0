//! The summary of a certificate of any bytes, or of a real one with any edits.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::certificate(input));

//! Documents of any bytes, or a whole one with any edits, and reports of them.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::document(input));

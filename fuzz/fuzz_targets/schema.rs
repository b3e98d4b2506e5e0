//! A descriptor set, and a server's reflection, fed any bytes.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::schema(input));

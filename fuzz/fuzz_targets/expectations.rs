//! Expectations and responses, fed any bytes.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
#[expect(dead_code, unused_imports, reason = "each user of the module uses a part of it")]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::expectations(input));

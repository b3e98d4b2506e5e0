//! Words of any bytes as command lines of weir, wrk and wrk2.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
#[expect(dead_code, unused_imports, reason = "each user of the module uses a part of it")]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::command_line(input));

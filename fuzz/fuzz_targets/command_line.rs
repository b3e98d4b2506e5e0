//! Words of any bytes as command lines of weir, wrk and wrk2.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::command_line(input));

//! The reader of raw requests, fed any bytes.
#![no_main]

#[path = "../../crates/weir-http/tests/it/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| check::requests(input));

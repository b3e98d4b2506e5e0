//! Header compression: blocks of any bytes, and lists of any fields.
#![no_main]

#[path = "../../crates/weir-http/tests/it/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| check::hpack::hpack(input));

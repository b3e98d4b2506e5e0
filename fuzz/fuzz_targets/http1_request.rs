//! The server's parser of requests, fed any bytes in any pieces.
#![no_main]

#[path = "../../crates/weir-http/tests/it/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| check::server::received(input));

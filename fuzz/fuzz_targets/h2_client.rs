//! An HTTP/2 client, fed any bytes in pieces of any size.
#![no_main]

#[path = "../../crates/weir-http/tests/it/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| check::h2::client(input));

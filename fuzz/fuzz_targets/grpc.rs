//! A body of gRPC messages, fed any bytes in any pieces.
#![no_main]

#[path = "../../crates/weir-http/tests/it/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| check::grpc::messages(input));

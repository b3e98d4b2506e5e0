//! A TLS client, fed any bytes, or the records of a real server with any edits.
#![no_main]

#[path = "../../crates/weir/tests/it/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::tls_records(input));

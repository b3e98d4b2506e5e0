//! The machine that a process runs on, as far as a fleet needs to know it.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};

/// Returns a name of CLOCK_MONOTONIC: processes that have the same name for it have the same clock.
pub fn clock_name() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    match boot.trim() {
        // Then no other process has the name.
        "" => format!("{:016x}", incarnation()),
        boot => format!("{boot} {}", namespace.display()),
    }
}

/// Returns a random number, which no other process has.
pub(crate) fn incarnation() -> u64 {
    RandomState::new().build_hasher().finish()
}

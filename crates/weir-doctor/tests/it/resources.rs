//! Checks of memory, descriptors and io_uring.

use std::io::ErrorKind;

use weir_doctor::Severity::{Problem, Warning};
use weir_doctor::UringRefusal;
use weir_machine::sys::DescriptorLimit;

use crate::machine::{Machine, unreadable};

#[test]
fn memory_that_is_short_stalls_programs() {
    let advice = "end the largest programs: ps aux --sort=-rss | head";
    let machine = Machine::healthy();
    machine.check_ok("memory", "12.29 GB of 16.38 GB available");
    let low = "MemTotal: 16000000 kB\nMemAvailable: 500000 kB\n";
    let short = machine.clone().file("proc/meminfo", low);
    short.check("memory", Warning, "512.00 MB of 16.38 GB available", advice);
    let swapping = machine.clone().later("proc/vmstat", "pswpin 75\npswpout 85\n");
    swapping.check("memory", Warning, "10 pages swapped in the last second", advice);
    let thrashing = machine.clone().later("proc/vmstat", "pswpin 3070\npswpout 80\n");
    thrashing.check("memory", Problem, "3,000 pages swapped", advice);
    let waiting = "some avg10=25.00 avg60=0.00 avg300=0.00 total=5\n";
    let pressed = machine.clone().file("proc/pressure/memory", waiting);
    pressed.check("memory", Problem, "25% of time spent waiting", advice);
    machine.clone().without("proc/pressure").check_ok("memory", "available");
    machine.clone().without("proc/vmstat").check_unknown("memory", "/proc/vmstat does not exist");
    machine.clone().without("proc/meminfo").check_unknown("memory", "/proc/meminfo does not");
    let old = machine.file("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1 kB\n");
    old.check_unknown("memory", "/proc/meminfo has an unknown form");
}

#[test]
fn the_hard_limit_on_descriptors_counts() {
    let command = "sudo prlimit --pid $$ --nofile=65536:65536";
    let machine = Machine::healthy();
    machine.check_ok("descriptor-limit", "limit 1,024, which weir raises to 524,288");
    let limited = |soft, hard| {
        machine.clone().facts(|facts| facts.descriptors = Ok(DescriptorLimit { soft, hard }))
    };
    limited(u64::MAX, u64::MAX).check_ok("descriptor-limit", "limit unlimited");
    limited(10_000, 10_000).check_ok("descriptor-limit", "limit 10,000");
    limited(1_024, 4_096).check("descriptor-limit", Warning, "raises to 4,096", command);
    limited(256, 256).check("descriptor-limit", Problem, "limit 256", command);
    let refused = machine.clone().facts(|facts| facts.descriptors = unreadable("getrlimit"));
    refused.check_unknown("descriptor-limit", "getrlimit");
}

#[test]
fn a_refused_io_uring_has_its_reason() {
    let machine = Machine::healthy();
    machine.check_ok("io-uring", "works");
    let refused = |kind, message: &str| {
        let message = message.to_owned();
        machine.clone().facts(|facts| facts.uring = Err(UringRefusal { kind, message }))
    };
    let denied = refused(ErrorKind::PermissionDenied, "io_uring_setup: Operation not permitted");
    let disabled = denied.clone().file("proc/sys/kernel/io_uring_disabled", "2\n");
    let command = "sudo sysctl -w kernel.io_uring_disabled=0";
    disabled.check("io-uring", Warning, "kernel.io_uring_disabled = 2", command);
    let filtered = denied.clone().file("proc/self/status", "Name:\tweir\nSeccomp:\t2\n");
    let advice = "docker run --security-opt seccomp=unconfined, or a profile with io_uring";
    filtered.check("io-uring", Warning, "denied by a seccomp filter", advice);
    let old = refused(ErrorKind::InvalidInput, "io_uring_setup: (the kernel is older …)");
    old.check("io-uring", Warning, "io_uring_setup: ", "use Linux 6.1 or later");
}

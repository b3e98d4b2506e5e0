//! All checks, in the order in which findings of one severity are listed.

mod clocks;
mod cpus;
mod network;
mod programs;
mod resources;

use crate::check::Check;

/// All checks.
pub(crate) const CHECKS: [Check; 22] = [
    Check { id: "busy-neighbours", title: "Busy CPUs", examine: programs::busy_cpus },
    Check { id: "long-slices", title: "Time slices", examine: programs::long_slices },
    Check { id: "shared-cpus", title: "Shared CPUs", examine: cpus::shared_cpus },
    Check { id: "cpu-steal", title: "Steal time", examine: cpus::steal },
    Check { id: "cpu-quota", title: "CPU quota", examine: cpus::quota },
    Check { id: "cpu-affinity", title: "CPU affinity", examine: cpus::affinity },
    Check { id: "smt-siblings", title: "SMT siblings", examine: cpus::siblings },
    Check { id: "cpu-governor", title: "CPU governor", examine: cpus::governor },
    Check { id: "turbo", title: "CPU turbo", examine: cpus::turbo },
    Check { id: "clock-source", title: "Clock source", examine: clocks::clock_source },
    Check { id: "timer-resolution", title: "Timers", examine: clocks::resolution },
    Check { id: "timer-slack", title: "Timer slack", examine: clocks::slack },
    Check { id: "memory", title: "Memory", examine: resources::memory },
    Check { id: "io-uring", title: "io_uring", examine: resources::io_uring },
    Check { id: "descriptor-limit", title: "Descriptors", examine: resources::descriptors },
    Check { id: "local-ports", title: "Local ports", examine: network::local_ports },
    Check { id: "listener", title: "Server", examine: network::listener },
    Check { id: "listen-backlog", title: "Accept queue", examine: network::accept },
    Check { id: "syn-backlog", title: "SYN queue", examine: network::syn },
    Check { id: "conntrack", title: "Conntrack", examine: network::conntrack },
    Check { id: "congestion-control", title: "Congestion", examine: network::congestion_control },
    Check { id: "slow-start", title: "Slow start", examine: network::slow_start },
];

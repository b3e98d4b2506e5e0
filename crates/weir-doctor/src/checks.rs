//! All checks, in the order in which findings of one severity are listed.

mod affinity;
mod clock_source;
mod congestion;
mod conntrack;
mod descriptors;
mod governor;
mod io_uring;
mod listen_backlog;
mod listener;
mod local_ports;
mod long_slices;
mod memory;
mod neighbours;
mod quota;
mod shared_cpus;
mod siblings;
mod slow_start;
mod steal;
mod syn_backlog;
mod timer_resolution;
mod timer_slack;
mod turbo;

use crate::check::Check;

/// All checks.
pub(crate) const CHECKS: [Check; 22] = [
    Check { id: "busy-neighbours", title: "Busy CPUs", examine: neighbours::examine },
    Check { id: "long-slices", title: "Time slices", examine: long_slices::examine },
    Check { id: "shared-cpus", title: "Shared CPUs", examine: shared_cpus::examine },
    Check { id: "cpu-steal", title: "Steal time", examine: steal::examine },
    Check { id: "cpu-quota", title: "CPU quota", examine: quota::examine },
    Check { id: "cpu-affinity", title: "CPU affinity", examine: affinity::examine },
    Check { id: "smt-siblings", title: "SMT siblings", examine: siblings::examine },
    Check { id: "cpu-governor", title: "CPU governor", examine: governor::examine },
    Check { id: "turbo", title: "CPU turbo", examine: turbo::examine },
    Check { id: "clock-source", title: "Clock source", examine: clock_source::examine },
    Check { id: "timer-resolution", title: "Timers", examine: timer_resolution::examine },
    Check { id: "timer-slack", title: "Timer slack", examine: timer_slack::examine },
    Check { id: "memory", title: "Memory", examine: memory::examine },
    Check { id: "io-uring", title: "io_uring", examine: io_uring::examine },
    Check { id: "descriptor-limit", title: "Descriptors", examine: descriptors::examine },
    Check { id: "local-ports", title: "Local ports", examine: local_ports::examine },
    Check { id: "listener", title: "Server", examine: listener::examine },
    Check { id: "listen-backlog", title: "Accept queue", examine: listen_backlog::examine },
    Check { id: "syn-backlog", title: "SYN queue", examine: syn_backlog::examine },
    Check { id: "conntrack", title: "Conntrack", examine: conntrack::examine },
    Check { id: "congestion-control", title: "Congestion", examine: congestion::examine },
    Check { id: "slow-start", title: "Slow start", examine: slow_start::examine },
];

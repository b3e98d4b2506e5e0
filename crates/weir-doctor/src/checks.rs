//! All checks, in the order in which findings of one severity are listed.

mod affinity;
mod clock_source;
mod conntrack;
mod descriptors;
mod governor;
mod io_uring;
mod listener;
mod local_ports;
mod long_slices;
mod memory;
mod neighbours;
mod queues;
mod quota;
mod shared_cpus;
mod siblings;
mod steal;
mod tcp;
mod timers;
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
    Check { id: "timer-resolution", title: "Timers", examine: timers::resolution },
    Check { id: "timer-slack", title: "Timer slack", examine: timers::slack },
    Check { id: "memory", title: "Memory", examine: memory::examine },
    Check { id: "io-uring", title: "io_uring", examine: io_uring::examine },
    Check { id: "descriptor-limit", title: "Descriptors", examine: descriptors::examine },
    Check { id: "local-ports", title: "Local ports", examine: local_ports::examine },
    Check { id: "listener", title: "Server", examine: listener::examine },
    Check { id: "listen-backlog", title: "Accept queue", examine: queues::accept },
    Check { id: "syn-backlog", title: "SYN queue", examine: queues::syn },
    Check { id: "conntrack", title: "Conntrack", examine: conntrack::examine },
    Check { id: "congestion-control", title: "Congestion", examine: tcp::congestion_control },
    Check { id: "slow-start", title: "Slow start", examine: tcp::slow_start },
];

//! Reads what Linux tells of a machine and its processes in text (/proc, control groups and sysfs).
//! [`sys`] has the system calls that the standard library lacks, other than those on sockets.
//!
//! Each file beside `sys` has a type or a few functions for one thing that the kernel tells, with
//! the parser and, where there is more to it than one file, the reader. Files are read below a
//! [`Root`], so that tests can make up a machine. A value that is missing or malformed is `None` or
//! [`Unreadable`], never a guess. These files make no system call of their own. The crate imports
//! none of ours and judges nothing.
#![deny(unsafe_code)]

mod root;
mod table;

mod cgroup;
pub mod cpu_list;
mod cpu_ticks;
mod description;
mod load_average;
mod memory;
mod ports;
mod pressure;
mod process;
mod schedstat;
mod sockets;
mod softnet;
mod thread_limits;

#[expect(unsafe_code, reason = "system calls, each in a safe function")]
pub mod sys;

pub use cgroup::{Group, Hierarchy, cpu_quota, groups, throttled_ns, throttled_periods};
pub use cpu_ticks::CpuTicks;
pub use description::{Description, memory_total_bytes};
pub use load_average::RunnableThreads;
pub use memory::Memory;
pub use ports::{EphemeralPorts, SocketCounts};
pub use pressure::PressureStall;
pub use process::{
    Process, TICK_NS, command_name, descriptor_count, peak_memory_bytes, processes, resident_bytes,
};
pub use root::{Root, Unreadable};
pub use schedstat::{OwnSchedStat, SchedStat};
pub use sockets::{ListeningSocket, holders, listeners, sockets_to, time_wait_to, unix_listeners};
pub use softnet::Softnet;
pub use table::{named, value, word};
pub use thread_limits::ThreadLimit;

//! System calls that the standard library lacks, other than those on sockets, as safe functions.
//!
//! They keep no state of a run and decide nothing. `unsafe` is here, in weir-io, which has the
//! sockets, and in the Lua bindings. What the kernel tells in files is read beside this module. On
//! the border to weir-io:
//!
//! * The table of descriptors of a thread is here: the engine and the server choose which threads
//!   have one, before an I/O engine is opened in them.
//! * poll(2) is here: it serves threads beside the load, with descriptors of any kind. No I/O
//!   engine waits by it.
//! * Wakers are in weir-io, as only a backend can be woken.
//! * The kernel's clocks are read here. The epoch of a run and its instants (`Clock`, `Nanos`) are
//!   the backend's, and so is the offset of kernel time stamps.
//! * What is spent by spinning, and the decision to sleep instead, belong to a backend's wait.

mod allocator;
mod clocks;
mod cpu_time;
mod cpus;
mod descriptors;
mod errno;
mod held_output;
mod input;
mod pipe;
mod priority;
mod process;
mod readiness;
mod signals;
mod stdout;
mod terminal;
mod timers;

pub use allocator::{NotingAllocator, end_without_memory, map_large_blocks};
pub use clocks::{clock_resolution_ns, monotonic_ns, realtime_ns, thread_cpu_ns};
pub use cpu_time::{CpuTime, process_cpu_time, thread_cpu_time};
pub use cpus::{online_cpus, pin_to_cpu, usable_cpus};
pub use descriptors::{DescriptorLimit, descriptor_limit, own_descriptors, raise_descriptor_limit};
pub use errno::check;
pub use held_output::{HeldOutput, HeldText};
pub use input::open_input;
pub use pipe::open_pipe;
pub use priority::{lower_priority, run_when_idle};
pub use process::{end_with_this_thread, interrupt_self, kill_group};
pub use readiness::{await_readable, await_writable, is_stdout_writable};
pub use signals::{Signal, Signals, unblock_in};
pub use stdout::{Stdout, flush_c_stdout};
pub use terminal::{has_hung_up, terminal_columns};
pub use timers::{nap, set_timer_slack, timer_slack_ns};

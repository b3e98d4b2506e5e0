//! Priority of the calling thread against other threads: for those that run beside the load.

use std::io;

use super::errno::check;

/// Nice value of threads that run beside the load.
const NICENESS: i32 = 10;

/// Lowers the priority of the calling thread, so that workers go first on a shared CPU: sets its
/// nice value to 10 (setpriority(2), which on Linux applies to a thread).
///
/// # Errors
/// Errors of setpriority(2).
pub fn lower_priority() -> io::Result<()> {
    // SAFETY: setpriority takes no pointers.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
    check(result).map(drop)
}

/// Lets the calling thread run only while nothing else wants its CPU (`SCHED_IDLE`, sched(7)). Any
/// other thread that wakes there takes the CPU at once, which a nice value does not ensure.
///
/// # Errors
/// Errors of sched_setscheduler(2).
pub fn run_when_idle() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameters; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) }).map(drop)
}

//! A process as /proc/PID/stat and /proc/PID/status tell of it.

use crate::root::Root;
use crate::table::value;

/// Length of a tick of /proc/PID/stat, in nanoseconds: USER_HZ is 100 on all machines of today.
pub const TICK_NS: u64 = 10_000_000;

/// Flag of a kernel thread (PF_KTHREAD in the kernel's sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process and the CPU time that it has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name of its program, at most 15 bytes.
    pub name: String,
    /// Id of the process that started it.
    pub parent: u32,
    /// CPU time of all its threads in user space and in the kernel, in ticks.
    pub ticks: u64,
    /// True if it is a thread of the kernel.
    pub is_kernel: bool,
}

impl Process {
    /// Parses /proc/PID/stat (proc_pid_stat(5)). The name may have blanks and parentheses.
    pub fn parse(stat: &str) -> Option<Process> {
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        // Parent, flags, utime and stime are the fields 4, 9, 14 and 15; the first one here is the
        // third.
        let fields: Vec<&str> = tail.split_whitespace().take(13).collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Process {
            name: name.to_owned(),
            parent: field(4)?.try_into().ok()?,
            ticks: field(14)?.checked_add(field(15)?)?,
            is_kernel: field(9)? & KERNEL_THREAD != 0,
        })
    }

    /// Reads a process; `None` if there is none of this id.
    pub fn read(root: &Root, id: u32) -> Option<Process> {
        Process::parse(&root.text(&format!("proc/{id}/stat")).ok()?)
    }
}

/// Returns the name of a process's program as bytes, at most 15; `None` if there is no such
/// process.
pub fn command_name(root: &Root, id: u32) -> Option<Vec<u8>> {
    let mut name = root.bytes(&format!("proc/{id}/comm")).ok()?;
    name.pop_if(|last| *last == b'\n');
    Some(name)
}

/// Returns the number of open descriptors; `None` if this user must not see it.
pub fn descriptor_count(root: &Root, id: u32) -> Option<u64> {
    root.count(&format!("proc/{id}/fd"))
}

/// Returns the ids of all processes, as the kernel lists them.
pub fn processes(root: &Root) -> impl Iterator<Item = u32> + use<> {
    root.entries("proc").filter_map(|name| name.parse().ok())
}

/// Returns the resident memory in bytes, from /proc/PID/status (proc_pid_status(5)).
pub fn resident_bytes(status: &str) -> Option<u64> {
    value(status, "VmRSS")?.checked_mul(1024)
}

/// Returns the peak of the resident memory in bytes, likewise.
pub fn peak_memory_bytes(status: &str) -> Option<u64> {
    value(status, "VmHWM")?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_parsed_behind_any_name() {
        let stat = "7 (a ) b) S 3 7 7 0 -1 4194560 1 2 3 4 250 50 6 7 20 0 9 0 55 1 2 3";
        let expected =
            Process { name: "a ) b".to_owned(), parent: 3, ticks: 300, is_kernel: false };
        assert_eq!(Process::parse(stat), Some(expected));
        let kernel = "12 (ksmd) S 2 0 0 0 -1 2097216 0 0 0 0 0 11 0 0 20 0 1 0 9";
        assert!(Process::parse(kernel).is_some_and(|process| process.is_kernel));
        assert_eq!(Process::parse(""), None);
        assert_eq!(Process::parse("7 (a) S 3"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t    1300 kB\nVmRSS:\t    1234 kB\nThreads:\t9\n";
        assert_eq!(resident_bytes(status), Some(1_234 * 1024));
        assert_eq!(peak_memory_bytes(status), Some(1_300 * 1024));
        assert_eq!(resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn this_process_is_listed() {
        let root = Root::machine();
        let own = std::process::id();
        assert!(processes(&root).any(|id| id == own));
        let process = Process::read(&root, own).expect("this one");
        assert_eq!(command_name(&root, own).as_deref(), Some(process.name.as_bytes()));
        assert!(!process.is_kernel && descriptor_count(&root, own).is_some_and(|count| count > 2));
        assert_eq!(
            (command_name(&root, u32::MAX), descriptor_count(&root, u32::MAX)),
            (None, None)
        );
    }
}

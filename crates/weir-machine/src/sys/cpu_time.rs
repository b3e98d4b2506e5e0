//! CPU time that this process and the calling thread have used.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use super::errno::check;

/// CPU time used. The sum is exact; many kernels sample its division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time outside the kernel.
    pub user: Duration,
    /// Time in the kernel on behalf of the program.
    pub system: Duration,
}

impl CpuTime {
    /// Returns the sum of both.
    pub fn total(self) -> Duration {
        self.user + self.system
    }
}

/// Returns the CPU time of all threads of the process so far, ended ones included.
///
/// # Errors
/// Errors of getrusage(2).
pub fn process_cpu_time() -> io::Result<CpuTime> {
    cpu_time(libc::RUSAGE_SELF)
}

/// Returns the CPU time of the calling thread so far.
///
/// # Errors
/// Errors of getrusage(2).
pub fn thread_cpu_time() -> io::Result<CpuTime> {
    cpu_time(libc::RUSAGE_THREAD)
}

fn cpu_time(who: libc::c_int) -> io::Result<CpuTime> {
    // SAFETY: all-zero bytes are a valid rusage.
    let mut usage: libc::rusage = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the kernel writes one rusage.
    check(unsafe { libc::getrusage(who, &mut usage) })?;
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    Ok(CpuTime { user: duration(usage.ru_utime), system: duration(usage.ru_stime) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_grows() {
        let before = process_cpu_time().expect("usage").total();
        let mut sum = 0u64;
        while thread_cpu_time().expect("usage").total() < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu_time().expect("usage").total() > before);
    }
}

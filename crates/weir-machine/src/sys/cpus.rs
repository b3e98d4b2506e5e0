//! The processors that a thread may run on. Independent of what runs there.

use std::io;
use std::mem::MaybeUninit;

use super::errno::check;

/// Binds the calling thread to one processor (sched_setaffinity(2)).
///
/// # Errors
/// If there is no such processor, or this process must not use it.
pub fn pin_to_cpu(cpu: u32) -> io::Result<()> {
    let mut set = no_cpus();
    if cpu as usize >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: the number is within the set, as checked above.
    unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    // SAFETY: the kernel reads as many bytes of the set as it has; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) }).map(drop)
}

/// Returns the processors that the calling thread may run on, in ascending order
/// (sched_getaffinity(2)).
///
/// # Errors
/// If the kernel has more processors than a `cpu_set_t` has room for.
pub fn usable_cpus() -> io::Result<Vec<u32>> {
    let mut set = no_cpus();
    // SAFETY: the kernel writes as many bytes to the set as it has; 0 is the calling thread.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    let all = 0..8 * size_of::<libc::cpu_set_t>() as u32;
    // SAFETY: every number of `all` is within the set.
    Ok(all.filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect())
}

/// Returns the number of online processors of the machine, regardless of affinity; at least 1
/// (sysconf(3)).
pub fn online_cpus() -> u32 {
    // SAFETY: sysconf takes no pointers.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(cpus).unwrap_or(1).max(1)
}

fn no_cpus() -> libc::cpu_set_t {
    // SAFETY: all-zero bytes are the empty set.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_pinned_thread_may_use_one_processor() {
        let cpus = usable_cpus().expect("affinity");
        let last = *cpus.last().expect("it runs somewhere");
        let pinned = thread::spawn(move || {
            pin_to_cpu(last).expect("one of its own");
            usable_cpus().expect("affinity")
        });
        assert_eq!(pinned.join().expect("no panic"), [last]);
        assert_eq!(usable_cpus().expect("affinity"), cpus);
        assert!(pin_to_cpu(u32::MAX).is_err());
    }
}

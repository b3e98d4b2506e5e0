//! Resident memory of this process, and the allocator's use of it.

use std::{fs, io};

/// Resident memory of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Current size, in bytes.
    pub current_bytes: u64,
    /// Peak size so far, in bytes.
    pub peak_bytes: u64,
}

/// Returns the current and the peak resident memory of the process.
///
/// # Errors
/// If /proc cannot be read.
pub fn memory() -> io::Result<Memory> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let resident_pages = statm.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    let pages = resident_pages.ok_or_else(|| io::Error::other("/proc/self/statm has no size"))?;
    // SAFETY: sysconf takes no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.unsigned_abs();
    let current_bytes = pages * page_bytes;
    // Not getrusage's ru_maxrss, which starts at the peak of the parent process.
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kib =
        peak.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    // The kernel updates its high-water mark only occasionally.
    let peak_bytes = peak_kib.map_or(0, |kib| kib * 1024).max(current_bytes);
    Ok(Memory { current_bytes, peak_bytes })
}

/// Smallest block that is mapped from the kernel on its own, in bytes: the default at program
/// start.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK_BYTES: libc::c_int = 128 * 1024;

/// Makes the allocator continue to map large blocks from the kernel and return them (mallopt(3)).
/// By default it stops mapping after the first of them is freed. From then on it zeroes blocks
/// itself, which makes large tables resident although only a few pages are used.
#[cfg(target_env = "gnu")]
pub fn map_large_blocks() {
    // SAFETY: this takes no pointers, and the allocator takes its own lock.
    let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES) };
    debug_assert_eq!(is_set, 1, "the threshold is within the allocator's limits");
}

/// Does nothing: this allocator is not known to keep large blocks.
#[cfg(not(target_env = "gnu"))]
pub fn map_large_blocks() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_not_below_the_current_size() {
        let memory = memory().expect("proc");
        assert!(memory.current_bytes > 0 && memory.peak_bytes >= memory.current_bytes);
    }
}

//! The allocator's use of the kernel's memory.

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

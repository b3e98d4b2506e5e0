//! The allocator's use of the kernel's memory, and the end of a program that gets none.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::errno::check;

/// The system's allocator, which notes that it had no memory: the standard library aborts then, and
/// [`end_without_memory`] tells that from other aborts.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotingAllocator;

/// True once an allocation has failed.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Message and exit status of a program without memory.
static END: OnceLock<(&str, i32)> = OnceLock::new();

/// Ends this process with a line on standard error and an exit status, in the place of SIGABRT
/// alone, when it gets no memory. The program's allocator has to be a [`NotingAllocator`].
///
/// # Errors
/// None that sigaction(2) documents for this signal.
pub fn end_without_memory(line: &'static str, status: i32) -> io::Result<()> {
    let _first = END.set((line, status));
    // SAFETY: zero is a valid value of all fields of this structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = end as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the structure is valid, and the handler calls what signal-safety(7) lists alone.
    check(unsafe { libc::sigaction(libc::SIGABRT, &action, std::ptr::null_mut()) }).map(drop)
}

/// Ends the process after a failed allocation; lets another abort go on.
extern "C" fn end(_signal: libc::c_int) {
    if let (true, Some((line, status))) = (HAS_FAILED.load(Ordering::Relaxed), END.get()) {
        // SAFETY: the text is a valid buffer of its length; without a reader it is lost.
        let _lost = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
        // SAFETY: it takes no pointers, and runs no destructor.
        unsafe { libc::_exit(*status) }
    }
}

/// Notes a block that there is not.
#[inline]
fn noted(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        HAS_FAILED.store(true, Ordering::Relaxed);
    }
    block
}

// SAFETY: each block is the system allocator's, and is passed on as it is.
unsafe impl GlobalAlloc for NotingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of the system allocator, which is the same.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as in `alloc`.
        noted(unsafe { System.realloc(block, layout, bytes) })
    }
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

//! Resident memory of this process, from /proc/self/status.

use crate::process::{peak_memory_bytes, resident_bytes};
use crate::root::{Root, Unreadable};

/// Resident memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Current size, in bytes.
    pub current_bytes: u64,
    /// Peak size so far, in bytes.
    pub peak_bytes: u64,
}

impl Memory {
    /// Returns the current and the peak resident memory of this process.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn of_this_process(root: &Root) -> Result<Memory, Unreadable> {
        let status = root.text("proc/self/status")?;
        let current_bytes =
            resident_bytes(&status).ok_or_else(|| Unreadable::form("proc/self/status"))?;
        // Not getrusage's ru_maxrss, which starts at the peak of the parent process. The kernel
        // updates its high-water mark only occasionally.
        let peak_bytes = peak_memory_bytes(&status).unwrap_or(0).max(current_bytes);
        Ok(Memory { current_bytes, peak_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_not_below_the_current_size() {
        let memory = Memory::of_this_process(&Root::machine()).expect("proc");
        assert!(memory.current_bytes > 0 && memory.peak_bytes >= memory.current_bytes);
    }
}

//! Receive buffers that all connections of a ring share: the kernel takes the next free one when
//! bytes arrive.
//!
//! The pool is small on purpose: only the bytes of one batch are in use at a time. A pool that
//! stays in the second-level cache saves 3 % of all CPU time (measured on loopback).

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use weir_machine::sys::check;

use super::ring::Ring;
use crate::raw_event::Filled;

/// Largest and smallest size of the whole pool, in bytes.
const POOL_BYTES: u32 = 1 << 20;
const POOL_MIN_BYTES: u32 = 1 << 16;

/// Bytes in the pools of all rings of a process. The second limit applies if there are so many
/// connections that receives are polled for, which are made one batch at a time.
const ALL_BYTES: u32 = 1 << 24;
const ALL_POLLED_BYTES: u32 = 1 << 22;

/// The only buffer group of a ring.
pub(super) const GROUP: u16 = 0;

/// The buffers, and the ring by which they return to the kernel.
pub(super) struct Buffers {
    ring: Mapping,
    data: Mapping,
    pub(super) count: u16,
    each: u32,
    /// Buffers given back in all, wrapping; `published` is the number that the kernel can see.
    tail: u16,
    published: u16,
    /// Buffer of the event returned last.
    leased: Option<u16>,
}

impl Buffers {
    /// Creates and registers the buffers of one of `rings` rings, with `connections` connections;
    /// `polls` if it polls for receives. They must outlive the ring.
    pub(super) fn new(
        ring: &Ring,
        connections: u32,
        rings: u32,
        polls: bool,
    ) -> io::Result<Buffers> {
        // More than one batch can fill, but few and large buffers for few connections: those save
        // system calls if bodies are large.
        let count = connections.saturating_mul(2).next_power_of_two().clamp(4, 64);
        let all = if polls { ALL_POLLED_BYTES } else { ALL_BYTES };
        let share = all / rings.max(1);
        let pool = share.next_multiple_of(POOL_MIN_BYTES).clamp(POOL_MIN_BYTES, POOL_BYTES);
        let each = (pool / count).clamp(4096, 64 * 1024);
        let count = count.min(1 << (pool / each).ilog2());
        let mut buffers = Buffers {
            ring: Mapping::new(count as usize * size_of::<BufRingEntry>())?,
            data: Mapping::new((count * each) as usize)?,
            count: count as u16,
            each,
            tail: 0,
            published: 0,
            leased: None,
        };
        let address = buffers.ring.start.as_ptr() as u64;
        // SAFETY: the mapping has room for `count` entries and lives until after the ring.
        unsafe {
            ring.uring.submitter().register_buf_ring_with_flags(
                address,
                buffers.count,
                GROUP,
                0,
            )?;
        }
        (0..buffers.count).for_each(|buffer| buffers.give_back(buffer));
        buffers.publish();
        Ok(buffers)
    }

    /// Returns the bytes that the kernel put in a buffer.
    pub(super) fn bytes(&mut self, filled: Filled) -> &mut [u8] {
        debug_assert!(filled.buffer < self.count && filled.start + filled.len <= self.each);
        let offset = usize::from(filled.buffer) * self.each as usize + filled.start as usize;
        // SAFETY: the range lies within the data, and the kernel leaves a buffer alone between
        // filling it and getting it back, which takes `&mut self` as well.
        unsafe {
            let start = self.data.start.as_ptr().add(offset);
            std::slice::from_raw_parts_mut(start, filled.len as usize)
        }
    }

    /// Returns the bytes of an event, whose buffer is in use until the next
    /// [`take_back`](Buffers::take_back).
    #[inline]
    pub(super) fn lease(&mut self, filled: Filled) -> &mut [u8] {
        self.leased = Some(filled.buffer);
        self.bytes(filled)
    }

    /// Gives the buffer of the last event back.
    #[inline]
    pub(super) fn take_back(&mut self) {
        if let Some(buffer) = self.leased.take() {
            self.give_back(buffer);
        }
    }

    /// Gives a buffer back; the kernel can use it after the next [`publish`](Buffers::publish).
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        let offset = usize::from(buffer) * self.each as usize;
        // SAFETY: the place is within the ring, which has `count` entries, a power of two; the
        // kernel does not read it before the tail has passed it.
        unsafe {
            let entry = &mut *self.ring.start.as_ptr().cast::<BufRingEntry>().add(place);
            entry.set_addr(self.data.start.as_ptr().add(offset) as u64);
            entry.set_len(self.each);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Publishes the buffers given back to the kernel.
    #[inline]
    pub(super) fn publish(&mut self) {
        if self.published == self.tail {
            return;
        }
        self.published = self.tail;
        // SAFETY: the tail lies in the first entry of the ring (io_uring_register_buf_ring(3)),
        // where the kernel reads it; release orders it after the entries it covers.
        unsafe {
            let tail = BufRingEntry::tail(self.ring.start.as_ptr().cast());
            AtomicU16::from_ptr(tail.cast_mut()).store(self.tail, Ordering::Release);
        }
    }
}

/// Zeroed memory pages owned by this value.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn new(len: usize) -> io::Result<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no existing memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing borrows from it any more.
        let result = check(unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) });
        debug_assert!(result.is_ok());
    }
}

//! Values that all users share.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Values that all users have from their beginning on, by number. They are made before the load,
/// and may be made again during it.
#[derive(Default)]
pub struct SharedValues {
    version: AtomicU32,
    values: Mutex<Arc<[Box<[u8]>]>>,
}

impl SharedValues {
    /// Replaces all values: each user's next request has the new ones.
    pub fn set(&self, values: Vec<Box<[u8]>>) {
        *self.values.lock().unwrap_or_else(PoisonError::into_inner) = values.into();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Returns a number that changes with the values.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the values.
    pub(crate) fn get(&self) -> Arc<[Box<[u8]>]> {
        Arc::clone(&self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Without the values, which may be credentials.
impl fmt::Debug for SharedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedValues").finish_non_exhaustive()
    }
}

//! The key by which an echo is matched with its message.

use std::fmt::{self, Debug};
use std::sync::Arc;

/// A function that takes the key from the content of a message, for instance the value of a field.
#[derive(Clone)]
pub struct MessageKey(Arc<KeyFunction>);

type KeyFunction = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

impl MessageKey {
    /// Returns the key that `take` returns of a content; `None` if that has none.
    pub fn new(take: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static) -> MessageKey {
        MessageKey(Arc::new(take))
    }

    /// Returns the key of a content.
    pub fn of(&self, content: &[u8]) -> Option<Vec<u8>> {
        (self.0)(content)
    }
}

impl Debug for MessageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageKey")
    }
}

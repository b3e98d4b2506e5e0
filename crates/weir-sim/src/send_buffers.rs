//! The bytes that sends refer to by number.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_io::{PooledId, Segment, TemplateId};

/// The templates, and the pooled buffers that are not sent yet.
#[derive(Debug, Default)]
pub(crate) struct SendBuffers {
    templates: Vec<Arc<[u8]>>,
    pooled: BTreeMap<u32, Vec<u8>>,
    /// Number of the next pooled buffer.
    next_pooled: u32,
}

impl SendBuffers {
    /// Keeps bytes for any number of sends.
    pub(crate) fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.templates.push(bytes);
        TemplateId(u32::try_from(self.templates.len() - 1).expect("few templates"))
    }

    /// Keeps bytes for one send.
    pub(crate) fn pool(&mut self, bytes: &[u8]) -> PooledId {
        let id = self.next_pooled;
        self.pooled.insert(id, bytes.to_vec());
        self.next_pooled = id.checked_add(1).expect("fewer pooled buffers than 2^32");
        PooledId(id)
    }

    /// Appends the bytes of a segment to those that a socket sends.
    pub(crate) fn append(&mut self, segment: Segment, outgoing: &mut Vec<u8>) {
        match segment {
            Segment::Template { id, bytes } => {
                let bytes = usize::try_from(bytes).expect("u32 fits");
                outgoing.extend_from_slice(&self.templates[id.0 as usize][..bytes]);
            }
            Segment::Pooled(pooled) => {
                let bytes = self.pooled.remove(&pooled.0);
                outgoing.extend_from_slice(&bytes.expect("pooled bytes are sent once"));
            }
        }
    }
}

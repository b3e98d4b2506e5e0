//! Header blocks of requests: encoded, or copied if the same request was encoded before and its
//! block is still right. Independent of streams.

use std::sync::Arc;

use super::super::frame::{FRAME_BYTES_DEFAULT, push_headers};
use super::super::hpack::Encoder;
use crate::request::Request;

/// Position of the stream's number in a frame.
const STREAM_AT: usize = 5;

/// The HEADERS frame of the last request that did not change the encoder's table.
#[derive(Debug, Default)]
pub(super) struct RequestCache {
    known: Option<CachedRequest>,
    /// Buffer for a block.
    block: Vec<u8>,
}

#[derive(Debug)]
struct CachedRequest {
    /// The request itself. While it is held here it cannot change, and no other one can have its
    /// address.
    request: Arc<Request>,
    generation: u64,
    traits: H2RequestTraits,
    frame: Vec<u8>,
}

/// Properties of a request that its stream needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct H2RequestTraits {
    pub(super) is_head: bool,
    pub(super) has_body: bool,
}

impl RequestCache {
    pub(super) fn clear(&mut self) {
        self.known = None;
    }

    /// Appends the header frames of a request.
    #[inline]
    pub(super) fn push(
        &mut self,
        request: &Arc<Request>,
        stream: u32,
        encoder: &mut Encoder,
        frame_bytes_max: u32,
        out: &mut Vec<u8>,
    ) -> H2RequestTraits {
        match &self.known {
            Some(known)
                if Arc::ptr_eq(&known.request, request)
                    && known.generation == encoder.generation() =>
            {
                let at = out.len() + STREAM_AT;
                out.extend_from_slice(&known.frame);
                out[at..at + 4].copy_from_slice(&stream.to_be_bytes());
                known.traits
            }
            _ => self.encode(request, stream, encoder, frame_bytes_max, out),
        }
    }

    #[inline(never)]
    fn encode(
        &mut self,
        request: &Arc<Request>,
        stream: u32,
        encoder: &mut Encoder,
        frame_bytes_max: u32,
        out: &mut Vec<u8>,
    ) -> H2RequestTraits {
        let traits = H2RequestTraits {
            is_head: request.method() == b"HEAD",
            has_body: !request.body().is_empty(),
        };
        let generation = encoder.generation();
        self.block.clear();
        push_fields(request, encoder, &mut self.block);
        let begin = out.len();
        push_headers(out, stream, &self.block, !traits.has_body, frame_bytes_max);
        // Every peer accepts such a frame at any time.
        let is_one_frame = self.block.len() <= FRAME_BYTES_DEFAULT as usize;
        if encoder.generation() == generation && is_one_frame {
            let mut frame = self.known.take().map(|known| known.frame).unwrap_or_default();
            frame.clear();
            frame.extend_from_slice(&out[begin..]);
            let request = Arc::clone(request);
            self.known = Some(CachedRequest { request, generation, traits, frame });
        }
        traits
    }
}

/// Appends the block of a request: pseudo-header fields first (RFC 9113 §8.3.1).
fn push_fields(request: &Request, encoder: &mut Encoder, block: &mut Vec<u8>) {
    encoder.begin(block);
    encoder.field(b":method", request.method(), block);
    encoder.field(b":scheme", request.scheme().as_bytes(), block);
    if !request.authority().is_empty() {
        encoder.field(b":authority", request.authority(), block);
    }
    encoder.field(b":path", request.target(), block);
    for (name, value) in request.fields() {
        encoder.field(name, value, block);
    }
}

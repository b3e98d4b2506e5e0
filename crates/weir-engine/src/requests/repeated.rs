//! One request that HTTP/1 sends again and again, several at once if there is room.

use std::sync::Arc;

use weir_http::{Prepared, RequestTraits};
use weir_io::{Backend, Segment, TemplateId};

use super::batch::Batch;
use super::form::RequestForm;
use crate::job::Job;

/// Largest template. It holds the request several times over, up to this size, so that a batch is
/// one segment.
const TEMPLATE_MAX_BYTES: usize = 256 * 1024;

/// One request, sent again and again over HTTP/1. It is registered once with the backend.
#[derive(Debug)]
pub(crate) struct Repeated {
    template: TemplateId,
    /// Bytes of the template: the request, `copies` times.
    bytes: Arc<[u8]>,
    pub(crate) one_bytes: usize,
    copies: u16,
    /// Properties of the request that determine how its response is parsed.
    pub(crate) traits: RequestTraits,
}

impl Repeated {
    /// Registers a request that is sent up to `depth` times at once.
    fn new(
        one: &Arc<[u8]>,
        traits: RequestTraits,
        depth: u16,
        backend: &mut impl Backend,
    ) -> Repeated {
        let fitting = (TEMPLATE_MAX_BYTES / one.len()).max(1);
        let copies = depth.min(u16::try_from(fitting).unwrap_or(u16::MAX));
        // A single copy shares its memory with all workers, which matters for long requests.
        let bytes = match copies {
            1 => Arc::clone(one),
            _ => one.repeat(usize::from(copies)).into(),
        };
        let template = backend.template(Arc::clone(&bytes));
        Repeated { template, bytes, one_bytes: one.len(), copies, traits }
    }

    /// Appends the segments of the next `count` requests.
    #[inline]
    pub(crate) fn segments(&self, count: u16, segments: &mut Vec<Segment>) {
        for string in self.strings(count) {
            let bytes = u32::try_from(string.len()).expect("requests are limited when planned");
            segments.push(Segment::Template { id: self.template, bytes });
        }
    }

    /// Returns the bytes of the next `count` requests, in as few strings as possible.
    #[inline]
    pub(crate) fn strings(&self, count: u16) -> impl Iterator<Item = &[u8]> {
        let mut left = count;
        std::iter::from_fn(move || {
            let requests = left.min(self.copies);
            left -= requests;
            (requests > 0).then(|| &self.bytes[..self.one_bytes * usize::from(requests)])
        })
    }
}

impl RequestForm for Repeated {
    const STREAMS: bool = false;

    /// Requests of a list are sent one by one.
    fn prepare(request: &Prepared, job: &Job, backend: &mut impl Backend) -> Repeated {
        let depth = if job.requests.list.is_some() { 1 } else { job.plan.depth() };
        Repeated::new(request.bytes(), request.traits(), depth, backend)
    }

    fn only_in(batch: &Batch, depth: u16, backend: &mut impl Backend) -> Option<Repeated> {
        let [request] = batch.requests[..] else { return None };
        Some(Repeated::new(&batch.bytes[..].into(), request.traits, depth, backend))
    }
}

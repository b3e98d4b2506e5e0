//! Where requests come from: the same one each time, or batches that a script makes. Lists are to
//! be a further variant of [`RequestSource`].

use std::sync::Arc;

use weir_http::RequestTraits;
use weir_io::{Backend, Segment, TemplateId};

use crate::ring::Ring;

/// A template holds the request several times over, up to this size, so that a batch is one
/// segment.
const TEMPLATE_MAX_BYTES: usize = 256 * 1024;

/// Where the worker's requests come from.
#[derive(Debug)]
pub(crate) enum RequestSource {
    /// The same request each time, registered once with the machine.
    Static(Repeated),
    /// Batches, made shortly before they are due.
    Ring(Ring),
}

/// One request, sent again and again.
#[derive(Debug)]
pub(crate) struct Repeated {
    /// Its bytes, `copies` times.
    template: TemplateId,
    /// Its bytes, once.
    pub(crate) one: Arc<[u8]>,
    /// How often the template holds it.
    copies: u16,
    /// What decides how its answer is read.
    pub(crate) traits: RequestTraits,
}

impl Repeated {
    /// Always the same request, up to `depth` at a time.
    pub(crate) fn new(
        one: Arc<[u8]>,
        traits: RequestTraits,
        depth: u16,
        backend: &mut impl Backend,
    ) -> Repeated {
        let fitting = (TEMPLATE_MAX_BYTES / one.len()).max(1);
        let copies = depth.min(u16::try_from(fitting).unwrap_or(u16::MAX));
        let template = backend.template(one.repeat(usize::from(copies)).into());
        Repeated { template, one, copies, traits }
    }

    /// Appends the segments of the next `count` requests.
    #[inline]
    pub(crate) fn segments(&self, count: u16, segments: &mut Vec<Segment>) {
        let bytes = u32::try_from(self.one.len()).expect("requests are limited when planned");
        let mut left = count;
        while left > 0 {
            let batch = left.min(self.copies);
            segments.push(Segment::Template { id: self.template, bytes: bytes * u32::from(batch) });
            left -= batch;
        }
    }
}

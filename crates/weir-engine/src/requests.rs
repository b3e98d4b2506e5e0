//! Where requests come from. One source for now, the same request each time; scripts and lists are
//! further variants of [`RequestSource`].

use weir_http::{Prepared, RequestTraits};
use weir_io::{Backend, Segment, TemplateId};

/// A template holds the request several times over, up to this size, so that a batch is one
/// segment.
const TEMPLATE_MAX_BYTES: usize = 256 * 1024;

/// Where the worker's requests come from.
#[derive(Debug)]
pub(crate) enum RequestSource {
    /// The same request each time, registered once with the machine.
    Static {
        /// Its bytes, `copies` times.
        template: TemplateId,
        /// Length of one request.
        bytes: u32,
        /// How often the template holds it.
        copies: u16,
        /// What decides how its answer is read.
        traits: RequestTraits,
    },
}

impl RequestSource {
    /// A source of always the same request, up to `depth` at a time.
    pub(crate) fn of(request: &Prepared, depth: u16, backend: &mut impl Backend) -> RequestSource {
        let one = request.bytes();
        let fitting = (TEMPLATE_MAX_BYTES / one.len()).max(1);
        let copies = depth.min(u16::try_from(fitting).unwrap_or(u16::MAX));
        let template = backend.template(one.repeat(usize::from(copies)).into());
        let bytes = u32::try_from(one.len()).expect("requests are limited to 1 GiB when planned");
        RequestSource::Static { template, bytes, copies, traits: request.traits() }
    }

    /// What decides how the next request's answer is read.
    #[inline]
    pub(crate) fn traits(&self) -> RequestTraits {
        let RequestSource::Static { traits, .. } = self;
        *traits
    }

    /// Appends the segments of the next `count` requests.
    #[inline]
    pub(crate) fn segments(&self, count: u16, segments: &mut Vec<Segment>) {
        let RequestSource::Static { template, bytes, copies, .. } = *self;
        let mut left = count;
        while left > 0 {
            let batch = left.min(copies);
            segments.push(Segment::Template { id: template, bytes: bytes * u32::from(batch) });
            left -= batch;
        }
    }
}

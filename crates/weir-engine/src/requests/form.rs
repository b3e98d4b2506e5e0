//! The form in which a lane sends requests: bytes over HTTP/1, fields over a protocol with streams.

use std::fmt::Debug;
use std::sync::Arc;

use weir_http::{Prepared, Request};
use weir_io::Backend;

use super::batch::Batch;
use crate::job::Job;

/// A request that is sent again and again, in the form that a lane sends.
pub(crate) trait RequestForm: Debug + Sized {
    /// True if requests are independent streams of their connections.
    const STREAMS: bool;

    /// Returns a request of the job in this form.
    fn prepare(request: &Prepared, job: &Job, backend: &mut impl Backend) -> Self;

    /// Returns the only request of a script's string; `None` if there are several.
    fn only_in(batch: &Batch, depth: u16, backend: &mut impl Backend) -> Option<Self>;
}

impl RequestForm for Arc<Request> {
    const STREAMS: bool = true;

    fn prepare(request: &Prepared, job: &Job, _backend: &mut impl Backend) -> Arc<Request> {
        Arc::new(request.request(job.scheme()))
    }

    fn only_in(batch: &Batch, _depth: u16, _backend: &mut impl Backend) -> Option<Arc<Request>> {
        let [request] = &batch.fields[..] else { return None };
        Some(Arc::clone(request))
    }
}

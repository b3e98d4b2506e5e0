//! The requests of a list in the form that a worker's lane sends, and the order of their turns.

use std::sync::Arc;

use weir_io::Backend;

use crate::job::Job;
use crate::lane::Lane;
use crate::request_list::{ListedRequest, RequestList};
use crate::turns::ListTurn;

/// The requests of a list.
#[derive(Debug)]
pub(crate) struct Listed<R> {
    list: Arc<RequestList>,
    /// Requests and their names, in file order.
    requests: Vec<(R, u16)>,
}

impl<R> Listed<R> {
    /// Prepares the `requests` of `list` for a lane.
    pub(crate) fn new<L: Lane<Request = R>>(
        list: &Arc<RequestList>,
        requests: &[ListedRequest],
        job: &Job,
        backend: &mut impl Backend,
    ) -> Listed<R> {
        assert!(requests.len() <= 1 << 16, "an exchange has 16 bits for the index");
        let prepare = |one: &ListedRequest| (L::prepare(&one.request, job, backend), one.name);
        Listed { list: Arc::clone(list), requests: requests.iter().map(prepare).collect() }
    }

    /// Returns the request whose turn it is, its index and the number of its name; `None` behind
    /// the end of a list that is sent once.
    #[inline]
    pub(crate) fn at(&self, turn: ListTurn) -> Option<(&R, u16, u16)> {
        let row = self.list.row_at(turn)?;
        let (request, name) = &self.requests[row as usize];
        // A prepared list has at most 2^16 requests.
        Some((request, row as u16, *name))
    }

    /// Returns the first request.
    pub(crate) fn first(&self) -> Option<&R> {
        self.requests.first().map(|(request, _)| request)
    }
}

//! The expectations of the responses of a run, by the request that they answer.

use std::sync::Arc;

use weir_http::grpc::CallRules;
use weir_http::{Interest, ReceivedResponse};
use weir_requests::expect::{BodyDecoder, CallContent, Expectations, FirstBodies};
use weir_result::MissExample;

/// Expectations of the responses of a run. All workers share them.
#[derive(Debug)]
pub struct ResponseChecks {
    /// Expectations for each request of the list, in file order; without a list, those of all.
    rows: Vec<Arc<Expectations>>,
    /// Index of the request that is sent before the load.
    first: u16,
    /// True if requests have names that count.
    pub(crate) has_names: bool,
    /// Greatest length of a decoded body, in bytes.
    body_max_bytes: usize,
    /// Bodies that others are compared with.
    pub(crate) first_bodies: FirstBodies,
    /// Checks of messages of gRPC, if the requests are calls.
    calls: Option<CallChecks>,
}

/// Checks of the messages in responses to calls of gRPC.
#[derive(Clone, Debug)]
pub struct CallChecks {
    /// Rules that every response has to obey.
    pub rules: CallRules,
    /// The form in which expectations see the messages.
    pub content: CallContent,
}

impl ResponseChecks {
    /// Returns the checks of a run whose requests are all alike. Bodies are decoded up to
    /// `body_max_bytes`.
    pub fn of_all(expectations: Arc<Expectations>, body_max_bytes: usize) -> ResponseChecks {
        let rows = vec![expectations];
        let first_bodies = FirstBodies::new(1);
        let first = 0;
        let has_names = false;
        let calls = None;
        ResponseChecks { rows, first, has_names, body_max_bytes, first_bodies, calls }
    }

    /// Returns the checks of a list with this number of names; `rows` has the expectations of each
    /// of its requests, in file order, and `first` is the index of the one that is sent before the
    /// load.
    pub fn of_rows(
        rows: Vec<Arc<Expectations>>,
        names: u16,
        first: u16,
        body_max_bytes: usize,
    ) -> ResponseChecks {
        let first_bodies = FirstBodies::new(names.into());
        let has_names = true;
        let calls = None;
        ResponseChecks { rows, first, has_names, body_max_bytes, first_bodies, calls }
    }

    /// Checks the messages of gRPC too.
    #[must_use]
    pub fn with_calls(self, calls: Option<CallChecks>) -> ResponseChecks {
        ResponseChecks { calls, ..self }
    }

    /// Returns the greatest length of a decoded body, in bytes.
    pub fn body_max_bytes(&self) -> usize {
        self.body_max_bytes
    }

    /// Returns the rules for messages of gRPC; `None` if the requests are no calls.
    pub fn call_rules(&self) -> Option<CallRules> {
        self.calls.as_ref().map(|calls| calls.rules)
    }

    /// Returns a decoder of bodies.
    pub fn decoder(&self) -> BodyDecoder {
        match &self.calls {
            None => BodyDecoder::new(self.body_max_bytes),
            Some(calls) => BodyDecoder::of_calls(self.body_max_bytes, calls.content.clone()),
        }
    }

    /// Returns the checks of a run of nothing but the request that is sent before the load.
    pub fn of_first(&self) -> ResponseChecks {
        let first = Arc::clone(&self.rows[usize::from(self.first)]);
        ResponseChecks::of_all(first, self.body_max_bytes).with_calls(self.calls.clone())
    }

    /// Checks the response to the request that is sent before the load. Returns an example of the
    /// expectation that it misses; `None` if it meets all.
    pub fn check_first(&self, response: &ReceivedResponse<'_>) -> Option<MissExample> {
        let mut decoder = self.decoder();
        let expectations = self.of(self.first);
        // Bodies are compared within the load.
        let first = FirstBodies::new(1);
        let miss = expectations.check(response, &mut decoder, &first, 0).err()?;
        Some(expectations.example(miss, response, &mut decoder))
    }

    /// Returns the part of each response that decides, for any request.
    pub fn interest(&self) -> Interest {
        let interests = self.rows.iter().map(|row| row.interest());
        interests.fold(Interest::Status, Interest::max)
    }

    /// Returns the expectations of a request's response.
    #[inline]
    pub fn of(&self, row: u16) -> &Expectations {
        &self.rows[usize::from(row)]
    }
}

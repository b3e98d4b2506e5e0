//! The judge of responses in a run with expectations: it finds the expectation that a response
//! misses, and keeps one example of each kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_http::grpc::GrpcStatus;
use weir_http::{Interest, ReceivedResponse};
use weir_requests::expect::{BodyDecoder, grpc_status};
use weir_result::{Measurements, MissExample, MissKind};

use crate::exchange::{Exchange, SlotPhase};
use crate::job::ResponseChecks;
use crate::users::{UserLack, UserMiss};

/// The judge of one worker's responses.
#[derive(Debug)]
pub(crate) struct Judge {
    checks: Arc<ResponseChecks>,
    decoder: BodyDecoder,
    examples: BTreeMap<MissKind, MissExample>,
    /// Kind of the example that was kept since the last call of [`Judge::take_new_example`].
    new_example: Option<MissKind>,
    reads_bodies: bool,
    /// True if bodies were read since the last call of [`Judge::take_has_read`].
    has_read: bool,
    /// Statuses of calls of gRPC, if the requests are calls.
    statuses: Option<CallStatuses>,
}

/// Calls of gRPC by status: its number, then those of other numbers, and those without one.
#[derive(Debug, Default)]
struct CallStatuses([u64; CallStatuses::PLACES]);

impl Judge {
    pub(super) fn new(checks: &Arc<ResponseChecks>) -> Judge {
        Judge {
            checks: Arc::clone(checks),
            decoder: checks.decoder(),
            examples: BTreeMap::new(),
            new_example: None,
            reads_bodies: checks.interest() == Interest::Body,
            has_read: false,
            statuses: checks.call_rules().map(|_| CallStatuses::default()),
        }
    }

    /// Keeps an example of what a response to a step of M lacks.
    #[cold]
    pub(crate) fn keep_example(&mut self, exchange: &Exchange, status: u16, miss: &UserMiss) {
        let UserMiss { kind, lack: Some(UserLack { expected, found }) } = miss else { return };
        if exchange.phase == SlotPhase::Measured {
            let expected = expected.clone();
            let found = found.clone();
            self.examples.entry(*kind).or_insert_with(|| {
                self.new_example = Some(*kind);
                MissExample { status, expected, found }
            });
        }
    }

    /// Returns what was found in the example that was kept since the last call; `None` if there is
    /// none.
    pub(crate) fn take_new_example(&mut self) -> Option<&mut String> {
        let example = self.examples.get_mut(&self.new_example.take()?)?;
        Some(&mut example.found)
    }

    /// Returns the kind of the expectation that the response to an exchange misses; `None` if it
    /// meets all.
    #[inline(never)]
    pub(crate) fn missed(
        &mut self,
        exchange: &Exchange,
        response: &ReceivedResponse<'_>,
    ) -> Option<MissKind> {
        self.has_read = self.reads_bodies;
        let expectations = self.checks.of(exchange.row);
        let name = if self.checks.has_names { exchange.tag.into() } else { 0 };
        let first = &self.checks.first_bodies;
        let miss = expectations.check(response, &mut self.decoder, first, name).err()?;
        if exchange.phase == SlotPhase::Measured {
            let decoder = &mut self.decoder;
            let new = &mut self.new_example;
            self.examples.entry(miss.kind).or_insert_with(|| {
                *new = Some(miss.kind);
                expectations.example(miss, response, decoder)
            });
        }
        Some(miss.kind)
    }

    /// Counts the status of `exchanges` identical exchanges, if they are calls of gRPC.
    #[inline]
    pub(crate) fn count_status(
        &mut self,
        exchange: &Exchange,
        exchanges: u32,
        response: &ReceivedResponse<'_>,
    ) {
        if let Some(CallStatuses(counts)) = &mut self.statuses
            && exchange.phase == SlotPhase::Measured
        {
            counts[CallStatuses::place(grpc_status(response))] += u64::from(exchanges);
        }
    }

    /// True if bodies were read since the last call, which may have taken long.
    #[inline]
    pub(crate) fn take_has_read(&mut self) -> bool {
        std::mem::take(&mut self.has_read)
    }

    /// Adds the statuses of calls and the example of each kind to the worker's measurements.
    pub(super) fn finish(self, measurements: &mut Measurements) {
        measurements.results.grpc_status =
            self.statuses.map(|counts| counts.by_name()).unwrap_or_default();
        measurements.miss_examples = self.examples;
    }
}

impl CallStatuses {
    /// Statuses that have a name.
    const NAMED: usize = 17;
    const PLACES: usize = CallStatuses::NAMED + 2;

    fn place(status: Option<GrpcStatus>) -> usize {
        let number = |status: GrpcStatus| usize::try_from(status.0).unwrap_or(CallStatuses::NAMED);
        status.map_or(CallStatuses::NAMED + 1, |status| number(status).min(CallStatuses::NAMED))
    }

    /// Returns the counts above 0.
    fn by_name(&self) -> BTreeMap<String, u64> {
        let name = |place: usize| match place {
            place if place > CallStatuses::NAMED => "none",
            place => {
                let number = u32::try_from(place).expect("a few");
                GrpcStatus(number).name().unwrap_or("other")
            }
        };
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(place, count)| (name(place).to_owned(), *count)).collect()
    }
}

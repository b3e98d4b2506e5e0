//! Raw output (`--raw`): one row for each slot, written when it is resolved.

use std::sync::Arc;

use weir_io::Nanos;
use weir_result::{Measurements, RawRow, RawSink, RowMessages};

use crate::exchange::{
    Completion, ExchangeMessages, ExchangeObserver, KernelTimes, NeverSent, Outcome,
};
use crate::job::{Job, ListTurn, RequestList, RowNames};

/// Most rows of one worker for slots that were never sent. At an absurd rate the rest is only
/// counted.
const NEVER_SENT_MAX: u64 = 1_000_000;

/// One worker's writer of rows.
#[derive(Debug)]
pub(crate) struct RawWriter {
    sink: RawSink,
    worker: u32,
    /// The list, whose requests have names.
    list: Option<Arc<RequestList>>,
}

impl RawWriter {
    /// Returns the writer of worker `worker`, if the job has a raw log.
    pub(crate) fn new(job: &Job, worker: u32) -> Option<RawWriter> {
        let list = job.requests.list.clone();
        job.raw.as_ref().map(|log| RawWriter { sink: log.sink(), worker, list })
    }
}

impl ExchangeObserver for RawWriter {
    fn completed(&mut self, completion: &Completion) {
        let Completion { conn, exchange, outcome, at, messages, kernel } = completion;
        let stamp = |of: fn(&KernelTimes) -> Option<Nanos>| {
            kernel.as_ref().and_then(of).map_or(RawRow::NEVER, |at| at.0)
        };
        let mut row = RawRow {
            intended_at: exchange.intended_at.0,
            freed_at: exchange.freed_at.0,
            sent_at: exchange.sent_at.0,
            tx_at: stamp(|kernel| kernel.transmitted_at),
            rx_at: stamp(|kernel| kernel.received_at),
            ended_at: at.0,
            worker: self.worker,
            connection: conn.0,
            phase: exchange.phase,
            ..RawRow::EMPTY
        };
        if let Outcome::Ok(response) | Outcome::BadResponse(response) = outcome {
            (row.status, row.first_byte_at) = (response.status, response.first_byte_at.0);
        }
        row.outcome = outcome.class();
        if let Outcome::TransportError(kind) = outcome {
            row.error = Some(*kind);
        }
        if let Some(ExchangeMessages { count, bytes, first_at }) = *messages {
            row.messages = RowMessages {
                first_at: if count == 0 { RawRow::NEVER } else { first_at.0 },
                count,
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            };
        }
        if self.list.is_some() {
            row.name = exchange.tag;
        }
        self.sink.push(row);
    }

    /// Writes a row for each slot. The run is over, so waiting for the writer delays nothing.
    fn never_sent(&mut self, slots: &NeverSent<'_>) {
        let list = self.list.clone();
        let mut names = list.as_deref().map(RowNames::new);
        let mut name_of_slot = |index| {
            let found = names.as_mut().and_then(|names| names.at(ListTurn::Slot(index)));
            found.map(|names| names.request)
        };
        let of_slots = slots.slots().map(|(index, at)| (at, name_of_slot(index)));
        let name_of_row = |row| list.as_deref().map(|list| list.name_of(row));
        let of_steps = slots.due.iter().map(|step| (step.due_at, name_of_row(step.row)));
        for (written, (intended_at, name)) in (0..).zip(of_slots.chain(of_steps)) {
            if written == NEVER_SENT_MAX {
                return self.sink.lose(slots.count - written);
            }
            self.sink.push_waiting(RawRow {
                intended_at: intended_at.0,
                ended_at: slots.given_up_at.0,
                worker: self.worker,
                name: name.unwrap_or(RawRow::NO_NAME),
                ..RawRow::EMPTY
            });
        }
    }

    fn finish(self: Box<Self>, _measurements: &mut Measurements) {
        self.sink.finish();
    }
}

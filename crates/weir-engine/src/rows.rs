//! Slots one by one, for whoever wants to audit a run (`--raw`): a row each, when it is resolved.

use weir_io::{ConnId, Nanos};
use weir_run::{RawOutcome, RawPhase, RawRow, RawSink};

use crate::exchange::{Exchange, Phase};
use crate::job::Job;
use crate::recorder::Ended;
use crate::schedule::Schedule;
use crate::stamps::KernelTimes;
use crate::timeline::Timeline;

/// Slots of one worker that were never sent and get a row: of an absurd rate the rest is counted.
const NEVER_SENT_MAX: u64 = 1_000_000;

/// One worker's rows.
#[derive(Debug)]
pub(crate) struct Rows {
    sink: RawSink,
    worker: u32,
}

impl Rows {
    /// For worker `worker` of a job whose slots somebody wants to see.
    pub(crate) fn new(job: &Job, worker: u32) -> Option<Rows> {
        job.raw.as_ref().map(|log| Rows { sink: log.sink(), worker })
    }

    /// A request on `conn` ended at `at`.
    #[inline(never)]
    pub(crate) fn ended(
        &mut self,
        conn: ConnId,
        exchange: &Exchange,
        ended: Ended,
        at: Nanos,
        kernel: KernelTimes,
    ) {
        if exchange.is_resolved {
            return;
        }
        let or_never = |at: Option<Nanos>| at.map_or(RawRow::NEVER, |at| at.0);
        let mut row = RawRow {
            intended_at: exchange.intended_at.0,
            freed_at: exchange.freed_at.0,
            sent_at: exchange.sent_at.0,
            tx_at: or_never(kernel.transmitted_at),
            rx_at: or_never(kernel.received_at),
            ended_at: at.0,
            worker: self.worker,
            connection: conn.0,
            phase: phase(exchange.phase),
            ..RawRow::EMPTY
        };
        row.outcome = match ended {
            Ended::Answered { status, first_byte_at } => {
                (row.status, row.first_byte_at) = (status, first_byte_at.0);
                if status < 400 { RawOutcome::Ok } else { RawOutcome::BadResponse }
            }
            Ended::Failed(kind) => {
                row.error = Some(kind);
                RawOutcome::TransportError
            }
            Ended::TimedOut => RawOutcome::TimedOut,
            Ended::InFlight => RawOutcome::InFlightAtEnd,
        };
        self.sink.push(row);
    }

    /// The members of M that were never sent, given up at `end`; `schedule` still has them. The run
    /// is over: there is time to wait for the writer.
    pub(crate) fn never_sent(&mut self, mut schedule: Schedule, timeline: &Timeline, end: Nanos) {
        let until = timeline.t1.min(end);
        let mut written = 0;
        while let Some(offset_ns) = schedule.peek() {
            let intended_at = timeline.start.after(offset_ns);
            if intended_at >= until {
                return;
            }
            if written == NEVER_SENT_MAX {
                return self.sink.lose(schedule.backlog(until.since(timeline.start)));
            }
            schedule.take();
            if intended_at >= timeline.t0 {
                written += 1;
                self.sink.push_waiting(RawRow {
                    intended_at: intended_at.0,
                    ended_at: end.0,
                    worker: self.worker,
                    ..RawRow::EMPTY
                });
            }
        }
    }

    /// Hands over what is left.
    pub(crate) fn finish(self) {
        self.sink.finish();
    }
}

fn phase(phase: Phase) -> RawPhase {
    match phase {
        Phase::Warmup => RawPhase::Warmup,
        Phase::Measured => RawPhase::Measured,
        Phase::Tail => RawPhase::Tail,
    }
}

//! Accounting of the records: which counts of the run stand in which field.

use super::recorded::Recorded;
use super::{Accounting, SentCounts};

impl Accounting {
    pub(super) fn of(recorded: &Recorded) -> Accounting {
        let measurements = &recorded.measurements;
        let sent = &measurements.sent;
        let beside = recorded.witness.as_ref().map(|witness| witness.sent).unwrap_or_default();
        let preflight = recorded.preflight_sent;
        let probe = recorded.probe.sent;
        let witness = beside.total();
        Accounting {
            planned: measurements.planned,
            overdue: measurements.overdue,
            status: measurements.status.clone(),
            grpc_status: measurements.grpc_status.clone(),
            errors: recorded.errors.clone(),
            missed: recorded.missed.clone(),
            miss_examples: recorded.miss_examples.clone(),
            sent: SentCounts {
                preflight,
                probe,
                witness,
                total: preflight + probe + sent.total() + witness,
                failed: sent.failed + recorded.probe.failed + beside.failed,
                returned: sent.returned + recorded.probe.returned + beside.returned,
                ..SentCounts::from(sent)
            },
            interim_responses: measurements.interim_responses,
            ..Accounting::from(&measurements.outcomes)
        }
    }
}

//! Requests put on the wire, those of the records and those beside them.

use super::recorded::Recorded;
use super::{Accounting, SentCounts};

impl Accounting {
    pub(super) fn of(recorded: &Recorded) -> Accounting {
        let measurements = &recorded.measurements;
        let sent = &measurements.sent;
        let beside =
            recorded.beside.witness.as_ref().map(|witness| witness.sent).unwrap_or_default();
        let preflight = recorded.beside.preflight_sent;
        let probe = recorded.beside.probe.sent;
        let setup = recorded.beside.setup_sent;
        let witness = beside.total();
        Accounting {
            sent: SentCounts {
                preflight,
                setup,
                probe,
                witness,
                total: preflight + setup + probe + sent.total() + witness,
                failed: sent.failed + recorded.beside.probe.failed + beside.failed,
                returned: sent.returned + recorded.beside.probe.returned + beside.returned,
                ..SentCounts::from(sent)
            },
            overdue: measurements.overdue,
            interim_responses: measurements.interim_responses,
            miss_examples: recorded.miss_examples.clone(),
        }
    }
}

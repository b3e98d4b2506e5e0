//! The requests of an HTTP/1 connection that its failed socket did not send.

use weir_io::Nanos;

use crate::exchange::{Exchange, SlotPhase};
use crate::record::Ledger;

/// The last send, and the requests of the last socket that failed.
#[derive(Debug)]
pub(super) struct UnsentRequests {
    /// Send times and phases of the requests that ended with the last failed socket.
    failing: Vec<(Nanos, SlotPhase)>,
    /// Bytes of the last encrypted or scripted send, and its number of requests.
    last_send: (usize, usize),
}

impl UnsentRequests {
    pub(super) fn new() -> UnsentRequests {
        UnsentRequests { failing: Vec::new(), last_send: (0, 1) }
    }

    /// Notes an encrypted or scripted send of `requests` requests.
    pub(super) fn sent(&mut self, bytes: usize, requests: u16) {
        self.last_send = (bytes, requests.into());
    }

    /// Notes the requests in flight on a socket that has failed.
    #[cold]
    pub(super) fn note(&mut self, exchanges: &[Exchange]) {
        self.failing.clear();
        let live = exchanges.iter().filter(|exchange| exchange.is_live());
        self.failing.extend(live.map(|exchange| (exchange.sent_at, exchange.phase)));
    }

    /// Counts the requests of which `bytes` bytes were left: the last ones, including one that was
    /// sent in part. Each has `each` bytes; `None` if the last send tells.
    #[cold]
    pub(super) fn count_bytes(&mut self, ledger: &mut Ledger, bytes: u64, each: Option<u64>) {
        let (sent_bytes, sent_requests) = self.last_send;
        let each = each.unwrap_or((sent_bytes / sent_requests.max(1)) as u64);
        self.count_youngest(ledger, bytes.div_ceil(each.max(1)));
    }

    /// Counts the last `requests` requests.
    #[cold]
    pub(super) fn count_youngest(&mut self, ledger: &mut Ledger, requests: u64) {
        self.failing.sort_by_key(|(sent_at, _)| std::cmp::Reverse(*sent_at));
        let requests = usize::try_from(requests).unwrap_or(usize::MAX);
        for (_, phase) in self.failing.iter().take(requests) {
            ledger.unsent(*phase);
        }
    }
}

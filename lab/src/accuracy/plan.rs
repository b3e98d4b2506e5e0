//! A uniform plan, and the response times that the server's log gives its slots. It uses weir's
//! rows only to find the slot of each logged request, and none of their times of sending and end.

use anyhow::{Context, Result, ensure};

use super::rows::{self, Pair, RequestRow};
use crate::rig::Record;

/// A uniform plan, whose slot i was due at `start + (2i + 1) / 2R` (METHOD 1.3).
pub(super) struct UniformPlan {
    pub(super) rate_rps: f64,
    pub(super) warmup_s: f64,
    pub(super) duration_s: f64,
}

impl UniformPlan {
    fn due_ns(&self, slot: usize) -> f64 {
        (slot as f64 + 0.5) * 1e9 / self.rate_rps
    }

    /// Returns the response times of the measured slots by this plan and the server's send time
    /// stamps, in nanoseconds and in the order of slots. `rows` and `log` have all requests of the
    /// run, each on the connection that carried it, and so tell which slot a logged request is: a
    /// server that reads one connection after the other does not serve in the order of slots.
    ///
    /// The plan's start is the latest for which no request arrives before it was due. Its error is
    /// the fastest delivery of any request, some tens of µs, by which every result is too small and
    /// none is too large.
    pub(super) fn responses_ns(&self, rows: &[RequestRow], log: &[Record]) -> Result<Vec<f64>> {
        let slots = |seconds: f64| (seconds * self.rate_rps).round() as usize;
        let first = slots(self.warmup_s);
        let end = slots(self.warmup_s + self.duration_s);
        let mut pairs = rows::join(rows, log)?;
        ensure!(pairs.len() >= end, "the server has logged {} requests of {end}", pairs.len());
        pairs.sort_by_key(|pair| pair.row.intended_at);
        let origin_ns = pairs[0].record.received_ns;
        let since_origin_ns = |at: u64| at as f64 - origin_ns as f64;
        let early = pairs
            .iter()
            .enumerate()
            .map(|(slot, pair)| since_origin_ns(pair.record.received_ns) - self.due_ns(slot));
        let start_ns = early.fold(f64::INFINITY, f64::min);
        let response = |(slot, pair): (usize, &Pair)| {
            let sent_ns = pair.record.sent_ns;
            let sent_ns = sent_ns.with_context(|| format!("slot {slot} was not answered"))?;
            Ok(since_origin_ns(sent_ns) - start_ns - self.due_ns(slot))
        };
        pairs.iter().enumerate().take(end).skip(first).map(response).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: UniformPlan = UniformPlan { rate_rps: 1e3, warmup_s: 0.5, duration_s: 1.5 };

    /// A slot on this connection, sent `wait` slots late, and its record, answered 7 ns later.
    fn exchange(slot: u64, connection: u32, wait: u64) -> (RequestRow, Record) {
        let at = |slot: u64| 5_000_000 + slot * 1_000_000;
        let received_ns = at(slot + wait);
        let row = RequestRow {
            worker: 0,
            connection: Some(connection),
            is_measured: slot >= 500,
            outcome: "ok".to_owned(),
            intended_at: at(slot),
            sent_at: Some(at(slot)),
            tx_at: None,
            rx_at: None,
            ended_at: received_ns + 9,
        };
        (row, Record { connection, received_ns, sent_ns: Some(received_ns + 7), slot: None })
    }

    #[test]
    fn responses_count_from_the_plan() {
        // 1,000 requests a second; half of one second's are held back until its end.
        let wait = |slot: u64| if (1_000..1_500).contains(&slot) { 1_500 - slot } else { 0 };
        let (rows, log): (Vec<RequestRow>, Vec<Record>) =
            (0..2_000).map(|slot| exchange(slot, 0, wait(slot))).unzip();
        let responses = PLAN.responses_ns(&rows, &log).expect("all were answered");
        assert_eq!(responses.len(), 1_500);
        assert_eq!((responses[0], responses[500], responses[999]), (7.0, 5e8 + 7.0, 1e6 + 7.0));
        assert!(PLAN.responses_ns(&rows[..1_999], &log[..1_999]).is_err());
    }

    /// After a stall a server reads all streams of one connection before the next connection's.
    #[test]
    fn slots_are_found_by_their_connection() {
        let end = |slot: u64| 1_100 + slot % 2 * 100;
        let wait = |slot: u64| if slot < 1_000 { 0 } else { end(slot).saturating_sub(slot) };
        let (rows, mut log): (Vec<RequestRow>, Vec<Record>) =
            (0..2_000).map(|slot| exchange(slot, (slot % 2) as u32, wait(slot))).unzip();
        log.sort_by_key(|record| record.received_ns);
        let responses = PLAN.responses_ns(&rows, &log).expect("all were answered");
        assert_eq!((responses[500], responses[501]), (1e8 + 7.0, 1.99e8 + 7.0));
        assert_eq!((responses[598], responses[599]), (2e6 + 7.0, 1.01e8 + 7.0));
        assert_eq!((responses[600], responses[699]), (7.0, 1e6 + 7.0));
    }
}

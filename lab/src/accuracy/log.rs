//! The log of `weir serve --log`: the server's own record of the run.

use anyhow::{Context, Result, ensure};

/// A request as the server received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Number of the connection in the order of accepting.
    pub(super) connection: u32,
    /// Time of receipt by `CLOCK_MONOTONIC`.
    pub(super) received_ns: u64,
    /// Time of sending; none if no whole response was sent.
    pub(super) sent_ns: Option<u64>,
    pub(super) slot: Option<u64>,
}

/// Reads a log of a server with one worker: records in order of arrival.
pub(super) fn read(text: &str) -> Result<Vec<Record>> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    ensure!(head == "worker,connection,request,received_ns,sent_ns,slot", "unknown log: {head}");
    lines.map(|line| record(line).with_context(|| format!("failed to read `{line}`"))).collect()
}

fn record(line: &str) -> Result<Record> {
    let fields: Vec<&str> = line.split(',').collect();
    let [_, connection, _, received_ns, sent_ns, slot] = fields[..] else {
        anyhow::bail!("it has {} fields", fields.len());
    };
    let optional = |field: &str| {
        (!field.is_empty()).then(|| field.parse()).transpose().context("it has no number there")
    };
    Ok(Record {
        connection: connection.parse()?,
        received_ns: received_ns.parse()?,
        sent_ns: optional(sent_ns)?,
        slot: optional(slot)?,
    })
}

/// A uniform plan, whose slot i was due at `start + (2i + 1) / 2R` (METHOD 1.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) rate_rps: f64,
    pub(super) warmup_s: f64,
    pub(super) duration_s: f64,
}

impl Plan {
    fn due_ns(self, slot: usize) -> f64 {
        (slot as f64 + 0.5) * 1e9 / self.rate_rps
    }

    /// Returns the response times of the measured slots by this plan and the server's send time
    /// stamps, from a log that begins with slot 0, in the order of slots. Responses are assigned to
    /// slots in order, which changes no sum and hardly a quantile.
    ///
    /// The plan's start is the latest for which no request arrives before it was due. Its error is
    /// the fastest delivery of any request, some tens of µs, by which the result is too small.
    pub(super) fn responses_ns(self, log: &[Record]) -> Result<Vec<f64>> {
        let slots = |seconds: f64| (seconds * self.rate_rps).round() as usize;
        let (first, end) = (slots(self.warmup_s), slots(self.warmup_s + self.duration_s));
        ensure!(log.len() >= end, "the server has logged {} requests of {end}", log.len());
        let origin_ns = log[0].received_ns;
        let early = log
            .iter()
            .enumerate()
            .map(|(slot, record)| (record.received_ns - origin_ns) as f64 - self.due_ns(slot));
        let start_ns = early.fold(f64::INFINITY, f64::min);
        let mut sent: Vec<u64> = log.iter().filter_map(|record| record.sent_ns).collect();
        ensure!(sent.len() >= end, "the server has answered {} requests of {end}", sent.len());
        sent.sort_unstable();
        let response = |slot: usize| (sent[slot] - origin_ns) as f64 - start_ns - self.due_ns(slot);
        Ok((first..end).map(response).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_read() {
        let head = "worker,connection,request,received_ns,sent_ns,slot\n";
        let records = read(&format!("{head}0,3,0,100,,7\n0,3,1,200,250,\n")).expect("a log");
        let first = Record { connection: 3, received_ns: 100, sent_ns: None, slot: Some(7) };
        let second = Record { received_ns: 200, sent_ns: Some(250), slot: None, ..first };
        assert_eq!(records, [first, second]);
        assert!(read(head).expect("an empty log").is_empty());
        for wrong in ["", "connection\n", &format!("{head}1,2\n"), &format!("{head}a,,,,,\n")] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn responses_count_from_the_plan() {
        // 1,000 requests a second, half of those of one second held back until its end.
        let at = |slot: u64| 5_000_000 + slot * 1_000_000;
        let log: Vec<Record> = (0..2_000)
            .map(|slot| {
                let received_ns = if (1_000..1_500).contains(&slot) { at(1_500) } else { at(slot) };
                Record { connection: 0, received_ns, sent_ns: Some(received_ns + 7), slot: None }
            })
            .collect();
        let plan = Plan { rate_rps: 1e3, warmup_s: 0.5, duration_s: 1.5 };
        let responses = plan.responses_ns(&log).expect("all were answered");
        assert_eq!(responses.len(), 1_500);
        assert_eq!((responses[0], responses[500], responses[999]), (7.0, 5e8 + 7.0, 1e6 + 7.0));
        assert!(plan.responses_ns(&log[..1_999]).is_err());
    }
}

//! The file of `weir --raw`: every request with its times, read with the Parquet project's own
//! crate and not with weir's code.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row as Fields};

use weir_result::Document;

use crate::rig::{Fixture, Record};

/// One slot. Times are in nanoseconds of `CLOCK_MONOTONIC`, as in the server's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestRow {
    pub(super) worker: u32,
    /// Connection; none if the request was never sent.
    pub(super) connection: Option<u32>,
    pub(super) is_measured: bool,
    /// Class (METHOD 1.6).
    pub(super) outcome: String,
    pub(super) intended_at: u64,
    pub(super) sent_at: Option<u64>,
    /// Time at which the kernel sent the request, if it was time-stamped.
    pub(super) tx_at: Option<u64>,
    /// Time at which the kernel received the response's last byte, if it was time-stamped.
    pub(super) rx_at: Option<u64>,
    pub(super) ended_at: u64,
}

impl RequestRow {
    /// True if `ended_at` is the end of a response, and not when the request was abandoned.
    pub(super) fn has_response(&self) -> bool {
        ["ok", "bad_response"].contains(&self.outcome.as_str())
    }
}

/// Contents of the file.
pub(super) struct Rows {
    pub(super) list: Vec<RequestRow>,
    /// Planned begin of the window.
    pub(super) t0_at: u64,
}

/// Runs weir with these flags against a fresh server with those, and returns its document, its
/// requests and the server's log.
pub(super) fn run(
    fixture: &Fixture,
    server: &str,
    flags: &str,
) -> Result<(Document, Rows, Vec<Record>)> {
    let server = fixture.serve(server)?;
    let (document, rows) = weir(fixture, flags, &server.url)?;
    Ok((document, rows, server.finish()?))
}

/// Runs weir with these flags against `url`, and returns its document and its requests.
pub(super) fn weir(fixture: &Fixture, flags: &str, url: &str) -> Result<(Document, Rows)> {
    let path = fixture.directory.join("rows.parquet");
    let document = fixture.weir(&format!("{flags} --raw {}", path.display()), url)?;
    let rows = read(&path)?;
    fs::remove_file(&path).ok();
    Ok((document, rows))
}

/// Reads a file of rows, which must be complete.
pub(super) fn read(path: &Path) -> Result<Rows> {
    let file = File::open(path).with_context(|| format!("weir wrote no {}", path.display()))?;
    let reader = SerializedFileReader::new(file).context("failed to read weir's rows")?;
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().context("weir's rows have no metadata")?;
    let number = |key: &str| -> Result<u64> {
        let pair = pairs.iter().find(|pair| pair.key == key);
        let value = pair.and_then(|pair| pair.value.as_ref()?.parse().ok());
        value.with_context(|| format!("weir's rows have no {key}"))
    };
    let epoch_ns = number("weir.epoch_monotonic_ns")?;
    let lost = number("weir.lost")?;
    ensure!(lost == 0, "weir lost {lost} rows");
    let rows = reader.get_row_iter(None).context("failed to read weir's rows")?;
    Ok(Rows {
        list: rows.map(|fields| row(&fields?, epoch_ns)).collect::<Result<_>>()?,
        t0_at: epoch_ns + number("weir.t0_ns")?,
    })
}

fn row(fields: &Fields, epoch_ns: u64) -> Result<RequestRow> {
    let mut row = RequestRow::default();
    for (name, field) in fields.get_column_iter() {
        let instant = || match field {
            Field::Long(ns) => u64::try_from(*ns).ok().map(|ns| epoch_ns + ns),
            _ => None,
        };
        match (name.as_str(), field) {
            ("worker", Field::UInt(worker)) => row.worker = *worker,
            ("connection", Field::UInt(connection)) => row.connection = Some(*connection),
            ("phase", Field::Str(phase)) => row.is_measured = phase == "measured",
            ("outcome", Field::Str(outcome)) => row.outcome = outcome.clone(),
            ("intended_at", _) => row.intended_at = instant().context("a slot has no plan")?,
            ("sent_at", _) => row.sent_at = instant(),
            ("tx_at", _) => row.tx_at = instant(),
            ("rx_at", _) => row.rx_at = instant(),
            ("ended_at", _) => row.ended_at = instant().context("a slot has no end")?,
            _ => {}
        }
    }
    Ok(row)
}

/// A request in the client's rows and in the server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair<'a> {
    pub(super) row: &'a RequestRow,
    pub(super) record: &'a Record,
}

impl Pair<'_> {
    /// True if all events are in causal order: sent, read, answered, recorded (METHOD 1.1, Rule N).
    /// A request that weir abandoned may be answered later.
    pub(super) fn is_causal(&self) -> bool {
        let sent_at = self.row.sent_at.unwrap_or(u64::MAX);
        let answered_at = self.record.sent_ns.unwrap_or(self.record.received_ns);
        sent_at <= self.record.received_ns
            && self.record.received_ns <= answered_at
            && (answered_at <= self.row.ended_at || !self.row.has_response())
    }
}

/// Pairs the requests that were sent with those that the server has read, both of servers that
/// close no connection: connection by connection, in order. The client's and the server's
/// connections are matched so that the fewest requests violate causal order.
pub(super) fn join<'a>(rows: &'a [RequestRow], log: &'a [Record]) -> Result<Vec<Pair<'a>>> {
    let mut client: BTreeMap<(u32, u32), Vec<&RequestRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.sent_at.is_some()) {
        let connection = row.connection.context("a request was sent on no connection")?;
        client.entry((row.worker, connection)).or_default().push(row);
    }
    let mut server: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
    for record in log {
        server.entry(record.connection).or_default().push(record);
    }
    let mut pairs = Vec::with_capacity(log.len());
    for rows in client.values_mut() {
        // Streams that were sent together have one time, and are sent in the order of the plan.
        rows.sort_by_key(|row| (row.sent_at, row.intended_at));
        let paired = |records: &[&'a Record]| -> Vec<Pair<'a>> {
            rows.iter().zip(records).map(|(row, record)| Pair { row, record }).collect()
        };
        let candidates = server.iter().filter(|(_, records)| records.len() == rows.len());
        let wrong = |records: &[&'a Record]| {
            paired(records).iter().filter(|pair| !pair.is_causal()).count()
        };
        let best = candidates.min_by_key(|(_, records)| wrong(records)).map(|(number, _)| *number);
        let best = best.with_context(|| {
            format!("the server has no connection with {} requests", rows.len())
        })?;
        pairs.extend(paired(&server.remove(&best).unwrap_or_default()));
    }
    ensure!(server.is_empty(), "the server had {} connections more", server.len());
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(connection: u32, sent_at: u64, ended_at: u64) -> RequestRow {
        RequestRow {
            worker: 0,
            connection: Some(connection),
            is_measured: true,
            outcome: "ok".to_owned(),
            intended_at: sent_at,
            sent_at: Some(sent_at),
            tx_at: None,
            rx_at: None,
            ended_at,
        }
    }

    fn record(connection: u32, received_ns: u64) -> Record {
        Record { connection, received_ns, sent_ns: Some(received_ns + 1), slot: None }
    }

    #[test]
    fn connections_find_each_other() {
        let rows = [row(0, 10, 19), row(1, 12, 22), row(0, 20, 29), row(1, 23, 33)];
        let log = [record(5, 15), record(4, 14), record(5, 25), record(4, 24)];
        let pairs = join(&rows, &log).expect("they are the same requests");
        assert!(pairs.iter().all(Pair::is_causal));
        let early = [record(5, 9), record(4, 14), record(5, 25), record(4, 24)];
        let pairs = join(&rows, &early).expect("they are as many");
        assert_eq!(pairs.iter().filter(|pair| !pair.is_causal()).count(), 1);
        assert!(join(&rows, &log[..3]).is_err());
    }

    #[test]
    fn an_abandoned_request_may_be_answered_later() {
        let row = row(0, 10, 19);
        let record = record(0, 30);
        assert!(!Pair { row: &row, record: &record }.is_causal());
        let row = RequestRow { outcome: "in_flight_at_end".to_owned(), ..row };
        assert!(Pair { row: &row, record: &record }.is_causal());
    }
}

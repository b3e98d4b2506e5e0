//! The log of `weir serve --log`: the server's own record of the run.

use anyhow::{Context, Result, ensure};

/// A request as the server received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Number of the connection in the order of accepting.
    pub(crate) connection: u32,
    /// Time of receipt by `CLOCK_MONOTONIC`.
    pub(crate) received_ns: u64,
    /// Time of sending; none if no whole response was sent.
    pub(crate) sent_ns: Option<u64>,
    pub(crate) slot: Option<u64>,
}

/// Reads a log of a server with one worker: records in order of arrival.
pub(crate) fn read(text: &str) -> Result<Vec<Record>> {
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
}

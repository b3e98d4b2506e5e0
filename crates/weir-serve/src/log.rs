//! Log of requests as the server received them: fixed-size records in memory allocated at the
//! start, so that logging needs no system calls and causes no pauses during the run. It reads no
//! clock and writes no file.

use std::io::{self, Write};

/// A request as the server received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number of its connection among those that its worker accepted, from 0.
    pub connection: u32,
    /// Number of the request on that connection, from 0.
    pub request: u64,
    /// Time at which its last byte had been read: `CLOCK_MONOTONIC`, absolute, in nanoseconds.
    pub received_ns: u64,
    /// Time immediately before the last byte of its response was passed to the kernel, on the same
    /// clock; none if there was no whole response.
    pub sent_ns: Option<u64>,
    /// Value of its `x-slot`, if that is a whole number.
    pub slot: Option<u64>,
}

/// Header line of the output of [`write_arrivals`].
const HEAD: &str = "worker,connection,request,received_ns,sent_ns,slot";

/// Writes the arrivals of each worker as comma-separated values with a header line; absent values
/// are empty.
///
/// # Errors
/// Writing to `out` failed.
pub fn write_arrivals(arrivals: &[Vec<Arrival>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    for (worker, arrivals) in arrivals.iter().enumerate() {
        for arrival in arrivals {
            let Arrival { connection, request, received_ns, sent_ns, slot } = *arrival;
            let sent_ns = text(sent_ns);
            let slot = text(slot);
            writeln!(out, "{worker},{connection},{request},{received_ns},{sent_ns},{slot}")?;
        }
    }
    Ok(())
}

/// The log of one worker.
#[derive(Debug)]
pub(crate) struct ArrivalLog {
    arrivals: Vec<Arrival>,
    arrivals_max: usize,
    /// Arrivals that did not fit.
    lost: u64,
}

/// Index of an arrival in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPlace(usize);

impl ArrivalLog {
    /// Makes a log with room for `arrivals_max` arrivals. Pages that are never written cost no
    /// memory.
    pub(crate) fn new(arrivals_max: usize) -> ArrivalLog {
        ArrivalLog { arrivals: Vec::with_capacity(arrivals_max), arrivals_max, lost: 0 }
    }

    /// Records an arrival, if there is room.
    pub(crate) fn arrived(&mut self, arrival: Arrival) -> Option<LogPlace> {
        if self.arrivals.len() == self.arrivals_max {
            self.lost += 1;
            return None;
        }
        self.arrivals.push(arrival);
        Some(LogPlace(self.arrivals.len() - 1))
    }

    /// Records the time at which its response was sent.
    pub(crate) fn responded(&mut self, place: LogPlace, sent_ns: u64) {
        self.arrivals[place.0].sent_ns = Some(sent_ns);
    }

    /// Takes all recorded arrivals, and the number of those that did not fit.
    pub(crate) fn take(&mut self) -> (Vec<Arrival>, u64) {
        (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRIVAL: Arrival =
        Arrival { connection: 1, request: 2, received_ns: 30, sent_ns: None, slot: Some(7) };

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut log = ArrivalLog::new(1);
        let place = log.arrived(ARRIVAL).expect("there is room for one");
        assert_eq!(log.arrived(ARRIVAL), None);
        log.responded(place, 40);
        assert_eq!(log.take(), (vec![Arrival { sent_ns: Some(40), ..ARRIVAL }], 1));
    }

    #[test]
    fn the_file_has_a_line_for_each() {
        let second = Arrival { sent_ns: Some(50), slot: None, ..ARRIVAL };
        let mut out = Vec::new();
        write_arrivals(&[vec![ARRIVAL], vec![second]], &mut out).expect("memory takes all");
        let text = String::from_utf8(out).expect("it is text");
        assert_eq!(text, format!("{HEAD}\n0,1,2,30,,7\n1,1,2,30,50,\n"));
    }
}

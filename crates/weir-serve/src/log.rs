//! The log of requests as the server saw them: records of one size, in memory set aside at the
//! start, so that keeping them costs neither calls nor pauses while the load runs. It reads no
//! clock and writes no file.

use std::io::{self, Write};

/// One request as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of its connection among those that its worker accepted, from 0.
    pub connection: u32,
    /// Its number among the requests of that connection, from 0.
    pub request: u64,
    /// When its last byte had been read: `CLOCK_MONOTONIC`, absolute, in ns.
    pub received_ns: u64,
    /// Immediately before the last byte of its answer was handed to the kernel, on the same clock;
    /// none where there was no whole answer.
    pub sent_ns: Option<u64>,
    /// Its `x-slot`, where that is a whole number.
    pub slot: Option<u64>,
}

/// The head of what [`write_arrivals`] writes.
const HEAD: &str = "worker,connection,request,received_ns,sent_ns,slot";

/// Writes the arrivals of each worker as comma-separated values with a head; what is absent is
/// empty.
///
/// # Errors
/// Those of `out`.
pub fn write_arrivals(arrivals: &[Vec<Arrival>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    for (worker, arrivals) in arrivals.iter().enumerate() {
        for arrival in arrivals {
            let Arrival { connection, request, received_ns, sent_ns, slot } = *arrival;
            let (sent_ns, slot) = (text(sent_ns), text(slot));
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
    /// Arrivals that found no room.
    lost: u64,
}

/// Where in the log an arrival stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPlace(usize);

impl ArrivalLog {
    /// With room for this many. Pages that are never written to cost no memory.
    pub(crate) fn new(arrivals_max: usize) -> ArrivalLog {
        ArrivalLog { arrivals: Vec::with_capacity(arrivals_max), arrivals_max, lost: 0 }
    }

    /// Keeps an arrival, if there is room.
    pub(crate) fn arrived(&mut self, arrival: Arrival) -> Option<LogPlace> {
        if self.arrivals.len() == self.arrivals_max {
            self.lost += 1;
            return None;
        }
        self.arrivals.push(arrival);
        Some(LogPlace(self.arrivals.len() - 1))
    }

    /// Its answer has been sent.
    pub(crate) fn answered(&mut self, place: LogPlace, sent_ns: u64) {
        self.arrivals[place.0].sent_ns = Some(sent_ns);
    }

    /// All that was kept, and how much was not.
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
        log.answered(place, 40);
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

//! The corrected figures of wrk's report: for its lines and for the `done()` of scripts.

use weir_report::dialect::{Figures, SocketErrors};
use weir_result::{ByOutcome, Document, ErrorKind, FailurePhase, Histogram, Measurements};

/// Returns a run's figures in wrk's terms. Responses count regardless of their status. Requests
/// without a response count with the age they reached: leaving them out would make a bad server
/// look good.
pub(crate) fn figures(document: &Document, measurements: &Measurements, batch: bool) -> Figures {
    let results = &document.results;
    let throughput = &document.throughput;
    let latency = match batch {
        true => measurements.batch_time.clone(),
        false => all_times(&measurements.results.response_time),
    };
    Figures {
        latency,
        uncorrected: all_times(&measurements.results.service_time),
        thread_rates: measurements.thread_rates.clone(),
        sent: measurements.sent.warmup + measurements.sent.measured + measurements.sent.tail,
        requests: results.completed,
        run_time_ns: (throughput.window_s * 1e9).round() as u64,
        bytes: throughput.bytes_received,
        errors: socket_errors(measurements),
        // Of the same responses as `requests`, because readers of the report subtract one from the
        // other.
        bad_status: results.completed - results.good,
    }
}

/// All times except times of failed requests, which count as errors.
fn all_times(times: &ByOutcome) -> Histogram {
    let mut all = times.ok.clone();
    all.add(&times.bad);
    all.add(&times.censored);
    all
}

/// Counts errors by phase: while connecting, reading and writing, and timeouts.
fn socket_errors(measurements: &Measurements) -> SocketErrors {
    let failures = measurements.connections.failures.iter();
    let connect = failures.filter(|(kind, _)| kind.phase == FailurePhase::Connect);
    let is_write = |kind: &ErrorKind| matches!(kind, ErrorKind::Errno(errno) if *errno == EPIPE);
    let errors = measurements.results.errors.iter();
    let (write, read): (Vec<_>, Vec<_>) = errors.partition(|(kind, _)| is_write(kind));
    SocketErrors {
        connect: connect.map(|(_, count)| count).sum(),
        read: read.iter().map(|(_, count)| **count).sum(),
        write: write.iter().map(|(_, count)| **count).sum(),
        timeout: measurements.overdue,
    }
}

/// The errno of a write to a socket whose reader has closed (errno(3)).
const EPIPE: i32 = 32;

//! Arguments of `done`: totals, and distributions as distinct values with their counts.

#[cfg(feature = "luajit")]
mod lua;

/// First argument of `done`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Duration of the run, in microseconds.
    pub duration_us: u64,
    /// Completed requests.
    pub requests: u64,
    /// Received bytes.
    pub bytes: u64,
    /// Errors by class.
    pub errors: Errors,
}

/// Error counts, in wrk's classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// Connections that could not be opened.
    pub connect: u64,
    /// Responses that could not be read.
    pub read: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Responses with a status above 399.
    pub status: u64,
    /// Requests that took longer than the timeout.
    pub timeout: u64,
}

/// A distribution passed to `done`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Distinct values, ascending, each with its count.
    pub values: Vec<(u64, u64)>,
    /// The arithmetic mean; 0 if there are no values.
    pub mean: f64,
    /// The standard deviation; 0 if there are no values.
    pub stdev: f64,
}

//! The result of a trial, as a search gets it.

use crate::interval::SliceTail;

/// Result of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// Requested rate, from [`Step::Run`](super::Step::Run).
    pub rate_rps: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Measured requests of each slice, and of them those that failed or were slow, for each share
    /// of the goal in its order.
    pub shares: Vec<Vec<SliceTail>>,
    /// For two consecutive slices, the difference of their mean response times per second between
    /// them, both in seconds.
    pub rises: Vec<f64>,
    /// Limit outside the server, by its own evidence: the trial says nothing about the server.
    pub limited_by: Option<Limiter>,
}

/// A limit of a trial outside the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The client's machine.
    Client,
    /// The number of connections.
    Connections,
}

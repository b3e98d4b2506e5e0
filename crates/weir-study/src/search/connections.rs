//! The number of connections of a search: raised until requests hardly wait for one, unless the
//! server carries no more over them.

use weir_result::study::TrialUse;

/// Share of requests that may wait for a connection (METHOD 1.3, fidelity).
const WAITS_MAX: f64 = 0.001;

/// Factor by which the number is raised. Each raise costs a trial.
const RAISE: u32 = 4;

/// Factor by which more connections must raise the throughput of an overloaded server to count
/// as a help.
const HELPS: f64 = 1.05;

/// Growth of the share of transport errors from which the server refuses that many connections.
const REFUSED: f64 = 0.01;

/// Share of the planned rate from which a trial kept up with its plan.
const KEPT_UP: f64 = 0.99;

/// The connections of a trial, as measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// Planned rate in requests per second.
    pub(super) rate_rps: f64,
    /// Complete responses per second.
    pub(super) completed_rps: f64,
    /// Share of requests that waited for a connection; `None` if not known.
    pub(super) waits: Option<f64>,
    /// Share of requests that ended in a transport error.
    pub(super) errors: f64,
}

impl Use {
    fn keeps_up(&self) -> bool {
        self.completed_rps >= KEPT_UP * self.rate_rps
    }
}

/// Number of connections of a search.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    pub(super) count: u32,
    max: u32,
    /// The trial before the last raise, and its number of connections.
    before: Option<(Use, u32)>,
    /// Throughput of an overloaded server that more connections did not raise.
    capacity_rps: Option<f64>,
}

impl Connections {
    /// Begins with `count` connections of at most `max`.
    pub(super) fn new(count: u32, max: u32) -> Connections {
        Connections { count: count.min(max), max, before: None, capacity_rps: None }
    }

    /// Judges the connections of a trial. Returns the use of one that tells nothing of the server.
    /// `None` if requests hardly waited, or more connections would not help.
    ///
    /// If a server is overloaded, requests wait for however many connections. More of them then
    /// carry no more responses, and the search goes on with the number before.
    pub(super) fn judge(&mut self, found: Use) -> Option<TrialUse> {
        let before = self.before.take().filter(|(before, _)| before.rate_rps == found.rate_rps);
        if let Some((_, count)) =
            before.filter(|(before, _)| found.errors > before.errors + REFUSED)
        {
            (self.count, self.max) = (count, count);
            return Some(TrialUse::TooManyConnections);
        }
        if found.waits.is_none_or(|share| share <= WAITS_MAX) {
            return None;
        }
        if !found.keeps_up() {
            let no_help =
                before.filter(|(before, _)| found.completed_rps < HELPS * before.completed_rps);
            if let Some((before, count)) = no_help {
                self.capacity_rps = Some(before.completed_rps.max(found.completed_rps));
                self.count = count;
                return None;
            }
            if self.capacity_rps.is_some_and(|rps| found.completed_rps < HELPS * rps) {
                return None;
            }
        }
        if self.count >= self.max {
            return Some(TrialUse::ConnectionLimited);
        }
        self.before = Some((found, self.count));
        self.count = self.count.saturating_mul(RAISE).min(self.max);
        Some(TrialUse::TooFewConnections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rate_rps: f64, completed_rps: f64, waits: f64) -> Use {
        Use { rate_rps, completed_rps, waits: Some(waits), errors: 0.0 }
    }

    #[test]
    fn requests_that_hardly_wait_have_enough() {
        let mut connections = Connections::new(64, 10_000);
        for waits in [None, Some(0.0), Some(0.001)] {
            let found = Use { waits, ..found(1_000.0, 1_000.0, 0.0) };
            assert_eq!(connections.judge(found), None);
        }
        assert_eq!(connections.count, 64);
    }

    /// A server that keeps up over 64 connections, at the cost of waits, gets more for good.
    #[test]
    fn waits_of_a_server_that_keeps_up_raise_the_number() {
        let mut connections = Connections::new(64, 10_000);
        assert_eq!(
            connections.judge(found(1_000.0, 1_000.0, 0.2)),
            Some(TrialUse::TooFewConnections)
        );
        assert_eq!(
            connections.judge(found(1_000.0, 1_000.0, 0.01)),
            Some(TrialUse::TooFewConnections)
        );
        assert_eq!(connections.judge(found(1_000.0, 1_000.0, 0.0)), None);
        assert_eq!(connections.count, 1_024);
    }

    /// Each connection carries 10 requests per second: the number rises to the maximum.
    #[test]
    fn more_connections_that_help_are_opened_up_to_the_maximum() {
        let mut connections = Connections::new(10, 50);
        for (count, expected) in [
            (10, Some(TrialUse::TooFewConnections)),
            (40, Some(TrialUse::TooFewConnections)),
            (50, Some(TrialUse::ConnectionLimited)),
        ] {
            assert_eq!(connections.count, count);
            let found = found(1_000.0, 10.0 * f64::from(count), 0.9);
            assert_eq!(connections.judge(found), expected, "{count}");
        }
    }

    /// A server that accepts 100 connections resets the others.
    #[test]
    fn connections_that_the_server_refuses_are_too_many() {
        let mut connections = Connections::new(64, 10_000);
        assert_eq!(
            connections.judge(found(1_000.0, 800.0, 0.5)),
            Some(TrialUse::TooFewConnections)
        );
        let refused = Use { errors: 0.2, ..found(1_000.0, 900.0, 0.1) };
        assert_eq!(connections.judge(refused), Some(TrialUse::TooManyConnections));
        assert_eq!(connections.count, 64);
        assert_eq!(
            connections.judge(found(1_000.0, 800.0, 0.5)),
            Some(TrialUse::ConnectionLimited)
        );
    }

    /// An overloaded server is tried once with more connections, and never again.
    #[test]
    fn more_connections_are_no_help_to_an_overloaded_server() {
        let mut connections = Connections::new(64, 10_000);
        assert_eq!(
            connections.judge(found(2_000.0, 1_000.0, 0.5)),
            Some(TrialUse::TooFewConnections)
        );
        assert_eq!(connections.judge(found(2_000.0, 1_020.0, 0.5)), None);
        assert_eq!(connections.count, 64);
        assert_eq!(connections.judge(found(1_500.0, 1_010.0, 0.3)), None);
        assert_eq!(connections.count, 64);
        // Below the capacity a queue may still need more.
        assert_eq!(connections.judge(found(950.0, 950.0, 0.01)), Some(TrialUse::TooFewConnections));
        assert_eq!(connections.judge(found(950.0, 950.0, 0.0)), None);
        assert_eq!(connections.count, 256);
    }
}

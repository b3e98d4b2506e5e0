//! Health of the machines of several parts: the worst of each figure, since one bad machine spoils
//! the whole.

use std::cmp::Reverse;

use crate::evidence::{ClientHealth, ServerCpu, Stops};

/// Returns the worse of each figure; a figure that only one part has is that part's.
pub(super) fn worst(
    mine: Option<ClientHealth>,
    theirs: Option<ClientHealth>,
) -> Option<ClientHealth> {
    let (Some(mine), Some(theirs)) = (mine, theirs) else {
        return mine.or(theirs);
    };
    // The time of a gap belongs to the gap; of equal ones the first counts.
    let by_gap =
        |health: &&ClientHealth| (health.heartbeat_gap_ns, Reverse(health.heartbeat_gap_at_ns));
    let with_gap = std::cmp::max_by_key(&mine, &theirs, by_gap);
    Some(ClientHealth {
        watched_ns: mine.watched_ns.max(theirs.watched_ns),
        steal: greater(mine.steal, theirs.steal),
        throttled_ns: mine.throttled_ns.max(theirs.throttled_ns),
        cpu_pressure: greater(mine.cpu_pressure, theirs.cpu_pressure),
        // Parts on one machine share its counters: they do not add up.
        retransmitted_segments: mine.retransmitted_segments.max(theirs.retransmitted_segments),
        tcp_timeouts: mine.tcp_timeouts.max(theirs.tcp_timeouts),
        listen_overflows: mine.listen_overflows.max(theirs.listen_overflows),
        softnet_dropped: mine.softnet_dropped.max(theirs.softnet_dropped),
        softnet_squeezed: mine.softnet_squeezed.max(theirs.softnet_squeezed),
        ephemeral_ports: greater(mine.ephemeral_ports, theirs.ephemeral_ports),
        interface_use: greater(mine.interface_use, theirs.interface_use),
        server_cpu: busier(mine.server_cpu, theirs.server_cpu),
        is_server_local: mine.is_server_local.max(theirs.is_server_local),
        idle_exit_ns: mine.idle_exit_ns.max(theirs.idle_exit_ns),
        clock_step_ns: mine.clock_step_ns.max(theirs.clock_step_ns),
        heartbeat_gap_ns: with_gap.heartbeat_gap_ns,
        heartbeat_gap_at_ns: with_gap.heartbeat_gap_at_ns,
        stops: worst_stops(mine.stops, theirs.stops),
    })
}

/// Returns the worse of each figure. None may be less than a part's: percentiles of the whole are
/// bounds as far as these figures reach.
fn worst_stops(mine: Option<Stops>, theirs: Option<Stops>) -> Option<Stops> {
    let (Some(mine), Some(theirs)) = (mine, theirs) else { return mine.or(theirs) };
    let by_length = |stops: &&Stops| (stops.longest_ns, Reverse(stops.longest_at_ns));
    let with_longest = std::cmp::max_by_key(&mine, &theirs, by_length);
    Some(Stops {
        count: mine.count.max(theirs.count),
        longest_ns: with_longest.longest_ns,
        longest_at_ns: with_longest.longest_at_ns,
        effective_ns: mine.effective_ns.max(theirs.effective_ns),
        window_ns: mine.window_ns.max(theirs.window_ns),
    })
}

/// Returns the CPU use of the part whose server had the busier thread.
fn busier(mine: Option<ServerCpu>, theirs: Option<ServerCpu>) -> Option<ServerCpu> {
    let both = mine.into_iter().chain(theirs);
    both.max_by(|a, b| {
        let by_thread = a.busiest_thread_share.total_cmp(&b.busiest_thread_share);
        let by_total = a.total_share.total_cmp(&b.total_share);
        by_thread.then(by_total).then(a.processes.cmp(&b.processes))
    })
}

fn greater(mine: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(mine.max(theirs)),
        (mine, theirs) => mine.or(theirs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_each() {
        let mine = ClientHealth {
            steal: Some(0.2),
            throttled_ns: Some(1),
            is_server_local: Some(false),
            heartbeat_gap_ns: Some(5),
            heartbeat_gap_at_ns: Some(100),
            ..ClientHealth::default()
        };
        let theirs = ClientHealth {
            steal: Some(0.1),
            throttled_ns: Some(2),
            cpu_pressure: Some(0.5),
            heartbeat_gap_ns: Some(9),
            heartbeat_gap_at_ns: Some(50),
            ..ClientHealth::default()
        };
        let both = ClientHealth {
            steal: Some(0.2),
            throttled_ns: Some(2),
            cpu_pressure: Some(0.5),
            is_server_local: Some(false),
            heartbeat_gap_ns: Some(9),
            heartbeat_gap_at_ns: Some(50),
            ..ClientHealth::default()
        };
        assert_eq!(worst(Some(mine), Some(theirs)), Some(both));
        assert_eq!(worst(Some(theirs), Some(mine)), Some(both));
        assert_eq!(worst(None, Some(mine)), Some(mine));
        assert_eq!(worst(None, None), None);
    }

    #[test]
    fn stops_of_a_part_hide_none_of_another() {
        let long =
            Stops { count: 1, longest_ns: 90, longest_at_ns: -40, effective_ns: 50, window_ns: 20 };
        let many =
            Stops { count: 3, longest_ns: 30, longest_at_ns: 7, effective_ns: 60, window_ns: 10 };
        let both = Stops { count: 3, effective_ns: 60, ..long };
        assert_eq!(worst_stops(Some(long), Some(many)), Some(both));
        assert_eq!(worst_stops(Some(many), Some(long)), Some(both));
        assert_eq!(worst_stops(None, Some(many)), Some(many));
    }
}

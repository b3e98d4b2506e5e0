//! The line `Limit`.

use weir_result::document::LimitedBy::{ClientCpu, Connections, Network, Rate, Server, Unknown};
use weir_result::document::{Limit, LimitedBy, ProbeSection, Probed};
use weir_result::{
    ByOutcome, DocumentParts, Histogram, Http2Plan, HttpPlan, ListPlan, Outcomes, ResultCounts,
    ServerCpu, Stamped,
};

use super::run::{MS, S, SLICES, US, busy, closed, histogram, network, no_success, stopped, well};
use super::triggers::{growing, idle, late};

#[track_caller]
fn check(change: impl FnOnce(&mut DocumentParts), by: LimitedBy, text: &str) {
    let Limit { by: found, text: reported } = well(change).verdict.limit;
    assert_eq!((found, reported.as_str()), (by, text));
}

#[test]
fn a_plan_that_was_met() {
    check(|_| (), Rate, "all of 3,000/s was met");
    // Late sends of a client that met its plan do not limit the rate.
    check(late(2 * MS), Rate, "all of 3,000/s was met");
    check(stopped(600 * MS), Rate, "all of 3,000/s was met");
}

#[test]
fn a_busy_client() {
    let text = "worker 0 needed a CPU 99.1% of the time (limit: 95%)";
    check(busy(99 * S / 10), ClientCpu, text);
    check(
        |parts| {
            closed(parts);
            busy(99 * S / 10)(parts);
        },
        ClientCpu,
        text,
    );
    // Connections that waited for the client.
    check(
        idle(70 * S),
        ClientCpu,
        "connections waited for the client 30.0% of the time, 1.00 ms after each response (limit: \
         20%)",
    );
    // A client that was stopped and missed its plan.
    check(
        |parts| {
            growing(parts);
            stopped(600 * MS)(parts);
        },
        ClientCpu,
        "weir could not run for 600.00 ms, 1.00 s into the window (limit: 100 ms)",
    );
}

/// 4% of the plan are missing. A client that was stopped for 1.5% of the window is not the cause;
/// one that was stopped for 2.5% is.
#[test]
fn lost_time_must_account_for_what_is_missing() {
    let missed = |stopped_ns| {
        move |parts: &mut DocumentParts| {
            growing(parts);
            stopped(stopped_ns)(parts);
        }
    };
    check(missed(150 * MS), Unknown, "");
    let text = "weir could not run for 250.00 ms, 1.00 s into the window (limit: 100 ms)";
    check(missed(250 * MS), ClientCpu, text);
    let closed_with = |stopped_ns| {
        move |parts: &mut DocumentParts| {
            closed(parts);
            stopped(stopped_ns)(parts);
        }
    };
    check(closed_with(S), Unknown, "");
    let text = "weir could not run for 2.10 s, 1.00 s into the window (limit: 100 ms)";
    check(closed_with(2_100 * MS), ClientCpu, text);
}

/// The measurements cannot distinguish the server from the connections.
#[test]
fn nothing_is_attributed_without_evidence() {
    check(growing, Unknown, "");
    check(closed, Unknown, "");
    check(no_success, Unknown, "");
    check(busy(9 * S), Rate, "all of 3,000/s was met");
}

/// A probe of one connection whose median service time is this.
fn probed(p50_ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let Probed { section, .. } = crate::fixture::probe(1);
        let mut section = section.expect("the fixture has one");
        section.service_time.p50_ns = p50_ns;
        let section = Some(ProbeSection { ok: 40, ..section });
        parts.beside.probe = Probed { section, ..Probed::default() };
    }
}

/// A closed loop of a list: of each slice's requests, 300 are quick (1 ms) and 700 slow (10 ms).
/// `probed` is the name whose only request the probe repeats.
fn listed(probed: Option<u16>) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        closed(parts);
        let list = ListPlan {
            names: ["GET /quick", "GET /slow"].map(str::to_owned).to_vec(),
            probed,
            ..ListPlan::default()
        };
        parts.given.plan.list = Some(list);
        // It would send the list too.
        parts.beside.witness = None;
        let m = &mut parts.measurements;
        m.stamped = Stamped::default();
        let times = |count: u64, ns: u64| ByOutcome {
            ok: histogram((0..count).map(|_| ns)),
            ..ByOutcome::default()
        };
        let of_slice = |(count, ns): (u64, u64)| times(count / SLICES, ns).ok;
        let of_names = [(300 * SLICES, MS), (700 * SLICES, 10 * MS)];
        for slice in &mut m.slices {
            slice.ok = Histogram::new();
            of_names.map(of_slice).iter().for_each(|times| slice.ok.add(times));
        }
        m.results.response_time = ByOutcome::default();
        m.names = of_names.map(|(count, ns)| name(count, times(count, ns))).to_vec();
        m.names.iter().for_each(|name| m.results.response_time.ok.add(&name.response_time.ok));
        m.results.service_time = m.results.response_time.clone();
    }
}

/// The counts of a name whose requests were all successful.
fn name(count: u64, times: ByOutcome) -> ResultCounts {
    ResultCounts {
        planned: count,
        outcomes: Outcomes { ok: count, ..Outcomes::default() },
        status: [(200, count)].into(),
        completed: count,
        good: count,
        response_time: times.clone(),
        service_time: times,
        ..ResultCounts::default()
    }
}

/// The probe sends one request of the list: its time is compared with that of the same request
/// under load, and not with the median of all.
#[test]
fn the_probe_of_a_list_is_compared_with_its_own_name() {
    let with = |name, p50_ns| {
        move |parts: &mut DocumentParts| {
            listed(name)(parts);
            probed(p50_ns)(parts);
        }
    };
    let text = "10 connections × 7.30 ms allow 1,370/s; raise `load.connections` for more";
    check(with(Some(0), 950 * US), Connections, text);
    check(
        with(Some(0), 100 * US),
        Server,
        "median service time 1.00 ms of GET /quick, 10.0 times the 100 µs of one connection",
    );
    // The name has other requests too, so that nothing is known.
    check(with(None, 950 * US), Unknown, "");
    check(with(None, 100 * US), Unknown, "");
}

/// The median service time of the run is 1.05 ms.
#[test]
fn the_probe_separates_the_server_from_the_connections() {
    let closed_with = |p50_ns| {
        move |parts: &mut DocumentParts| {
            closed(parts);
            probed(p50_ns)(parts);
        }
    };
    check(
        closed_with(100 * US),
        Server,
        "median service time 1.05 ms, 10.5 times the 100 µs of one connection",
    );
    check(
        closed_with(MS),
        Connections,
        "10 connections × 1.05 ms allow 9,483/s; raise `load.connections` for more",
    );
    // Between 1.2 and 2 times the probe's median, neither applies.
    check(closed_with(700 * US), Unknown, "");
    // For an open loop that missed its plan the text has the connections it needs, if they are too
    // few.
    let open_with = |connections: u32| {
        move |parts: &mut DocumentParts| {
            growing(parts);
            probed(MS)(parts);
            parts.given.plan.load.connections = connections.into();
        }
    };
    check(
        open_with(2),
        Connections,
        "2 connections × 1.05 ms allow 1,906/s; 3,000/s needs at least 4: raise `load.connections`",
    );
    check(open_with(4), Unknown, "");
    // A limit of requests in flight below them is what holds the load back.
    check(
        |parts| {
            open_with(40)(parts);
            parts.given.plan.load.in_flight_max = Some(2);
        },
        Connections,
        "2 requests in flight × 1.05 ms allow 1,906/s; 3,000/s needs at least 4: raise \
         `load.in_flight_max`",
    );
    // A client that is short of CPU time is no evidence about the server.
    check(
        |parts| {
            closed(parts);
            probed(100 * US)(parts);
            parts.measurements.workers[0].usage.run_delay_ns = Some(3 * S);
        },
        Unknown,
        "",
    );
    check(
        |parts| {
            closed(parts);
            probed(100 * US)(parts);
            busy(9 * S)(parts);
        },
        Unknown,
        "",
    );
}

/// Two connections with up to 8 streams each. The server allows fewer.
#[test]
fn streams_count_as_the_server_allows_them() {
    let allowed = |capacity_ns: u64| {
        move |parts: &mut DocumentParts| {
            growing(parts);
            probed(MS)(parts);
            parts.given.plan.load.connections = 2.into();
            parts.given.plan.http = Some(HttpPlan::Http2(Http2Plan {
                streams: 8,
                window_bytes: 1 << 30,
                header_table_bytes: 4_096,
            }));
            parts.measurements.connections.streams_allowed = 1;
            parts.measurements.occupancy.capacity_ns = capacity_ns.into();
        }
    };
    check(allowed(80 * S), Unknown, "");
    let text = "2 connections × 1 stream × 1.05 ms allow 1,906/s; 3,000/s needs at least 4: raise \
                `load.connections`";
    check(allowed(20 * S), Connections, text);
}

#[test]
fn a_local_server_that_uses_its_cpu() {
    check(
        |parts| {
            closed(parts);
            let health = parts.beside.health.as_mut().expect("watched");
            health.server_cpu =
                Some(ServerCpu { processes: 1, busiest_thread_share: 0.97, total_share: 0.97 });
        },
        Server,
        "its busiest thread used 97.0% of a CPU",
    );
}

#[test]
fn a_round_trip_that_is_most_of_the_service_time() {
    let far = |rtt_ns| {
        move |parts: &mut DocumentParts| {
            closed(parts);
            network(|network| network.rtt_min_ns = Some(rtt_ns))(parts);
        }
    };
    check(
        far(900 * US),
        Network,
        "the TCP round trip is 900 µs of the 1.05 ms median service time",
    );
    check(far(400 * US), Unknown, "");
    // On this machine a round trip includes the server's CPU time.
    check(
        |parts| {
            far(900 * US)(parts);
            parts.beside.health.as_mut().expect("watched").is_server_local = Some(true);
        },
        Unknown,
        "",
    );
}

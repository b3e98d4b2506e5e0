//! The line `Limit`: the factor that kept the throughput from being higher. The first that applies
//! of client CPU, rate, network, server and connections; else unknown (METHOD 1.9).

use crate::thresholds::{
    CLIENT_CLEAN_CONTENTION, CLIENT_CLEAN_CPU, CONNECTIONS_BELOW, LOST_SHARE, MISS_SHARE,
    NETWORK_SHARE, SERVER_ABOVE, SERVER_BUSY,
};
use weir_result::document::{Limit, LimitedBy, Rule, RuleOutcome, Subject};
use weir_result::{Document, HttpPlan};
use weir_text::setting::{CONNECTIONS, IN_FLIGHT};
use weir_text::{brief, units};

/// Derives the limit from the rules about the client, and the figures of the document.
pub(crate) fn of(document: &Document, rules: &[Rule]) -> Limit {
    if document.results.responses() == 0 && document.results.completed == 0 {
        return Limit::default();
    }
    let limits =
        [(LimitedBy::ClientCpu, client_cpu(document, rules)), (LimitedBy::Rate, rate(document))];
    let mut found = limits.into_iter().filter_map(|(by, text)| Some(Limit { by, text: text? }));
    let rps = document.throughput.offered_rps.unwrap_or(0.0);
    found.next().or_else(|| of_missed_rate(document, rules, rps)).unwrap_or_default()
}

/// Derives the limit of a load that missed its plan, if it has one, and not for lack of the
/// client's CPU time. `planned_rps` is the planned rate in requests per second, of all or of one
/// stage; it has no meaning in a closed loop.
pub(crate) fn of_missed_rate(
    document: &Document,
    rules: &[Rule],
    planned_rps: f64,
) -> Option<Limit> {
    let limits = [
        (LimitedBy::Network, network(document)),
        (LimitedBy::Server, server(document).filter(|_| is_client_clean(rules))),
        (LimitedBy::Connections, connections(document, planned_rps)),
    ];
    limits.into_iter().find_map(|(by, text)| Some(Limit { by, text: text? }))
}

fn find<'r>(rules: &'r [Rule], id: &str) -> Option<&'r Rule> {
    rules.iter().find(|rule| rule.id == id)
}

/// Returns evidence that the client was the limit. Either a thread needed a CPU all the time, or
/// one more thread increased throughput or lowered p99. Or the plan was missed, and the client lost
/// enough time to explain that.
fn client_cpu(document: &Document, rules: &[Rule]) -> Option<String> {
    let bound = |id| find(rules, id).filter(|rule| rule.outcome >= RuleOutcome::Bound);
    let always = ["client-cpu", "more-threads"].into_iter().find_map(bound);
    let lost = ["client-stopped", "cpu-quota", "idle-connections", "late-sends"];
    let is_missed = rate(document).is_none();
    let mut lost = lost.into_iter().filter(|_| is_missed).filter_map(bound);
    let found = always.or_else(|| lost.find(|rule| accounts_for_miss(document, rule)));
    // The rule's sentence, between its name and its remedy.
    found.map(|rule| {
        let text = rule.text.split_once(": ").map_or(rule.text.as_str(), |(_, rest)| rest);
        text.rsplit_once("; ").map_or(text, |(evidence, _)| evidence).to_owned()
    })
}

/// True if the time that a rule reports as lost is a large part of the missing share of the plan.
/// In a closed loop, which has no plan, it is compared with the window.
fn accounts_for_miss(document: &Document, rule: &Rule) -> bool {
    let window_ns = document.throughput.window_s * 1e9;
    let value = rule.value.unwrap_or(0.0);
    let lost = if rule.unit == "ns" { value / window_ns.max(1.0) } else { value };
    let planned = document.results.planned.max(1) as f64;
    let least = match document.plan.load.is_open_loop() {
        true => MISS_SHARE * (1.0 - document.results.completed as f64 / planned).max(0.0),
        false => LOST_SHARE,
    };
    lost >= least
}

/// Returns evidence that all planned requests of an open loop got a response.
fn rate(document: &Document) -> Option<String> {
    let offered = document.offered_in_words()?;
    let planned = document.results.planned;
    // A difference of one request is the edge of the window.
    let edge = planned as f64 * 0.001 + 1.0;
    let is_met = document.results.completed as f64 + edge >= planned as f64;
    let share = document.share();
    // The head has the rate of the whole plan.
    let of = match document.parts.is_empty() || share >= 1.0 {
        true => String::new(),
        false => format!(", {} of the plan,", units::short_percent(share)),
    };
    (is_met && document.results.outcomes.never_sent <= 1)
        .then(|| format!("all of {offered}{of} was met"))
}

/// Returns evidence of a round trip to another machine that is at least half of the median service
/// time.
fn network(document: &Document) -> Option<String> {
    let is_local = document.health.and_then(|health| health.is_server_local) == Some(true);
    let round_trip_ns = document.network.as_ref()?.round_trip_ns().filter(|_| !is_local)?;
    let service_ns = service_p50_ns(document)?;
    let is_most = round_trip_ns as f64 >= NETWORK_SHARE * service_ns as f64;
    is_most.then(|| {
        let trip = units::duration(round_trip_ns);
        let service = units::duration(service_ns);
        format!("the TCP round trip is {trip} of the {service} median service time")
    })
}

/// Median service times of the request that the one-connection probe sent.
#[derive(Clone, Debug)]
struct Medians {
    /// Under load.
    load_ns: u64,
    /// Alone.
    probe_ns: u64,
    /// Addition to a text if they are those of one name of a list.
    of: String,
}

impl Medians {
    /// Returns both; `None` if the probe had no `ok` response, or the load's times are not known
    /// for its request.
    fn of(document: &Document) -> Option<Medians> {
        let probe = document.probe.as_ref().filter(|probe| probe.ok > 0)?;
        let (times, of) = match &document.plan.list {
            None => (&document.results.service_time, String::new()),
            Some(list) => {
                let name = document.names.get(usize::from(list.probed?))?;
                (&name.results.service_time, format!(" of {}", brief(&name.name)))
            }
        };
        let load_ns = times.ok.percentile(50.0)?.ns;
        Some(Medians { load_ns, probe_ns: probe.service_time.p50_ns, of })
    }
}

/// Returns evidence that responses take longer under load than alone, or that the server's busiest
/// thread has no CPU time left.
fn server(document: &Document) -> Option<String> {
    let server_cpu = document.health.and_then(|health| health.server_cpu);
    let busiest = server_cpu.map(|cpu| cpu.busiest_thread_share);
    if let Some(share) = busiest.filter(|share| *share >= SERVER_BUSY) {
        return Some(format!("its busiest thread used {} of a CPU", units::percent(share)));
    }
    let Medians { load_ns, probe_ns, of } = Medians::of(document)?;
    let ratio = load_ns as f64 / probe_ns.max(1) as f64;
    (ratio > SERVER_ABOVE).then(|| {
        let load = units::duration(load_ns);
        let probe = units::duration(probe_ns);
        format!("median service time {load}{of}, {ratio:.1} times the {probe} of one connection")
    })
}

/// Returns evidence that responses take as long under load as alone, so that more connections would
/// carry more. In an open loop it applies only if the connections are too few for the plan.
fn connections(document: &Document, planned_rps: f64) -> Option<String> {
    let Medians { load_ns, probe_ns, .. } = Medians::of(document)?;
    if load_ns as f64 >= CONNECTIONS_BELOW * probe_ns as f64 {
        return None;
    }
    // Little's law is about the mean.
    let mean_ns = document.results.service_time.ok.mean_ns?;
    let service_s = mean_ns.max(1.0) / 1e9;
    let connections = document.covered_connections_max();
    let places = places(document, connections);
    let held = in_flight_max(document).filter(|most| *most < f64::from(connections) * places);
    let what = match held {
        Some(most) => format!("{} requests in flight", units::count(most as u64)),
        None => connections_in_words(document, connections, places),
    };
    let most = held.unwrap_or(f64::from(connections) * places);
    let text = format!(
        "{what} × {} allow {}",
        units::duration(mean_ns as u64),
        units::round_rate(most / service_s),
    );
    let offered = match document.offered_in_words() {
        None => return Some(format!("{text}; {}", remedy_in_words(document))),
        Some(_) if !document.plan.load.stages().is_empty() => units::round_rate(planned_rps),
        Some(offered) => offered,
    };
    let in_flight = planned_rps * service_s;
    let needed = if held.is_some() { in_flight } else { in_flight / places }.ceil() as u64;
    let has = held.map_or(u64::from(connections), |most| most as u64);
    let setting = if held.is_some() { IN_FLIGHT } else { CONNECTIONS };
    let needs = units::count(needed);
    (needed > has).then(|| format!("{text}; {offered} needs at least {needs}: raise {setting}"))
}

/// Returns the limit of requests in flight of the covered parts; `None` if the load has none.
fn in_flight_max(document: &Document) -> Option<f64> {
    let most = document.plan.load.in_flight_max?;
    Some((f64::from(most) * document.share()).ceil())
}

/// Formats `10 connections × 2 streams`.
fn connections_in_words(document: &Document, connections: u32, places: f64) -> String {
    let noun = if connections == 1 { "connection" } else { "connections" };
    let counted = match document.plan.load.connections.stages().is_empty() {
        true => units::count(connections.into()),
        false => format!("on average {:.1}", f64::from(connections) * places),
    };
    format!("{counted} {noun}{}", streams_in_words(document, places))
}

/// Returns the streams of each connection, as a factor; nothing if it has one by plan.
fn streams_in_words(document: &Document, places: f64) -> String {
    let is_one = document.plan.depth() == 1 || !document.plan.load.connections.stages().is_empty();
    match (is_one, document.plan.http) {
        (false, Some(HttpPlan::Http2(_))) => {
            let rounded = (places * 10.0).round() / 10.0;
            format!(" × {rounded} {}", if rounded == 1.0 { "stream" } else { "streams" })
        }
        _ => String::new(),
    }
}

/// Returns the choice that would carry more in a closed loop.
fn remedy_in_words(document: &Document) -> String {
    match document.allowed_streams_in_words() {
        Some(allowed) => format!("{allowed}: raise its limit, or {CONNECTIONS}"),
        None => format!("raise {CONNECTIONS} for more"),
    }
}

/// Returns the requests that each of the connections can have in flight: of streams, as measured
/// over the window, since the server may allow fewer than planned.
fn places(document: &Document, connections: u32) -> f64 {
    let measured = document.occupancy.map_or(0, |occupancy| occupancy.capacity_ns) as f64;
    // With a number that grows, those that were open had the places.
    let open = match document.plan.load.connections.grows_to() {
        Some(_) => document.connections.open_max as f64,
        None => f64::from(connections),
    };
    let whole_ns = open * document.throughput.window_s * 1e9;
    match measured > 0.0 && whole_ns > 0.0 {
        true => measured / whole_ns,
        false => f64::from(document.plan.depth()),
    }
}

/// True if no rule about the client or its machine is beyond its second limit, and the threads have
/// CPU time left.
fn is_client_clean(rules: &[Rule]) -> bool {
    let is_ours = |rule: &&Rule| matches!(rule.subject, Subject::Client | Subject::Machine);
    let mut ours = rules.iter().filter(is_ours);
    let is_below =
        |id, limit| find(rules, id).and_then(|rule| rule.value).is_none_or(|share| share < limit);
    ours.all(|rule| rule.outcome < RuleOutcome::Bound)
        && is_below("client-cpu", CLIENT_CLEAN_CPU)
        && is_below("cpu-contention", CLIENT_CLEAN_CONTENTION)
}

fn service_p50_ns(document: &Document) -> Option<u64> {
    document.results.service_time.ok.percentile(50.0).map(|value| value.ns)
}

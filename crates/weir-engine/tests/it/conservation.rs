//! Random worlds with all kinds of faults, generated from seeds. In each of them no slot is lost or
//! counted twice, no time is better than the true one, and every run ends.
//!
//! `WEIR_SIM_SEEDS` sets the number of seeds, `WEIR_SIM_FROM` the first one.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_engine::{Ending, Extras, Job};
use weir_io::Nanos;
use weir_result::{Closer, ConnectionLoad, ConnectionPlan, Plan, Rate, StampChoice, Wait, Warmup};
use weir_sim::{Client, Fate, Random, Seed, Split, World};

use crate::observers::PerTag;
use crate::setup::{
    MS, Run, SECOND, check_exact, closed, job, open, poisson, run_job, run_part, script,
    true_service,
};

/// Length of the load of one run, in nanoseconds.
pub(crate) const SPAN_NS: u64 = 100 * MS;

pub(crate) fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

/// Returns a random plan, the worker of it that runs, and the time of its interruption.
pub(crate) fn random_plan(random: &mut Random) -> (Plan, u32, Nanos) {
    let connections = u32::try_from(random.between(1, 8)).expect("small");
    let rate = random.between(1, 20_000);
    let seconds = random.between(1, 3);
    let plan = match random.between(0, 3) {
        0 | 1 => closed(connections),
        2 => open(rate, seconds, connections),
        _ => poisson(rate, seconds, connections, random.bits()),
    };
    let by_number = random.chance(0.3);
    let threads = u32::try_from(random.between(1, connections.into())).expect("small");
    let plan = Plan {
        threads,
        wait: [Wait::Auto, Wait::Latency, Wait::Throughput][random.between(0, 2) as usize],
        tick_ns: random.chance(0.3).then(|| random.between(1, MS)),
        stamps: [StampChoice::Sample, StampChoice::All][random.between(0, 1) as usize],
        ..plan
    }
    .with_load(|load| {
        load.pipeline = [1, 1, 2, 5][random.between(0, 3) as usize];
        load.warmup.span_ns = [0, 20 * MS][random.between(0, 1) as usize];
        load.duration_ns = (!by_number || random.chance(0.5)).then_some(SPAN_NS);
        load.requests = by_number.then_some(random.between(1, 200));
        load.timeout_ns = random.between(2 * MS, 50 * MS);
        load.connect_timeout_ns = random.between(2 * MS, 50 * MS);
    });
    let number = u32::try_from(random.between(0, u64::from(threads) - 1)).expect("small");
    let stop_at = match random.chance(0.3) {
        true => Nanos(random.between(0, SPAN_NS + 20 * MS)),
        false => Nanos::MAX,
    };
    let connection = random_connection(random);
    let drain_ns = random.chance(0.4).then(|| random.between(0, 30 * MS));
    // The stop is the end of a window that has none by plan.
    let is_endless = stop_at != Nanos::MAX && plan.load.requests.is_none() && random.chance(0.3);
    let duration_ns = plan.load.duration_ns.filter(|_| !is_endless);
    let plan = Plan { connection, ..plan }.with_load(|load| {
        load.drain_ns = drain_ns;
        load.duration_ns = duration_ns;
    });
    (with_random_limits(plan, random), number, stop_at)
}

/// Returns a plan of an open loop with connections that grow, or a limit of requests in flight.
fn with_random_limits(plan: Plan, random: &mut Random) -> Plan {
    if !plan.load.is_open_loop() {
        return plan;
    }
    let above = |of: u32, most, random: &mut Random| {
        of + u32::try_from(random.between(0, most)).expect("small")
    };
    let grows = random.chance(0.4);
    let sheds = random.chance(0.3);
    let first = plan.load.connections.count();
    let connections = match grows {
        true => ConnectionLoad::Growing { first, most: above(first + 1, 30, random) },
        false => plan.load.connections.clone(),
    };
    let in_flight_max = sheds.then(|| above(plan.threads, 10, random));
    plan.with_load(|load| {
        load.connections = connections;
        load.in_flight_max = in_flight_max;
    })
}

/// Returns random options for opening and renewing connections: the defaults, or any combination.
fn random_connection(random: &mut Random) -> ConnectionPlan {
    if random.chance(0.5) {
        return ConnectionPlan::default();
    }
    let requests = u32::try_from(random.between(1, 10)).expect("small");
    let rate = Rate { numerator: random.between(200, 20_000), denominator: 1 };
    ConnectionPlan {
        requests: random.chance(0.5).then_some(requests),
        lifetime_ns: random.chance(0.3).then_some(random.between(MS, 30 * MS)),
        close: random.chance(0.2).then_some(Closer::Client),
        rate: random.chance(0.3).then_some(rate),
        ..ConnectionPlan::default()
    }
}

fn run_seed(seed: u64) -> (Run, Plan) {
    let mut random = Random::new(Seed(seed), 200);
    let (plan, number, stop_at) = random_plan(&mut random);
    let mut world = World::wild(Seed(seed), SPAN_NS);
    // Adds an endless head, which wild worlds leave out, if parsing it does not take a million
    // events.
    if world.network.split == Split::Whole && world.network.segment_bytes > 1_000 {
        let fault = weir_sim::ResponseFault::Malformed(weir_sim::Breakage::EndlessHead);
        world.faults.response.push((weir_sim::Pick::Share(0.005), fault));
        world.client.read_bytes = 65_536;
    }
    let stops_at_t1 = random.chance(0.3);
    let late_responses = stops_at_t1 && random.chance(0.5);
    // Without a connection nothing is planned, even if a number of requests is requested.
    let needs_connection = plan.load.requests.is_none() && random.chance(0.5);
    let ending = Ending { late_responses, stops_at_t1, needs_connection, ..Ending::default() };
    let job = Job { ending, ..job(&plan) };
    let (job, observed) = observed(job, seed);
    let run = run_job(world, &job, number, stop_at, None);
    observed.iter().for_each(|observed| observed.check(&run, &format!("seed {seed}")));
    check_run(&run, &plan, seed);
    if let (true, Some(window_ns)) = (stops_at_t1, plan.load.duration_ns) {
        let t1 = run.start().after(plan.load.warmup.span_ns + window_ns);
        let what = format!("seed {seed}: sent after t1");
        assert_eq!(run.sent_between(t1, Nanos::MAX).len(), 0, "{what}");
        assert_eq!(run.measured.sent.tail, 0, "{what}");
    }
    if let Some(most) = plan.connection.requests_max() {
        let mut of_sockets = BTreeMap::new();
        for request in &run.truth.requests {
            *of_sockets.entry((request.conn.0, request.generation)).or_insert(0) += 1;
        }
        let greatest = of_sockets.values().copied().max().unwrap_or(0);
        assert!(greatest <= most, "seed {seed}: {greatest} requests on a socket for {most}");
    }
    (run, plan)
}

/// Returns the job with an observer, for every second seed. Without an observer, identical
/// exchanges are recorded together.
fn observed(job: Job, seed: u64) -> (Job, Option<PerTag>) {
    if seed.is_multiple_of(2) {
        return (job, None);
    }
    let observed = PerTag::default();
    (Job { observers: vec![observed.factory()], ..job }, Some(observed))
}

/// Returns a random script: strings of one to four numbered requests. It may read responses, delay,
/// stop or fail.
fn random_script(random: &mut Random) -> String {
    let connection = if random.chance(0.3) { "connection" } else { "" };
    let mut text = format!(
        r#"
local made, calls = 0, 0
local function count(limit, ending)
  calls = calls + 1
  if calls == limit then ending() end
end
local function stop() wrk.thread:stop() end
function request({connection})
  local requests = {{}}
  for index = 1, math.random(4) do
    made = made + 1
    requests[index] = wrk.format("GET", "/" .. made)
  end
  --in-request
  return table.concat(requests)
end
"#
    );
    if random.chance(0.5) {
        text += r#"
function response(status, headers, body, connection, request)
  local number = request:match("^GET /(%d+) ")
  if headers["x-number"] ~= number then
    error("not its response: " .. status .. " to " .. request)
  end
  -- Junk after a response that ends with the connection is part of it.
  local is_framed = headers["content-length"] or headers["transfer-encoding"]
  if is_framed and #body > #number and body:sub(1, #number) ~= number then error("not its body") end
  --in-response
end
"#;
    }
    if random.chance(0.3) {
        text += "function delay() --in-delay\n return math.random(0, 3) end";
    }
    let endings = ["stop", "error"];
    let ending = endings[usize::from(random.chance(0.5))];
    if random.chance(0.4) {
        let place = ["--in-request", "--in-response", "--in-delay"][random.between(0, 2) as usize];
        text = text.replace(place, &format!("count({}, {ending})", random.between(1, 60)));
    }
    text
}

/// Runs a random plan with a script that makes the requests.
fn run_scripted_seed(seed: u64) -> Run {
    let mut random = Random::new(Seed(seed), 202);
    let (plan, number, stop_at) = random_plan(&mut random);
    let text = random_script(&mut random);
    let late_responses = random.chance(0.3);
    let extras = random.chance(0.3);
    let job = Job {
        ending: Ending { late_responses, ..Ending::default() },
        extras: Extras { thread_rates: extras, batch_times: extras, ..Extras::default() },
        ..job(&plan)
    };
    let (job, observed) = observed(job, seed);
    let world = World::wild(Seed(seed), SPAN_NS);
    let run = run_job(world, &job, number, stop_at, Some(&mut script(&text)));
    observed.iter().for_each(|observed| observed.check(&run, &format!("seed {seed}")));
    check_run(&run, &plan, seed);
    let is_wrong = run.failure.as_ref().is_some_and(|failure| failure.contains("not its"));
    assert!(!is_wrong, "seed {seed}: {:?}", run.failure);
    // Requests at the server were sent once, in the order in which they were made.
    let mut requests = run.truth.requests.clone();
    requests.sort_by_key(|request| request.number);
    for pair in requests.windows(2) {
        assert!(pair[0].number < pair[1].number, "seed {seed}: {pair:?} is sent twice");
        assert!(pair[0].sent_at <= pair[1].sent_at, "seed {seed}: {pair:?} in another order");
    }
    run
}

/// Checks the invariants beyond those that `run_part` checks for every run.
fn check_run(run: &Run, plan: &Plan, seed: u64) {
    let measured = &run.measured;
    let truth = &run.truth;
    let what = format!("seed {seed}, {:?}: {:?}", plan.load, measured.results.outcomes);
    let responded_with = |is_meant: fn(u16) -> bool| {
        let meant = |request: &&weir_sim::TrueRequest| {
            matches!(request.fate, Fate::Responded(status) if is_meant(status))
                && request.delivered_at.is_some()
        };
        truth.requests.iter().filter(meant).count() as u64
    };
    let outcomes = measured.results.outcomes;
    assert!(outcomes.ok <= responded_with(|status| status < 400), "{what}");
    assert!(outcomes.bad_response <= responded_with(|status| status >= 400), "{what}");
    // No reported time is less than the fastest true response's time.
    let fastest =
        truth.requests.iter().filter(|request| matches!(request.fate, Fate::Responded(_)));
    let fastest = fastest.filter_map(|request| Some(request.delivered_at?.since(request.sent_at)));
    if let Some(fastest_ns) = fastest.min() {
        let least_ns = measured.results.service_time.ok.exact().min_ns;
        assert!(least_ns >= fastest_ns, "{what}: {least_ns} < {fastest_ns}");
    }
    let is_stopped = measured.script.as_ref().is_some_and(|script| script.stopped > 0);
    let is_cut = measured.interrupted || is_stopped;
    if let (Some(requests), false, 1) = (plan.load.requests, is_cut, plan.threads) {
        if plan.load.length_ns().is_none() {
            assert_eq!(measured.results.planned, requests, "{what}");
        }
        assert!(measured.results.planned <= requests, "{what}");
    }
    if !plan.load.is_open_loop() {
        let is_complete = plan.load.requests.is_none() || plan.load.length_ns().is_some();
        assert!(!is_complete || outcomes.never_sent == 0, "{what}");
    }
    for (age, limit) in [
        (measured.results.service_time.censored.exact().max_ns, plan.load.timeout_ns + 20 * MS),
        (measured.results.service_time.ok.exact().max_ns, plan.load.timeout_ns + 20 * MS),
    ] {
        let is_closed = !plan.load.is_open_loop() || measured.overdue > outcomes.timed_out;
        assert!(is_closed || age <= limit, "{what}: {age} ns is beyond the timeout");
    }
    let connections = &measured.connections;
    let opened = connections.requested + connections.grown;
    assert!(connections.open_max <= opened, "{what}");
    let most = plan.load.connections.grows_to().map_or(connections.requested, u64::from);
    assert!(opened <= most.max(connections.requested), "{what}");
    assert!(outcomes.shed <= outcomes.never_sent, "{what}");
    assert!(plan.load.in_flight_max.is_some() || outcomes.shed == 0, "{what}");
    let drained = Nanos(measured.workers[0].drained_ns);
    assert!(drained <= Nanos(20 * SECOND), "{what}: it lasted until {drained}");
}

#[test]
fn wild_worlds_lose_nothing() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300);
    let mut responded = 0;
    for seed in from..from + seeds {
        let run = catch_unwind(AssertUnwindSafe(|| run_seed(seed)));
        let Ok((run, _)) = run else { panic!("seed {seed} failed, for the reason above") };
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= seeds, "{responded} responses in {seeds} runs say nothing");
}

/// With so many connections, the active ones lease their protocols and slots.
#[test]
fn wild_worlds_of_many_connections_lose_nothing() {
    const MANY: u32 = 600;
    let mut responded = 0;
    for seed in 0..40 {
        let mut random = Random::new(Seed(seed), 204);
        let plan = match random.between(0, 2) {
            0 => closed(MANY),
            1 => open(random.between(1_000, 50_000), 1, MANY),
            _ => poisson(random.between(1_000, 50_000), 1, MANY, random.bits()),
        };
        let plan = plan.with_load(|load| {
            load.pipeline = [1, 1, 3][random.between(0, 2) as usize];
            load.warmup.span_ns = 5 * MS;
            load.duration_ns = Some(SPAN_NS / 5);
            load.timeout_ns = random.between(2 * MS, 50 * MS);
            load.connect_timeout_ns = random.between(2 * MS, 50 * MS);
        });
        let run = run_part(World::wild(Seed(seed), SPAN_NS), &plan, 0, Nanos::MAX);
        check_run(&run, &plan, seed);
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= 1_000, "{responded} responses say nothing");
}

#[test]
fn scripts_in_wild_worlds_lose_nothing() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300);
    let mut responded = 0;
    for seed in from..from + seeds {
        let run = catch_unwind(AssertUnwindSafe(|| run_scripted_seed(seed)));
        let Ok(run) = run else { panic!("seed {seed} failed, for the reason above") };
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= seeds, "{responded} responses in {seeds} runs say nothing");
}

/// With a client that takes no time, a closed loop's numbers are exact in wild worlds too.
#[test]
fn timely_clients_measure_wild_worlds_exactly() {
    for seed in 0..100 {
        let mut random = Random::new(Seed(seed), 201);
        let mut world = World::wild(Seed(seed), SPAN_NS);
        world.client = Client { open_max: world.client.open_max, ..Client::default() };
        let timeout_ns = random.between(2 * MS, 50 * MS);
        let connections = u32::try_from(random.between(1, 8)).expect("small");
        let plan = closed(connections).with_load(|load| {
            load.warmup.span_ns = 20 * MS;
            load.duration_ns = Some(SPAN_NS);
            load.timeout_ns = timeout_ns;
            load.connect_timeout_ns = 10 * MS;
        });
        let run = run_part(world, &plan, 0, Nanos::MAX);
        let t0 = run.start().after(plan.load.warmup.span_ns);
        let tail_end = Nanos(run.measured.workers[0].tail_end_ns);
        let mut members = run.sent_between(t0, t0.after(SPAN_NS));
        members.retain(|request| request.delivered_at.is_some_and(|at| at <= tail_end));
        check_exact(
            &format!("seed {seed}"),
            &run.measured.results.service_time.ok,
            true_service(&members),
        );
    }
}

#[test]
fn a_seed_repeats_a_run() {
    for seed in 0..20 {
        let digest = |(run, _): (Run, Plan)| {
            let times = run.measured.results.response_time;
            let buckets =
                |histogram: &weir_result::Histogram| histogram.buckets().collect::<Vec<_>>();
            (run.measured.results.outcomes, buckets(&times.ok), buckets(&times.censored), run.truth)
        };
        assert_eq!(digest(run_seed(seed)), digest(run_seed(seed)), "seed {seed}");
    }
}

/// Length of a long world: ten minutes, in nanoseconds.
const LONG_NS: u64 = 600 * SECOND;

/// Runs a long world with a continuous load. The server stalls, the client is stopped and
/// connections are reset at random times.
fn run_long_seed(seed: u64) -> Run {
    let mut random = Random::new(Seed(seed), 203);
    let mut world = World::wild(Seed(seed), SECOND);
    let mut at = |longest_ns: u64| {
        let at = Nanos(random.between(0, LONG_NS));
        weir_sim::Pause::new(at, random.between(MS, longest_ns))
    };
    world.server.stalls = (0..20).map(|_| at(5 * SECOND)).collect();
    world.client.stops = (0..20).map(|_| at(2 * SECOND)).collect();
    world.faults.reset_all_at = (0..10).map(|_| at(MS).from).collect();
    world.server.black_hole_from = random.chance(0.2).then_some(Nanos(LONG_NS / 10 * 9));
    let connections = u32::try_from(random.between(1, 8)).expect("small");
    let rate = random.between(1, 30);
    let plan = match random.chance(0.5) {
        true => open(rate, 1, connections),
        false => poisson(rate, 1, connections, random.bits()),
    };
    let plan = plan.with_load(|load| {
        load.warmup =
            Warmup { span_ns: random.between(0, 60 * SECOND), is_auto: random.chance(0.3) };
        load.duration_ns = Some(LONG_NS);
        load.timeout_ns = random.between(SECOND, 10 * SECOND);
    });
    let run = run_part(world, &plan, 0, Nanos::MAX);
    let planned = run.measured.results.planned;
    let expected = rate * (LONG_NS / SECOND);
    assert!(planned.abs_diff(expected) < expected / 4 + 100, "seed {seed}: {planned} planned");
    run
}

/// `WEIR_SIM_HOURS` sets the hours of virtual time.
#[test]
fn long_wild_worlds_lose_nothing() {
    let from = setting("WEIR_SIM_FROM", 0);
    let worlds = setting("WEIR_SIM_HOURS", 3) * (3_600 * SECOND / LONG_NS);
    let mut responded = 0;
    for seed in from..from + worlds {
        let run = catch_unwind(AssertUnwindSafe(|| run_long_seed(seed)));
        let Ok(run) = run else { panic!("seed {seed} failed, for the reason above") };
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= worlds * 100, "{responded} responses in {worlds} worlds say little");
}

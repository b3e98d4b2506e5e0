//! Random runs, generated from a seed: the plan, the options of the job, the world of each worker.
//! Every choice of the engine that a user can make has its share.

use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::{Ending, Extras, Job};
use weir_http::Prepared;
use weir_io::{Endpoint, Nanos};
use weir_result::{
    Arrivals, Closer, ConnectionPlan, DueTimes, IoEngine, Load, Pacing, Plan, Rate, StampChoice,
    Wait, Warmup,
};
use weir_sim::{Breakage, Pick, Random, ResponseFault, Seed, Server, Split, World};

/// A millisecond in nanoseconds.
const MS: u64 = 1_000_000;

/// Length of the window of most runs, and of those with few requests per second.
const SHORT_NS: u64 = 100 * MS;
const LONG_NS: u64 = 3_000 * MS;

/// Cost of a reading of the clock for workers that never sleep, in nanoseconds: in virtual time
/// nothing else ends their spinning.
const SPIN_CLOCK_NS: u64 = 500;

/// A random run.
#[derive(Debug)]
pub(crate) struct Case {
    /// The job of all workers.
    pub(crate) job: Job,
    /// The world of each worker, which it has for itself.
    pub(crate) worlds: Vec<World>,
    /// Time of the interruption; [`Nanos::MAX`] for none.
    pub(crate) stop_at: Nanos,
    /// Text of the script, if there is one.
    pub(crate) script: Option<String>,
}

impl Case {
    /// Generates the run of `seed`.
    pub(crate) fn new(seed: u64) -> Case {
        let mut random = Random::new(Seed(seed), 300);
        let span_ns = if random.chance(0.1) { LONG_NS } else { SHORT_NS };
        let plan = plan(&mut random, span_ns);
        let kind = random.between(0, 5);
        let worlds = (0..plan.threads).map(|worker| world(seed, worker, kind, span_ns, &plan));
        let worlds = worlds.collect();
        // The workers of a real run start together and are interrupted at one time of their window.
        // In worlds of their own they are not.
        let is_stopped = random.chance(0.3) && plan.threads == 1;
        let stop_at = Nanos(random.between(0, span_ns + 20 * MS));
        let text = script(&mut random);
        Case {
            worlds,
            stop_at: if is_stopped { stop_at } else { Nanos::MAX },
            script: random.chance(0.2).then_some(text),
            job: job(&mut random, plan),
        }
    }
}

/// Returns one of several values at random.
fn pick<T: Clone>(random: &mut Random, choices: &[T]) -> T {
    let last = choices.len() as u64 - 1;
    choices[usize::try_from(random.between(0, last)).expect("an index")].clone()
}

fn number(random: &mut Random, low: u64, high: u64) -> u32 {
    u32::try_from(random.between(low, high)).expect("a small number")
}

fn plan(random: &mut Random, span_ns: u64) -> Plan {
    let is_long = span_ns == LONG_NS;
    let many = random.chance(0.1);
    let connections = if many { number(random, 200, 600) } else { number(random, 1, 8) };
    let warmup_is_auto = is_long && random.chance(0.5);
    let by_number = random.chance(0.3);
    let spins = !is_long && random.chance(0.1);
    // The order of the draws is that of all former versions, which are compared with this one.
    let due = due(random, is_long);
    let threads = number(random, 1, u64::from(connections.min(4)));
    Plan {
        load: Load {
            due,
            connections: connections.into(),
            pipeline: pick(random, &[1, 1, 2, 5]),
            warmup: Warmup {
                span_ns: if warmup_is_auto { LONG_NS } else { pick(random, &[0, span_ns / 5]) },
                is_auto: warmup_is_auto,
            },
            duration_ns: (!by_number || random.chance(0.5)).then_some(span_ns),
            requests: by_number.then_some(random.between(1, 200)),
            timeout_ns: random.between(2 * MS, span_ns / 2),
            connect_timeout_ns: random.between(2 * MS, span_ns / 2),
            drain_ns: random.chance(0.4).then_some(random.between(0, 30 * MS)),
            ..Plan::default().load
        },
        threads,
        pacing: if spins { Pacing::Spin } else { pick(random, &[Pacing::Sleep, Pacing::Hybrid]) },
        wait: match spins && random.chance(0.5) {
            true => Wait::Spin,
            false => pick(random, &[Wait::Auto, Wait::Auto, Wait::Latency, Wait::Throughput]),
        },
        tick_ns: random.chance(0.2).then_some(random.between(1, MS)),
        io: IoEngine::Simulated,
        stamps: pick(random, &[StampChoice::None, StampChoice::Sample, StampChoice::All]),
        connection: connection(random),
        ..Plan::default()
    }
}

fn due(random: &mut Random, is_long: bool) -> Option<DueTimes> {
    let highest = if is_long { 500 } else { 20_000 };
    let rate = Rate { numerator: random.between(1, highest), denominator: random.between(1, 3) };
    match random.between(0, 2) {
        // A long closed loop would send millions of requests.
        0 if !is_long => None,
        1 => Some(DueTimes::constant(rate, Arrivals::Uniform)),
        _ => Some(DueTimes::constant(rate, Arrivals::Poisson { seed: random.bits() })),
    }
}

fn connection(random: &mut Random) -> ConnectionPlan {
    let is_plain = random.chance(0.5);
    let destination = |host: u8| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), 80));
    let rate = Rate { numerator: random.between(200, 20_000), denominator: 1 };
    let several = number(random, 2, 4) as u8;
    let plan = ConnectionPlan {
        requests: random.chance(0.5).then_some(pick(random, &[1, 1, 2, 3, 10])),
        lifetime_ns: random.chance(0.3).then_some(random.between(MS, 30 * MS)),
        close: random.chance(0.2).then_some(Closer::Client),
        rate: random.chance(0.3).then_some(rate),
        sources: match random.chance(0.2) {
            true => vec!["127.0.1.1-127.0.1.4".parse().expect("a range of addresses")],
            false => Vec::new(),
        },
        destinations: match random.chance(0.3) {
            true => (1..=several).map(|host| destination(host).to_string()).collect(),
            false => Vec::new(),
        },
    };
    if is_plain { ConnectionPlan::default() } else { plan }
}

fn job(random: &mut Random, plan: Plan) -> Job {
    let request = Prepared::http1(&plan.request.method, "/", "sim", &[], None);
    let named = plan.connection.destinations.iter();
    let destinations: Vec<Endpoint> =
        named.map(|name| Endpoint::Tcp(name.parse().expect("an address"))).collect();
    let alone = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    let endpoint = destinations.first().cloned().unwrap_or(alone);
    let stops_at_t1 = random.chance(0.2);
    let by_number = plan.load.requests.is_some();
    let discard = random.chance(0.7);
    let late_responses = random.chance(0.2);
    let needs_connection = !by_number && random.chance(0.5);
    let thread_rates = random.chance(0.3);
    let batch_times = random.chance(0.3);
    let abandons = random.chance(0.05);
    let mut job = Job {
        ending: Ending { late_responses, stops_at_t1, needs_connection, abandons },
        extras: Extras { thread_rates, batch_times, ..Extras::default() },
        ..Job::new(plan, endpoint, request.expect("a plain request"))
    };
    job.target.destinations = destinations;
    job.responses.discard = discard;
    job
}

/// Returns the world of a worker: one in six with the simplest server, two without faults, three
/// with all kinds of faults.
fn world(seed: u64, worker: u32, kind: u64, span_ns: u64, plan: &Plan) -> World {
    let seed = Seed(seed.wrapping_mul(1_000).wrapping_add(worker.into()));
    let mut world = match kind {
        0 => World { seed, server: Server::default(), ..World::default() },
        1 | 2 => World::well(seed, span_ns),
        _ => World::wild(seed, span_ns),
    };
    // An endless head takes a million events if responses are split after every byte.
    if kind > 2 && world.network.split == Split::Whole && world.network.segment_bytes > 1_000 {
        let fault = ResponseFault::Malformed(Breakage::EndlessHead);
        world.faults.response.push((Pick::Share(0.005), fault));
        world.client.read_bytes = 65_536;
    }
    if plan.pacing == Pacing::Spin || plan.wait == Wait::Spin {
        world.client.clock_ns = SPIN_CLOCK_NS;
    }
    world
}

/// Returns a script that makes one to four numbered requests at a time. It may read responses,
/// delay requests, and stop or fail after some calls.
fn script(random: &mut Random) -> String {
    let response = match random.chance(0.5) {
        true => "function response(status, headers, body) bytes = bytes + #body count() end",
        false => "",
    };
    let delay = match random.chance(0.3) {
        true => "function delay() count() return math.random(0, 3) end",
        false => "",
    };
    let limit = if random.chance(0.4) { random.between(1, 60) } else { 0 };
    let ending = pick(random, &["wrk.thread:stop()", "error('as planned')"]);
    format!(
        r#"
local made, calls = 0, 0
bytes = 0
local function count()
  calls = calls + 1
  if calls == {limit} then {ending} end
end
function request()
  count()
  local requests = {{}}
  for index = 1, math.random(4) do
    made = made + 1
    requests[index] = wrk.format("GET", "/" .. made)
  end
  return table.concat(requests)
end
{response}
{delay}
"#
    )
}

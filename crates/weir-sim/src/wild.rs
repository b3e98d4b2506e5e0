//! Random worlds, generated from a seed. In fault-free ones a client's numbers must be exact. In
//! wild ones all faults happen, and a test can check only the invariants.

use weir_io::Nanos;

use crate::faults::{Breakage, ConnectFault, Faults, Pick, ResponseFault};
use crate::law::Law;
use crate::network::{Network, Split};
use crate::pause::Pause;
use crate::random::{Random, Seed};
use crate::server::{Drip, Framing, Responses, Server, Version, Workers};
use crate::world::{Client, Discards, World};

impl World {
    /// Returns a world without faults, for a run of about `span_ns`. Its delays, its server and the
    /// splitting of its responses are random, and its client takes no time. No connection ends
    /// unless a response announces it.
    pub fn well(seed: Seed, span_ns: u64) -> World {
        let mut random = Random::new(seed, 100);
        let unit_ns = span_ns / 100;
        let network = Network {
            connect: law(&mut random, unit_ns),
            up: law(&mut random, unit_ns),
            down: law(&mut random, unit_ns),
            segment_bytes: pick(&mut random, &[1, 40, 1_000, usize::MAX]),
            split: pick(&mut random, &[Split::Whole, Split::Random, Split::EveryByte]),
        };
        let client = Client {
            read_bytes: pick(&mut random, &[1, 50, 65_536]),
            discards: pick(&mut random, &[Discards::Always, Discards::Never, Discards::Random]),
            ..Client::default()
        };
        let server = server(&mut random, span_ns);
        World { seed, client, network, server, ..World::default() }
    }

    /// Returns a world with all kinds of faults, for a run of about `span_ns`.
    pub fn wild(seed: Seed, span_ns: u64) -> World {
        let mut random = Random::new(seed, 101);
        let unit_ns = span_ns / 100;
        let at = |percent: u64| Nanos(percent * unit_ns);
        let mut world = World::well(seed, span_ns);
        world.client = Client {
            clock_ns: random.between(0, 50),
            submit_ns: random.between(0, 3_000),
            event_ns: random.between(0, 500),
            wake_late: law(&mut random, unit_ns / 10),
            stops: vec![Pause::new(at(60), 5 * unit_ns)],
            open_max: random.chance(0.3).then_some(6),
            ..world.client
        };
        world.server.stalls = vec![Pause::new(at(30), 10 * unit_ns)];
        world.server.black_hole_from = random.chance(0.2).then_some(at(80));
        world.server.idle_close_ns = random.chance(0.3).then_some(3 * unit_ns);
        world.faults = faults(unit_ns);
        world.faults.reset_all_at = vec![at(50)];
        world
    }
}

fn server(random: &mut Random, span_ns: u64) -> Server {
    let framing =
        [Framing::Length, Framing::Chunked { chunk_bytes: 7 }, Framing::Close, Framing::Mixed];
    let old = Version::Http10 { keep_alive: random.chance(0.5) };
    let responses = Responses {
        statuses: vec![(200, 5.0), (204, 1.0), (404, 1.0)],
        body_bytes: law(random, 300),
        framing: pick(random, &framing),
        version: if random.chance(0.8) { Version::Http11 } else { old },
        interim: random.chance(0.3).then_some((100, 0.5)),
        close_after: random.chance(0.3).then_some(5),
        drip: random.chance(0.3).then_some(Drip { pieces: 4, gap_ns: span_ns / 300 }),
    };
    Server {
        // Never zero, or a closed loop would make no progress in virtual time.
        service: match law(random, span_ns / 50) {
            Law::Fixed(span_ns) => Law::Fixed(span_ns.max(1_000)),
            other => other,
        },
        workers: pick(random, &[Workers::Unlimited, Workers::Limited(2)]),
        responses,
        ..Server::default()
    }
}

/// Returns every kind of fault, each with a small probability.
fn faults(unit_ns: u64) -> Faults {
    let mut response = vec![
        (Pick::Share(0.02), ResponseFault::ResetBefore),
        (Pick::Share(0.02), ResponseFault::ResetWithin),
        (Pick::Share(0.02), ResponseFault::ResetIdle { after_ns: unit_ns }),
        (Pick::Share(0.02), ResponseFault::CloseBefore),
        (Pick::Share(0.02), ResponseFault::CloseWithin),
        (Pick::Share(0.02), ResponseFault::CloseAfter),
        (Pick::Share(0.02), ResponseFault::JunkAfter),
        (Pick::Share(0.01), ResponseFault::Swallow),
    ];
    for breakage in Breakage::ALL {
        // An endless head is a megabyte of events if responses are split after every byte.
        if breakage != Breakage::EndlessHead {
            response.push((Pick::Share(0.002), ResponseFault::Malformed(breakage)));
        }
    }
    let connect = vec![
        (Pick::First(2), ConnectFault::Refuse),
        (Pick::Share(0.05), ConnectFault::ResetAtOnce),
        (Pick::Share(0.05), ConnectFault::Hang),
    ];
    Faults { connect, response, send: vec![Pick::Share(0.01)], ..Faults::default() }
}

fn law(random: &mut Random, most_ns: u64) -> Law {
    match random.between(0, 4) {
        0 => Law::ZERO,
        1 => Law::Fixed(random.between(0, most_ns)),
        2 => Law::Exponential { mean_ns: most_ns / 2 },
        3 => Law::Bimodal { fast_ns: most_ns / 10, slow_ns: most_ns, slow_share: 0.1 },
        _ => Law::Uniform { low_ns: 0, high_ns: most_ns },
    }
}

fn pick<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    let last = choices.len() as u64 - 1;
    choices[usize::try_from(random.between(0, last)).expect("an index")]
}

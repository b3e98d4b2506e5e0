//! CPU time of the client per request, by I/O engine. The benchmark resolves differences of 1 to
//! 3 % on a machine whose speed drifts by more than that within a second.
//!
//! ```text
//! cargo bench -p weir-engine --no-default-features --bench engines
//! cargo bench -p weir-engine --no-default-features --bench engines -- connections=100 depth=16
//! cargo bench -p weir-engine --no-default-features --bench engines -- body=131072
//! ```
//!
//! The first takes half a minute. Without the default features neither LuaJIT nor TLS is built.
//!
//! All sides are in one process, each in a thread of its own, with its own connections to one
//! server on another CPU. They take turns of 12 ms on one CPU; the order is reversed each round. So
//! disturbances of the machine affect all of them. Cost is the thread's CPU time
//! (`CLOCK_THREAD_CPUTIME_ID`) per request sent in a turn. A ratio is the median over rounds of the
//! ratios within a round, with a 95 % confidence interval (by inversion of the sign test).
//!
//! A side is an engine with a client. `uring` and `epoll` have a whole worker: parser, histograms,
//! time stamps of the usual sample of connections. `uring-unstamped` has a worker without time
//! stamps. `uring-null` and `epoll-null` only count bytes, which is a lower bound of the cost of
//! any client. To judge a change, run this before and after it and compare the ratios to a side
//! that the change does not affect; or make the change a side.
#![forbid(unsafe_code)]

mod null;
mod options;
mod server;
mod side;
mod stats;
mod turns;
mod whole;

use std::error::Error;

use options::Options;
use server::ServerProcess;
use side::{Fleet, Load};
use weir_machine::sys;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == server::WORD) {
        return server::serve();
    }
    let options = Options::parse(&words)?;
    let cpus = sys::usable_cpus()?;
    let server = ServerProcess::start()?;
    // Threads start on the CPU of the thread that spawns them.
    sys::pin_to_cpu(*cpus.last().ok_or("no CPU at all")?)?;
    println!(
        "{} rounds of turns of {} ms; µs of CPU per request, and the ratio to {}'s",
        options.rounds, options.turn_ms, options.sides[0]
    );
    for connections in &options.connections {
        for depth in &options.depths {
            let load =
                Load { connections: *connections, depth: *depth, body_bytes: options.body_bytes };
            let fleet = Fleet::start(&options.sides, load, &server, options.turn_ms)?;
            fleet.compare(options.rounds)?;
        }
    }
    Ok(())
}

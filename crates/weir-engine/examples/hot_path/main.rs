//! Cost of a request in weir itself: the worker's own loop on a backend in memory, where neither a
//! kernel nor a server takes any time. `cargo xtask instructions` counts its instructions.
//!
//! `cargo run --release -p weir-engine --no-default-features --example hot_path` prints the wall
//! time of each scenario, the least of several runs. With `count SCENARIO TIMES` it runs one of
//! them for `TIMES` times its usual span and prints the number of requests.

mod memory;
mod scenario;

use std::env;
use std::time::Instant;

use weir_engine::{Control, run_on};

use memory::Memory;
use scenario::Scenario;

/// Timed runs of a scenario, and their length in usual spans. The least wall time is printed. The
/// runs are long enough to be timed, and short enough that other programs leave one of them
/// undisturbed.
const TIMED_RUNS: u32 = 15;
const TIMED_LENGTH: u64 = 20;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => Scenario::all().iter().for_each(print_wall_time),
        ["list"] => Scenario::all().iter().for_each(|scenario| println!("{}", scenario.name)),
        ["count", name, times] => {
            let scenarios = Scenario::all();
            let scenario = scenarios.iter().find(|scenario| scenario.name == name);
            let scenario = scenario.expect("`list` prints the names of scenarios");
            println!("{}", run(scenario, times.parse().expect("a number of times")));
        }
        _ => panic!("nothing, `list` or `count SCENARIO TIMES`"),
    }
}

/// Runs a scenario for `times` times its usual span; returns the number of completed requests.
fn run(scenario: &Scenario, times: u64) -> u64 {
    let job = scenario.job(times);
    let control = Control::new(1, None);
    let backend = Memory::new(scenario, job.requests.request.bytes().len());
    let measured = run_on(&job, 0, &control, backend, None, None).expect("memory does not fail");
    let outcomes = measured.results.outcomes;
    assert_eq!(outcomes.ok, outcomes.total(), "{}: every request gets a response", scenario.name);
    outcomes.ok
}

fn print_wall_time(scenario: &Scenario) {
    let mut least = f64::MAX;
    for _ in 0..TIMED_RUNS {
        let started_at = Instant::now();
        let requests = run(scenario, TIMED_LENGTH);
        least = least.min(started_at.elapsed().as_secs_f64() * 1e9 / requests as f64);
    }
    println!("{:<20} {least:>8.1} ns per request", scenario.name);
}

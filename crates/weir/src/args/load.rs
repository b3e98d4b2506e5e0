//! The flags of the load: its model and limits, and its part of a load on several machines.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use clap::Args;
use weir_result::{
    Arrivals, ConnectionLoad, ConnectionStage, DueTimes, Load, Part, Rate, Stage, Warmup,
    parse_connection_stages, parse_curve, parse_stages,
};
use weir_runner::{SETTINGS_MAX_BYTES, read_text_input};
use weir_text::units::parse_duration_ns;

use super::ArrivalsChoice;
use super::connection_count::connections;
use super::values::{
    condition, depth, part, positive, positive_duration, positive_long, threads, unix_time, warmup,
};
use super::wrong::wrong;

const SECOND_NS: u64 = 1_000_000_000;

/// Length of the window by default, in nanoseconds.
const DURATION_NS: u64 = 10 * SECOND_NS;

/// Connections by default.
const CONNECTIONS: u32 = 10;

/// Heading of the flags.
const HEADING: &str = "Load";

/// The flags of the load.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct LoadArgs {
    /// Worker threads [default: one per usable CPU; half as many beside a server on this machine]
    #[arg(short, long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<u32>,
    /// Connections over all threads; with a rate, A..B: A at the start, and a further one whenever
    /// none is free for a request that is due, up to B [default: 10]
    #[arg(short, long, value_name = "N|A..B", value_parser = connections)]
    connections: Option<ConnectionLoad>,
    /// Length of the measured window; 0: until the first signal (Ctrl-C), which is the planned end
    /// [default: 10s, or none with -n]
    #[arg(short, long, value_name = "T", value_parser = parse_duration_ns)]
    pub(crate) duration: Option<u64>,
    /// End after this many measured requests; with -d, whichever comes first
    #[arg(short = 'n', long, value_name = "N", value_parser = positive_long)]
    pub(crate) requests: Option<u64>,
    /// End the load early, with exit status 6, once this holds in each second of so long after the
    /// warm-up: 'errors > 5% for 5s', 'p99 > 1s for 10s', 'rate < 100'; repeatable [for: 1s]
    #[arg(long, value_name = "CONDITION", value_parser = condition)]
    pub(crate) abort: Vec<String>,
    /// Constant rate over all threads, in requests per second: 20k, 0.5, 100/m [default: closed
    /// loop]
    #[arg(short = 'R', long, value_name = "N")]
    pub(crate) rate: Option<Rate>,
    /// Requests in flight over all threads, with a rate: what is due beyond them is never sent, and
    /// counted as shed
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) in_flight: Option<u32>,
    /// Rates one after the other, each with its time, steps and ramps, as in 30s@1k,1m@1k..5k; 50
    /// bursts a second of 200 requests are 10s@50x200; @FILE has lines of seconds and rate, with
    /// straight lines between them. Connections of a closed loop are 30s@c=10,1m@c=10..500
    #[arg(long, value_name = "STAGES|@FILE", value_parser = stages,
          conflicts_with_all = ["rate", "duration", "requests"])]
    pub(crate) stages: Option<Stages>,
    /// Arrival process of --rate or --stages: evenly spaced, or with independent exponential gaps
    #[arg(long, value_enum, default_value_t = ArrivalsChoice::Uniform,
          value_name = "uniform|poisson")]
    pub(crate) arrivals: ArrivalsChoice,
    /// Seed of random arrivals and of --order random [default: random, printed in the report]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Unmeasured load before the window, on the same connections; auto: until it is steady, for at
    /// most 1m or the time after the colon [default: 10% of -d within 2s..10s; 0 with -n alone]
    #[arg(long, value_name = "T|auto[:T]", value_parser = warmup)]
    pub(crate) warmup: Option<Warmup>,
    /// Longest drain after the window, in which the load continues unrecorded until every measured
    /// request has its response [default: 20% of -d, at least 1s, at most the timeout]
    #[arg(long, value_name = "T", value_parser = parse_duration_ns)]
    pub(crate) drain: Option<u64>,
    /// Timeouts of requests and connects.
    #[command(flatten)]
    pub(crate) timeouts: TimeoutArgs,
    /// Requests in flight on each connection, 1 to 128 (HTTP/1.1 pipelining)
    #[arg(long, value_name = "N", value_parser = depth, default_value = "1")]
    pub(crate) pipeline: u16,
    /// The part of the load on this machine.
    #[command(flatten)]
    pub(crate) part: PartArgs,
}

impl LoadArgs {
    /// True if the load goes on until a signal: with `-d 0`.
    pub(crate) fn is_until_signal(&self) -> bool {
        self.duration == Some(0)
    }

    /// Returns the load of the specification.
    pub(super) fn spec(&self) -> Load {
        let by_default = || self.requests.is_none().then_some(DURATION_NS);
        let length_ns = self.duration.or_else(by_default);
        let constant = Load {
            due: due_at(self.rate, self.arrivals, self.seed),
            connections: self.connections(),
            in_flight_max: self.in_flight,
            pipeline: self.pipeline,
            warmup: self.warmup.unwrap_or_else(|| default_warmup(length_ns)),
            duration_ns: length_ns.filter(|_| !self.is_until_signal()),
            requests: self.requests,
            abort: self.abort.clone(),
            timeout_ns: self.timeouts.timeout,
            connect_timeout_ns: self.timeouts.connect_ns(),
            drain_ns: self.drain,
        };
        let (staged, begins_at_0) = match self.stages.clone() {
            None => return constant,
            Some(Stages::Rates(stages)) => {
                let begins_at_0 = stages[0].from.numerator == 0;
                (constant.in_stages(stages, arrivals(self.arrivals, self.seed)), begins_at_0)
            }
            Some(Stages::Connections(stages)) => {
                let begins_at_0 = stages[0].from == 0;
                (constant.in_connection_stages(stages), begins_at_0)
            }
        };
        let warmup = match begins_at_0 {
            true => Warmup::default(),
            false => default_warmup(staged.length_ns()),
        };
        Load { warmup: self.warmup.unwrap_or(warmup), ..staged }
    }

    /// True if the seed of random arrivals is not chosen.
    pub(super) fn draws_seed(&self) -> bool {
        self.arrivals == ArrivalsChoice::Poisson && self.seed.is_none()
    }

    /// Returns the number of connections, or their range.
    pub(crate) fn connections(&self) -> ConnectionLoad {
        self.connections.clone().unwrap_or(ConnectionLoad::Fixed(CONNECTIONS))
    }

    /// True if requests are due at planned times.
    pub(super) fn is_open_loop(&self) -> bool {
        self.rate.is_some() || matches!(self.stages, Some(Stages::Rates(_)))
    }

    /// Checks what a specification cannot express, as it has one value for several flags.
    pub(super) fn check(&self) -> Result<(), clap::Error> {
        if self.arrivals == ArrivalsChoice::Poisson && !self.is_open_loop() {
            return Err(wrong("--arrivals poisson needs a rate: give --rate or --stages"));
        }
        if self.connections.is_some() && matches!(self.stages, Some(Stages::Connections(_))) {
            return Err(wrong("--stages has the numbers of connections: leave -c out"));
        }
        if self.is_until_signal() && self.requests.is_some() {
            return Err(wrong(
                "-d 0 ends at a signal, and -n after a number of requests: leave one of them out",
            ));
        }
        if self.part.is_given() && self.draws_seed() {
            return Err(wrong(
                "--part needs --seed with random arrivals: the same on each machine",
            ));
        }
        Ok(())
    }
}

/// Longest times of requests and of connects.
#[derive(Debug, Args)]
pub(crate) struct TimeoutArgs {
    /// Response timeout
    #[arg(short = 'T', long, value_name = "T", value_parser = positive_duration,
          default_value = "10s")]
    pub(crate) timeout: u64,
    /// Connect timeout [default: --timeout]
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    connect_timeout: Option<u64>,
}

impl TimeoutArgs {
    /// Returns the connect timeout in nanoseconds.
    fn connect_ns(&self) -> u64 {
        self.connect_timeout.unwrap_or(self.timeout)
    }
}

/// One part of a load on several machines.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// Carry out part K of N of this load, one on each of N machines, with the same flags on all;
    /// weir report merges their documents
    #[arg(long, value_name = "K/N", value_parser = part, conflicts_with = "prove_client")]
    pub(super) part: Option<Part>,
    /// Begin the load at this time, in seconds since 1970 (date +%s), so that all parts begin
    /// together [default: once all connections are open]
    #[arg(long, value_name = "TIME", value_parser = unix_time, requires = "part")]
    pub(super) start_at: Option<u64>,
}

impl PartArgs {
    /// True if this machine carries out one part, and others the rest.
    pub(crate) fn is_given(&self) -> bool {
        self.part.is_some()
    }
}

/// Stages of the command line.
#[derive(Clone, Debug)]
pub(crate) enum Stages {
    /// Of an open loop.
    Rates(Vec<Stage>),
    /// Of a closed loop.
    Connections(Vec<ConnectionStage>),
}

/// Reads stages, or a file with a curve.
fn stages(text: &str) -> Result<Stages, String> {
    let Some(path) = text.strip_prefix('@') else {
        let (_, first) = text.split_once('@').unwrap_or_default();
        return match first.starts_with("c=") {
            true => parse_connection_stages(text).map(Stages::Connections),
            false => parse_stages(text).map(Stages::Rates),
        };
    };
    let curve = read_text_input("the curve", Path::new(path), SETTINGS_MAX_BYTES);
    let curve = curve.map_err(|error| format!("{error:#}"))?;
    parse_curve(&curve).map(Stages::Rates).map_err(|why| format!("{path}: {why}"))
}

/// The due times of a constant rate, if there is one.
pub(crate) fn due_at(
    rate: Option<Rate>,
    choice: ArrivalsChoice,
    seed: Option<u64>,
) -> Option<DueTimes> {
    rate.map(|rate| DueTimes::constant(rate, arrivals(choice, seed)))
}

/// The arrivals of an open loop.
pub(crate) fn arrivals(choice: ArrivalsChoice, seed: Option<u64>) -> Arrivals {
    match choice {
        ArrivalsChoice::Uniform => Arrivals::Uniform,
        ArrivalsChoice::Poisson => Arrivals::Poisson { seed: seed.unwrap_or_else(draw_seed) },
    }
}

/// Draws a seed that is short enough to type again.
pub(crate) fn draw_seed() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

/// The warm-up by default: `clamp(10% of -d, 2 s, 10 s)`, or none if only a number of requests ends
/// the window.
fn default_warmup(duration_ns: Option<u64>) -> Warmup {
    let tenth = |duration_ns: u64| (duration_ns / 10).clamp(2 * SECOND_NS, 10 * SECOND_NS);
    Warmup { span_ns: duration_ns.map_or(0, tenth), is_auto: false }
}

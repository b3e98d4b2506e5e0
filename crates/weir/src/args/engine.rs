//! The flags of the engine, and of the checks beside the load.

use clap::Args;
use weir_io::EngineChoice;
use weir_result::{Pacing, StampChoice, Wait};
use weir_runner::{CheckSpec, EngineSpec, Pin, WitnessChoice};

use super::choices::{PACING, TIMESTAMPS, WAIT, WITNESS, engine, one_of};
use super::pin;
use super::values::positive_duration;

/// Heading of the flags that decide when threads sleep.
const STRATEGY: &str = "Send and receive strategy";

/// Heading of the flags that measure the client.
const CHECKS: &str = "Client checks";

/// The flags of the engine, and of the checks beside the load.
#[derive(Debug, Args)]
#[command(next_help_heading = STRATEGY)]
pub(crate) struct EngineArgs {
    /// Send timing with --rate. sleep: least CPU, some µs late; hybrid: sleep, then spin shortly
    /// before; spin: whole cores [default: hybrid; sleep with more threads than CPUs]
    #[arg(long, value_parser = one_of(PACING), value_name = "sleep|hybrid|spin")]
    pacing: Option<Pacing>,
    /// Receive strategy. latency: busy-poll for up to 100 µs; throughput: coalesce wake-ups for up
    /// to 100 µs; spin: never sleep, whole cores; auto: adapt, and busy-poll a server on this
    /// machine where that makes more requests
    #[arg(long, value_parser = one_of(WAIT), default_value = "auto",
          value_name = "auto|latency|throughput|spin")]
    wait: Wait,
    /// With --rate, send due requests in batches every T: less CPU at high rates, up to T late
    /// [default: each request when it is due]
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    pub(super) tick: Option<u64>,
    /// Pin threads to CPUs, one each: all usable ones, or those of a list like 2-5 or 2,4
    /// [default: not pinned]
    #[arg(long, value_name = "CPUS", num_args = 0..=1, require_equals = true,
          default_missing_value = pin::ALL, value_parser = pin::pin, help_heading = "Engine")]
    pin: Option<Pin>,
    /// I/O engine; auto: io_uring where it works, else epoll
    #[arg(long, value_parser = engine(), default_value = EngineChoice::AUTO,
          value_name = EngineChoice::WORDS, help_heading = "Engine")]
    io: EngineChoice,
    /// Connections with kernel timestamps, which separate client overhead from latency; sample: one
    /// in 64
    #[arg(long, value_parser = one_of(TIMESTAMPS), default_value = "sample",
          value_name = "none|sample|all", help_heading = CHECKS)]
    timestamps: StampChoice,
    /// Skip the single request that checks the URL before the load
    #[arg(long, help_heading = "Request")]
    no_preflight: bool,
    /// Run a low-rate probe on its own thread as an independent check; auto: where a CPU is idle
    #[arg(long, value_parser = one_of(WITNESS), default_value = "auto", value_name = "auto|on|off",
          help_heading = CHECKS)]
    witness: WitnessChoice,
    /// First measure weir's own latency for 1 s, against a server in its own process; without a
    /// URL, measure only that
    #[arg(long, help_heading = CHECKS)]
    pub(crate) selfcheck: bool,
    /// Test whether the client is the limit: four more runs, 40% of -d in all, with and without one
    /// more thread
    #[arg(long, help_heading = CHECKS)]
    pub(crate) prove_client: bool,
}

impl EngineArgs {
    /// Returns the engine of the specification.
    pub(super) fn spec(&self, threads: Option<u32>) -> EngineSpec {
        EngineSpec {
            threads,
            pin: self.pin.clone(),
            io: self.io,
            pacing: self.pacing,
            wait: self.wait,
            tick_ns: self.tick,
            stamps: self.timestamps,
        }
    }

    /// Returns the checks of the specification.
    pub(super) fn checks(&self) -> CheckSpec {
        CheckSpec {
            preflight: !self.no_preflight,
            witness: self.witness,
            selfcheck: self.selfcheck,
            prove_client: self.prove_client,
        }
    }
}

//! Values that a flag chooses from, without their effects.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use weir_io::{ENGINES, EngineChoice};

/// Returns the parser of `--io`.
pub(crate) fn engine() -> impl TypedValueParser<Value = EngineChoice> {
    let auto = PossibleValue::new(EngineChoice::AUTO).help(EngineChoice::AUTO_ABOUT);
    let engines = ENGINES.iter().map(|info| PossibleValue::new(info.word).help(info.about));
    let words: Vec<PossibleValue> = [auto].into_iter().chain(engines).collect();
    PossibleValuesParser::new(words).try_map(|word| word.parse::<EngineChoice>())
}

/// `--arrivals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsChoice {
    /// Evenly spaced
    Uniform,
    /// Independent exponential gaps, as users arrive
    Poisson,
}

/// `--close`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CloseChoice {
    /// The server, because of `Connection: close`
    Server,
    /// weir, after the response
    Client,
}

/// `--http`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpVersionChoice {
    /// HTTP/1.0
    #[value(name = "1.0")]
    Http10,
    /// HTTP/1.1
    #[value(name = "1.1", alias = "1")]
    Http11,
    /// HTTP/2
    #[value(name = "2", alias = "2.0")]
    Http2,
    /// Over TLS HTTP/2 if the server chooses it, else HTTP/1.1
    Auto,
}

/// `--pacing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PacingChoice {
    /// Sleep until due: cheapest, some µs late
    Sleep,
    /// Sleep until shortly before, then spin
    Hybrid,
    /// Spin all the time: takes whole cores
    Spin,
}

/// `--tls-resume`, also of `weir serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// No
    Off,
    /// Yes
    On,
}

/// `--wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitChoice {
    /// Adapt: low latency where it is nearly free, most requests of a server on this machine
    Auto,
    /// Busy-poll before sleeping
    Latency,
    /// Coalesce wake-ups
    Throughput,
    /// Never sleep: takes whole cores
    Spin,
}

/// `--timestamps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampsChoice {
    /// No connection
    None,
    /// One connection in 64, and one in 16 of its sends
    Sample,
    /// All connections, and all their sends
    All,
}

/// `--witness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WitnessChoice {
    /// Where a CPU is idle
    Auto,
    /// Always
    On,
    /// Never
    Off,
}

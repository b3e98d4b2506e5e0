//! Values that a flag chooses from, each with its word and its help.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use weir_io::{ENGINES, EngineChoice};
use weir_result::document::Grade;
use weir_result::{Closer, Pacing, StampChoice, Wait};
use weir_runner::{HttpChoice, WitnessChoice};

/// Choices of a flag: word, help, value. Without a help it is another word for a value above.
pub(super) type Choices<T> = &'static [(&'static str, &'static str, T)];

/// Returns the parser of a flag with these choices.
pub(super) fn one_of<T: Copy + Send + Sync>(
    choices: Choices<T>,
) -> impl TypedValueParser<Value = T> {
    let word = |(word, help, _): &(&'static str, &'static str, T)| {
        PossibleValue::new(*word).help(*help).hide(help.is_empty())
    };
    PossibleValuesParser::new(choices.iter().map(word)).map(|word| {
        let chosen = choices.iter().find(|(known, ..)| *known == word);
        chosen.expect("the parser accepts no other").2
    })
}

/// Returns the parser of `--io`.
pub(super) fn engine() -> impl TypedValueParser<Value = EngineChoice> {
    let auto = PossibleValue::new(EngineChoice::AUTO).help(EngineChoice::AUTO_ABOUT);
    let engines = ENGINES.iter().map(|info| PossibleValue::new(info.word).help(info.about));
    let words: Vec<PossibleValue> = [auto].into_iter().chain(engines).collect();
    PossibleValuesParser::new(words).try_map(|word| word.parse::<EngineChoice>())
}

/// `--arrivals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsChoice {
    /// Evenly spaced
    #[default]
    Uniform,
    /// Independent exponential gaps, as users arrive
    Poisson,
}

/// `--close`.
pub(super) const CLOSE: Choices<Closer> = &[
    ("server", "The server, because of `Connection: close`", Closer::Server),
    ("client", "weir, after the response", Closer::Client),
];

/// `--http`.
pub(super) const HTTP: Choices<HttpChoice> = &[
    ("1.0", "HTTP/1.0", HttpChoice::Http10),
    ("1.1", "HTTP/1.1", HttpChoice::Http11),
    ("2", "HTTP/2", HttpChoice::Http2),
    ("auto", "Over TLS HTTP/2 if the server chooses it, else HTTP/1.1", HttpChoice::Auto),
    ("1", "", HttpChoice::Http11),
    ("2.0", "", HttpChoice::Http2),
];

/// `--pacing`.
pub(super) const PACING: Choices<Pacing> = &[
    ("sleep", "Sleep until due: cheapest, some µs late", Pacing::Sleep),
    ("hybrid", "Sleep until shortly before, then spin", Pacing::Hybrid),
    ("spin", "Spin all the time: takes whole cores", Pacing::Spin),
];

/// `--strict`: the worst grade that exits with 0.
pub(super) const STRICT: Choices<Grade> =
    &[("clean", "Only clean", Grade::Clean), ("bounded", "Clean or bounded", Grade::Bounded)];

/// `--tls-resume`, also of `weir serve`.
pub(super) const SWITCH: Choices<bool> = &[("off", "No", false), ("on", "Yes", true)];

/// `--wait`.
pub(super) const WAIT: Choices<Wait> = &[
    (
        "auto",
        "Adapt: low latency where it is nearly free, most requests of a server on this machine",
        Wait::Auto,
    ),
    ("latency", "Busy-poll before sleeping", Wait::Latency),
    ("throughput", "Coalesce wake-ups", Wait::Throughput),
    ("spin", "Never sleep: takes whole cores", Wait::Spin),
];

/// `--timestamps`.
pub(super) const TIMESTAMPS: Choices<StampChoice> = &[
    ("none", "No connection", StampChoice::None),
    ("sample", "One connection in 64, and one in 16 of its sends", StampChoice::Sample),
    ("all", "All connections, and all their sends", StampChoice::All),
];

/// `--witness`.
pub(super) const WITNESS: Choices<WitnessChoice> = &[
    ("auto", "Where a CPU is idle", WitnessChoice::Auto),
    ("on", "Always", WitnessChoice::On),
    ("off", "Never", WitnessChoice::Off),
];

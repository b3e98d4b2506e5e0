//! Injected faults: the syntax of `--fault`, and the selection of requests. A pure function of the
//! request's index and draws.

use std::fmt;
use std::str::FromStr;

use crate::draws::Draws;
use crate::units::ParseError;

/// Fault that replaces the response to a request or accompanies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection is reset, with no byte of a response.
    Reset,
    /// The connection is closed in order, with no byte of a response.
    Close,
    /// Neither this request nor any later one of its connection gets a response; the connection
    /// stays open.
    Blackhole,
    /// The head and half of the body are sent (half of the head if there is no body), then the
    /// connection is closed in order.
    Partial,
    /// The whole response is sent, followed by sixteen bytes that belong to no response; the
    /// connection stays open.
    Garbage,
    /// The request's stream is reset (`RST_STREAM` with `INTERNAL_ERROR`), with no byte of a
    /// response; its connection goes on. Without effect on HTTP/1.
    ResetStream,
    /// The request is refused at once and not processed (`RST_STREAM` with `REFUSED_STREAM`), so
    /// that the client may send it again; its connection goes on. Without effect on HTTP/1.
    RefuseStream,
}

impl FaultKind {
    /// All kinds in the order of their declaration, in which their counters are printed.
    pub const ALL: [FaultKind; 7] = [
        FaultKind::Reset,
        FaultKind::Close,
        FaultKind::Blackhole,
        FaultKind::Partial,
        FaultKind::Garbage,
        FaultKind::ResetStream,
        FaultKind::RefuseStream,
    ];

    /// Returns the name of the kind in the syntax of `--fault`.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; FaultKind::ALL.len()] =
            ["reset", "close", "blackhole", "partial", "garbage", "reset-stream", "refuse-stream"];
        NAMES[self as usize]
    }

    /// True if the fault strikes streams of HTTP/2 only.
    pub fn is_of_streams(self) -> bool {
        matches!(self, FaultKind::ResetStream | FaultKind::RefuseStream)
    }
}

impl FromStr for FaultKind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<FaultKind, ParseError> {
        FaultKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = FaultKind::ALL.map(FaultKind::name).join(", ");
            ParseError(format!("`{text}` is not a fault: choose one of {names}"))
        })
    }
}

/// Share of requests that a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Each request independently with this probability, 0 to 1.
    Probability(f64),
    /// Exactly the k-th, 2k-th, 3k-th … request of the process; k at least 1.
    Every(u64),
}

/// One `--fault`: `reset:0.01` (one request in a hundred, at random) or `reset:1/100` (exactly
/// every hundredth).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Kind of fault.
    pub kind: FaultKind,
    /// Share of requests.
    pub share: Share,
}

impl Fault {
    /// Returns the first of `faults` that strikes request `index` (from zero over the whole
    /// process), if any. A request suffers at most one fault.
    pub fn strike(faults: &[Fault], index: u64, draws: Draws) -> Option<FaultKind> {
        let struck = |(lane, fault): &(u64, &Fault)| match fault.share {
            Share::Probability(share) => draws.uniform(LANE + lane) <= share,
            Share::Every(every) => (index + 1).is_multiple_of(every),
        };
        (0u64..).zip(faults).find(struck).map(|(_, fault)| fault.kind)
    }
}

/// First lane of [`Draws`] for faults.
const LANE: u64 = 8;

impl FromStr for Fault {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Fault, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not of the form KIND:SHARE: write for instance reset:0.01 for one in \
                 a hundred at random, or reset:1/100 for exactly every hundredth"
            ))
        };
        let (kind, share) = text.split_once(':').ok_or_else(usage)?;
        let kind = kind.parse()?;
        let share = match share.split_once('/') {
            Some(("1", every)) => {
                let every = every.parse().ok().filter(|&every| every > 0);
                Share::Every(every.ok_or_else(usage)?)
            }
            Some(_) => return Err(usage()),
            None => {
                let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                Share::Probability(share.ok_or_else(usage)?)
            }
        };
        Ok(Fault { kind, share })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share {
            Share::Probability(share) => write!(f, "{}:{share}", self.kind.name()),
            Share::Every(every) => write!(f, "{}:1/{every}", self.kind.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_read_and_written() {
        let check = |text: &str, kind, share| {
            let fault = Fault { kind, share };
            assert_eq!(text.parse(), Ok(fault), "{text}");
            assert_eq!(fault.to_string(), text);
        };
        check("reset:0.01", FaultKind::Reset, Share::Probability(0.01));
        check("blackhole:0.001", FaultKind::Blackhole, Share::Probability(0.001));
        check("partial:1", FaultKind::Partial, Share::Probability(1.0));
        check("close:1/100", FaultKind::Close, Share::Every(100));
        check("garbage:1/1", FaultKind::Garbage, Share::Every(1));
        check("reset-stream:0.01", FaultKind::ResetStream, Share::Probability(0.01));
        check("refuse-stream:1/10", FaultKind::RefuseStream, Share::Every(10));
    }

    #[test]
    fn what_is_wrong_is_reported_with_an_example() {
        for text in ["reset", "reset:", "reset:2", "reset:-1", "reset:1/0", "reset:2/5", "reset:x"]
        {
            let error = text.parse::<Fault>().expect_err(text).to_string();
            assert!(error.contains("reset:1/100"), "{error}");
        }
        let error = "explode:0.1".parse::<Fault>().expect_err("no such kind").to_string();
        let names = "reset, close, blackhole, partial, garbage, reset-stream, refuse-stream";
        assert!(error.contains(names), "{error}");
    }

    #[test]
    fn every_kth_is_exact_and_the_first_rule_wins() {
        let faults = ["reset:1/10".parse().expect("valid"), "close:1/5".parse().expect("valid")];
        let struck: Vec<_> =
            (0..20).map(|index| Fault::strike(&faults, index, Draws::new(1, index))).collect();
        for (index, kind) in struck.into_iter().enumerate() {
            let expected = match index + 1 {
                10 | 20 => Some(FaultKind::Reset),
                5 | 15 => Some(FaultKind::Close),
                _ => None,
            };
            assert_eq!(kind, expected, "request {index}");
        }
    }

    #[test]
    fn a_probability_strikes_its_share() {
        let faults = ["reset:0.01".parse().expect("valid")];
        let hits = (0..100_000u64)
            .filter(|&i| Fault::strike(&faults, i, Draws::new(3, i)).is_some())
            .count();
        assert!((hits as f64 - 1000.0).abs() < 4.0 * 31.5, "{hits} hits");
    }
}

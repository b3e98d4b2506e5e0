//! Response delays: the syntax of `--delay` and `x-delay`, and sampling. A pure function of the
//! request's draws; reads no clock.

use std::str::FromStr;
use std::time::Duration;

use crate::draws::Draws;
use crate::units::{ParseError, parse_span, round_ns, span_ns};

/// A distribution of delays (or, in FIFO mode, of service times).
///
/// Written `5ms` or `fixed:5ms`, `uniform:1ms..5ms`, `exp:2ms` (the mean),
/// `lognormal:2ms,0.5` (median, sigma of the logarithm), `bimodal:1ms,100ms,0.01` (usual, slow,
/// share of slow) or `pareto:1ms,1.5` (scale, alpha).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// One fixed delay.
    Fixed(Duration),
    /// Uniform between two spans.
    Uniform {
        /// Shortest delay.
        low: Duration,
        /// Longest delay; not below `low`.
        high: Duration,
    },
    /// Exponential: the service time of M/M/1.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Lognormal.
    Lognormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the logarithm, 0 to 10.
        sigma: f64,
    },
    /// One of two delays.
    Bimodal {
        /// The usual delay.
        fast: Duration,
        /// The rare delay.
        slow: Duration,
        /// The probability of `slow`, 0 to 1.
        slow_share: f64,
    },
    /// Pareto: P(delay > x) = (scale / x)^alpha for x ≥ scale. Its mean is infinite for alpha ≤ 1.
    Pareto {
        /// Shortest delay.
        scale: Duration,
        /// The tail index, above 0 up to 100.
        alpha: f64,
    },
}

impl Default for Delay {
    fn default() -> Delay {
        Delay::NONE
    }
}

impl Delay {
    /// No delay at all.
    pub const NONE: Delay = Delay::Fixed(Duration::ZERO);

    /// Longest delay that a draw may give, in nanoseconds: an hour. Longer draws are truncated to
    /// it, so that a heavy tail cannot hold a connection for ever.
    pub const SAMPLE_MAX_NS: u64 = 3_600_000_000_000;

    /// Returns the delay of the request that these draws belong to, rounded to the nearest
    /// nanosecond; at most [`Delay::SAMPLE_MAX_NS`].
    pub fn sample_ns(&self, draws: Draws) -> u64 {
        let sample = match *self {
            Delay::Fixed(span) => return span_ns(span).min(Delay::SAMPLE_MAX_NS),
            Delay::Uniform { low, high } => {
                let low = float_ns(low);
                let high = float_ns(high);
                low + (high - low) * draws.uniform(LANE)
            }
            Delay::Exponential { mean } => -float_ns(mean) * draws.uniform(LANE).ln(),
            Delay::Lognormal { median, sigma } => {
                float_ns(median) * (sigma * draws.normal(LANE)).exp()
            }
            Delay::Bimodal { fast, slow, slow_share } => {
                float_ns(if draws.uniform(LANE) <= slow_share { slow } else { fast })
            }
            Delay::Pareto { scale, alpha } => {
                float_ns(scale) * draws.uniform(LANE).powf(-1.0 / alpha)
            }
        };
        round_ns(sample).min(Delay::SAMPLE_MAX_NS)
    }

    /// True if every request gets its response at once.
    pub fn is_none(&self) -> bool {
        *self == Delay::NONE
    }
}

/// First lane of [`Draws`] for delays, which use two lanes; faults use later ones.
const LANE: u64 = 0;

fn float_ns(span: Duration) -> f64 {
    span.as_secs_f64() * 1e9
}

impl FromStr for Delay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Delay, ParseError> {
        let Some((kind, rest)) = text.split_once(':') else {
            return parse_span(text).map(Delay::Fixed).map_err(|_| unknown(text));
        };
        match kind {
            "fixed" => Ok(Delay::Fixed(parse_span(rest)?)),
            "uniform" => {
                let usage = || usage(text, "uniform:LOW..HIGH", "uniform:1ms..5ms");
                let (low, high) = rest.split_once("..").ok_or_else(usage)?;
                let low = parse_span(low)?;
                let high = parse_span(high)?;
                if low > high {
                    return Err(usage());
                }
                Ok(Delay::Uniform { low, high })
            }
            "exp" | "exponential" => Ok(Delay::Exponential { mean: parse_span(rest)? }),
            "lognormal" => {
                let usage = || usage(text, "lognormal:MEDIAN,SIGMA", "lognormal:2ms,0.5");
                let (median, sigma) = rest.split_once(',').ok_or_else(usage)?;
                let sigma = parse_within(sigma, 0.0, 10.0).ok_or_else(usage)?;
                Ok(Delay::Lognormal { median: parse_span(median)?, sigma })
            }
            "bimodal" => {
                let usage = || usage(text, "bimodal:FAST,SLOW,SHARE", "bimodal:1ms,100ms,0.01");
                let (fast, rest) = rest.split_once(',').ok_or_else(usage)?;
                let (slow, share) = rest.split_once(',').ok_or_else(usage)?;
                let slow_share = parse_within(share, 0.0, 1.0).ok_or_else(usage)?;
                Ok(Delay::Bimodal { fast: parse_span(fast)?, slow: parse_span(slow)?, slow_share })
            }
            "pareto" => {
                let usage = || usage(text, "pareto:SCALE,ALPHA", "pareto:1ms,1.5");
                let (scale, alpha) = rest.split_once(',').ok_or_else(usage)?;
                let alpha = parse_within(alpha, 0.0, 100.0).ok_or_else(usage)?;
                if alpha == 0.0 {
                    return Err(usage());
                }
                Ok(Delay::Pareto { scale: parse_span(scale)?, alpha })
            }
            _ => Err(unknown(text)),
        }
    }
}

fn parse_within(text: &str, low: f64, high: f64) -> Option<f64> {
    text.parse().ok().filter(|number| (low..=high).contains(number))
}

fn usage(text: &str, form: &str, example: &str) -> ParseError {
    ParseError(format!("`{text}` is not of the form {form}: write for instance {example}"))
}

fn unknown(text: &str) -> ParseError {
    ParseError(format!(
        "`{text}` is not a delay: write 5ms, uniform:1ms..5ms, exp:2ms, lognormal:2ms,0.5, \
         bimodal:1ms,100ms,0.01 or pareto:1ms,1.5"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_language_is_read() {
        let check = |text: &str, delay: Delay| {
            assert_eq!(text.parse(), Ok(delay), "{text}");
        };
        check("1ms", Delay::Fixed(MS));
        check("fixed:1ms", Delay::Fixed(MS));
        check("uniform:1ms..5ms", Delay::Uniform { low: MS, high: 5 * MS });
        check("exp:2ms", Delay::Exponential { mean: 2 * MS });
        check("lognormal:2ms,0.5", Delay::Lognormal { median: 2 * MS, sigma: 0.5 });
        let bimodal = Delay::Bimodal { fast: MS, slow: 100 * MS, slow_share: 0.01 };
        check("bimodal:1ms,100ms,0.01", bimodal);
        check("pareto:1ms,1.5", Delay::Pareto { scale: MS, alpha: 1.5 });
    }

    #[test]
    fn what_is_wrong_is_reported_with_an_example() {
        let check = |text: &str, part: &str| {
            let error = text.parse::<Delay>().expect_err(text).to_string();
            assert!(error.contains(text) && error.contains(part), "{error}");
        };
        check("fast", "write 5ms, uniform:1ms..5ms");
        check("gauss:1ms", "exp:2ms");
        check("uniform:1ms", "uniform:LOW..HIGH");
        check("uniform:5ms..1ms", "uniform:LOW..HIGH");
        check("lognormal:2ms", "lognormal:2ms,0.5");
        check("lognormal:2ms,-1", "lognormal:2ms,0.5");
        check("bimodal:1ms,100ms", "bimodal:1ms,100ms,0.01");
        check("bimodal:1ms,100ms,1.5", "bimodal:1ms,100ms,0.01");
        check("pareto:1ms,0", "pareto:1ms,1.5");
        check("pareto:1ms,nan", "pareto:1ms,1.5");
    }

    /// Returns sorted samples of `text` in milliseconds, under a fixed seed.
    fn samples(text: &str) -> Vec<f64> {
        let delay: Delay = text.parse().expect(text);
        let mut all: Vec<f64> =
            (0..200_000).map(|i| delay.sample_ns(Draws::new(42, i)) as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Checks the Kolmogorov-Smirnov distance to the distribution function `truth` against the
    /// value that one fair sample in 10,000 would exceed.
    fn check_law(text: &str, truth: impl Fn(f64) -> f64) {
        let all = samples(text);
        let n = all.len() as f64;
        let distance = (all.iter().enumerate())
            .map(|(i, &x)| {
                (truth(x) - i as f64 / n).abs().max((truth(x) - (i + 1) as f64 / n).abs())
            })
            .fold(0.0, f64::max);
        assert!(distance < 2.23 / n.sqrt(), "{text}: distance {distance}");
    }

    #[test]
    fn samples_follow_their_law() {
        check_law("uniform:1ms..5ms", |x| ((x - 1.0) / 4.0).clamp(0.0, 1.0));
        check_law("exp:2ms", |x| 1.0 - (-x / 2.0).exp());
        check_law("pareto:1ms,1.5", |x| 1.0 - x.max(1.0).powf(-1.5));
    }

    #[test]
    fn means_and_quantiles_are_those_of_theory() {
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean(&samples("exp:2ms")) - 2.0).abs() < 0.02);
        // E = median · exp(sigma²/2).
        let lognormal = samples("lognormal:2ms,0.5");
        assert!((mean(&lognormal) - 2.0 * 0.125f64.exp()).abs() < 0.02);
        assert!((lognormal[100_000] - 2.0).abs() < 0.02);
        // The normal distribution's 0.99 quantile is 2.3263.
        assert!((lognormal[198_000] - 2.0 * (0.5f64 * 2.3263).exp()).abs() < 0.1);
        let slow = samples("bimodal:1ms,100ms,0.01").iter().filter(|&&x| x == 100.0).count();
        assert!((slow as f64 - 2000.0).abs() < 4.0 * 44.5, "{slow} slow ones");
        let pareto = samples("pareto:1ms,1.5");
        assert!(pareto[0] >= 1.0);
        assert!((pareto[180_000] - 0.1f64.powf(-1.0 / 1.5)).abs() < 0.1);
    }

    #[test]
    fn a_heavy_tail_is_cut_at_an_hour() {
        let delay = Delay::Pareto { scale: Duration::from_secs(60), alpha: 0.05 };
        let longest = (0..1000).map(|i| delay.sample_ns(Draws::new(1, i))).max();
        assert_eq!(longest, Some(Delay::SAMPLE_MAX_NS));
    }
}

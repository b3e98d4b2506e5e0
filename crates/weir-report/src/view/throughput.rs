//! The line `Throughput`: successful responses per second, and their bounds.

use weir_result::Document;
use weir_result::document::RateInterval;
use weir_result::quantile::Bound;
use weir_text::units;

use super::{Block, Fact, Tone};

pub(super) fn blocks(document: &Document) -> Vec<Block> {
    let throughput = &document.throughput;
    if throughput.window_s <= 0.0 || document.plan.is_idle() {
        return Vec::new();
    }
    let mut facts = rates(document);
    if let Some(rate) = missed(document) {
        facts.push(Fact::named("planned", rate).toned(Tone::Caution));
    }
    if throughput.bytes_received > 0 {
        facts.push(Fact::text(units::byte_rate(throughput.bytes_per_second)));
    }
    vec![Block::facts("Throughput", facts)]
}

/// Returns the first of the rates; `None` without a window.
pub(super) fn main(document: &Document) -> Option<Fact> {
    let throughput = &document.throughput;
    (throughput.window_s > 0.0).then(|| rates(document).swap_remove(0))
}

/// Returns the rate: `20,000/s ± 0.3%`, or `≥ 71,200/s` and `measured 71,500/s ± 0.3%` if it is a
/// bound (`unknown` if it is none); with the rate of all responses if some were bad.
fn rates(document: &Document) -> Vec<Fact> {
    let results = &document.results;
    let throughput = &document.throughput;
    let measured = within(results.good_rps, results.good_interval);
    let all_are_good = results.good == results.completed;
    let good = |rate: String| match all_are_good {
        true => Fact::text(rate).toned(Tone::Main),
        false => Fact::named("good", rate).toned(Tone::Main),
    };
    let mut facts = match throughput.least_rps.filter(|least| *least > 0.0) {
        Some(least) => {
            let least = format!("≥ {}", units::rate_at_least(least));
            vec![good(least), Fact::named("measured", measured)]
        }
        None if throughput.bound == Bound::Unknown => {
            vec![good("unknown".to_owned()), Fact::named("measured", measured)]
        }
        None => vec![good(measured)],
    };
    if !all_are_good {
        let completed = within(results.completed_rps, results.completed_interval);
        facts.push(Fact::named("all responses", completed));
    }
    facts
}

/// Formats `71,500/s ± 0.3%`.
fn within(rps: f64, interval: Option<RateInterval>) -> String {
    units::round_rate(rps) + &margin(rps, interval)
}

/// Formats ` ± 0.3%`: half the interval's width as a share of the rate, rounded up. An interval
/// that is wider than the rate has its ends, ` (0 to 25.3/s)`. Empty without an interval.
pub(super) fn margin(rps: f64, interval: Option<RateInterval>) -> String {
    let Some(RateInterval { low_rps, high_rps }) = interval.filter(|_| rps > 0.0) else {
        return String::new();
    };
    // The lower end is cut at 0.
    let share = (high_rps - rps).max(rps - low_rps).max((high_rps - low_rps) / 2.0) / rps;
    if share > 1.0 {
        let low = units::rate(low_rps);
        return format!(" ({} to {})", low.trim_end_matches("/s"), units::rate(high_rps));
    }
    let share = (high_rps - low_rps) / 2.0 / rps;
    let share = (share * 1e4).ceil() / 1e4;
    format!(" ± {}", units::short_percent(share))
}

/// The planned rate, if fewer responses came than were planned.
fn missed(document: &Document) -> Option<String> {
    let rate = document.offered_in_words()?;
    let planned = document.results.planned;
    let missing = planned.saturating_sub(document.results.completed);
    // One request more or less is the edge of the window, not a missed plan.
    let is_missed = missing > 1 && missing > planned / 1000;
    is_missed.then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_wider_than_the_rate_have_their_ends() {
        let of = |low_rps, high_rps| margin(10.0, Some(RateInterval { low_rps, high_rps }));
        assert_eq!(of(9.0, 11.0), " ± 10%");
        assert_eq!(of(0.0, 20.0), " ± 100%");
        assert_eq!(of(0.0, 25.3), " (0 to 25.3/s)");
        assert_eq!((margin(10.0, None), of(0.0, 21.0).contains('±')), (String::new(), false));
    }
}

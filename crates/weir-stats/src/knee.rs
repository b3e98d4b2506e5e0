//! The knee of a rising ramp: the rate above which a server completed less than was due, so that
//! response times grew without bound (METHOD 1.24).
//!
//! Below the knee a part of the ramp completes what is due in it, whatever the arrival process and
//! the queueing. Above it, it completes what the server can. Both models have one change between
//! them, which least squares find; the mean of the parts behind it is the capacity.

use crate::interval::mean_interval;
use crate::moments::{median, variance};

/// Confidence of the capacity's interval, two-sided, and of the test for a shortfall, one-sided.
const CONFIDENCE: f64 = 0.95;

/// Least parts before a change: the floor of the response times is measured in them.
const BEFORE_MIN: usize = 3;

/// Least parts behind a change; two have no useful interval.
const BEHIND_MIN: usize = 3;

/// Most parts behind a change that the capacity is the mean of: the nearest ones, since a server
/// may slow down far above its knee.
const BEHIND_MAX: usize = 10;

/// Least requests due in a part, on average.
const DUE_MIN: f64 = 10.0;

/// Least share of the due requests that were not completed behind the knee.
const SHORTFALL_MIN: f64 = 0.01;

/// Least ratio of the median response times behind a knee to their floor.
const RISE_MIN: f64 = 1.5;

/// Rate of completion just below a knee, as a multiple of that behind it, from which the server
/// slowed down there.
const SLOWER: f64 = 1.1;

/// Least distance of both rates, in standard deviations of their difference.
const SLOWER_DEVIATIONS: f64 = 5.0;

/// A part of a ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RampPart {
    /// Planned rate at its start, per second.
    pub from_rps: f64,
    /// Planned rate at its end, per second.
    pub to_rps: f64,
    /// Length in seconds, above 0.
    pub length_s: f64,
    /// Requests due in it.
    pub due: u64,
    /// Responses in it.
    pub completed: u64,
    /// Median response time of the requests due in it, in any unit; infinite if most of them
    /// failed.
    pub median: f64,
}

/// A knee, or its absence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundKnee {
    /// Ends of the interval of the rate, per second; `None` if the ramp has no knee up to
    /// `searched_rps`.
    pub rps: Option<(f64, f64)>,
    /// Greatest rate at which a knee would have been found, per second.
    pub searched_rps: f64,
    /// Median of the parts' medians below the knee, in their unit.
    pub floor: f64,
}

/// Finds the knee of a ramp with a rising rate. `None` if its parts or their requests are too few,
/// or the ramp is saturated from its start or almost, so that it has no floor.
///
/// 1. The change: `j` such that Σ (completed − due)² before it plus Σ (completed − their mean)²
///    from it on is least.
/// 2. It is a knee if in up to ten parts behind it fewer requests were completed than were due, by
///    more than 1% and with 97.5% confidence over the parts, and the median of their response times
///    is more than 1.5 times the floor. The same must hold for the last three parts.
/// 3. Its interval is that of the mean completed rate of these parts, by batch means, and one
///    request wider on both sides. If the two parts before the change completed 10% more than its
///    upper end, and more than those behind it by five standard deviations, the server slowed down
///    at the knee: then the two parts on each side of the change are the interval.
pub fn knee(parts: &[RampPart]) -> Option<FoundKnee> {
    let due: u64 = parts.iter().map(|part| part.due).sum();
    let is_long = parts.len() >= BEFORE_MIN + BEHIND_MIN;
    if !is_long || (due as f64) < DUE_MIN * parts.len() as f64 {
        return None;
    }
    let last = parts.len() - 1;
    let end = parts.len() - BEHIND_MIN;
    let change = change(parts);
    let floor = median_of(&parts[..change.max(BEFORE_MIN)]);
    // The first part behind the change may be saturated in its last moments alone.
    let behind = &parts[(change + 1).min(end)..];
    let behind = &behind[..behind.len().min(BEHIND_MAX)];
    if !is_short(behind, floor) || !is_short(&parts[end..], floor) {
        // A knee in the last parts is not told from chance.
        let has_risen = parts[last].median > RISE_MIN * floor;
        let is_met = missing(&parts[last]) <= SHORTFALL_MIN * due_rps(&parts[last]);
        let searched_rps =
            if is_met || !has_risen { parts[last].to_rps } else { parts[end].from_rps };
        return Some(FoundKnee { rps: None, searched_rps, floor: median_of(parts) });
    }
    if change < BEFORE_MIN {
        return None;
    }
    let rates: Vec<f64> = behind.iter().map(completed_rps).collect();
    let capacity = mean_interval(&rates, CONFIDENCE)?;
    let request = 1.0 / behind.iter().map(|part| part.length_s).sum::<f64>();
    let half_width = capacity.half_width + request;
    let low = capacity.mean - half_width;
    let high = capacity.mean + half_width;
    let before = parts[change - 2..change].iter().map(completed_rps).sum::<f64>() / 2.0;
    let beside = (parts[change - 2].from_rps, parts[(change + 1).min(last)].to_rps);
    // Two parts of a random server are 10% above by luck now and then.
    let chance = SLOWER_DEVIATIONS * deviation(&rates, 2);
    let has_slowed = before > SLOWER * high && before - capacity.mean > chance;
    let rps = Some(if has_slowed { beside } else { (low, high) });
    Some(FoundKnee { rps, searched_rps: parts[last].to_rps, floor })
}

/// Returns the index of the first part that the server saturated, if any did.
fn change(parts: &[RampPart]) -> usize {
    let kept = |part: &RampPart| (missing(part) * part.length_s).powi(2);
    let cost = |change: &usize| {
        let (before, behind) = parts.split_at(*change);
        let mean = behind.iter().map(completed_rps).sum::<f64>() / behind.len() as f64;
        let spread = |part: &RampPart| ((completed_rps(part) - mean) * part.length_s).powi(2);
        before.iter().map(kept).sum::<f64>() + behind.iter().map(spread).sum::<f64>()
    };
    let changes = 0..=parts.len() - BEHIND_MIN;
    changes.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(0)
}

/// True if these parts completed less than was due, and their response times are above the floor.
fn is_short(parts: &[RampPart], floor: f64) -> bool {
    let shortfalls: Vec<f64> = parts.iter().map(missing).collect();
    let Some(interval) = mean_interval(&shortfalls, CONFIDENCE) else { return false };
    let due_rps = parts.iter().map(due_rps).sum::<f64>() / parts.len() as f64;
    median_of(parts) > RISE_MIN * floor
        && interval.mean > SHORTFALL_MIN * due_rps
        && interval.mean > interval.half_width
}

/// Returns the standard deviation of the difference between the mean of these rates and that of
/// `others` more.
fn deviation(rates: &[f64], others: usize) -> f64 {
    (variance(rates) * (1.0 / others as f64 + 1.0 / rates.len() as f64)).sqrt()
}

fn completed_rps(part: &RampPart) -> f64 {
    part.completed as f64 / part.length_s
}

fn due_rps(part: &RampPart) -> f64 {
    part.due as f64 / part.length_s
}

/// Requests due and not completed, per second; negative if a backlog shrank.
fn missing(part: &RampPart) -> f64 {
    due_rps(part) - completed_rps(part)
}

fn median_of(parts: &[RampPart]) -> f64 {
    let mut medians: Vec<f64> = parts.iter().map(|part| part.median).collect();
    median(&mut medians)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers in (0, 1).
    struct Uniform(u64);

    impl Uniform {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        /// An exponential number with mean 1.
        fn exponential(&mut self) -> f64 {
            -self.next().ln()
        }
    }

    /// A queue in order of arrival.
    struct Queue {
        servers: usize,
        /// Mean service time in seconds.
        service_s: f64,
        /// True if arrivals are a Poisson process, else they are even.
        is_poisson: bool,
        /// True if service times are exponential, else they are equal.
        is_exponential: bool,
        /// Factor of the service time of a request that waited.
        slow: f64,
    }

    const EVEN: Queue =
        Queue { servers: 1, service_s: 0.001, is_poisson: false, is_exponential: false, slow: 1.0 };

    impl Queue {
        /// Simulates a ramp from one rate to another, and returns its 30 parts.
        fn ramp(&self, from_rps: f64, to_rps: f64, length_s: f64, seed: u64) -> Vec<RampPart> {
            let mut random = Uniform(seed);
            let slope = (to_rps - from_rps) / length_s;
            let part_s = length_s / 30.0;
            let mut arrivals = 0.5;
            let mut free = vec![0.0_f64; self.servers];
            let mut due: Vec<(f64, f64)> = Vec::new();
            let mut ends: Vec<f64> = Vec::new();
            loop {
                // The inverse of the integral of the rate.
                let root = (from_rps * from_rps + 2.0 * slope * arrivals).sqrt();
                let at_s = 2.0 * arrivals / (from_rps + root);
                if at_s >= length_s {
                    break;
                }
                arrivals += if self.is_poisson { random.exponential() } else { 1.0 };
                let next = free.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("servers");
                let begin_s = next.max(at_s);
                let slow = if begin_s > at_s { self.slow } else { 1.0 };
                let law = if self.is_exponential { random.exponential() } else { 1.0 };
                *next = begin_s + self.service_s * slow * law;
                due.push((at_s, *next - at_s));
                ends.push(*next);
            }
            let part = |k: u32| {
                let begin = part_s * f64::from(k);
                let end = part_s * f64::from(k + 1);
                let within = |at: &f64| (begin..end).contains(at);
                let times = due.iter().filter(|(at, _)| within(at)).map(|(_, took)| *took);
                let mut times: Vec<f64> = times.collect();
                RampPart {
                    from_rps: from_rps + slope * begin,
                    to_rps: from_rps + slope * end,
                    length_s: part_s,
                    due: times.len() as u64,
                    completed: ends.iter().filter(|at| within(at)).count() as u64,
                    median: median(&mut times),
                }
            };
            (0..30).map(part).collect()
        }
    }

    /// Returns the ends of the interval of a ramp from 100/s to this rate.
    fn found(queue: &Queue, to_rps: f64, seed: u64) -> Option<(f64, f64)> {
        knee(&queue.ramp(100.0, to_rps, 10.0, seed)).expect("enough requests").rps
    }

    #[test]
    fn an_even_queue_has_its_knee_at_its_capacity() {
        for to_rps in [1_200.0, 2_000.0, 4_000.0] {
            let (low, high) = found(&EVEN, to_rps, 0).expect("a knee");
            let is_narrow = 990.0 <= low && high <= 1_010.0;
            assert!(low <= 1_000.0 && 1_000.0 <= high && is_narrow, "{low} to {high}");
        }
    }

    #[test]
    fn queueing_below_the_capacity_is_no_knee() {
        let poisson = Queue { is_poisson: true, ..EVEN };
        let markov = Queue { is_exponential: true, ..poisson };
        let many = Queue { servers: 20, service_s: 0.02, ..poisson };
        for queue in [&EVEN, &poisson, &markov, &many] {
            for seed in 1..=5 {
                let found = knee(&queue.ramp(100.0, 900.0, 10.0, seed)).expect("enough requests");
                assert_eq!(found.rps, None, "seed {seed}");
            }
        }
    }

    #[test]
    fn intervals_of_random_queues_hold_the_capacity() {
        let poisson = Queue { is_poisson: true, ..EVEN };
        let many = Queue { servers: 20, service_s: 0.02, is_exponential: true, ..poisson };
        for (queue, least) in [(&poisson, 10), (&many, 8)] {
            let holds = |(low, high): (f64, f64)| low <= 1_000.0 && 1_000.0 <= high;
            let held = (1..=10).filter(|seed| found(queue, 2_000.0, *seed).is_some_and(holds));
            assert!(held.count() >= least);
        }
    }

    /// Parts with 100 requests of exponential service times: two in a row are 10% above the
    /// capacity now and then, which is no slower server.
    #[test]
    fn two_lucky_parts_are_no_knee() {
        let markov = Queue { is_poisson: true, is_exponential: true, ..EVEN };
        let beside = |seed: &u64| {
            let parts = markov.ramp(100.0, 2_000.0, 3.0, *seed);
            let (low, high) = knee(&parts)?.rps?;
            // The interval of parts has their borders for ends.
            let ends =
                |end: f64| parts.iter().any(|part| [part.from_rps, part.to_rps].contains(&end));
            Some(ends(low) && ends(high))
        };
        let found: Vec<bool> = (1..=100).filter_map(|seed| beside(&seed)).collect();
        assert!(found.len() > 80 && found.iter().all(|beside| !beside), "{found:?}");
    }

    /// The capacity behind the knee says nothing about it if the server slows down there.
    #[test]
    fn a_server_that_slows_down_has_its_knee_where_it_began_to() {
        let (low, high) = found(&Queue { slow: 1.5, ..EVEN }, 2_000.0, 0).expect("a knee");
        assert!(low <= 1_000.0 && 1_000.0 <= high && high - low < 300.0, "{low} to {high}");
    }

    #[test]
    fn too_little_is_no_ramp() {
        let parts = EVEN.ramp(100.0, 2_000.0, 10.0, 0);
        assert_eq!(knee(&parts[..5]), None);
        assert_eq!(knee(&parts[18..]), None, "saturated from the start");
        assert_eq!(knee(&EVEN.ramp(0.1, 20.0, 10.0, 0)), None, "a hundred requests");
        // Two parts behind the knee have no useful interval.
        let found = knee(&parts[..16]).expect("a ramp");
        assert_eq!((found.rps, found.searched_rps.round()), (None, 923.0));
        assert!(knee(&parts[..20]).is_some_and(|knee| knee.rps.is_some()));
    }
}

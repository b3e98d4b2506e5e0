//! Searches with known results: V21 of METHOD 2.1, and simple synthetic systems.

use std::collections::BTreeMap;

use super::*;
use crate::interval::SliceTail;
use crate::shuffle::Shuffle;

/// Runs trials as the search requests them, until it is done.
fn run(
    goal: Goal,
    guess_rps: f64,
    mut trial: impl FnMut(f64, f64) -> TrialResult,
) -> (Found, Search) {
    let mut search = Search::new(goal, guess_rps);
    loop {
        match search.step(false) {
            Step::Run { rate_rps, duration_s } => search.record(trial(rate_rps, duration_s)),
            Step::Done(found) => return (*found, search),
        }
    }
}

/// Returns a trial in which `share` of the requests is slow, evenly spread.
fn even(rate_rps: f64, duration_s: f64, share: f64) -> TrialResult {
    let count = (rate_rps * duration_s / 30.0) as u64;
    let beyond = (count as f64 * share).round() as u64;
    let slices = vec![SliceTail { count, beyond }; 30];
    TrialResult { rate_rps, duration_s, shares: vec![slices], rises: Vec::new(), limited_by: None }
}

/// A server that meets the objective for all requests below its limit and misses it above.
fn cliff(limit_rps: f64) -> impl FnMut(f64, f64) -> TrialResult {
    move |rate_rps, duration_s| {
        even(rate_rps, duration_s, if rate_rps < limit_rps { 0.0 } else { 0.5 })
    }
}

#[test]
fn a_cliff_is_found_from_anywhere() {
    for guess_rps in [40.0, 9_000.0, 10_000.0, 11_000.0, 3e6] {
        let (found, search) = run(Goal::of_shares(vec![0.01]), guess_rps, cliff(10_000.0));
        let lower = found.lower.expect("found");
        let upper = found.upper.expect("found");
        assert_eq!(found.end, End::WithinGoal);
        assert!(lower.rate_rps < 10_000.0 && upper.rate_rps >= 10_000.0, "{found:?}");
        assert!((upper.rate_rps - lower.rate_rps) / upper.rate_rps <= 0.02, "{found:?}");
        // Each end needs at least two full-length trials.
        assert!((lower.bad, upper.good) == (0, 0) && lower.good >= 2 && upper.bad >= 2);
        assert!(search.trials < 40, "{} trials from {guess_rps}", search.trials);
    }
}

#[test]
fn a_range_ends_a_search() {
    let goal = Goal { rate_max_rps: 8_000.0, ..Goal::of_shares(vec![0.01]) };
    let (found, _) = run(goal, 5_000.0, cliff(10_000.0));
    assert_eq!((found.end, found.upper), (End::AboveRange, None));
    assert_eq!(found.lower.expect("the greatest rate").rate_rps, 8_000.0);
    for (rate_min_rps, lowest_rps) in [(0.0, 0.005), (30.0, 30.0)] {
        let goal = Goal { rate_min_rps, ..Goal::of_shares(vec![0.01]) };
        let (found, search) = run(goal, 5_000.0, cliff(0.0));
        assert_eq!((found.end, found.lower), (End::BelowRange, None));
        let lowest = search.loads[0].rate_rps;
        assert!((lowest_rps..2.0 * lowest_rps).contains(&lowest), "{lowest}");
    }
}

/// The client becomes the limit at 6,000, below the cliff: no rate counts as bad, and the largest
/// rate that could be judged is found to the same width.
#[test]
fn a_limit_outside_the_server_is_a_ceiling() {
    for limiter in [Limiter::Client, Limiter::Connections] {
        let mut server = cliff(10_000.0);
        let (found, search) = run(Goal::of_shares(vec![0.01]), 2_000.0, |rate_rps, duration_s| {
            let limited_by = (rate_rps > 6_000.0).then_some(limiter);
            TrialResult { limited_by, ..server(rate_rps, duration_s) }
        });
        let End::Limited(by, ceiling_rps) = found.end else { panic!("{found:?}") };
        let lower = found.lower.expect("found");
        assert_eq!((by, found.upper), (limiter, None));
        assert!(lower.rate_rps <= 6_000.0 && ceiling_rps > 6_000.0, "{found:?}");
        assert!((ceiling_rps - lower.rate_rps) / ceiling_rps <= 0.02 && lower.good >= 2);
        assert!(search.trials < 30, "{} trials", search.trials);
    }
}

/// A client that is always the limit proves nothing.
#[test]
fn a_client_that_is_always_the_limit_ends_a_search() {
    let (found, _) = run(Goal::of_shares(vec![0.01]), 2_000.0, |rate_rps, duration_s| {
        TrialResult { limited_by: Some(Limiter::Client), ..even(rate_rps, duration_s, 0.0) }
    });
    assert!(matches!(found.end, End::Limited(Limiter::Client, _)), "{found:?}");
    assert_eq!((found.lower, found.upper), (None, None));
}

/// The client spoils all trials but some at low rates, which cannot decide: the server is not said
/// to miss the objective.
#[test]
fn a_client_that_spoils_the_search_is_named() {
    let goal = Goal { rate_min_rps: 2_000.0, ..Goal::of_shares(vec![0.01]) };
    let (found, _) = run(goal, 200_000.0, |rate_rps, duration_s| TrialResult {
        limited_by: (rate_rps > 5_000.0).then_some(Limiter::Client),
        ..even(rate_rps, duration_s, 0.01)
    });
    assert!(matches!(found.end, End::Limited(Limiter::Client, _)), "{found:?}");
    assert_eq!((found.lower, found.upper), (None, None));
    assert!(!found.undecided_rps.is_empty(), "{found:?}");
}

/// Every seventh trial is spoilt by a neighbour of the client. It is repeated, and the server's
/// limit is found all the same.
#[test]
fn a_client_that_was_the_limit_once_is_tried_again() {
    let mut server = cliff(10_000.0);
    let mut trials = 0;
    let (found, _) = run(Goal::of_shares(vec![0.01]), 9_000.0, |rate_rps, duration_s| {
        trials += 1;
        let limited_by = (trials % 7 == 0).then_some(Limiter::Client);
        TrialResult { limited_by, ..server(rate_rps, duration_s) }
    });
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert_eq!(found.end, End::WithinGoal);
    assert!(lower.rate_rps < 10_000.0 && upper.rate_rps >= 10_000.0, "{found:?}");
}

/// Neighbours spoil the first two trials at each rate below one that the client has carried. They
/// are no ceiling: the client can send more than that.
#[test]
fn a_client_that_has_carried_a_higher_rate_is_no_ceiling() {
    let mut server = cliff(10_000.0);
    let mut highest = 0.0_f64;
    let mut spoilt = BTreeMap::new();
    let (found, _) = run(Goal::of_shares(vec![0.01]), 9_000.0, |rate_rps, duration_s| {
        let times = spoilt.entry(rate_rps.to_bits()).or_insert(0);
        let limited_by = (rate_rps < highest && *times < 2).then_some(Limiter::Client);
        match limited_by {
            Some(_) => *times += 1,
            None => highest = highest.max(rate_rps),
        }
        TrialResult { limited_by, ..server(rate_rps, duration_s) }
    });
    assert_eq!(found.end, End::WithinGoal, "{found:?}");
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert!(lower.rate_rps < 10_000.0 && upper.rate_rps >= 10_000.0, "{found:?}");
    assert!(spoilt.values().any(|times| *times == 2), "none was spoilt");
}

/// The first share is missed from 8,000 on, the second from 5,000 on, or the reverse: a rate is an
/// upper bound if it misses one of them, a lower one if it keeps both.
#[test]
fn an_objective_of_two_shares_is_missed_with_one() {
    for (limits, deciding) in [([8_000.0, 5_000.0], 1), ([5_000.0, 8_000.0], 0)] {
        let goal = Goal::of_shares(vec![0.01, 0.001]);
        let (found, search) = run(goal, 10_000.0, |rate_rps, duration_s| {
            let shares = limits.map(|limit| cliff(limit)(rate_rps, duration_s).shares);
            TrialResult { shares: shares.concat(), ..even(rate_rps, duration_s, 0.0) }
        });
        let lower = found.lower.expect("found");
        let upper = found.upper.expect("found");
        assert_eq!((found.end, upper.claim), (End::WithinGoal, deciding));
        assert!(lower.rate_rps < 5_000.0 && upper.rate_rps >= 5_000.0, "{found:?}");
        assert!((lower.bad, upper.good) == (0, 0) && lower.good >= 2 && upper.bad >= 2);
        // Without a slow request the stricter share has the least margin.
        assert_eq!(lower.claim, 1);
        assert!(search.trials < 40, "{} trials", search.trials);
    }
}

/// Rates have four digits, so that a report prints the rate that was tried.
#[test]
fn rates_are_round() {
    for (rate_rps, expected) in
        [(41_234.56, 41_230.0), (9_999.9, 10_000.0), (907.94, 907.9), (0.012_345, 0.012_35)]
    {
        assert_eq!(rounded(rate_rps), expected, "{rate_rps}");
    }
}

/// Good up to 5,000, bad up to 6,000, good again up to 9,000: the result is the first edge, even if
/// the second one was not observed.
#[test]
fn a_system_that_recovers_is_not_believed() {
    let (found, _) = run(Goal::of_shares(vec![0.01]), 11_600.0, |rate_rps, duration_s| {
        let is_bad = rate_rps >= 9_000.0 || (5_000.0..6_000.0).contains(&rate_rps);
        even(rate_rps, duration_s, if is_bad { 0.5 } else { 0.0 })
    });
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert!(lower.rate_rps < 5_000.0 && (5_000.0..6_000.0).contains(&upper.rate_rps), "{found:?}");
}

/// The share is 1% at each rate from 9,000 to 11,000: no trial can decide there, and the search
/// reports that.
#[test]
fn what_cannot_be_distinguished_stays_inside() {
    let (found, search) = run(Goal::of_shares(vec![0.01]), 20_000.0, |rate_rps, duration_s| {
        let share = match rate_rps {
            ..9_000.0 => 0.001,
            9_000.0..11_000.0 => 0.01,
            _ => 0.1,
        };
        even(rate_rps, duration_s, share)
    });
    assert_eq!(found.end, End::Indistinct);
    assert!(!found.undecided_rps.is_empty());
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert!(lower.rate_rps < 9_000.0 && upper.rate_rps >= 11_000.0, "{found:?}");
    assert!(lower.rate_rps > 8_800.0 && upper.rate_rps < 11_200.0, "{found:?}");
    assert!(search.trials < 60, "{} trials", search.trials);
}

/// A search with the command line's width.
fn quick(share_max: f64) -> Goal {
    Goal {
        width: 0.1,
        initial_s: 5.0,
        final_s: 5.0,
        sum_s: 15.0,
        ..Goal::of_shares(vec![share_max])
    }
}

/// A server that keeps 9,000/s for sure: each bound counts the trials on its side of the true rate,
/// and neither rate is tried more than twice.
#[test]
fn trials_at_other_rates_count_for_a_bound() {
    let (found, search) = run(quick(0.01), 20_000.0, cliff(9_000.0));
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert_eq!(found.end, End::WithinGoal);
    assert!(lower.reach_rps > lower.rate_rps && lower.reach_rps < 9_000.0, "{lower:?}");
    assert!(upper.reach_rps < upper.rate_rps && upper.reach_rps >= 9_000.0, "{upper:?}");
    assert!((lower.good, lower.bad) == (2, 0) && (upper.good, upper.bad) == (0, 2), "{found:?}");
    assert!(search.trials <= 9, "{} trials", search.trials);
}

/// From 7,600 to 9,300 the slow requests of a trial, less than the limit, are in three of its 30
/// slices: two trials cannot decide that, further ones can.
#[test]
fn undecided_rates_get_further_trials() {
    let mut trials = BTreeMap::new();
    let (found, _) = run(quick(0.01), 20_000.0, |rate_rps, duration_s| {
        *trials.entry(rate_rps.to_bits()).or_insert(0) += 1;
        let clustered = |nth: usize| if nth.is_multiple_of(10) { 0.045 } else { 0.0 };
        let share_of: &dyn Fn(usize) -> f64 = match rate_rps {
            ..7_600.0 => &|_| 0.0001,
            7_600.0..9_300.0 => &clustered,
            _ => &|_| 0.1,
        };
        let count = (rate_rps * duration_s / 30.0) as u64;
        let slice =
            |nth| SliceTail { count, beyond: (count as f64 * share_of(nth)).round() as u64 };
        TrialResult {
            shares: vec![(0..30).map(slice).collect()],
            ..even(rate_rps, duration_s, 0.0)
        }
    });
    let most = trials.values().max();
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert_eq!(found.end, End::WithinGoal, "{found:?} {trials:?}");
    assert!((7_600.0..9_300.0).contains(&lower.rate_rps) && upper.rate_rps >= 9_300.0);
    assert!((Some(&3)..=Some(&9)).contains(&most), "{found:?} {most:?}");
}

/// The first trial at the first rate is spoilt and looks bad: higher rates contradict it, it is
/// tried again, and the search is not misled.
#[test]
fn a_rate_that_contradicts_higher_ones_is_tried_again() {
    let mut server = cliff(10_000.0);
    let mut trials = 0;
    let (found, search) = run(quick(0.01), 18_500.0, |rate_rps, duration_s| {
        trials += 1;
        let trial = server(rate_rps, duration_s);
        if trials == 3 { even(rate_rps, duration_s, 0.02) } else { trial }
    });
    let lower = found.lower.expect("found");
    let upper = found.upper.expect("found");
    assert!(lower.rate_rps < 10_000.0 && upper.rate_rps >= 10_000.0, "{found:?}");
    assert!(search.trials <= 20, "{} trials", search.trials);
}

/// A server that serves one request after the other, 200 per second: with a loose limit the trials
/// are too short for the queue to exceed it, at rates above the capacity too.
fn fifo(limit_s: f64) -> impl FnMut(f64, f64) -> TrialResult {
    const SERVICE_S: f64 = 0.005;
    move |rate_rps, duration_s| {
        let mut free_at = 0.0_f64;
        let mut response_s = |nth: usize| {
            let due_at = nth as f64 / rate_rps;
            free_at = free_at.max(due_at) + SERVICE_S;
            free_at - due_at
        };
        (0..rate_rps as usize).for_each(|nth| _ = response_s(nth));
        let count = (rate_rps * duration_s) as usize;
        let times: Vec<f64> = (0..count).map(|nth| response_s(rate_rps as usize + nth)).collect();
        trial_of(rate_rps, duration_s, times.chunks(count.div_ceil(30)), limit_s)
    }
}

/// Returns the trial with these response times by slice.
fn trial_of<'t>(
    rate_rps: f64,
    duration_s: f64,
    slices: impl Iterator<Item = &'t [f64]> + Clone,
    limit_s: f64,
) -> TrialResult {
    let tail = |times: &[f64]| SliceTail {
        count: times.len() as u64,
        beyond: times.iter().filter(|time| **time > limit_s).count() as u64,
    };
    let means: Vec<f64> = slices.clone().map(crate::mean).collect();
    let slice_s = duration_s / means.len() as f64;
    TrialResult {
        rate_rps,
        duration_s,
        shares: vec![slices.map(tail).collect()],
        rises: means.windows(2).map(|pair| (pair[1] - pair[0]) / slice_s).collect(),
        limited_by: None,
    }
}

/// Limits of 15 to 40 service times, each from several first guesses.
#[test]
fn no_rate_is_good_while_its_backlog_grows() {
    for limit_s in [0.075, 0.1, 0.15, 0.2] {
        for guess_rps in [190.0, 200.0, 201.5, 210.0, 221.0, 240.0] {
            let (found, search) = run(quick(0.05), guess_rps, fifo(limit_s));
            let lower = found.lower.expect("found");
            let upper = found.upper.expect("found");
            assert!(lower.rate_rps <= 200.2 && upper.rate_rps >= 200.0, "{limit_s} {found:?}");
            assert_eq!(found.end, End::WithinGoal, "{limit_s} from {guess_rps}: {found:?}");
            assert!(search.trials <= 12, "{} trials", search.trials);
        }
    }
}

/// The same with a limit that no trial reaches: the growth alone is the evidence.
#[test]
fn growth_alone_is_an_upper_bound() {
    let (found, _) = run(quick(0.05), 200.0, fifo(10.0));
    let upper = found.upper.expect("found");
    let rise = upper.rise.expect("the backlog grew");
    assert!((200.0..220.0).contains(&upper.rate_rps) && upper.share.share == 0.0, "{found:?}");
    let known = upper.reach_rps / 200.0 - 1.0..=upper.rate_rps / 200.0 - 1.0;
    assert!(known.contains(&rise.value), "{known:?} {rise:?}");
}

/// The same server, and a search that is told to end after 12 trials: the bounds are confirmed, and
/// what is between them is named.
#[test]
fn a_search_that_concludes_confirms_its_bounds() {
    for width in [0.02, 0.2] {
        let goal = Goal { width, ..Goal::of_shares(vec![0.01]) };
        let mut search = Search::new(goal, 20_000.0);
        let found = loop {
            match search.step(search.trials >= 12) {
                Step::Run { rate_rps, duration_s } => {
                    let share = if rate_rps < 9_000.0 { 0.001 } else { 0.05 };
                    let share = if rate_rps == 10_000.0 { 0.01 } else { share };
                    search.record(even(rate_rps, duration_s, share));
                }
                Step::Done(found) => break found,
            }
        };
        let lower = found.lower.expect("found");
        let upper = found.upper.expect("found");
        assert!(lower.rate_rps < 9_000.0 && lower.good >= 2, "{found:?}");
        assert!(upper.rate_rps >= 9_000.0 && upper.bad >= 2, "{found:?}");
        assert!(search.trials <= 16, "{} trials", search.trials);
        let expected = if width == 0.02 { End::OutOfTrials } else { End::WithinGoal };
        assert_eq!(found.end, expected, "{found:?}");
    }
}

#[test]
fn trials_run_out() {
    let goal = Goal { trials_max: 5, ..Goal::of_shares(vec![0.01]) };
    let (found, search) = run(goal, 1e6, cliff(10.0));
    assert_eq!((found.end, search.trials), (End::OutOfTrials, 5));
}

/// An exponential server with one queue, fed by a Poisson process (M/M/1).
struct Queue {
    random: Shuffle,
}

impl Queue {
    const SERVICE_RPS: f64 = 1_000.0;
    const OBJECTIVE_S: f64 = 0.05;

    /// About ten times the queue's relaxation time near the rate in question.
    const WARM_UP_S: f64 = 5.0;

    /// Returns the true limit: response times are exponential with rate µ − λ.
    fn largest_rate_rps(share_max: f64) -> f64 {
        Queue::SERVICE_RPS - (1.0 / share_max).ln() / Queue::OBJECTIVE_S
    }

    fn exponential(&mut self) -> f64 {
        let uniform = ((self.random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -uniform.ln()
    }

    /// Simulates response times by Lindley's recursion, in slices by arrival.
    fn trial(&mut self, rate_rps: f64, duration_s: f64) -> TrialResult {
        let mut slices = vec![Vec::new(); 30];
        let mut now_s = -Queue::WARM_UP_S;
        let mut waiting_s = 0.0;
        loop {
            let gap_s = self.exponential() / rate_rps;
            now_s += gap_s;
            waiting_s = f64::max(waiting_s - gap_s, 0.0) + self.exponential() / Queue::SERVICE_RPS;
            if now_s >= duration_s {
                let slices = slices.iter().map(Vec::as_slice);
                return trial_of(rate_rps, duration_s, slices, Queue::OBJECTIVE_S);
            }
            if now_s >= 0.0 {
                slices[(now_s / duration_s * 30.0) as usize].push(waiting_s);
            }
        }
    }
}

/// Searches for p99 ≤ 50 ms at µ = 1000/s, where λ* = 907.9/s. Returns the number of intervals that
/// contain it, and the number of searches with support.
fn queue_searches(goal: &Goal, searches: u32) -> (u32, u32) {
    let truth = Queue::largest_rate_rps(0.01);
    assert!((truth - 907.9).abs() < 0.1);
    let mut queue = Queue { random: Shuffle::new() };
    let mut hits = 0;
    let mut supported = 0;
    for nth in 0..searches {
        // The guess differs each time, so that other rates are tried.
        let guess_rps = 900.0 + 4.0 * f64::from(nth);
        let (found, _) =
            run(goal.clone(), guess_rps, |rate_rps, duration_s| queue.trial(rate_rps, duration_s));
        let lower = found.lower.expect("found");
        let upper = found.upper.expect("found");
        hits += u32::from((lower.rate_rps..=upper.rate_rps).contains(&truth));
        supported += u32::from(found.support(goal).expect("found") >= 10.0);
        assert!((upper.rate_rps - lower.rate_rps) / upper.rate_rps < 0.12, "{found:?}");
    }
    (hits, supported)
}

/// At this utilisation a p99 has support after some 300 s: 95% of the intervals contain the true
/// limit. The estimate of support is itself rough, and conservative.
#[test]
fn the_interval_contains_the_truth() {
    let goal =
        Goal { initial_s: 37.5, final_s: 300.0, sum_s: 900.0, ..Goal::of_shares(vec![0.01]) };
    let (hits, supported) = queue_searches(&goal, 10);
    assert!(hits >= 9 && supported >= 4, "{hits} {supported}");
}

/// In 30 s there are one or two slow spells. Fewer intervals contain the true limit; each search
/// reports insufficient support.
#[test]
fn trials_that_are_too_short_say_so() {
    let (hits, supported) = queue_searches(&Goal::of_shares(vec![0.01]), 10);
    assert!(hits >= 7 && supported <= 1, "{hits} {supported}");
}

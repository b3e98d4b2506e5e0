//! The load as the screen shows it: fed by intervals and frames, independent of a terminal.

use std::collections::VecDeque;

use weir_result::{Histogram, Interval, Plan, ReplayPlan, connections_at, stage_at};
use weir_runner::{Frame, RecentFrames};
use weir_text::units;

use super::heat::HeatSteps;
use crate::live;

/// Most intervals that are kept for the plots: more than a terminal has columns.
const KEPT_MAX: usize = 512;

/// Percentiles of the table; the last is the maximum.
pub(super) const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Latencies at [`PERCENTILES`], in nanoseconds.
pub(super) type Latencies = [Option<u64>; PERCENTILES.len()];

/// One finished interval, for the plots.
#[derive(Clone, Debug)]
pub(super) struct Past {
    /// Responses per second.
    pub(super) rate_rps: f64,
    /// Latencies of the responses.
    pub(super) latency: HeatSteps,
}

/// The load so far.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// URL without its query, which may have secrets.
    pub(super) target: String,
    /// The trial of a study that runs, in words.
    pub(super) trial: Option<String>,
    /// A replayed log in words; `None` without one.
    pub(super) replay: Option<String>,
    /// Planned requests per second, as text; `None` in a closed loop.
    pub(super) planned: Option<String>,
    /// Connections of the plan.
    pub(super) connections: u32,
    /// Labels of the totals by name; none without a list.
    pub(super) names: Vec<String>,
    /// Phase and time: `12 s of 30 s`.
    pub(super) phase: String,
    /// The frames of the last second. One alone may miss what a busy worker sends late.
    pub(super) frames: RecentFrames,
    /// Time of the last frame with a new response, in nanoseconds from t0; `None` before the first
    /// timed frame.
    answered_at_ns: Option<i64>,
    /// Finished intervals, the latest last.
    pub(super) past: VecDeque<Past>,
    /// Latencies of the last interval, and its length in nanoseconds.
    pub(super) last: Latencies,
    last_ns: u64,
    /// Latencies since t0, or before it since the load began.
    pub(super) run: Latencies,
    all: Histogram,
    /// True from t0 on.
    is_measured: bool,
}

impl State {
    /// Returns the state at the start of the load.
    pub(super) fn of(plan: &Plan) -> State {
        let log = plan.load.log();
        let planned = plan.load.rate().map(|rate| match log {
            Some(_) => format!("mean {}", units::rate(rate.rps())),
            None => rate.to_string(),
        });
        State {
            target: plan.url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            planned,
            replay: log.map(ReplayPlan::in_short),
            connections: plan.own_connections_max(),
            names: live::name_labels(plan),
            phase: "connecting".to_owned(),
            ..State::default()
        }
    }

    /// Adds a finished interval.
    pub(super) fn interval(&mut self, plan: &Plan, interval: &Interval) {
        if interval.start_ns >= 0 && !self.is_measured {
            self.is_measured = true;
            self.all = Histogram::new();
        }
        let is_drain = live::drain_left_ns(plan, interval.start_ns).is_some();
        if is_drain || interval.length_ns == 0 {
            return;
        }
        self.all.add_sparse(&interval.latency);
        self.last = PERCENTILES.map(|p| interval.latency.percentile(p));
        self.run = PERCENTILES.map(|p| self.all.percentile(p));
        self.last_ns = interval.length_ns;
        if self.past.len() == KEPT_MAX {
            self.past.pop_front();
        }
        self.past.push_back(Past {
            rate_rps: interval.completed as f64 / (interval.length_ns as f64 / 1e9),
            latency: HeatSteps::of(&interval.latency),
        });
    }

    /// Returns the length of the last interval in seconds, rounded up; 1 before the first one.
    pub(super) fn interval_s(&self) -> u64 {
        self.last_ns.div_ceil(1_000_000_000).max(1)
    }

    /// Returns the time without a response while requests are in flight, in seconds; `None` if it
    /// is short.
    pub(super) fn silence_s(&self) -> Option<u64> {
        let now = &self.frames.latest;
        let silent_ns = now.at_ns?.checked_sub(self.answered_at_ns?)?;
        let silent_s = u64::try_from(silent_ns).ok()? / 1_000_000_000;
        (now.in_flight > 0 && silent_s > 0).then_some(silent_s)
    }

    /// Adds a frame.
    pub(super) fn frame(&mut self, plan: &Plan, frame: &Frame) {
        if frame.ended.completed > self.frames.latest.ended.completed
            || self.answered_at_ns.is_none()
        {
            self.answered_at_ns = frame.at_ns;
        }
        self.frames.push(frame.clone());
        if let Some(now_ns) = frame.at_ns {
            self.phase = phase(plan, now_ns);
            self.planned = planned(plan, now_ns).or(self.planned.take());
        }
    }
}

/// Describes the planned rate at `now_ns` from t0 of a load in stages; else `None`.
fn planned(plan: &Plan, now_ns: i64) -> Option<String> {
    let stages = plan.load.connections.stages();
    if !stages.is_empty() {
        let (index, connections) = connections_at(stages, now_ns);
        let connections = units::count(connections.into());
        return Some(format!("{connections} connections, stage {} of {}", index + 1, stages.len()));
    }
    if plan.load.stages().is_empty() {
        return None;
    }
    plan.load.rate_at(now_ns).map(units::rate)
}

/// Describes the phase at `now_ns` from t0.
fn phase(plan: &Plan, now_ns: i64) -> String {
    let seconds = |ns: u64| format!("{} s", ns / 1_000_000_000);
    if let Some(left_ns) = live::drain_left_ns(plan, now_ns) {
        return format!("drain, at most {} s left", left_ns.div_ceil(1_000_000_000));
    }
    match (u64::try_from(now_ns), plan.load.length_ns()) {
        (Err(_), _) => {
            let most = if plan.load.warmup.is_auto { "at most " } else { "" };
            format!("warm-up, {most}{} s left", now_ns.unsigned_abs().div_ceil(1_000_000_000))
        }
        (Ok(since_ns), Some(all_ns)) => {
            let stage = match plan.load.stages().len() {
                0 => String::new(),
                all => format!(", stage {} of {all}", stage_at(plan.load.stages(), now_ns).0 + 1),
            };
            format!("{} of {}{stage}", seconds(since_ns), units::short_duration(all_ns))
        }
        (Ok(now_ns), None) if plan.is_until_signal() => {
            format!("{}, until a signal", seconds(now_ns))
        }
        (Ok(now_ns), None) => seconds(now_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_result::Load;
    use weir_runner::EndedRequests;

    const SECOND: u64 = 1_000_000_000;

    fn plan() -> Plan {
        let url = "http://localhost/a?token=1".to_owned();
        Plan {
            load: Load {
                duration_ns: Some(30 * SECOND),
                connections: 7.into(),
                ..Plan::default().load
            },
            url,
            threads: 1,
            ..Plan::default()
        }
    }

    fn interval(start_s: i64, completed: u64) -> Interval {
        let mut latency = weir_result::Tally::new();
        latency.record_times(1_000_000 * start_s.unsigned_abs().max(1), completed as u32);
        let start_ns = start_s * SECOND as i64;
        let length_ns = SECOND;
        let latency = latency.take_sparse();
        Interval { start_ns, length_ns, completed, bad: 1, latency, ..Interval::default() }
    }

    #[test]
    fn the_warm_up_counts_until_the_window_begins() {
        let plan = plan();
        let mut state = State::of(&plan);
        assert_eq!(
            (state.target.as_str(), state.phase.as_str()),
            ("http://localhost/a", "connecting")
        );
        state.interval(&plan, &interval(-1, 50));
        assert_eq!(state.all.count(), 50);
        state.interval(&plan, &interval(0, 20));
        state.interval(&plan, &interval(2, 15));
        assert_eq!((state.all.count(), state.past.len()), (35, 3));
        assert_eq!(state.last, [Some(2_000_000); 5]);
        let milliseconds = state.run.map(|ns| ns.map(|ns| ns / 1_000_000));
        assert_eq!(milliseconds, [1, 2, 2, 2, 2].map(Some));
        assert_eq!(state.past[2].rate_rps, 15.0);
        // Late responses of the drain are no part of the rate.
        state.interval(&plan, &interval(30, 9));
        assert_eq!(state.past.len(), 3);
    }

    #[test]
    fn the_phase_follows_the_time() {
        let plan = plan();
        let phase = |now_s: i64| phase(&plan, now_s * SECOND as i64);
        assert_eq!(phase(-3), "warm-up, 3 s left");
        let detected = plan.clone().with_load(|load| load.warmup.is_auto = true);
        assert_eq!(super::phase(&detected, -1), "warm-up, at most 1 s left");
        assert_eq!(phase(12), "12 s of 30 s");
        assert_eq!(phase(31), "drain, at most 5 s left");
        let stages = weir_result::parse_stages("10s@5,20s@5..9").expect("stages");
        let due = weir_result::DueTimes::in_stages(stages, weir_result::Arrivals::Uniform);
        let staged = plan.clone().with_load(|load| load.due = Some(due));
        assert_eq!(super::phase(&staged, 12 * SECOND as i64), "12 s of 30 s, stage 2 of 2");
        let counted = plan.clone().with_load(|load| {
            load.duration_ns = None;
            load.requests = Some(9);
        });
        assert_eq!(super::phase(&counted, 2 * SECOND as i64), "2 s");
        let endless = counted.with_load(|load| load.requests = None);
        assert_eq!(super::phase(&endless, 2 * SECOND as i64), "2 s, until a signal");
    }

    #[test]
    fn silence_is_counted_while_requests_are_in_flight() {
        let plan = plan();
        let mut state = State::of(&plan);
        let mut silence = |quarter: i64, completed, in_flight| {
            let at_ns = Some(quarter * SECOND as i64 / 4);
            let ended = EndedRequests { completed, ..EndedRequests::default() };
            state.frame(&plan, &Frame { at_ns, ended, in_flight, ..Frame::default() });
            state.silence_s()
        };
        assert_eq!(silence(-8, 0, 3), None);
        assert_eq!(silence(-1, 0, 3), Some(1), "no response yet");
        assert_eq!(silence(0, 9, 3), None);
        assert_eq!(silence(3, 9, 3), None);
        assert_eq!(silence(9, 9, 3), Some(2));
        assert_eq!(silence(10, 9, 0), None, "all have their response");
    }

    #[test]
    fn a_long_run_keeps_the_latest_intervals() {
        let plan = plan().with_load(|load| load.duration_ns = None);
        let mut state = State::of(&plan);
        (0..600).for_each(|second| state.interval(&plan, &interval(second, 1 + second as u64)));
        assert_eq!((state.past.len(), state.past[511].rate_rps), (KEPT_MAX, 600.0));
    }
}

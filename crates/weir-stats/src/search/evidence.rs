//! The evidence at one rate for one share that the objective limits.

use crate::interval::SliceTail;

use super::class::{Class, Durations};
use super::{Goal, ShareInterval, share_interval};

/// Status of a rate, for one share or for the whole objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The rate meets the objective by its class, and the interval of its full-length trials
    /// agrees.
    Lower,
    /// The rate misses the objective by its class, and the interval agrees.
    Upper,
    /// The interval is below the limit, but the class still lacks full-length trials.
    LikelyLower,
    /// The interval is above the limit, but the class still lacks full-length trials.
    LikelyUpper,
    /// The interval still contains the limit.
    Open,
    /// The rate stayed open, or class and interval contradicted each other, until the time was
    /// spent.
    Undecided,
    /// The trials were limited from outside the server: neither the rate nor any above it can be
    /// judged.
    Ceiling,
}

impl Status {
    pub(super) fn is_lower(self) -> bool {
        matches!(self, Status::Lower | Status::LikelyLower)
    }

    /// True if the search stays below the rate.
    pub(super) fn is_upper(self) -> bool {
        matches!(self, Status::Upper | Status::LikelyUpper | Status::Ceiling)
    }

    pub(super) fn is_likely(self) -> bool {
        matches!(self, Status::LikelyLower | Status::LikelyUpper)
    }
}

/// Trials at one rate, with respect to one share.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    durations: Durations,
    /// Slices of full-length trials, once there is one; until then of all trials.
    slices: Vec<SliceTail>,
    has_full: bool,
    share: ShareInterval,
    status: Status,
}

impl Evidence {
    pub(super) fn new() -> Evidence {
        Evidence {
            durations: Durations::default(),
            slices: Vec::new(),
            has_full: false,
            share: share_interval(&[]),
            status: Status::Open,
        }
    }

    pub(super) fn share(&self) -> ShareInterval {
        self.share
    }

    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Returns the requests of the deciding trials.
    pub(super) fn requests(&self) -> u64 {
        self.slices.iter().map(|slice| slice.count).sum()
    }

    /// Returns the total duration of full-length trials, in seconds.
    pub(super) fn full_s(&self) -> f64 {
        self.durations.full_good_s + self.durations.full_bad_s
    }

    /// Returns the total duration of full-length trials with which the share's interval should
    /// exclude the limit, in seconds: it narrows with the square root of the time.
    pub(super) fn needed_s(&self, share_max: f64) -> f64 {
        let ShareInterval { share, low, high, .. } = self.share;
        let end = if share > share_max { low } else { high };
        let (to_limit, to_end) = ((share / share_max).ln().abs(), (share / end).ln().abs());
        self.full_s() * (to_end / to_limit).powi(2)
    }

    /// Adds a trial. `share_max` is the limit of the share.
    pub(super) fn push(
        &mut self,
        slices: Vec<SliceTail>,
        duration_s: f64,
        share_max: f64,
        goal: &Goal,
    ) {
        let is_good = share_interval(&slices).share <= share_max;
        let is_full = duration_s >= goal.final_s;
        *match (is_full, is_good) {
            (true, true) => &mut self.durations.full_good_s,
            (true, false) => &mut self.durations.full_bad_s,
            (false, true) => &mut self.durations.short_good_s,
            (false, false) => &mut self.durations.short_bad_s,
        } += duration_s;
        if is_full && !self.has_full {
            self.slices.clear();
        }
        if is_full || !self.has_full {
            self.slices.extend(slices);
        }
        self.has_full |= is_full;
        self.share = share_interval(&self.slices);
        self.status = self.judge(share_max, goal);
    }

    fn judge(&self, share_max: f64, goal: &Goal) -> Status {
        let class = self.durations.classify(goal.sum_s, goal.exceed_ratio);
        let (meets, misses) = (self.share.high < share_max, self.share.low > share_max);
        match class {
            Class::Lower if meets => Status::Lower,
            Class::Upper if misses && self.has_full => Status::Upper,
            _ if self.full_s() >= goal.sum_s => Status::Undecided,
            _ if meets => Status::LikelyLower,
            _ if misses => Status::LikelyUpper,
            _ => Status::Open,
        }
    }
}

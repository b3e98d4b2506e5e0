//! Comparison of two systems (METHOD 1.15).

use serde::{Deserialize, Serialize};

use crate::document::Note;

/// Difference between two systems: the base A and the new one B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Base, A.
    pub base: Side,
    /// New system, B.
    pub new: Side,
    /// Relation of the runs of both sides.
    pub pairing: Pairing,
    /// Least relative change that matters: 0.02 is 2%.
    pub threshold: f64,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Metrics; the first is the primary one.
    pub metrics: Vec<MetricComparison>,
    /// Difference at each percentile of the response time; empty if there are too few runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shift: Vec<ShiftLevel>,
    /// Reasons why the systems cannot be compared; empty if they can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_comparable: Vec<Note>,
    /// Warnings on the design, such as `NOT_INTERLEAVED`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Note>,
}

/// Runs of one system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// Name: of the cell, the file or the pattern.
    pub name: String,
    /// Number of runs.
    pub runs: u32,
}

/// Relation of the runs of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Interleaved pairs in random order.
    Pairs,
    /// Two sets of runs, made apart.
    Sets,
    /// One run each, or too few for a test: facts without a verdict.
    Single,
}

/// Comparison of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricComparison {
    /// Name of the metric.
    pub metric: String,
    /// Typical value of A, as text with its unit and bound. With a test the change is the ratio of
    /// both values; without one it is the median of the runs.
    pub base: String,
    /// Value of B, likewise.
    pub new: String,
    /// Relative change from A to B: −0.12 is 12% less. Absent if there is no ratio. Without a test
    /// it is the least change that the bounds of both values allow; absent if these may be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// True if a value is a bound, so that the change is at least as large as `change`; only
    /// without a test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_least: bool,
    /// Lower end of the change's interval; absent without a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the change's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Probability of a difference at least as large between equal systems; two-sided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Verdict.
    pub verdict: MetricVerdict,
    /// Verdict as a sentence.
    pub sentence: String,
}

/// Verdict on one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricVerdict {
    /// Answer.
    pub answer: Answer,
    /// Greatest change that the data allow, for `equivalent`; relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<f64>,
    /// Number of pairs in all, or of runs of each, that would tell a change of the threshold, for
    /// `undecided`; absent if more would not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
}

/// Answer to the question whether B differs from A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// B is better by the threshold or more.
    Better,
    /// B is worse by the threshold or more.
    Worse,
    /// B differs by the threshold or more, in a metric without a better direction.
    Different,
    /// B differs by less than the threshold.
    BelowThreshold,
    /// Differences of the threshold or more are excluded.
    Equivalent,
    /// The data show neither a difference nor its absence.
    Undecided,
    /// There is no verdict: too few runs, or no ratio.
    None,
}

/// Difference at one percentile of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShiftLevel {
    /// Percentile, in percent.
    pub percentile: f64,
    /// Typical value of A in nanoseconds; the change is the ratio of both.
    pub base_ns: u64,
    /// Typical value of B in nanoseconds.
    pub new_ns: u64,
    /// Relative change from A to B.
    pub change: f64,
    /// Lower end of its interval, at the confidence of the comparison.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

impl Answer {
    /// Returns the answer in one word or two.
    pub fn in_words(self) -> &'static str {
        match self {
            Answer::Better => "faster",
            Answer::Worse => "slower",
            Answer::Different => "different",
            Answer::BelowThreshold => "small",
            Answer::Equivalent => "equal",
            Answer::Undecided => "undecided",
            Answer::None => "no verdict",
        }
    }

    /// Returns the outcome of the test that B is not slower, which `fails_undecided` or not.
    pub fn gate(self, fails_undecided: bool) -> Gate {
        match self {
            Answer::Worse => Gate::Failed,
            Answer::Undecided | Answer::None if fails_undecided => Gate::Failed,
            Answer::Undecided | Answer::None => Gate::Open,
            Answer::Better | Answer::Different | Answer::BelowThreshold | Answer::Equivalent => {
                Gate::Passed
            }
        }
    }
}

/// Outcome of the test that B is not slower (`--fail-on`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// B is not slower, or nothing tests it.
    Passed,
    /// B is slower, or may be where that fails too.
    Failed,
    /// The runs do not show it.
    Open,
}

impl MetricVerdict {
    /// Returns an answer without figures.
    pub fn of(answer: Answer) -> MetricVerdict {
        MetricVerdict { answer, excluded: None, runs_needed: None }
    }
}

impl Comparison {
    /// The primary metric.
    pub fn primary(&self) -> Option<&MetricComparison> {
        self.metrics.first()
    }

    /// Returns the outcome of the test that B is not slower in the primary metric.
    pub fn gate(&self, fails_undecided: bool) -> Gate {
        let answer = self.primary().map_or(Answer::None, |primary| primary.verdict.answer);
        answer.gate(fails_undecided)
    }

    /// The verdict in a sentence: on the primary metric, or the reasons why there is none.
    pub fn sentence(&self) -> String {
        if self.not_comparable.is_empty() {
            return self.primary().map_or_else(String::new, |primary| primary.sentence.clone());
        }
        let reasons = self.not_comparable.iter().map(|note| note.text.as_str());
        format!("not comparable: {}", reasons.collect::<Vec<_>>().join("; "))
    }
}

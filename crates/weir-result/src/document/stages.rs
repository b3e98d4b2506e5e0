//! Results by stage of the load. They follow from the slices of the window, each of which lies in
//! one stage, and add up to those of the whole run.

use serde::{Deserialize, Serialize};

use super::latency::Metric;
use super::rates::per_second;
use super::results::{ResultKinds, Results, counts_of};
use super::scope_span::ScopeSpan;
use super::verdict::{Grade, Limit, LoadLine, TargetLine};
use crate::counters::{Slice, StageLags};
use crate::measurements::Measurements;
use crate::plan::Plan;
use weir_stats::histogram::Histogram;

/// Results of the requests due in one stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageSection {
    /// Load of the stage in words: `60 s at 1,000/s to 5,000/s`.
    pub load: String,
    /// Begin, in seconds from the start of the window.
    pub start_s: f64,
    /// End, in seconds from the start of the window; earlier than planned if the window ended in
    /// the stage.
    pub end_s: f64,
    /// Results of the requests due in the stage.
    pub results: Results,
    /// Requests sent during the stage.
    pub sent: u64,
    /// Requests due per second of the stage.
    pub planned_rps: f64,
    /// Requests due and unsent at the end of the stage.
    pub backlog: u64,
    /// Time from the planned to the actual send, of the requests that were due in the stage and
    /// sent; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_lag: Option<Metric>,
    /// Of `send_lag`: lateness of the client itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sched_lag: Option<Metric>,
    /// Verdict on the stage; absent if no request was due in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<StageVerdict>,
    /// Rate at which response times left their floor; absent if the rate does not rise, and with
    /// few requests or slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<RampKnee>,
}

/// Knee of a ramp: the rate above which fewer requests were completed than were due, so that
/// response times grew (METHOD 1.24).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RampKnee {
    /// Lower end of its interval, in requests per second; absent if the ramp has no knee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_rps: Option<f64>,
    /// Upper end of its interval, in requests per second; absent if the ramp has no knee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_rps: Option<f64>,
    /// Greatest rate up to which a knee would have been found, in requests per second.
    pub searched_rps: f64,
    /// Median response time below the knee, in nanoseconds.
    pub floor_ns: u64,
}

/// Verdict on one stage: the lines of the run's verdict, as far as they can be said of a part of it
/// (METHOD 1.24).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageVerdict {
    /// Grade: the worst that applies of void, failed, bounded and clean.
    pub grade: Grade,
    /// Reason why the grade is not `clean`, in one line; empty if it is.
    pub reason: String,
    /// Line `Target`: the state of the target.
    pub target: TargetLine,
    /// Line `Load`: the delivery of the planned load.
    pub load: LoadLine,
    /// Line `Limit`: the limit of the throughput.
    pub limit: Limit,
}

impl StageSection {
    /// Returns the sections of the stages that began; none without stages.
    pub(super) fn all(plan: &Plan, measurements: &Measurements) -> Vec<StageSection> {
        let slices = &measurements.slices;
        let mut from_ns = 0;
        let mut sections = Vec::new();
        for (index, stage) in plan.load.stage_spans().into_iter().enumerate() {
            let until_ns = from_ns + stage.duration_ns;
            let begin = slices.partition_point(|slice| slice.start_ns < from_ns);
            let end = slices.partition_point(|slice| slice.start_ns < until_ns);
            let own = &slices[begin..end];
            if !own.is_empty() {
                let section = StageSection::of(own, plan, stage.is_constant);
                let lags = measurements.stage_lags.get(index);
                let lag = |of: fn(&StageLags) -> &Histogram| {
                    lags.map(of).filter(|lag| !lag.is_empty()).map(Metric::of_one)
                };
                let send_lag = lag(|of| &of.send_lag);
                let sched_lag = lag(|of| &of.sched_lag);
                let load = stage.load;
                sections.push(StageSection { load, send_lag, sched_lag, ..section });
            }
            from_ns = until_ns;
        }
        sections
    }

    /// Returns the section of these slices without its load.
    pub(super) fn of(slices: &[Slice], plan: &Plan, is_constant: bool) -> StageSection {
        let [first, last] = [&slices[0], &slices[slices.len() - 1]];
        let length_ns = last.end_ns - first.start_ns;
        let span = ScopeSpan::of(plan, is_constant, length_ns);
        let mut counts = counts_of(slices);
        if span.has_one_time {
            counts.service_time = counts.response_time.clone();
        }
        StageSection {
            start_s: first.start_ns as f64 / 1e9,
            end_s: last.end_ns as f64 / 1e9,
            results: Results::of(&counts, &ResultKinds::default(), slices, span),
            sent: slices.iter().map(|slice| slice.sent).sum(),
            planned_rps: per_second(counts.planned, length_ns),
            backlog: last.backlog,
            ..StageSection::default()
        }
    }

    /// Returns the lags that the section was made of. The error is the place and the fault of a
    /// histogram.
    pub(super) fn to_lags(&self) -> Result<StageLags, String> {
        let lag = |lag: &Option<Metric>, place: &str| {
            lag.as_ref().map_or_else(|| Ok(Histogram::new()), |lag| lag.alone(place))
        };
        Ok(StageLags {
            send_lag: lag(&self.send_lag, "send_lag")?,
            sched_lag: lag(&self.sched_lag, "sched_lag")?,
        })
    }
}

//! Results by stage of the load. They follow from the slices of the window, each of which lies in
//! one stage, and add up to those of the whole run.

use serde::{Deserialize, Serialize};

use super::RateInterval;
use super::intervals::{Intervals, Selection};
use super::latency::Metric;
use super::messages::StageMessages;
use super::rates::per_second;
use super::summary::Summary;
use super::verdict::{Grade, Limit, LoadLine, TargetLine};
use crate::absent::is_default;
use crate::counters::{ByOutcome, Slice, StageLags};
use crate::histogram::Histogram;
use crate::measurements::Measurements;
use crate::plan::Plan;

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
    /// Requests due; the sum of the six classes that follow.
    pub planned: u64,
    /// Complete responses that count as success.
    pub ok: u64,
    /// Complete responses that do not count as success.
    pub bad_response: u64,
    /// Requests that ended without a complete response.
    pub transport_error: u64,
    /// Requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Requests sent, and still without a response when the run ended.
    pub in_flight_at_end: u64,
    /// Requests due, and never sent.
    pub never_sent: u64,
    /// Of `never_sent`: shed; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shed: u64,
    /// Requests sent during the stage.
    pub sent: u64,
    /// Complete responses during the stage.
    pub completed: u64,
    /// Of `completed`: responses that count as success.
    pub good: u64,
    /// `planned` per second of the stage.
    pub planned_rps: f64,
    /// `completed` per second of the stage.
    pub completed_rps: f64,
    /// 95% confidence interval of `completed_rps`; absent if the rate of the stage changes, and
    /// with few slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_interval: Option<RateInterval>,
    /// Requests due and unsent at the end of the stage.
    pub backlog: u64,
    /// Time from the planned send to the last byte, of `ok` requests.
    pub response_time: Summary,
    /// The same over all requests, every failure slower than any response; absent without failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_time_all: Option<Summary>,
    /// Messages of the requests due in the stage, and those received in it; absent if messages are
    /// not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<StageMessages>,
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
    /// Number of measured requests whose response was delivering messages when the run ended.
    pub fn open_streams(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.open)
    }

    /// Number of measured requests that did not end as `ok`, without streams that were
    /// [open](StageSection::open_streams) at the end.
    pub fn failed(&self) -> u64 {
        self.planned.saturating_sub(self.ok).saturating_sub(self.open_streams())
    }

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
                let section = StageSection::of(own, stage.is_constant);
                let lags = measurements.stage_lags.get(index);
                let lag = |of: fn(&StageLags) -> &Histogram| {
                    lags.map(of).filter(|lag| !lag.is_empty()).map(Metric::of_one)
                };
                let (send_lag, sched_lag) = (lag(|of| &of.send_lag), lag(|of| &of.sched_lag));
                let load = stage.load;
                sections.push(StageSection { load, send_lag, sched_lag, ..section });
            }
            from_ns = until_ns;
        }
        sections
    }

    /// Returns the section of these slices without its load.
    pub(super) fn of(slices: &[Slice], is_constant: bool) -> StageSection {
        let (first, last) = (&slices[0], &slices[slices.len() - 1]);
        let length_ns = last.end_ns - first.start_ns;
        let sum = |count: fn(&Slice) -> u64| slices.iter().map(count).sum::<u64>();
        let merged = |times: fn(&Slice) -> &Histogram| {
            let mut merged = Histogram::new();
            slices.iter().for_each(|slice| merged.add(times(slice)));
            merged
        };
        // The classes of failures count alike: each is slower than every response.
        let times = ByOutcome {
            ok: merged(|slice| &slice.ok),
            censored: merged(|slice| &slice.not_ok),
            ..ByOutcome::default()
        };
        let length_s = length_ns as f64 / 1e9;
        let intervals = |column| match is_constant {
            true => Intervals::of_slices(&times, slices, column, length_s),
            false => Intervals::of_slices(&times, slices, column, length_s).support_only(),
        };
        let metric = Metric::of(&times, &intervals(Selection::Ok), &intervals(Selection::All));
        let completed = sum(|slice| slice.completed);
        let interval = RateInterval::of(slices, length_ns, |slice| slice.completed);
        let planned = times.ok.count() + times.censored.count();
        StageSection {
            load: String::new(),
            start_s: first.start_ns as f64 / 1e9,
            end_s: last.end_ns as f64 / 1e9,
            planned,
            ok: times.ok.count(),
            bad_response: sum(|slice| slice.bad_response),
            transport_error: sum(|slice| slice.transport_error),
            timed_out: sum(|slice| slice.timed_out),
            in_flight_at_end: sum(|slice| slice.in_flight_at_end),
            never_sent: sum(|slice| slice.never_sent),
            shed: sum(|slice| slice.shed),
            sent: sum(|slice| slice.sent),
            completed,
            good: sum(|slice| slice.good),
            planned_rps: per_second(planned, length_ns),
            completed_rps: per_second(completed, length_ns),
            completed_interval: interval.filter(|_| is_constant),
            backlog: last.backlog,
            messages: StageMessages::of(slices, is_constant),
            response_time: metric.ok,
            response_time_all: metric.all,
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

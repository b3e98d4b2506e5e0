//! Lags of sends by stage of the load. A worker sends slots in the order of their due times, so
//! that a stage is complete when the first slot of a later one is sent: its tallies are emptied
//! then, and a request costs one comparison.

use weir_io::Nanos;
use weir_result::{SparseHistogram, StageLags, StageSpan, Tally};

use crate::time::Timeline;

/// One worker's lags of the stages that have ended, and the end of the present one.
#[derive(Debug)]
pub(super) struct LagsByStage {
    /// End of the present stage; `MAX` in the last one, and without stages.
    pub(super) ends_at: Nanos,
    /// Ends of all stages but the last.
    ends: Vec<Nanos>,
    ended: Vec<EndedStage>,
    /// Sums over the stages that have ended.
    pub(super) sum: EndedStage,
}

/// Lags of one stage.
#[derive(Clone, Debug, Default)]
pub(super) struct EndedStage {
    pub(super) send_lag: SparseHistogram,
    pub(super) sched_lag: SparseHistogram,
}

/// The tallies that lags are recorded in.
#[derive(Debug)]
pub(super) struct LagTallies<'t> {
    /// Lags of slots that found a free connection: all of each is the client's.
    pub(super) unwaited: &'t mut Tally,
    pub(super) waited_send: &'t mut Tally,
    pub(super) waited_sched: &'t mut Tally,
}

impl LagsByStage {
    /// Returns the empty lags of these stages.
    pub(super) fn new(timeline: &Timeline, stages: &[StageSpan]) -> LagsByStage {
        let mut end = timeline.t0;
        let ends = stages.iter().map(|stage| {
            end = end.after(stage.duration_ns);
            end
        });
        let mut ends: Vec<Nanos> = ends.collect();
        ends.pop();
        let ends_at = ends.first().copied().unwrap_or(Nanos::MAX);
        LagsByStage { ends_at, ends, ended: Vec::new(), sum: EndedStage::default() }
    }

    /// Ends the stages before the one that `due_at` lies in.
    #[cold]
    pub(super) fn end_before(&mut self, due_at: Nanos, mut tallies: LagTallies<'_>) {
        while due_at >= self.ends_at {
            self.end(&mut tallies);
        }
    }

    /// Ends the present stage.
    fn end(&mut self, tallies: &mut LagTallies<'_>) {
        let mut send_lag = tallies.unwaited.take_sparse();
        let mut sched_lag = send_lag.clone();
        send_lag.add(&tallies.waited_send.take_sparse());
        sched_lag.add(&tallies.waited_sched.take_sparse());
        self.sum.send_lag.add(&send_lag);
        self.sum.sched_lag.add(&sched_lag);
        self.ended.push(EndedStage { send_lag, sched_lag });
        self.ends_at = self.ends.get(self.ended.len()).copied().unwrap_or(Nanos::MAX);
    }

    /// Ends all stages, and returns their lags; none without stages.
    pub(super) fn finish(&mut self, stages: usize, mut tallies: LagTallies<'_>) -> Vec<StageLags> {
        while self.ended.len() < stages {
            self.end(&mut tallies);
        }
        let lags = |of: &EndedStage| StageLags {
            send_lag: of.send_lag.to_histogram(),
            sched_lag: of.sched_lag.to_histogram(),
        };
        self.ended.iter().map(lags).collect()
    }
}

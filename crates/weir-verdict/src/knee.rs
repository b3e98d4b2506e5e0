//! The knee of a ramp (METHOD 1.24), from the slices of its stage. weir-stats has the arithmetic.

use weir_result::Stage;
use weir_result::document::{Document, RampKnee, SliceEntry, StageSection};
use weir_stats::{RampPart, knee};

use crate::stages::slices;

/// Share of the requests due in a slice without a response beyond which its rate of completion says
/// nothing about the server.
const LOST_MAX: f64 = 0.01;

/// Returns the knee of each stage of a document; `None` for one whose rate does not rise, or that
/// has too little to say.
pub(crate) fn of_all(document: &Document) -> Vec<Option<RampKnee>> {
    let stages = document.plan.load.stages().iter().zip(&document.stages);
    stages.map(|(planned, stage)| of(document, planned, stage)).collect()
}

fn of(document: &Document, planned: &Stage, stage: &StageSection) -> Option<RampKnee> {
    let [from_rps, to_rps] = planned.ends_rps();
    if from_rps >= to_rps {
        return None;
    }
    let rate = |at_s: f64| planned.rps_at(((at_s - stage.start_s) * 1e9) as u64);
    let window_s = document.throughput.window_s;
    let slices = slices(document, stage).into_iter();
    let whole = slices.take_while(|slice| slice.end_s <= window_s && has_responses(slice));
    let part = |slice: &SliceEntry| {
        let mut times = slice.ok.clone();
        times.add(&slice.not_ok);
        RampPart {
            from_rps: rate(slice.start_s),
            to_rps: rate(slice.end_s),
            length_s: slice.length_ns() as f64 / 1e9,
            due: times.count(),
            completed: slice.completed,
            median: times.percentile(50.0).map_or(0.0, |ns| ns as f64),
        }
    };
    let found = knee(&whole.map(part).collect::<Vec<_>>())?;
    let (low_rps, high_rps) = found.rps.unzip();
    let searched_rps = found.searched_rps;
    let floor_ns = found.floor.round() as u64;
    Some(RampKnee { low_rps, high_rps, searched_rps, floor_ns })
}

/// True if nearly all requests due in a slice got a response.
fn has_responses(slice: &SliceEntry) -> bool {
    let outcomes = slice.outcomes;
    let lost = outcomes.total() - outcomes.ok - outcomes.bad_response;
    lost as f64 <= LOST_MAX * outcomes.total() as f64
}

//! Results of the requests of one name in one stage, from the slices. The document does not hold
//! them: they are derived on demand.

use super::content::Document;
use super::names::shares;
use super::results::Results;
use super::stages::StageSection;
use crate::counters::{Slice, SliceEntry};

impl Document {
    /// Returns the results of the requests of one name in the stage at this index. Their failures
    /// have no classes, which slices do not count by name. `place` is the name's among those with
    /// intervals. `None` if the stage did not begin, or the slices have no counts of names.
    pub fn name_in_stage(&self, stage: usize, place: usize) -> Option<Results> {
        let spans = self.plan.load.stage_spans();
        let planned = spans.get(stage)?;
        let stage = self.stages.get(stage)?;
        let own = |slice: &&SliceEntry| (stage.start_s..stage.end_s).contains(&slice.start_s);
        let slices = self.slices.iter().filter(own).map(SliceEntry::to_slice);
        let slices = slices.collect::<Result<Vec<Slice>, String>>().ok()?;
        let is_counted = slices.iter().any(|slice| slice.named.len() > place);
        let shares = shares(&slices, place);
        let section = StageSection::of(&shares, &self.plan, planned.is_constant);
        is_counted.then_some(section.results)
    }
}

//! The parts of a window in which the load was the same by plan: all of it, or each stage with a
//! constant rate, and none of a replayed log. Rules about one load judge each by itself.

use weir_result::document::{Document, SliceEntry};

/// A part of the window with one load.
#[derive(Debug)]
pub(crate) struct LoadSpan<'d> {
    /// Its slices, as far as they lie in the window.
    pub(crate) slices: Vec<&'d SliceEntry>,
    /// Its rate in requests per second; 0 in a closed loop.
    pub(crate) offered_rps: f64,
    /// The stage in words, as in ` in stage 2`; empty if it is the whole window.
    pub(crate) place: String,
    /// True if the window begins with it.
    pub(crate) is_first: bool,
}

/// Returns the parts of the window of a document, in order.
pub(crate) fn spans(document: &Document) -> Vec<LoadSpan<'_>> {
    let window_s = document.throughput.window_s;
    let within = |from_s: f64, until_s: f64| -> Vec<&SliceEntry> {
        let is_within = |slice: &&SliceEntry| {
            slice.start_s >= from_s && slice.start_s < until_s && slice.end_s <= window_s
        };
        document.slices.iter().filter(is_within).collect()
    };
    let stages = document.plan.load.stage_spans();
    if document.plan.load.log().is_some() {
        return Vec::new();
    }
    if stages.is_empty() {
        return vec![LoadSpan {
            slices: within(0.0, f64::INFINITY),
            offered_rps: document.throughput.offered_rps.unwrap_or(0.0),
            place: String::new(),
            is_first: true,
        }];
    }
    let constant = stages.iter().zip(&document.stages).enumerate();
    let constant = constant.filter(|(_, (planned, _))| planned.is_constant);
    let span = |(index, (planned, found)): (usize, (&weir_result::StageSpan, _))| {
        let found: &weir_result::document::StageSection = found;
        LoadSpan {
            slices: within(found.start_s, found.end_s),
            offered_rps: planned.offered_rps,
            place: format!(" in stage {}", index + 1),
            is_first: index == 0,
        }
    };
    constant.map(span).collect()
}

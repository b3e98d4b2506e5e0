//! Alignment of slices before they are added: workers of one window divide it alike, unless each
//! one's window ended with its own requests or was cut. Then the longest window decides.

use crate::counters::Slice;
use crate::measurements::Measurements;
use crate::rules::Merge;

/// Gives all measurements the slices of the ones with the longest window, so that they add up slice
/// by slice.
///
/// The longer a window without a planned end takes, the longer its slices: their lengths double. So
/// every slice lies within one of the longest window, which merging documents checks first.
pub fn align_slices(parts: &mut [Measurements]) {
    let bounds = longest(parts.iter());
    for part in parts.iter_mut().filter(|part| bounds_of(part) != bounds) {
        part.slices = regrouped(std::mem::take(&mut part.slices), &bounds);
    }
}

/// True if [`align_slices`] keeps every slice whole.
pub(crate) fn can_align<'m>(parts: impl Iterator<Item = &'m Measurements> + Clone) -> bool {
    let bounds = longest(parts.clone());
    let fits = |slice: &Slice| {
        let (start_ns, end_ns) = bounds[index_of(slice, &bounds)];
        start_ns <= slice.start_ns && slice.end_ns <= end_ns
    };
    parts.flat_map(|part| &part.slices).all(fits)
}

/// Start and end of a slice, in nanoseconds from t0.
type Bounds = (u64, u64);

fn bounds_of(part: &Measurements) -> Vec<Bounds> {
    part.slices.iter().map(|slice| (slice.start_ns, slice.end_ns)).collect()
}

/// Returns the bounds of the longest window; of several, the one with the longest slices.
fn longest<'m>(parts: impl Iterator<Item = &'m Measurements>) -> Vec<Bounds> {
    let end_and_first = |bounds: &Vec<Bounds>| {
        (bounds.last().map(|last| last.1), bounds.first().map(|first| first.1))
    };
    parts.map(bounds_of).max_by_key(end_and_first).unwrap_or_default()
}

/// Returns the index of the bounds, at least one, that a slice begins in.
fn index_of(slice: &Slice, bounds: &[Bounds]) -> usize {
    bounds.partition_point(|(_, end_ns)| *end_ns <= slice.start_ns).min(bounds.len() - 1)
}

/// Returns `slices` merged into the slices of `bounds`. Requests in flight and the backlog are
/// taken at the end of the greater slice, or where the window ended in it; a window that ended
/// before has none.
fn regrouped(slices: Vec<Slice>, bounds: &[Bounds]) -> Vec<Slice> {
    let empty = |(start_ns, end_ns): &Bounds| Slice {
        start_ns: *start_ns,
        end_ns: *end_ns,
        ..Slice::default()
    };
    let mut groups: Vec<Slice> = bounds.iter().map(empty).collect();
    for slice in slices {
        let group = &mut groups[index_of(&slice, bounds)];
        // Slices are in order of time: the last one counts.
        (group.in_flight, group.backlog) = (0, 0);
        group.merge(&Slice { start_ns: group.start_ns, end_ns: group.end_ns, ..slice });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measurements with slices of `length` each, up to `end`. Slice k has k requests.
    fn part(length: u64, end: u64) -> Measurements {
        let slice = |k: u64| Slice {
            start_ns: k * length,
            end_ns: ((k + 1) * length).min(end),
            sent: k,
            in_flight: k + 1,
            ..Slice::default()
        };
        let slices = (0..end.div_ceil(length)).map(slice).collect();
        Measurements { slices, ..Measurements::default() }
    }

    fn aligned(mut parts: Vec<Measurements>) -> Vec<Vec<(u64, u64, u64, u64)>> {
        assert!(can_align(parts.iter()));
        align_slices(&mut parts);
        let row = |s: &Slice| (s.start_ns, s.end_ns, s.sent, s.in_flight);
        parts.iter().map(|part| part.slices.iter().map(row).collect()).collect()
    }

    #[test]
    fn a_window_that_was_cut_gets_the_rest_empty() {
        let both = aligned(vec![part(10, 40), part(10, 15)]);
        assert_eq!(both[0], [(0, 10, 0, 1), (10, 20, 1, 2), (20, 30, 2, 3), (30, 40, 3, 4)]);
        assert_eq!(both[1], [(0, 10, 0, 1), (10, 20, 1, 2), (20, 30, 0, 0), (30, 40, 0, 0)]);
    }

    #[test]
    fn shorter_slices_are_added_into_the_longer_ones_that_contain_them() {
        let both = aligned(vec![part(10, 35), part(20, 75)]);
        assert_eq!(both[0], [(0, 20, 1, 2), (20, 40, 5, 4), (40, 60, 0, 0), (60, 75, 0, 0)]);
        assert_eq!(both[1][3], (60, 75, 3, 4));
    }

    #[test]
    fn slices_that_cross_a_border_are_found() {
        assert!(!can_align([part(10, 40), part(15, 30)].iter()));
        assert!(can_align([part(10, 40), Measurements::default()].iter()));
    }
}

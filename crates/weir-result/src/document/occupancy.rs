//! Little's law as a check (METHOD 1.7): two independent counts of the requests on the wire must
//! agree.

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::evidence::Occupancy;
use weir_stats::histogram::digits;

/// Requests on the wire over the window, counted in two independent ways.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OccupancySection {
    /// Number of requests on the wire, integrated over the window, in nanoseconds, as decimal
    /// digits.
    #[serde(with = "digits")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub integral_ns: u128,
    /// Time that each request spent on the wire inside the window, summed over the requests as they
    /// end, in nanoseconds, as decimal digits.
    #[serde(with = "digits")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sum_ns: u128,
    /// Number of requests that the connections allow at once, integrated over the window, in
    /// nanoseconds, as decimal digits: streams of HTTP/2, by the plan and the server's limit at
    /// each time, or connections that come and leave by plan. Absent if it is the same all the
    /// time.
    #[serde(default, skip_serializing_if = "is_default", with = "digits")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub capacity_ns: u128,
    /// Difference of the first two as a share of the greater one, 0 to 1.
    pub difference: f64,
}

impl OccupancySection {
    pub(super) fn of(occupancy: &Occupancy) -> Option<OccupancySection> {
        let Occupancy { integral_ns, sum_ns, capacity_ns } = *occupancy;
        let greater = integral_ns.max(sum_ns);
        (greater > 0).then(|| OccupancySection {
            integral_ns,
            sum_ns,
            capacity_ns,
            difference: integral_ns.abs_diff(sum_ns) as f64 / greater as f64,
        })
    }

    pub(super) fn to_occupancy(self) -> Occupancy {
        let OccupancySection { integral_ns, sum_ns, capacity_ns, .. } = self;
        Occupancy { integral_ns, sum_ns, capacity_ns }
    }
}

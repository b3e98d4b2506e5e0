//! Times of the members of M that every load has, over the whole run.

use weir_result::Tally;

use super::failures::Failures;

/// Times of the members of M. Response times of `ok` slots are with the slices.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub(super) response: Failures,
    pub(super) first_byte: Tally,
    /// Time until the last response of each batch (`Te − T0`), if the report needs it.
    pub(super) batch: Option<Tally>,
}

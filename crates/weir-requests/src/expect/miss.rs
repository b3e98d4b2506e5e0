//! An expectation that a response missed.

use weir_result::MissKind;

/// An expectation that a response missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// Kind of the miss.
    pub kind: MissKind,
    /// Index of the expectation among those of the response; `None` for the default rule of status
    /// codes.
    pub(super) expectation: Option<usize>,
}

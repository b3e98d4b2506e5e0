//! The settings of one response.

use crate::delay::Delay;
use crate::routes::Routed;

/// Settings of one response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    pub(crate) delay: Delay,
    pub(crate) route: Option<Routed>,
    pub(crate) has_events: bool,
}

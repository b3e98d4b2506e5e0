//! The judge of responses in a run with expectations: it finds the expectation that a response
//! misses, and keeps one example of each kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_expect::BodyDecoder;
use weir_http::{Interest, ReceivedResponse};
use weir_result::{MissExample, MissKind};

use crate::exchange::{Exchange, SlotPhase};
use crate::response_checks::ResponseChecks;

/// The judge of one worker's responses.
#[derive(Debug)]
pub(crate) struct Judge {
    checks: Arc<ResponseChecks>,
    decoder: BodyDecoder,
    examples: BTreeMap<MissKind, MissExample>,
    reads_bodies: bool,
    /// True if bodies were read since the last call of [`Judge::take_has_read`].
    has_read: bool,
}

impl Judge {
    pub(super) fn new(checks: &Arc<ResponseChecks>) -> Judge {
        Judge {
            checks: Arc::clone(checks),
            decoder: checks.decoder(),
            examples: BTreeMap::new(),
            reads_bodies: checks.interest() == Interest::Body,
            has_read: false,
        }
    }

    /// Returns the kind of the expectation that the response to an exchange misses; `None` if it
    /// meets all.
    #[inline(never)]
    pub(crate) fn missed(
        &mut self,
        exchange: &Exchange,
        response: &ReceivedResponse<'_>,
    ) -> Option<MissKind> {
        self.has_read = self.reads_bodies;
        let expectations = self.checks.of(exchange.row);
        let name = if self.checks.has_names { exchange.tag.into() } else { 0 };
        let first = &self.checks.first_bodies;
        let miss = expectations.check(response, &mut self.decoder, first, name).err()?;
        if exchange.phase == SlotPhase::Measured {
            let decoder = &mut self.decoder;
            let example = || expectations.example(miss, response, decoder);
            self.examples.entry(miss.kind).or_insert_with(example);
        }
        Some(miss.kind)
    }

    /// True if bodies were read since the last call, which may have taken long.
    #[inline]
    pub(crate) fn take_has_read(&mut self) -> bool {
        std::mem::take(&mut self.has_read)
    }

    /// Returns the example of each kind.
    pub(super) fn finish(self) -> BTreeMap<MissKind, MissExample> {
        self.examples
    }
}

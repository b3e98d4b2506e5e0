//! The ends of streams: which of them failed although their responses are complete (METHOD 1.26).

use std::collections::{BTreeMap, BTreeSet};

use weir_http::{MessageFraming, ReceivedResponse};
use weir_io::Nanos;
use weir_result::{MissExample, MissKind};

use crate::exchange::{Exchange, MessageProgress, SlotPhase};
use crate::job::Job;

/// The ends of one worker's streams.
#[derive(Debug)]
pub(super) struct StreamFailures {
    /// Places of tokens, as an example names them; `None` if each message counts.
    places: Option<String>,
    /// True if streams of this form may have end marks.
    may_be_marked: bool,
    /// Names whose streams have end marks, by those so far.
    marked: BTreeSet<u16>,
    /// One example of each kind of failure, of measured requests.
    pub(super) examples: BTreeMap<MissKind, MissExample>,
}

impl StreamFailures {
    pub(super) fn new(job: &Job) -> StreamFailures {
        let tokens = job.plan.messages.as_ref().map(|messages| messages.tokens.as_slice());
        let tokens = tokens.filter(|tokens| !tokens.is_empty());
        let format = job.responses.messages.as_ref().and_then(|rules| rules.format.as_ref());
        StreamFailures {
            places: tokens.map(|tokens| tokens.join(" or ")),
            may_be_marked: format.is_some_and(|it| it.framing == MessageFraming::EventStream),
            marked: BTreeSet::new(),
            examples: BTreeMap::new(),
        }
    }

    /// Records an end mark of a stream with this name: others with the name need one from now on.
    pub(super) fn mark(&mut self, name: u16) {
        self.marked.insert(name);
    }

    /// True if a stream with this progress ended without an end mark, and might have had one.
    pub(super) fn is_unmarked(&self, progress: &MessageProgress) -> bool {
        self.may_be_marked && progress.heard_at > Nanos::ZERO && !progress.has_end_mark
    }

    /// Returns the kind of failure of the stream with this progress that is the response to an
    /// exchange; `None` if it did not fail.
    pub(super) fn missed(
        &mut self,
        progress: &MessageProgress,
        exchange: &Exchange,
        response: &ReceivedResponse<'_>,
    ) -> Option<MissKind> {
        let is_unmarked = self.is_unmarked(progress);
        let kind = match () {
            () if progress.has_error => MissKind::StreamError,
            () if self.places.is_some() && progress.count == 0 => MissKind::StreamWithoutToken,
            () if is_unmarked && self.marked.contains(&exchange.tag) => MissKind::StreamWithoutEnd,
            () => return None,
        };
        if exchange.phase == SlotPhase::Measured && !self.examples.contains_key(&kind) {
            let example = self.example(kind, progress, response);
            self.examples.insert(kind, example);
        }
        Some(kind)
    }

    fn example(
        &self,
        kind: MissKind,
        progress: &MessageProgress,
        response: &ReceivedResponse<'_>,
    ) -> MissExample {
        let expected = match (kind, &self.places) {
            (MissKind::StreamWithoutToken, Some(places)) => format!("a value at {places}"),
            (MissKind::StreamWithoutEnd, _) => "the end mark that other streams have".to_owned(),
            _ => "a stream without an error".to_owned(),
        };
        let excerpt = String::from_utf8_lossy(response.excerpt).into_owned();
        let found = match kind {
            MissKind::StreamWithoutEnd => format!("an end after {} messages", progress.count),
            MissKind::StreamWithoutToken if progress.heard_at == Nanos::ZERO => {
                "no message".to_owned()
            }
            _ => excerpt,
        };
        MissExample { status: response.status, expected, found }
    }
}

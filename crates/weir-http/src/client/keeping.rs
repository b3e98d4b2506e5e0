//! Parsing of responses that are stored: the bytes of each phase are passed to the connection's
//! [`Capture`]. Does not classify the bytes.

use super::capture::Capture;
use super::{HeadCache, Http1, ResponseElement};
use crate::error::ProtocolError;
use crate::received_response::ReceivedResponse;
use crate::response_event::ResponseEvent;

impl Http1 {
    /// Like [`Http1::receive`]. Separate from it, so that storing costs nothing if unused: the
    /// bytes of one phase at a time are parsed first and then stored.
    #[inline(never)]
    pub(super) fn receive_and_keep(
        &mut self,
        bytes: &[u8],
        mut known: Option<&mut HeadCache>,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.begin_call();
        let mut rest = bytes;
        while !rest.is_empty() {
            let phase = self.phase;
            let completed = events.len();
            match self.advance(rest, None, events) {
                Ok(used) => {
                    let is_complete = events.len() > completed;
                    self.keep(phase, &rest[..used], is_complete, known.as_deref_mut());
                    rest = &rest[used..];
                }
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    /// Stores the bytes parsed in a phase, which may be over now.
    fn keep(
        &mut self,
        phase: ResponseElement,
        bytes: &[u8],
        is_complete: bool,
        known: Option<&mut HeadCache>,
    ) {
        let now = self.phase;
        let Some(capture) = self.capture() else { return };
        match phase {
            ResponseElement::Start | ResponseElement::Head => {
                capture.section(bytes);
                match now {
                    ResponseElement::Head => {}
                    ResponseElement::Start if !is_complete => capture.forget_unfinished(),
                    _ => {
                        let head = capture.end_head();
                        known.into_iter().for_each(|known| known.note(head));
                    }
                }
            }
            ResponseElement::TrailerStart | ResponseElement::Trailers => {
                capture.section(bytes);
                if is_complete {
                    capture.end_trailers();
                }
            }
            ResponseElement::Fixed | ResponseElement::ChunkData | ResponseElement::UntilClose => {
                capture.body(bytes)
            }
            ResponseElement::ChunkLine | ResponseElement::Closed | ResponseElement::Failed(_) => {}
        }
        self.keep_completed(is_complete);
    }

    pub(super) fn keep_completed(&mut self, is_complete: bool) {
        let status = self.status;
        if is_complete && let Some(capture) = self.capture() {
            capture.complete(status);
        }
    }

    fn capture(&mut self) -> Option<&mut Capture> {
        self.extra.as_mut()?.capture.as_deref_mut()
    }

    pub(super) fn begin_call(&mut self) {
        self.began_here = false;
        if let Some(capture) = self.capture() {
            capture.forget_completed();
            capture.forget_messages();
        }
    }

    /// Frees the stored responses that the last call completed, before the next call does.
    pub fn forget_responses(&mut self) {
        if let Some(capture) = self.capture() {
            capture.forget_completed();
        }
    }
}

/// Returns the response with this status that the last call completed: nothing but its status, if
/// responses are not kept.
pub(crate) fn completed_response(protocol: &Http1, status: u16) -> ReceivedResponse<'_> {
    let capture = protocol.extra.as_ref().and_then(|extra| extra.capture.as_ref());
    capture.map_or(ReceivedResponse::of_status(status), |capture| capture.response(0))
}

/// Returns the current response of a connection as far as it was received; `None` outside its body,
/// or if responses are not kept.
pub fn unfinished_response(protocol: &Http1) -> Option<ReceivedResponse<'_>> {
    match protocol.phase {
        ResponseElement::Fixed
        | ResponseElement::ChunkLine
        | ResponseElement::ChunkData
        | ResponseElement::UntilClose => {}
        _ => return None,
    }
    Some(protocol.extra.as_ref()?.capture.as_ref()?.unfinished(protocol.status))
}

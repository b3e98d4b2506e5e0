//! The closing handshake of a connection (RFC 6455 §7.1.2): a Close frame from each side.

use crate::ws::close_code::CloseCode;
use crate::ws::frame::push_close;
use crate::ws::mask::MaskSequence;

/// The Close frames of a connection.
#[derive(Debug, Default)]
pub(super) struct ClosingHandshake {
    /// Code of the server's frame.
    pub(super) code: Option<CloseCode>,
    /// Reason in that frame, which has at most 123 bytes.
    pub(super) text: String,
    /// True once the own frame was sent: no frame follows it (§5.5.1).
    pub(super) is_sent: bool,
}

impl ClosingHandshake {
    /// True if one side has sent its frame.
    pub(super) fn has_begun(&self) -> bool {
        self.code.is_some() || self.is_sent
    }

    /// Receives the server's frame, and answers it.
    pub(super) fn receive(
        &mut self,
        code: CloseCode,
        text: &str,
        masks: &mut MaskSequence,
        out: &mut Vec<u8>,
    ) {
        self.code = Some(code);
        text.clone_into(&mut self.text);
        self.push(code, masks, out);
    }

    /// Appends the own frame, unless it was sent.
    pub(super) fn push(&mut self, code: CloseCode, masks: &mut MaskSequence, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_sent, true) {
            push_close(out, code, Some(masks.next_mask()));
        }
    }
}

//! Frames of WebSocket (RFC 6455 §5.2): their headers, read and written. Messages and their order
//! are not known here.

use super::close_code::CloseCode;
use super::mask;
use crate::error::ProtocolError;

/// Most bytes of a header.
pub(super) const HEADER_BYTES_MAX: usize = 14;

/// Most bytes of a control frame's payload.
pub const CONTROL_BYTES_MAX: usize = 125;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
/// The reserved bit of a message that is deflated (RFC 7692 §6).
const DEFLATED: u8 = 0x40;
const MASKED: u8 = 0x80;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Another fragment of a message.
    pub const CONTINUATION: Opcode = Opcode(0);
    /// A text, or its first fragment.
    pub const TEXT: Opcode = Opcode(1);
    /// Bytes, or their first fragment.
    pub const BINARY: Opcode = Opcode(2);
    /// The end of the connection.
    pub const CLOSE: Opcode = Opcode(8);
    /// A check that the peer is there.
    pub const PING: Opcode = Opcode(9);
    /// The response to a Ping.
    pub const PONG: Opcode = Opcode(10);

    /// Returns the kind with the mark of a message that is deflated.
    pub(super) fn deflated(self) -> Opcode {
        Opcode(self.0 | DEFLATED)
    }

    /// True if a frame of this kind may stand between the fragments of a message.
    pub fn is_control(self) -> bool {
        self.0 >= 8
    }

    fn is_known(self) -> bool {
        matches!(self.0, 0..=2 | 8..=10)
    }
}

/// A fault of the peer: the code that it is sent, and the error that a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WsFault {
    /// Code of the Close frame.
    pub code: CloseCode,
    /// The error.
    pub error: ProtocolError,
}

impl WsFault {
    /// A frame that is malformed or out of place.
    pub(super) const FRAME: WsFault =
        WsFault { code: CloseCode::PROTOCOL_ERROR, error: ProtocolError::BadFrame };
    /// A text that is not UTF-8.
    pub(super) const TEXT: WsFault =
        WsFault { code: CloseCode::INVALID_DATA, error: ProtocolError::BadText };
    /// A message beyond the limit.
    pub(super) const TOO_LARGE: WsFault =
        WsFault { code: CloseCode::TOO_LARGE, error: ProtocolError::MessageTooLarge };
    /// A deflated message that is damaged.
    pub(super) const DEFLATE: WsFault =
        WsFault { code: CloseCode::INVALID_DATA, error: ProtocolError::BadDeflate };
    /// More frames than any content needs.
    pub(super) const TOO_MANY_FRAMES: WsFault =
        WsFault { code: CloseCode::POLICY_VIOLATION, error: ProtocolError::TooManyFrames };
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WsHeader {
    pub(super) opcode: Opcode,
    /// True if no fragment of its message follows.
    pub(super) is_final: bool,
    /// True if its message is deflated; false in fragments but the first.
    pub(super) is_deflated: bool,
    pub(super) mask: Option<[u8; 4]>,
    pub(super) payload_bytes: u64,
}

impl WsHeader {
    /// Reads the header at the start of `bytes`, of a peer that masks its frames if `is_masked`,
    /// and may deflate messages if `may_deflate`. Returns it with its length; `None` if it is
    /// incomplete.
    ///
    /// # Errors
    /// If it is malformed. Bytes that follow do not change that.
    pub(super) fn read(
        bytes: &[u8],
        is_masked: bool,
        may_deflate: bool,
    ) -> Result<Option<(WsHeader, usize)>, WsFault> {
        let &[first, second, ref rest @ ..] = bytes else { return Ok(None) };
        let opcode = Opcode(first & 0xf);
        let is_final = first & FINAL != 0;
        let short = second & !MASKED;
        let is_long_control = opcode.is_control() && (!is_final || short > 125);
        let is_data = matches!(opcode, Opcode::TEXT | Opcode::BINARY);
        let allowed = if may_deflate && is_data { DEFLATED } else { 0 };
        // No other extension gives the reserved bits a meaning. Only clients mask (§5.1).
        if first & RESERVED & !allowed != 0
            || !opcode.is_known()
            || is_long_control
            || (second & MASKED != 0) != is_masked
        {
            return Err(WsFault::FRAME);
        }
        let (payload_bytes, length_bytes) = match short {
            126 => match rest.first_chunk() {
                Some(length) => (u64::from(u16::from_be_bytes(*length)), 2),
                None => return Ok(None),
            },
            127 => match rest.first_chunk() {
                Some(length) => (u64::from_be_bytes(*length), 8),
                None => return Ok(None),
            },
            short => (u64::from(short), 0),
        };
        // The shortest form is required, and a length has 63 bits (§5.2).
        let least = [0, 126, 1 << 16][usize::from(short.saturating_sub(125))];
        if payload_bytes < least || payload_bytes > i64::MAX as u64 {
            return Err(WsFault::FRAME);
        }
        let after = &rest[length_bytes..];
        let mask = match is_masked {
            false => None,
            true => match after.first_chunk() {
                Some(mask) => Some(*mask),
                None => return Ok(None),
            },
        };
        let is_deflated = first & DEFLATED != 0;
        let header = WsHeader { opcode, is_final, is_deflated, mask, payload_bytes };
        Ok(Some((header, 2 + length_bytes + if is_masked { 4 } else { 0 })))
    }
}

/// Appends a frame; with a mask as a client sends it.
pub fn push_frame(
    out: &mut Vec<u8>,
    opcode: Opcode,
    is_final: bool,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) {
    push_header(out, opcode, is_final, mask, payload.len() as u64);
    let begin = out.len();
    out.extend_from_slice(payload);
    if let Some(mask) = mask {
        mask::apply(&mut out[begin..], mask, 0);
    }
}

/// Appends the header of a frame with `payload_bytes` bytes of payload.
pub fn push_header(
    out: &mut Vec<u8>,
    opcode: Opcode,
    is_final: bool,
    mask: Option<[u8; 4]>,
    payload_bytes: u64,
) {
    out.push(opcode.0 | if is_final { FINAL } else { 0 });
    let masked = if mask.is_some() { MASKED } else { 0 };
    match (u8::try_from(payload_bytes), u16::try_from(payload_bytes)) {
        (Ok(short @ ..=125), _) => out.push(masked | short),
        (_, Ok(length)) => {
            out.push(masked | 126);
            out.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            out.push(masked | 127);
            out.extend_from_slice(&payload_bytes.to_be_bytes());
        }
    }
    out.extend_from_slice(mask.as_ref().map_or(&[][..], |mask| &mask[..]));
}

/// Appends a Close frame with a code; without one for [`CloseCode::NO_STATUS`].
pub fn push_close(out: &mut Vec<u8>, code: CloseCode, mask: Option<[u8; 4]>) {
    let payload = code.0.to_be_bytes();
    let payload = if code == CloseCode::NO_STATUS { &[][..] } else { &payload[..] };
    push_frame(out, Opcode::CLOSE, true, mask, payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths on both sides of each form's limit.
    const LENGTHS: [u64; 8] = [0, 1, 125, 126, 65_535, 65_536, 1 << 32, i64::MAX as u64];

    #[test]
    fn headers_are_read_as_they_are_written() {
        for payload_bytes in LENGTHS {
            for mask in [None, Some([1, 2, 3, 4])] {
                let mut bytes = Vec::new();
                push_header(&mut bytes, Opcode::BINARY, false, mask, payload_bytes);
                let opcode = Opcode::BINARY;
                let is_final = false;
                let is_deflated = false;
                let header = WsHeader { opcode, is_final, is_deflated, mask, payload_bytes };
                let read = |bytes: &[u8]| WsHeader::read(bytes, mask.is_some(), true);
                assert_eq!(read(&bytes), Ok(Some((header, bytes.len()))));
                for cut in 0..bytes.len() {
                    assert_eq!(read(&bytes[..cut]), Ok(None), "{payload_bytes} cut at {cut}");
                }
                let other = WsHeader::read(&bytes, mask.is_none(), true);
                assert_eq!(other, Err(WsFault::FRAME), "only clients mask");
            }
        }
    }

    /// RFC 6455 §5.7.
    #[test]
    fn the_examples_of_the_standard() {
        let mut out = Vec::new();
        push_frame(&mut out, Opcode::TEXT, true, Some([0x37, 0xfa, 0x21, 0x3d]), b"Hello");
        assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        out.clear();
        push_frame(&mut out, Opcode::TEXT, false, None, b"Hel");
        assert_eq!(out, [0x01, 0x03, 0x48, 0x65, 0x6c]);
        out.clear();
        push_header(&mut out, Opcode::BINARY, true, None, 256);
        assert_eq!(out, [0x82, 0x7e, 0x01, 0x00]);
        out.clear();
        push_header(&mut out, Opcode::BINARY, true, None, 65_536);
        assert_eq!(out, [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn messages_alone_are_deflated() {
        let read = |first: u8| WsHeader::read(&[first, 0], false, true);
        for opcode in [Opcode::TEXT, Opcode::BINARY] {
            let first = FINAL | opcode.deflated().0;
            assert!(read(first).is_ok_and(|read| read.is_some_and(|(it, _)| it.is_deflated)));
        }
        for opcode in [Opcode::CONTINUATION, Opcode::PING, Opcode::CLOSE] {
            assert_eq!(read(FINAL | opcode.deflated().0), Err(WsFault::FRAME));
        }
        assert_eq!(read(0xa1), Err(WsFault::FRAME), "another reserved bit");
    }

    #[test]
    fn malformed_headers() {
        for bytes in [
            &[0xc1, 0][..],       // a reserved bit
            &[0x83, 0],           // an unknown kind
            &[0x8b, 0],           // an unknown kind of control frame
            &[0x09, 0],           // a fragment of a control frame
            &[0x89, 126],         // a long control frame
            &[0x82, 126, 0, 125], // not the shortest form
            &[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
            &[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], // more than 63 bits
            &[0x82, 0x80],                           // a mask
        ] {
            assert_eq!(WsHeader::read(bytes, false, false), Err(WsFault::FRAME), "{bytes:02x?}");
        }
    }
}

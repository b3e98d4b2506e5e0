//! The header of a frame, and the reading of payloads by their header. Independent of the frames
//! before it.

use super::data_rest::DataRest;
use super::{ErrorCode, FrameKind, H2Fault, H2Frame, HEADER_BYTES, flags};

/// A received header.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHeader {
    pub(super) bytes: u32,
    pub(super) kind: FrameKind,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    #[inline(always)]
    pub(super) fn parse(bytes: [u8; HEADER_BYTES]) -> FrameHeader {
        let [high, middle, low, kind, flags, a, b, c, d] = bytes;
        FrameHeader {
            bytes: u32::from_be_bytes([0, high, middle, low]),
            kind: FrameKind(kind),
            flags,
            // The reserved bit is ignored (RFC 9113 §4.1).
            stream: u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff,
        }
    }

    pub(super) fn is_known(self) -> bool {
        self.kind.0 <= FrameKind::CONTINUATION.0
    }

    #[inline(always)]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Checks the stream and the length that the type demands (RFC 9113 §6).
    pub(super) fn check(self) -> Result<(), H2Fault> {
        let is_of_connection = self.stream == 0;
        let (is_placed, is_sized) = match self.kind {
            FrameKind::RST_STREAM => (!is_of_connection, self.bytes == 4),
            FrameKind::WINDOW_UPDATE => (true, self.bytes == 4),
            FrameKind::SETTINGS if self.has(flags::ACK) => (is_of_connection, self.bytes == 0),
            FrameKind::SETTINGS => (is_of_connection, self.bytes.is_multiple_of(6)),
            FrameKind::PING => (is_of_connection, self.bytes == 8),
            FrameKind::GOAWAY => (is_of_connection, self.bytes >= 8),
            // The other known types are of streams.
            _ => (!is_of_connection || !self.is_known(), true),
        };
        match (is_placed, is_sized) {
            (false, _) => Err(H2Fault::PROTOCOL),
            (_, false) => Err(H2Fault::FRAME_SIZE),
            _ => Ok(()),
        }
    }

    pub(super) fn data(self) -> DataRest {
        DataRest {
            stream: self.stream,
            bytes: self.bytes,
            padding: (!self.has(flags::PADDED)).then_some(0),
            flow_bytes: self.bytes,
            is_end: self.has(flags::END_STREAM),
        }
    }

    /// Returns the part of a HEADERS payload that belongs to the block (RFC 9113 §6.2).
    pub(super) fn block(self, payload: &[u8]) -> Result<&[u8], H2Fault> {
        if !self.has(flags::PADDED | flags::PRIORITY) {
            return Ok(payload);
        }
        let mut block = payload;
        let mut padding = 0;
        if self.has(flags::PADDED) {
            let (length, rest) = block.split_first().ok_or(H2Fault::FRAME_SIZE)?;
            (padding, block) = (usize::from(*length), rest);
        }
        if self.has(flags::PRIORITY) {
            block = block.get(5..).ok_or(H2Fault::FRAME_SIZE)?;
        }
        let length = block.len().checked_sub(padding).ok_or(H2Fault::PROTOCOL)?;
        Ok(&block[..length])
    }

    /// Returns a frame other than DATA, with a complete block if it has one.
    pub(super) fn frame(self, payload: &[u8]) -> Result<H2Frame<'_>, H2Fault> {
        let stream = self.stream;
        if self.kind == FrameKind::HEADERS {
            let is_end = self.has(flags::END_STREAM);
            return Ok(H2Frame::Headers { stream, block: self.block(payload)?, is_end });
        }
        let number = |at: usize| {
            let bytes = payload.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        Ok(match self.kind {
            FrameKind::RST_STREAM => H2Frame::Reset { stream, code: ErrorCode(number(0)) },
            FrameKind::SETTINGS if self.has(flags::ACK) => H2Frame::SettingsAck,
            FrameKind::SETTINGS => H2Frame::Settings(payload),
            FrameKind::PUSH_PROMISE => H2Frame::PushPromise,
            FrameKind::PING if !self.has(flags::ACK) => {
                H2Frame::Ping(payload.first_chunk().copied().unwrap_or_default())
            }
            FrameKind::GOAWAY => {
                H2Frame::GoAway { last_stream: number(0) & 0x7fff_ffff, code: ErrorCode(number(4)) }
            }
            FrameKind::WINDOW_UPDATE => {
                H2Frame::WindowUpdate { stream, bytes: number(0) & 0x7fff_ffff }
            }
            // A stream error, not one of the connection (RFC 9113 §6.3).
            FrameKind::PRIORITY if self.bytes != 5 => {
                H2Frame::Malformed { stream, fault: H2Fault::FRAME_SIZE }
            }
            _ => H2Frame::Ignored,
        })
    }
}

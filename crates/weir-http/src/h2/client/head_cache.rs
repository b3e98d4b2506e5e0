//! Heads of responses: decoded and checked, or recognised as equal to the last one. Independent of
//! streams.

use super::super::fault::H2Fault;
use super::super::fields::{FieldCheck, ResponseFields, status};
use super::super::hpack::Decoder;
use crate::sse;

/// Longest block that is kept for comparison, in bytes.
const BLOCK_BYTES_MAX: usize = 4 * 1024;

/// The last head that did not change the decoder's table, with its fields.
///
/// A block with the same bytes has the same fields as long as the table has not changed, so it is
/// only compared (RFC 7541 §2.3: an index means the same entry until the next insertion).
#[derive(Debug, Default)]
pub(super) struct H2HeadCache {
    block: Vec<u8>,
    /// Changes of the decoder's table when the block was decoded; `None` without one.
    table_changes: Option<u64>,
    fields: ResponseFields,
    /// True if the first head was that of an event stream.
    pub(super) has_event_streams: bool,
}

impl H2HeadCache {
    /// Returns the status of the last head; 0 before the first one.
    pub(super) fn status(&self) -> u16 {
        self.fields.status
    }

    pub(super) fn clear(&mut self) {
        self.table_changes = None;
    }

    /// Returns the memory that it holds, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.block.capacity()
    }

    /// Returns the properties of a block's fields.
    #[inline]
    pub(super) fn read(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
    ) -> Result<ResponseFields, H2Fault> {
        let is_known = self.table_changes == Some(decoder.table_changes())
            && self.block == block
            && !decoder.requires_update();
        if is_known { Ok(self.fields) } else { self.decode(decoder, block, |_, _| ()) }
    }

    /// Like [`H2HeadCache::read`], and replaces `lines` by the fields as lines of HTTP/1, without
    /// pseudo-header fields.
    pub(super) fn read_lines(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        lines: &mut Vec<u8>,
    ) -> Result<ResponseFields, H2Fault> {
        lines.clear();
        self.decode(decoder, block, |name, value| {
            [name, b": ", value, b"\r\n"].iter().for_each(|part| lines.extend_from_slice(part));
        })
    }

    #[inline(never)]
    fn decode(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<ResponseFields, H2Fault> {
        let before = decoder.table_changes();
        let mut check = FieldCheck::default();
        let mut number = 0;
        let mut is_bad_pseudo = false;
        let is_first = self.fields.status == 0;
        let decoded = decoder.decode(block, |name, value| {
            if check.field(name, value) {
                let known = if name == b":status" { status(value) } else { None };
                is_bad_pseudo |= number != 0 || known.is_none();
                number = known.unwrap_or(0);
            } else {
                if is_first && name == b"content-type" {
                    self.has_event_streams |= sse::is_event_stream(value);
                }
                each(name, value);
            }
        });
        let is_too_large = decoded.map_err(|_| H2Fault::COMPRESSION)?;
        let content_length = check.content_length();
        self.fields = ResponseFields {
            status: number,
            content_length,
            is_malformed: check.is_malformed || is_bad_pseudo,
            is_too_large,
        };
        let is_kept = decoder.table_changes() == before && block.len() <= BLOCK_BYTES_MAX;
        self.table_changes = is_kept.then_some(before);
        if is_kept {
            self.block.clear();
            self.block.extend_from_slice(block);
        }
        Ok(self.fields)
    }
}

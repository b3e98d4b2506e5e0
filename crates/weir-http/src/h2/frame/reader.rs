//! The parser of received frames, resumable at any byte. It checks lengths, the kind of stream each
//! frame may be on, and the order within a header block. DATA is never copied, and HEADERS only in
//! parts.

use super::data_rest::DataRest;
use super::header::FrameHeader;
use super::{FrameKind, H2Fault, H2Frame, HEADER_BYTES, flags};

/// Most frames of one header block. Honest ones are filled.
const BLOCK_FRAMES_MAX: u32 = 256;

/// Bytes of a HEADERS frame beyond its block: padding and priority.
const HEADERS_EXTRA_BYTES: u32 = 1 + 255 + 5;

/// Largest capacity that a buffer keeps after its frame is read.
const BUFFER_BYTES_KEPT: usize = 16 * 1024;

/// Parser of the frames of one connection.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    /// Greatest length of a frame's payload, in bytes.
    pub(crate) frame_bytes_max: u32,
    /// Greatest length of a header block, in bytes.
    block_bytes_max: u32,
    state: ReaderState,
    /// The received part of a header, or of a payload that arrives in parts.
    buffer: Vec<u8>,
    /// The received part of a block that spans several frames.
    block: Vec<u8>,
    open_block: Option<OpenBlock>,
}

/// Position within the frames.
#[derive(Clone, Copy, Debug, Default)]
enum ReaderState {
    /// Before or within a header.
    #[default]
    Header,
    /// Within a payload that goes into the buffer.
    Payload(FrameHeader),
    /// Within a DATA frame, which is passed on in parts.
    Data(DataRest),
    /// Within a payload without a meaning; the header has the number of bytes left.
    Skip(FrameHeader),
    /// After a frame whose payload is in the buffer.
    Passed,
}

/// A block with more frames to follow.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    stream: u32,
    is_end: bool,
    frames: u32,
}

impl FrameReader {
    /// Creates a parser with limits on what the peer may send: on the payload of a frame, and on a
    /// header block, both in bytes.
    pub(crate) fn new(frame_bytes_max: u32, block_bytes_max: u32) -> FrameReader {
        FrameReader { frame_bytes_max, block_bytes_max, ..FrameReader::default() }
    }

    /// Starts a new connection; allocations are kept.
    pub(crate) fn reset(&mut self) {
        (self.state, self.open_block) = (ReaderState::Header, None);
        self.buffer.clear();
        self.block.clear();
    }

    /// Returns the memory that it holds, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.buffer.capacity() + self.block.capacity()
    }

    /// True if a frame other than DATA, or a header block, has begun and is incomplete.
    #[inline]
    pub(crate) fn is_within_frame(&self) -> bool {
        match self.state {
            ReaderState::Header => !self.buffer.is_empty() || self.open_block.is_some(),
            ReaderState::Payload(_) | ReaderState::Skip(_) => true,
            ReaderState::Data(_) => false,
            ReaderState::Passed => self.open_block.is_some(),
        }
    }

    /// Parses `bytes`, and passes the frames in them to `handle` as far as it succeeds.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        mut handle: impl FnMut(H2Frame<'_>) -> Result<(), H2Fault>,
    ) -> Result<(), H2Fault> {
        let mut rest = bytes;
        while let (used, Some(frame)) = self.next(rest)? {
            rest = &rest[used..];
            handle(frame)?;
        }
        Ok(())
    }

    /// Parses the next frame in `bytes`. Returns the number of bytes consumed, and the frame unless
    /// more bytes are needed; then all are consumed.
    #[inline(always)]
    pub(crate) fn next<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> Result<(usize, Option<H2Frame<'a>>), H2Fault> {
        match self.plain(bytes) {
            Some((length, frame)) => Ok((length, Some(frame))),
            None if bytes.is_empty() => Ok((0, None)),
            None => self.next_of_any_kind(bytes),
        }
    }

    /// Returns the frame at the start of `bytes` and its length, if it is of a frequent kind:
    /// complete, HEADERS or DATA, without padding, priority and CONTINUATION.
    #[inline(always)]
    fn plain<'a>(&self, bytes: &'a [u8]) -> Option<(usize, H2Frame<'a>)> {
        let is_between = matches!(self.state, ReaderState::Header) && self.buffer.is_empty();
        if !is_between || self.open_block.is_some() {
            return None;
        }
        let header = FrameHeader::parse(*bytes.first_chunk()?);
        let payload = bytes[HEADER_BYTES..].get(..header.bytes as usize)?;
        let FrameHeader { bytes, stream, .. } = header;
        if stream == 0 || bytes > self.frame_bytes_max {
            return None;
        }
        let is_end = header.has(flags::END_STREAM);
        let frame = match header.kind {
            FrameKind::DATA if !header.has(flags::PADDED) => {
                H2Frame::Data { stream, data: payload, flow_bytes: bytes, is_end }
            }
            FrameKind::HEADERS
                if header.flags & !flags::END_STREAM == flags::END_HEADERS
                    && bytes <= self.block_bytes_max =>
            {
                H2Frame::Headers { stream, block: payload, is_end }
            }
            _ => return None,
        };
        Some((HEADER_BYTES + payload.len(), frame))
    }

    /// Like [`FrameReader::next`], for every kind of frame.
    #[inline(never)]
    fn next_of_any_kind<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> Result<(usize, Option<H2Frame<'a>>), H2Fault> {
        let mut used = 0;
        loop {
            if matches!(self.state, ReaderState::Passed) {
                self.clear();
            }
            if let ReaderState::Data(rest) = &mut self.state {
                let (length, data, is_complete) = rest.read(&bytes[used..])?;
                let stream = rest.stream;
                let flow_bytes = rest.flow_bytes;
                let is_end = is_complete && rest.is_end;
                let data = &bytes[used..][data.0..data.1];
                used += length;
                if is_complete {
                    self.state = ReaderState::Header;
                } else if data.is_empty() {
                    return Ok((used, None));
                } else {
                    rest.flow_bytes = 0;
                }
                return Ok((used, Some(H2Frame::Data { stream, data, flow_bytes, is_end })));
            }
            let (length, header) = self.fill_payload(&bytes[used..])?;
            used += length;
            let header = match header {
                Some(header) => header,
                None if matches!(self.state, ReaderState::Data(_)) => continue,
                None => return Ok((used, None)),
            };
            let is_block = matches!(header.kind, FrameKind::HEADERS | FrameKind::CONTINUATION);
            let is_whole = header.has(flags::END_HEADERS) && self.open_block.is_none();
            if !is_block || is_whole {
                return Ok((used, Some(header.frame(&self.buffer)?)));
            }
            if let Some((stream, is_end)) = self.take_fragment(header)? {
                return Ok((used, Some(H2Frame::Headers { stream, block: &self.block, is_end })));
            }
        }
    }

    /// Consumes bytes up to the end of a frame other than DATA. Returns its header once its payload
    /// is in the buffer. `None` may also mean that a DATA frame begins.
    fn fill_payload(&mut self, bytes: &[u8]) -> Result<(usize, Option<FrameHeader>), H2Fault> {
        let mut used = 0;
        loop {
            match self.state {
                ReaderState::Data(_) => return Ok((used, None)),
                ReaderState::Header | ReaderState::Passed => {
                    let Some(header) = self.fill(bytes, &mut used, HEADER_BYTES) else {
                        return Ok((used, None));
                    };
                    let header = header.first_chunk().expect("it is filled");
                    let header = FrameHeader::parse(*header);
                    self.buffer.clear();
                    self.check(header)?;
                    self.state = match header.kind {
                        FrameKind::DATA => ReaderState::Data(header.data()),
                        _ if header.is_known() => ReaderState::Payload(header),
                        _ => ReaderState::Skip(header),
                    };
                }
                ReaderState::Payload(header) => {
                    if self.fill(bytes, &mut used, header.bytes as usize).is_none() {
                        return Ok((used, None));
                    }
                    self.state = ReaderState::Passed;
                    return Ok((used, Some(header)));
                }
                ReaderState::Skip(mut header) => {
                    let skipped = (bytes.len() - used).min(header.bytes as usize);
                    used += skipped;
                    header.bytes -= skipped as u32;
                    self.state = ReaderState::Skip(header);
                    if header.bytes > 0 {
                        return Ok((used, None));
                    }
                    self.state = ReaderState::Passed;
                    return Ok((used, Some(header)));
                }
            }
        }
    }

    /// Moves bytes into the buffer until it has `length` bytes. Returns it if so.
    fn fill(&mut self, bytes: &[u8], used: &mut usize, length: usize) -> Option<&[u8]> {
        let moved = (length - self.buffer.len()).min(bytes.len() - *used);
        self.buffer.extend_from_slice(&bytes[*used..*used + moved]);
        *used += moved;
        (self.buffer.len() == length).then_some(&self.buffer[..])
    }

    /// Empties the buffers of a frame that was passed on.
    fn clear(&mut self) {
        self.state = ReaderState::Header;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES_KEPT);
        if self.open_block.is_none() {
            self.block.clear();
            self.block.shrink_to(BUFFER_BYTES_KEPT);
        }
    }

    /// Checks a header, before its payload is received.
    fn check(&self, header: FrameHeader) -> Result<(), H2Fault> {
        if header.bytes > self.frame_bytes_max {
            return Err(H2Fault::FRAME_SIZE);
        }
        let is_continuation = header.kind == FrameKind::CONTINUATION;
        match self.open_block {
            None if is_continuation => return Err(H2Fault::PROTOCOL),
            Some(block) if !is_continuation || block.stream != header.stream => {
                return Err(H2Fault::PROTOCOL);
            }
            _ => {}
        }
        if header.kind == FrameKind::HEADERS
            && header.bytes > self.block_bytes_max.saturating_add(HEADERS_EXTRA_BYTES)
        {
            return Err(H2Fault::HEAD_TOO_LARGE);
        }
        header.check()
    }

    /// Appends the part of a block in the buffer to those before it. Once the block is complete,
    /// returns its stream, and true if it is the stream's last.
    fn take_fragment(&mut self, header: FrameHeader) -> Result<Option<(u32, bool)>, H2Fault> {
        let payload = &self.buffer[..];
        let (fragment, open) = match self.open_block {
            None => {
                let is_end = header.has(flags::END_STREAM);
                self.block.clear();
                (header.block(payload)?, OpenBlock { stream: header.stream, is_end, frames: 0 })
            }
            Some(open) => (payload, open),
        };
        if self.block.len() + fragment.len() > self.block_bytes_max as usize {
            return Err(H2Fault::HEAD_TOO_LARGE);
        }
        if open.frames == BLOCK_FRAMES_MAX {
            return Err(H2Fault::TOO_MANY_FRAMES);
        }
        self.block.extend_from_slice(fragment);
        let is_complete = header.has(flags::END_HEADERS);
        let frames = open.frames + 1;
        self.open_block = (!is_complete).then_some(OpenBlock { frames, ..open });
        Ok(is_complete.then_some((open.stream, open.is_end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ProtocolError;
    use crate::h2::frame::{
        ErrorCode, push_data, push_frame, push_goaway, push_headers, push_ping, push_reset,
    };

    /// A frame with its own bytes; the parts of DATA are joined.
    #[derive(Debug, PartialEq, Eq)]
    enum Read {
        Data { stream: u32, data: Vec<u8>, flow_bytes: u32, is_end: bool },
        Headers { stream: u32, block: Vec<u8>, is_end: bool },
        Other(String),
    }

    fn read(bytes: &[u8], piece_bytes: usize) -> Result<Vec<Read>, H2Fault> {
        let mut reader = FrameReader::new(16_384, 1000);
        let mut frames = Vec::new();
        for mut piece in bytes.chunks(piece_bytes) {
            loop {
                let (used, frame) = reader.next(piece)?;
                let Some(frame) = frame else {
                    assert_eq!(used, piece.len());
                    break;
                };
                push(&mut frames, frame);
                piece = &piece[used..];
            }
        }
        Ok(frames)
    }

    fn push(frames: &mut Vec<Read>, frame: H2Frame<'_>) {
        match (frame, frames.last_mut()) {
            (
                H2Frame::Data { stream, data, flow_bytes: 0, is_end },
                Some(Read::Data { stream: last, data: before, is_end: was_end, .. }),
            ) if *last == stream => {
                before.extend(data);
                *was_end |= is_end;
            }
            (H2Frame::Data { stream, data, flow_bytes, is_end }, _) => {
                frames.push(Read::Data { stream, data: data.to_vec(), flow_bytes, is_end });
            }
            (H2Frame::Headers { stream, block, is_end }, _) => {
                frames.push(Read::Headers { stream, block: block.to_vec(), is_end });
            }
            (other, _) => frames.push(Read::Other(format!("{other:?}"))),
        }
    }

    /// Reads frames cut in pieces of each size, and checks that the result is the same.
    fn check(bytes: &[u8]) -> Result<Vec<Read>, H2Fault> {
        let whole = read(bytes, usize::MAX);
        for piece_bytes in 1..40 {
            assert_eq!(read(bytes, piece_bytes), whole, "{piece_bytes}");
        }
        whole
    }

    fn check_fault(kind: FrameKind, flags: u8, stream: u32, payload: &[u8], fault: H2Fault) {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, kind, flags, stream, payload);
        assert_eq!(check(&bytes), Err(fault), "{kind:?} {flags} {stream} {payload:?}");
    }

    #[test]
    fn frames_do_not_depend_on_cuts() {
        let mut bytes = Vec::new();
        push_ping(&mut bytes, *b"12345678", false);
        push_headers(&mut bytes, 1, b"the block of a response", false, 7);
        push_data(&mut bytes, 1, b"the body", false);
        let padded = flags::PADDED | flags::END_STREAM;
        push_frame(&mut bytes, FrameKind::DATA, padded, 1, b"\x05rest\0\0\0\0\0");
        push_frame(&mut bytes, FrameKind(0x42), 0xff, 9, b"unknown");
        let all = flags::PADDED | flags::PRIORITY | flags::END_HEADERS;
        push_frame(&mut bytes, FrameKind::HEADERS, all, 3, b"\x02\0\0\0\0\x10block\0\0");
        push_frame(&mut bytes, FrameKind::PRIORITY, 0, 3, b"12345");
        push_frame(&mut bytes, FrameKind::PRIORITY, 0, 3, b"1234");
        push_data(&mut bytes, 3, b"", true);
        push_reset(&mut bytes, 5, ErrorCode::CANCEL);
        push_goaway(&mut bytes, 5, ErrorCode::NO_ERROR);
        let frames = check(&bytes).expect("valid frames");
        let data = |stream, data: &[u8], flow_bytes, is_end| Read::Data {
            stream,
            data: data.to_vec(),
            flow_bytes,
            is_end,
        };
        let headers =
            |stream, block: &[u8]| Read::Headers { stream, block: block.to_vec(), is_end: false };
        assert_eq!(frames[1], headers(1, b"the block of a response"));
        assert_eq!(frames[2], data(1, b"the body", 8, false));
        assert_eq!(frames[3], data(1, b"rest", 10, true));
        assert_eq!(frames[5], headers(3, b"block"));
        assert_eq!(frames[8], data(3, b"", 0, true));
        assert_eq!(frames.len(), 11);
        let last = H2Frame::GoAway { last_stream: 5, code: ErrorCode::NO_ERROR };
        assert_eq!(frames[10], Read::Other(format!("{last:?}")));
    }

    /// RFC 9113 §4.2 and §6: lengths, and streams that a type may be on.
    #[test]
    fn frames_out_of_shape() {
        let size = H2Fault::FRAME_SIZE;
        check_fault(FrameKind::PING, 0, 0, b"1234567", size);
        check_fault(FrameKind::SETTINGS, 0, 0, b"12345", size);
        check_fault(FrameKind::SETTINGS, flags::ACK, 0, b"123456", size);
        check_fault(FrameKind::RST_STREAM, 0, 1, b"123", size);
        check_fault(FrameKind::WINDOW_UPDATE, 0, 1, b"12345", size);
        check_fault(FrameKind::GOAWAY, 0, 0, b"1234567", size);
        check_fault(FrameKind::DATA, flags::PADDED, 1, b"", size);
        check_fault(FrameKind::HEADERS, flags::PRIORITY | flags::END_HEADERS, 1, b"1234", size);
        check_fault(FrameKind::DATA, 0, 1, &[0; 16_385], size);
        let protocol = H2Fault::PROTOCOL;
        for kind in [FrameKind::DATA, FrameKind::HEADERS, FrameKind::PRIORITY] {
            check_fault(kind, 0, 0, b"12345", protocol);
        }
        check_fault(FrameKind::RST_STREAM, 0, 0, b"1234", protocol);
        check_fault(FrameKind::CONTINUATION, 0, 1, b"", protocol);
        for kind in [FrameKind::SETTINGS, FrameKind::PING, FrameKind::GOAWAY] {
            check_fault(kind, 0, 1, b"", protocol);
        }
        check_fault(FrameKind::DATA, flags::PADDED, 1, b"\x04abc", protocol);
        check_fault(
            FrameKind::HEADERS,
            flags::PADDED | flags::END_HEADERS,
            1,
            b"\x04abc",
            protocol,
        );
    }

    /// RFC 9113 §6.10: nothing comes between the frames of a block.
    #[test]
    fn blocks_are_contiguous_and_bounded() {
        let opened = |then: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            push_frame(&mut bytes, FrameKind::HEADERS, 0, 1, b"begin");
            then(&mut bytes);
            check(&bytes)
        };
        let protocol = Err(H2Fault::PROTOCOL);
        assert_eq!(opened(&|bytes| push_ping(bytes, [0; 8], false)), protocol);
        assert_eq!(opened(&|bytes| push_data(bytes, 1, b"", false)), protocol);
        assert_eq!(opened(&|bytes| push_frame(bytes, FrameKind(99), 0, 1, b"")), protocol);
        let other = |bytes: &mut Vec<u8>| push_frame(bytes, FrameKind::CONTINUATION, 4, 3, b"");
        assert_eq!(opened(&other), protocol);
        let endless = |bytes: &mut Vec<u8>| {
            (0..300).for_each(|_| push_frame(bytes, FrameKind::CONTINUATION, 0, 1, b""));
        };
        assert_eq!(opened(&endless), Err(H2Fault::TOO_MANY_FRAMES));
        let large = |bytes: &mut Vec<u8>| {
            (0..10).for_each(|_| push_frame(bytes, FrameKind::CONTINUATION, 0, 1, &[0; 100]));
        };
        let fault = opened(&large).unwrap_err();
        assert_eq!(fault.error, ProtocolError::HeadTooLarge);
        check_fault(FrameKind::HEADERS, 4, 1, &[0; 1300], H2Fault::HEAD_TOO_LARGE);
    }
}

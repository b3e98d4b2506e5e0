//! Messages and control frames put together from frames in pieces of any size (RFC 6455 §5.4). The
//! meaning of a message and the response to a control frame are the caller's.

use super::close_code::CloseCode;
use super::deflate::{DeflateTerms, Inflater};
use super::frame::{HEADER_BYTES_MAX, Opcode, WsFault, WsHeader};
use super::mask;

/// Capacity that the buffer for messages keeps.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

/// Most fragments without content of one message.
const EMPTY_FRAGMENTS_MAX: u32 = 1_000;

/// A message or control frame that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WsEvent<'a> {
    /// A message.
    Message {
        /// [`Opcode::TEXT`], which is UTF-8, or [`Opcode::BINARY`].
        opcode: Opcode,
        /// Content without framing.
        content: &'a [u8],
    },
    /// A Ping with this content.
    Ping(&'a [u8]),
    /// A Pong with this content.
    Pong(&'a [u8]),
    /// A Close frame with this code, [`CloseCode::NO_STATUS`] without one, and the reason. It is
    /// the last event.
    Close(CloseCode, &'a str),
}

/// Reader of one direction of a connection, after the handshake.
#[derive(Debug)]
pub struct WsReader {
    /// True if the peer is a client, which masks its frames.
    is_masked: bool,
    message_bytes_max: usize,
    /// The start of a header that is incomplete.
    header: [u8; HEADER_BYTES_MAX],
    header_bytes: usize,
    frame: Option<OpenFrame>,
    /// Kind of the message whose next fragment is missing, and true if it is deflated.
    fragmented: Option<(Opcode, bool)>,
    /// Inflates messages; `None` if the peer may deflate none.
    inflater: Option<Inflater>,
    empty_fragments: u32,
    /// Content of the current message so far.
    content: Vec<u8>,
    /// Content of the current control frame so far.
    control: Vec<u8>,
    /// Fault that ended the connection.
    fault: Option<WsFault>,
    is_closed: bool,
}

/// A frame whose payload is being received.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    header: WsHeader,
    /// Bytes of its payload so far.
    received: u64,
}

impl WsReader {
    /// Creates a reader of a server's frames, or of a client's if `is_masked`. A message of more
    /// than `message_bytes_max` bytes is a fault.
    pub fn new(is_masked: bool, message_bytes_max: usize) -> WsReader {
        WsReader {
            is_masked,
            message_bytes_max,
            header: [0; HEADER_BYTES_MAX],
            header_bytes: 0,
            frame: None,
            fragmented: None,
            inflater: None,
            empty_fragments: 0,
            content: Vec::new(),
            control: Vec::new(),
            fault: None,
            is_closed: false,
        }
    }

    /// Accepts deflated messages on these terms.
    pub fn inflate(&mut self, terms: DeflateTerms) {
        self.inflater = Some(terms.inflater(self.is_masked, self.message_bytes_max));
    }

    /// Prepares for another connection.
    pub fn reset(&mut self) {
        let content = std::mem::take(&mut self.content);
        let control = std::mem::take(&mut self.control);
        *self =
            WsReader { content, control, ..WsReader::new(self.is_masked, self.message_bytes_max) };
        self.content.clear();
        self.control.clear();
        self.content.shrink_to(BUFFER_BYTES_KEPT);
    }

    /// True if a frame or a message is incomplete.
    pub fn is_within_message(&self) -> bool {
        self.header_bytes > 0 || self.frame.is_some() || self.fragmented.is_some()
    }

    /// Returns the memory that the peer has caused it to hold, in bytes: at most the limit of a
    /// message and its buffer's growth.
    pub fn held_bytes(&self) -> usize {
        let inflated = self.inflater.as_ref().map_or(0, Inflater::held_bytes);
        self.content.capacity() + self.control.capacity() + inflated
    }

    /// Reads bytes, and calls `on_event` for each message or control frame that they complete.
    /// Ignores bytes after a Close frame (§1.4).
    ///
    /// # Errors
    /// If the peer broke the protocol; after that for each call.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(WsEvent<'_>),
    ) -> Result<(), WsFault> {
        while self.fault.is_none() && !self.is_closed && !bytes.is_empty() {
            if let Err(fault) = self.step(&mut bytes, &mut on_event) {
                self.fault = Some(fault);
            }
        }
        self.fault.map_or(Ok(()), Err)
    }

    /// Reads as far as the end of a header, a frame or the bytes.
    fn step(
        &mut self,
        bytes: &mut &[u8],
        on_event: &mut impl FnMut(WsEvent<'_>),
    ) -> Result<(), WsFault> {
        let frame = match self.frame {
            Some(frame) => frame,
            None => {
                let Some(header) = self.read_header(bytes)? else { return Ok(()) };
                OpenFrame { header, received: 0 }
            }
        };
        let left = frame.header.payload_bytes - frame.received;
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (payload, rest) = bytes.split_at(count);
        *bytes = rest;
        let is_complete = count as u64 == left;
        let is_alone = frame.header.is_final && self.fragmented.is_none() && frame.received == 0;
        if is_complete && is_alone && frame.header.mask.is_none() {
            // Nothing is copied of a frame in one piece.
            return self.end_frame(frame.header, Some(payload), on_event);
        }
        let is_control = frame.header.opcode.is_control();
        let buffer = if is_control { &mut self.control } else { &mut self.content };
        let begin = buffer.len();
        buffer.extend_from_slice(payload);
        if let Some(mask) = frame.header.mask {
            // Of the offset only the rest of a division by four counts.
            mask::apply(&mut buffer[begin..], mask, (frame.received % 4) as usize);
        }
        if is_complete {
            return self.end_frame(frame.header, None, on_event);
        }
        self.frame = Some(OpenFrame { received: frame.received + count as u64, ..frame });
        Ok(())
    }

    /// Reads the rest of a header; `None` if it is incomplete.
    fn read_header(&mut self, bytes: &mut &[u8]) -> Result<Option<WsHeader>, WsFault> {
        let known = self.header_bytes;
        let count = bytes.len().min(HEADER_BYTES_MAX - known);
        self.header[known..known + count].copy_from_slice(&bytes[..count]);
        let read =
            WsHeader::read(&self.header[..known + count], self.is_masked, self.inflater.is_some())?;
        let Some((header, header_bytes)) = read else {
            self.header_bytes += count;
            *bytes = &bytes[count..];
            return Ok(None);
        };
        *bytes = &bytes[header_bytes - known..];
        self.header_bytes = 0;
        self.check(&header)?;
        Ok(Some(header))
    }

    /// Checks that a frame may stand here, and begins its message.
    fn check(&mut self, header: &WsHeader) -> Result<(), WsFault> {
        if header.opcode.is_control() {
            return Ok(());
        }
        if self.fragmented.is_some() != (header.opcode == Opcode::CONTINUATION) {
            return Err(WsFault::FRAME);
        }
        let room = self.message_bytes_max - self.content.len();
        if header.payload_bytes > room as u64 {
            return Err(WsFault::TOO_LARGE);
        }
        if header.payload_bytes == 0 && !header.is_final {
            self.empty_fragments += 1;
            if self.empty_fragments > EMPTY_FRAGMENTS_MAX {
                return Err(WsFault::TOO_MANY_FRAMES);
            }
        }
        Ok(())
    }

    /// Handles the end of a frame, whose payload is `whole` or in the buffers.
    fn end_frame(
        &mut self,
        header: WsHeader,
        whole: Option<&[u8]>,
        on_event: &mut impl FnMut(WsEvent<'_>),
    ) -> Result<(), WsFault> {
        self.frame = None;
        if header.opcode.is_control() {
            let content = whole.unwrap_or(&self.control);
            match header.opcode {
                Opcode::PING => on_event(WsEvent::Ping(content)),
                Opcode::PONG => on_event(WsEvent::Pong(content)),
                _ => {
                    let (code, reason) = code_of(content)?;
                    on_event(WsEvent::Close(code, reason));
                    self.is_closed = true;
                }
            }
            self.control.clear();
            return Ok(());
        }
        let message = self.fragmented.take().unwrap_or((header.opcode, header.is_deflated));
        if !header.is_final {
            self.fragmented = Some(message);
            return Ok(());
        }
        let (opcode, is_deflated) = message;
        let mut content = whole.unwrap_or(&self.content);
        if let (true, Some(inflater)) = (is_deflated, &mut self.inflater) {
            content = inflater.inflate(content)?;
        }
        if opcode == Opcode::TEXT && str::from_utf8(content).is_err() {
            return Err(WsFault::TEXT);
        }
        on_event(WsEvent::Message { opcode, content });
        self.empty_fragments = 0;
        self.content.clear();
        self.content.shrink_to(BUFFER_BYTES_KEPT);
        Ok(())
    }
}

/// Returns the code and the reason of a Close frame.
fn code_of(content: &[u8]) -> Result<(CloseCode, &str), WsFault> {
    let Some((code, reason)) = content.split_first_chunk() else {
        return match content.is_empty() {
            true => Ok((CloseCode::NO_STATUS, "")),
            false => Err(WsFault::FRAME),
        };
    };
    let code = CloseCode(u16::from_be_bytes(*code));
    match str::from_utf8(reason) {
        _ if !code.is_sendable() => Err(WsFault::FRAME),
        Err(_) => Err(WsFault::TEXT),
        Ok(reason) => Ok((code, reason)),
    }
}

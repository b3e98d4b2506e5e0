//! Parser of the requests of one connection: takes bytes in pieces of any size, and passes on the
//! parts of heads. Independent of their use.

use memchr::memchr;

use super::fault::RequestFault;
use super::part::{RequestBody, RequestHead, RequestLine, RequestPart};
use crate::error::ProtocolError;
use crate::message::chunked::ChunkFraming;
use crate::message::framing::{BodyEnd, FramingFields};
use crate::message::line::{self, Field, Line};
use crate::message::section::{LINE_BYTES_KEPT, Paused, SECTION_BYTES_MAX, Section};

/// Limit on the size of a chunk, exclusive, in bytes: a larger one is an error of the client.
const CHUNK_BYTES_LIMIT: u64 = 1 << 60;

/// The server side of one HTTP/1 connection, as far as it receives. Bodies are skipped, or passed
/// on as they arrive.
///
/// A line is parsed in place if it arrives whole, otherwise in a buffer. Lines are judged when they
/// are complete, so the results do not depend on the sizes of the pieces.
#[derive(Debug, Default)]
pub struct RequestParser {
    state: ParserState,
    /// The received part of a head's line.
    line: Vec<u8>,
    /// The trailer section; kept after the first one for its buffer.
    trailers: Option<Box<Paused>>,
}

/// Progress of one call of [`RequestParser::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadProgress {
    /// All bytes are read. A request is incomplete, or none has begun.
    Incomplete,
    /// The head is complete, and a body follows.
    Head,
    /// The request is complete.
    End,
}

/// The parsing state, except for buffers.
#[derive(Debug, Default)]
struct ParserState {
    phase: RequestElement,
    /// Minor version of the current request.
    minor: u8,
    expects_continue: bool,
    chunk: ChunkFraming,
    /// Bytes of the current head in complete lines so far, with the empty lines before it.
    head_bytes: usize,
    framing: FramingFields,
    /// Bytes left of the body or chunk; while a chunk's size is parsed, the size.
    left: u64,
}

/// Element that the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RequestElement {
    /// A request line, or an empty line before it.
    #[default]
    Start,
    /// A field, or the empty line that ends the head.
    Fields,
    /// `left` bytes of a body of known length.
    Fixed,
    /// A chunk-size line, or the line end before it.
    ChunkLine,
    /// `left` bytes of a chunk.
    ChunkData,
    /// A trailer section.
    TrailerStart,
    /// A trailer section that has begun.
    Trailers,
    /// Nothing: this fault was found.
    Failed(RequestFault),
}

impl RequestParser {
    /// True between two requests: none has begun, or the last one is complete.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state.phase == RequestElement::Start && self.line.is_empty()
    }

    /// True within a head: at least one of its bytes is read, and not all of them.
    #[inline]
    pub fn is_in_head(&self) -> bool {
        match self.state.phase {
            RequestElement::Start => !self.line.is_empty(),
            phase => phase == RequestElement::Fields,
        }
    }

    /// True within a body: its head is read, and not all of the body.
    pub fn is_in_body(&self) -> bool {
        match self.state.phase {
            RequestElement::Start | RequestElement::Fields | RequestElement::Failed(_) => false,
            RequestElement::Fixed
            | RequestElement::ChunkLine
            | RequestElement::ChunkData
            | RequestElement::TrailerStart
            | RequestElement::Trailers => true,
        }
    }

    /// Reads from the start of `bytes` up to the end of a request, or of a head with a body, and
    /// removes the bytes read. `take` gets the parts of the head, possibly over several calls; a
    /// body is skipped.
    ///
    /// # Errors
    /// The bytes are not a request, or `take` has returned the error. The connection must not be
    /// read any further, until [`RequestParser::reset`]; after a fault of the bytes, every call
    /// returns it again.
    #[inline]
    pub fn read<E: From<RequestFault>>(
        &mut self,
        bytes: &mut &[u8],
        mut take: impl FnMut(RequestPart<'_>) -> Result<(), E>,
    ) -> Result<ReadProgress, E> {
        match self.state.phase {
            RequestElement::Start | RequestElement::Fields if self.line.is_empty() => {
                let progress = self.state.read_lines(bytes, &mut take)?;
                if progress == ReadProgress::Incomplete {
                    self.line.extend_from_slice(bytes);
                    *bytes = &[];
                }
                Ok(progress)
            }
            RequestElement::Start | RequestElement::Fields => {
                if !self.complete_line(bytes)? {
                    return Ok(ReadProgress::Incomplete);
                }
                let progress = self.state.read_lines(&mut &self.line[..], &mut take)?;
                self.clear_line();
                match progress {
                    ReadProgress::Incomplete => self.read(bytes, take),
                    _ => Ok(progress),
                }
            }
            RequestElement::Fixed => Ok(self.state.skip_fixed(bytes)),
            RequestElement::Failed(fault) => Err(fault.into()),
            _ => Ok(self.skip_chunks(bytes)?),
        }
    }

    /// Does the same [within a body](RequestParser::is_in_body). `take` gets its bytes without the
    /// framing of chunks, in as many pieces as they arrive in.
    ///
    /// # Errors
    /// The bytes are not the rest of a request, as for [`RequestParser::read`].
    pub fn read_body(
        &mut self,
        bytes: &mut &[u8],
        mut take: impl FnMut(&[u8]),
    ) -> Result<ReadProgress, RequestFault> {
        debug_assert!(self.is_in_body());
        while !bytes.is_empty() {
            let phase = self.state.phase;
            let is_data = matches!(phase, RequestElement::Fixed | RequestElement::ChunkData);
            // Framing is skipped byte by byte, so that data begin a piece.
            let piece_bytes = if is_data { self.state.left.min(bytes.len() as u64) } else { 1 };
            let (mut piece, rest) = bytes.split_at(piece_bytes as usize);
            *bytes = rest;
            if is_data {
                take(piece);
            }
            let progress = match phase {
                RequestElement::Fixed => self.state.skip_fixed(&mut piece),
                _ => self.skip_chunks(&mut piece)?,
            };
            if progress == ReadProgress::End {
                return Ok(progress);
            }
        }
        Ok(ReadProgress::Incomplete)
    }

    /// Prepares for a new connection; allocations are kept.
    pub fn reset(&mut self) {
        self.state = ParserState::default();
        self.clear_line();
    }

    /// Appends to the line in the buffer up to its end. Returns true if it is complete.
    #[cold]
    fn complete_line(&mut self, bytes: &mut &[u8]) -> Result<bool, RequestFault> {
        let room = self.state.room() - self.line.len();
        let window = &bytes[..bytes.len().min(room)];
        let end = memchr(b'\n', window).map(|at| at + 1);
        let used = end.unwrap_or(window.len());
        self.line.extend_from_slice(&window[..used]);
        *bytes = &bytes[used..];
        if end.is_none() && used == room {
            return Err(self.state.fail(RequestFault::HeadTooLarge));
        }
        Ok(end.is_some())
    }

    fn clear_line(&mut self) {
        self.line.clear();
        self.line.shrink_to(LINE_BYTES_KEPT);
    }

    /// Skips bytes of a chunked body, up to its end.
    fn skip_chunks(&mut self, bytes: &mut &[u8]) -> Result<ReadProgress, RequestFault> {
        while !bytes.is_empty() {
            let used = match self.state.phase {
                RequestElement::TrailerStart => {
                    self.begin_trailers();
                    Ok(0)
                }
                RequestElement::Trailers => self.skip_trailers(bytes),
                _ => self.state.skip(bytes),
            };
            let used = used.map_err(|error| self.state.fail(RequestFault::in_body(error)))?;
            *bytes = &bytes[used..];
            if self.state.phase == RequestElement::Start {
                return Ok(ReadProgress::End);
            }
        }
        Ok(ReadProgress::Incomplete)
    }

    fn begin_trailers(&mut self) {
        let trailers = self.trailers.get_or_insert_default();
        trailers.clear();
        trailers.pause(Section::trailers(), b"");
        self.state.phase = RequestElement::Trailers;
    }

    fn skip_trailers(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let trailers = self.trailers.as_mut().expect("they have begun");
        let progress = trailers.resume(bytes)?;
        if progress.is_finished {
            self.state.phase = RequestElement::Start;
        }
        Ok(progress.bytes)
    }
}

impl ParserState {
    #[cold]
    fn fail(&mut self, fault: RequestFault) -> RequestFault {
        self.phase = RequestElement::Failed(fault);
        fault
    }

    /// Returns the most bytes that the rest of the head may have.
    fn room(&self) -> usize {
        SECTION_BYTES_MAX - self.head_bytes
    }

    /// Reads the complete lines at the start of `bytes`, up to the end of the head.
    #[inline]
    fn read_lines<E: From<RequestFault>>(
        &mut self,
        bytes: &mut &[u8],
        take: &mut impl FnMut(RequestPart<'_>) -> Result<(), E>,
    ) -> Result<ReadProgress, E> {
        let window = &bytes[..bytes.len().min(self.room())];
        let mut at = 0;
        if self.phase == RequestElement::Start {
            at = line::after_empty_lines(window, 0);
            let Some((line, next)) = self.request_line(window, at)? else {
                return self.pause(bytes, window, at).map_err(E::from);
            };
            take(RequestPart::Line(line))?;
            at = next;
        }
        loop {
            while let Some(field) = line::plain_field(window, at) {
                self.field(window, at, field, take)?;
                at = field.next;
            }
            if line::is_plain_end(window, at) {
                *bytes = &bytes[at + 2..];
                return self.end_head(take);
            }
            match line::read(window, at) {
                Ok(Some(Line::Field(field))) => {
                    self.field(window, at, field, take)?;
                    at = field.next;
                }
                Ok(Some(Line::End { next })) => {
                    *bytes = &bytes[next..];
                    return self.end_head(take);
                }
                Ok(None) => return self.pause(bytes, window, at).map_err(E::from),
                // RFC 9112 §5.2: a server refuses a folded line, unless it joins it with the one
                // above.
                Ok(Some(Line::Fold { .. })) | Err(_) => {
                    return Err(self.fail(RequestFault::BadHeader).into());
                }
            }
        }
    }

    /// Handles bytes that end within the head, in a line that starts at `at`.
    #[cold]
    fn pause(
        &mut self,
        bytes: &mut &[u8],
        window: &[u8],
        at: usize,
    ) -> Result<ReadProgress, RequestFault> {
        if window.len() == self.room() {
            return Err(self.fail(RequestFault::HeadTooLarge));
        }
        self.head_bytes += at;
        *bytes = &bytes[at..];
        Ok(ReadProgress::Incomplete)
    }

    /// Parses the request line at `at`. Returns it and its end; `None` if it is incomplete.
    #[inline(always)]
    fn request_line<'a>(
        &mut self,
        window: &'a [u8],
        at: usize,
    ) -> Result<Option<(RequestLine<'a>, usize)>, RequestFault> {
        let line = match line::read_request(window, at) {
            Some(line) if line.minor <= 1 => line,
            _ => {
                return match memchr(b'\n', &window[at..]) {
                    Some(end) => Err(self.fail(line_fault(&window[at..at + end]))),
                    None => Ok(None),
                };
            }
        };
        self.phase = RequestElement::Fields;
        self.minor = line.minor;
        self.expects_continue = false;
        self.framing = FramingFields::default();
        let method = &window[at..line.method];
        let target = &window[line.method + 1..line.target];
        Ok(Some((RequestLine { method, target, minor: line.minor }, line.next)))
    }

    #[inline(always)]
    fn field<E: From<RequestFault>>(
        &mut self,
        window: &[u8],
        at: usize,
        field: Field,
        take: &mut impl FnMut(RequestPart<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = &window[at..field.colon];
        let value = line::trim(&window[field.colon + 1..field.content]);
        if self.framing.field(name, value) {
            self.check_framing(name, value)?;
        } else if name.len() == 6 && name.eq_ignore_ascii_case(b"expect") {
            self.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
        }
        take(RequestPart::Field { name, value })
    }

    /// Checks a framing field just taken. Of the forms that RFC 9112 §6.3 leaves to the server, a
    /// list of equal lengths is refused; so is every transfer coding but chunked alone (§6.1).
    fn check_framing(&mut self, name: &[u8], value: &[u8]) -> Result<(), RequestFault> {
        let fault = match (name.len(), self.framing.fault) {
            (14, _) if value.contains(&b',') => RequestFault::BadContentLength,
            (17, _) if !value.eq_ignore_ascii_case(b"chunked") => {
                RequestFault::UnsupportedTransferEncoding
            }
            (_, None) => return Ok(()),
            (_, Some(ProtocolError::BadContentLength)) => RequestFault::BadContentLength,
            (_, Some(_)) => RequestFault::ConflictingFraming,
        };
        Err(self.fail(fault))
    }

    /// Handles the end of a head: begins the body.
    #[inline]
    fn end_head<E: From<RequestFault>>(
        &mut self,
        take: &mut impl FnMut(RequestPart<'_>) -> Result<(), E>,
    ) -> Result<ReadProgress, E> {
        let body = self.body()?;
        take(RequestPart::Head(RequestHead {
            minor: self.minor,
            wants_close: self.framing.closes,
            wants_keep_alive: self.framing.keeps_alive,
            expects_continue: self.expects_continue,
            body,
        }))?;
        self.head_bytes = 0;
        (self.phase, self.left) = match body {
            RequestBody::None => {
                self.phase = RequestElement::Start;
                return Ok(ReadProgress::End);
            }
            RequestBody::Length(length) => (RequestElement::Fixed, length),
            RequestBody::Chunked => (RequestElement::ChunkLine, 0),
        };
        self.chunk = ChunkFraming::default();
        Ok(ReadProgress::Head)
    }

    /// Returns the body that the fields of the head announce.
    #[inline]
    fn body(&mut self) -> Result<RequestBody, RequestFault> {
        match self.framing.request_body(self.minor) {
            Ok(BodyEnd::Fixed(0)) => Ok(RequestBody::None),
            Ok(BodyEnd::Fixed(length)) => Ok(RequestBody::Length(length)),
            Ok(BodyEnd::Chunked) => Ok(RequestBody::Chunked),
            Ok(BodyEnd::UntilClose) => unreachable!("the end of a request's body is known"),
            Err(ProtocolError::BadTransferEncoding) => {
                Err(self.fail(RequestFault::TransferEncodingInHttp10))
            }
            Err(_) => Err(self.fail(RequestFault::ConflictingFraming)),
        }
    }

    /// Skips bytes of a body of known length, up to its end.
    #[inline]
    fn skip_fixed(&mut self, bytes: &mut &[u8]) -> ReadProgress {
        let used = self.left.min(bytes.len() as u64);
        self.left -= used;
        *bytes = &bytes[used as usize..];
        if self.left > 0 {
            return ReadProgress::Incomplete;
        }
        self.phase = RequestElement::Start;
        ReadProgress::End
    }

    /// Skips bytes of one phase of a chunked body, except trailers. Returns their number.
    fn skip(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        if self.phase == RequestElement::ChunkLine {
            let (used, is_end) = self.chunk.read(&mut self.left, bytes, true)?;
            if is_end {
                self.phase = match self.left {
                    0 => RequestElement::TrailerStart,
                    CHUNK_BYTES_LIMIT.. => return Err(ProtocolError::BadChunkSize),
                    _ => RequestElement::ChunkData,
                };
            }
            return Ok(used);
        }
        let used = self.left.min(bytes.len() as u64);
        self.left -= used;
        if self.left == 0 {
            (self.phase, self.chunk) = (RequestElement::ChunkLine, ChunkFraming::next());
        }
        Ok(used as usize)
    }
}

/// Returns the fault of a complete line, without its LF, that is not a request line.
#[cold]
fn line_fault(line: &[u8]) -> RequestFault {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.split(|&byte| byte == b' ');
    let is_version =
        |word: &[u8]| word.starts_with(b"HTTP/") && word != b"HTTP/1.1" && word != b"HTTP/1.0";
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(method), Some([_, ..]), Some(version), None)
            if line::is_token(method) && is_version(version) =>
        {
            RequestFault::UnsupportedVersion
        }
        _ => RequestFault::BadRequestLine,
    }
}

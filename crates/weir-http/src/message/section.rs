//! A header section with its status line, or a trailer section, parsed line by line and resumable
//! at any byte. Reports progress and results, and leaves their use to the caller.

use memchr::memchr;

use super::framing::FramingFields;
use super::line::{self, Field, Line};
use crate::error::ProtocolError;

/// Most bytes of a section, including the status line and the empty line.
pub(crate) const SECTION_BYTES_MAX: usize = 64 * 1024;

/// Largest capacity that a line buffer keeps after its section is parsed.
pub(crate) const LINE_BYTES_KEPT: usize = 4 * 1024;

/// Parser state of a section. Lines are validated as a whole, so the result does not depend on the
/// sizes of the pieces received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Section {
    pub(crate) framing: FramingFields,
    /// Status code; zero until the status line is parsed, and always for trailers.
    pub(crate) status: u16,
    /// Minor version.
    pub(crate) minor: u8,
    is_trailers: bool,
    above: Above,
    /// Bytes of the complete lines parsed so far.
    bytes_read: usize,
}

/// Type of the previous line, for folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Above {
    #[default]
    NoField,
    Field,
    FramingField,
}

/// Progress of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionProgress {
    pub(crate) bytes: usize,
    pub(crate) is_finished: bool,
}

impl Section {
    pub(crate) fn trailers() -> Section {
        Section { is_trailers: true, ..Section::default() }
    }

    /// Parses the complete lines at the start of `bytes`, up to the end of the section.
    #[inline]
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<SectionProgress, ProtocolError> {
        // A line that does not end within the window exceeds the limit, so lines need no check of
        // their own.
        let window = &bytes[..bytes.len().min(SECTION_BYTES_MAX - self.bytes_read)];
        let mut at = 0;
        if self.awaits_status() {
            let Some(status) = line::read_status(window)? else {
                return self.pause(bytes, window, at);
            };
            (self.status, self.minor, at) = (status.status, status.minor, status.next);
        }
        loop {
            while let Some(field) = line::plain_field(window, at) {
                self.field(window, at, field);
                at = field.next;
            }
            if line::is_plain_end(window, at) {
                return Ok(SectionProgress { bytes: at + 2, is_finished: true });
            }
            at = match line::read(window, at)? {
                Some(Line::End { next }) => {
                    return Ok(SectionProgress { bytes: next, is_finished: true });
                }
                Some(Line::Field(field)) => {
                    self.field(window, at, field);
                    field.next
                }
                Some(Line::Fold { next, .. }) => self.fold(next)?,
                None => return self.pause(bytes, window, at),
            };
        }
    }

    #[inline(always)]
    fn field(&mut self, window: &[u8], at: usize, field: Field) {
        let name = &window[at..field.colon];
        let value = &window[field.colon + 1..field.content];
        let is_framing = !self.is_trailers && self.framing.field(name, value);
        self.above = if is_framing { Above::FramingField } else { Above::Field };
    }

    fn awaits_status(&self) -> bool {
        self.status == 0 && !self.is_trailers
    }

    /// Handles bytes that end within the section, at a line that starts at `at`.
    #[cold]
    fn pause(
        &mut self,
        bytes: &[u8],
        window: &[u8],
        at: usize,
    ) -> Result<SectionProgress, ProtocolError> {
        if window.len() < bytes.len() {
            return Err(match self.is_trailers {
                true => ProtocolError::TrailersTooLarge,
                false => ProtocolError::HeadTooLarge,
            });
        }
        self.bytes_read += at;
        Ok(SectionProgress { bytes: at, is_finished: false })
    }

    /// Handles a folded line, which continues the previous value (RFC 9112 §5.2). It is rejected
    /// after a framing field, the only case that matters, and before any field (§2.2).
    #[cold]
    fn fold(&self, next: usize) -> Result<usize, ProtocolError> {
        match self.above {
            Above::NoField => Err(ProtocolError::BadHeader),
            Above::Field => Ok(next),
            Above::FramingField => Err(ProtocolError::FoldedHeader),
        }
    }
}

/// An incomplete section: its state, and the received part of a line.
#[derive(Debug, Default)]
pub(crate) struct Paused {
    pub(crate) section: Section,
    line: Vec<u8>,
}

impl Paused {
    /// Stores a section that `section.read(bytes)` left incomplete, and the bytes it left.
    pub(crate) fn pause(&mut self, section: Section, rest: &[u8]) {
        self.section = section;
        self.line.clear();
        self.line.extend_from_slice(rest);
    }

    /// Continues the section. Bytes of an incomplete line are consumed and stored here.
    pub(crate) fn resume(&mut self, bytes: &[u8]) -> Result<SectionProgress, ProtocolError> {
        let mut used = 0;
        if !self.line.is_empty() {
            let line_end = memchr(b'\n', bytes).map(|at| at + 1);
            // One byte over the limit is enough to detect the excess.
            let room = SECTION_BYTES_MAX + 1 - self.section.bytes_read - self.line.len();
            used = line_end.unwrap_or(bytes.len()).min(room);
            self.line.extend_from_slice(&bytes[..used]);
            if line_end.is_none() && used < room {
                self.check_start()?;
                return Ok(SectionProgress { bytes: used, is_finished: false });
            }
            let progress = self.section.read(&self.line)?;
            debug_assert_eq!(progress.bytes, self.line.len(), "a whole line is read whole");
            self.line.clear();
            if progress.is_finished {
                return Ok(SectionProgress { bytes: used, is_finished: true });
            }
        }
        let progress = self.section.read(&bytes[used..])?;
        used += progress.bytes;
        if !progress.is_finished {
            self.line.extend_from_slice(&bytes[used..]);
            used = bytes.len();
        }
        Ok(SectionProgress { bytes: used, is_finished: progress.is_finished })
    }

    /// Drops the section; frees a buffer that one long line has enlarged.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
        self.line.shrink_to(LINE_BYTES_KEPT);
    }

    fn check_start(&self) -> Result<(), ProtocolError> {
        if self.section.awaits_status() && !line::is_status_start(&self.line) {
            return Err(ProtocolError::BadStatusLine);
        }
        Ok(())
    }
}

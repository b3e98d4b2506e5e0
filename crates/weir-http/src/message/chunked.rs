//! Framing between the data of a chunked body (RFC 9112 §7.1): its parser, byte by byte because a
//! size line is short, and its encoding. Independent of the data and the trailers.

use crate::error::ProtocolError;

/// Most bytes of a chunk-size line, including its extensions and its end.
pub(crate) const CHUNK_LINE_BYTES_MAX: u16 = 4 * 1024;

/// Parser state in the framing before a chunk's data. The caller stores the size and counts it down
/// afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChunkFraming {
    step: ChunkStep,
    /// Bytes of the current size line so far.
    line_bytes: u16,
}

/// The expected next byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkStep {
    /// The CR after a chunk's data.
    DataCr,
    /// Its LF.
    DataLf,
    /// The first digit of a size.
    #[default]
    Size,
    /// More digits, or the bytes that may follow them.
    Digits,
    /// The bytes that may follow whitespace after the digits.
    Padding,
    /// More of an extension.
    Extension,
    /// The LF of a size line.
    SizeLf,
}

impl ChunkFraming {
    /// Creates the state after a chunk's data.
    pub(crate) fn next() -> ChunkFraming {
        ChunkFraming { step: ChunkStep::DataCr, line_bytes: 0 }
    }

    /// Parses framing up to the end of a size line. Returns the number of bytes consumed, and true
    /// if the end was reached. `size` is then the chunk's; until then the caller must not change
    /// it. It starts at 0.
    ///
    /// Only CRLF ends a line here: the lone LF of RFC 9112 §2.2 is for "the start-line and fields".
    /// A parser that accepts it elsewhere sees different chunks from one that does not. Extensions
    /// are skipped, including quoted ones: a quoted string has no line end. Whitespace after the
    /// size is accepted, as some servers pad with it.
    ///
    /// With `takes_lone_lf` a lone LF ends a line too: for a server with no other behind it, which
    /// could see other chunks.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        size: &mut u64,
        bytes: &[u8],
        takes_lone_lf: bool,
    ) -> Result<(usize, bool), ProtocolError> {
        for (index, &byte) in bytes.iter().enumerate() {
            self.step = match (self.step, byte) {
                (ChunkStep::DataCr, b'\r') => ChunkStep::DataLf,
                (ChunkStep::DataLf, b'\n') => ChunkStep::Size,
                (ChunkStep::DataCr, b'\n') if takes_lone_lf => ChunkStep::Size,
                (ChunkStep::DataCr | ChunkStep::DataLf, _) => {
                    return Err(ProtocolError::BadChunkEnd);
                }
                (step, byte) => {
                    self.line_bytes += 1;
                    if self.line_bytes > CHUNK_LINE_BYTES_MAX {
                        return Err(ProtocolError::ChunkLineTooLong);
                    }
                    match (step, byte) {
                        (ChunkStep::SizeLf, b'\n') => return Ok((index + 1, true)),
                        (ChunkStep::Digits | ChunkStep::Padding | ChunkStep::Extension, b'\n')
                            if takes_lone_lf =>
                        {
                            return Ok((index + 1, true));
                        }
                        (
                            ChunkStep::Size | ChunkStep::Digits,
                            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
                        ) => {
                            *size = with_digit(*size, byte)?;
                            ChunkStep::Digits
                        }
                        (ChunkStep::Digits | ChunkStep::Padding, b' ' | b'\t') => {
                            ChunkStep::Padding
                        }
                        (ChunkStep::Digits | ChunkStep::Padding, b';') => ChunkStep::Extension,
                        (ChunkStep::Digits | ChunkStep::Padding | ChunkStep::Extension, b'\r') => {
                            ChunkStep::SizeLf
                        }
                        (ChunkStep::Extension, b'\t' | b' '..=b'~' | 0x80..) => {
                            ChunkStep::Extension
                        }
                        _ => return Err(ProtocolError::BadChunkSize),
                    }
                }
            };
        }
        Ok((bytes.len(), false))
    }
}

/// Returns `size` with one more hexadecimal digit, unless it does not fit ("Recipients MUST
/// anticipate potentially large hexadecimal numerals", RFC 9112 §7.1).
fn with_digit(size: u64, digit: u8) -> Result<u64, ProtocolError> {
    if size >> 60 != 0 {
        return Err(ProtocolError::BadChunkSize);
    }
    let value = match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    };
    Ok(size << 4 | u64::from(value))
}

/// The last chunk, without trailers: the end of a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends the size line of a chunk with `bytes` bytes of data, at least one. CRLF follows the
/// data.
pub fn push_chunk_size(out: &mut Vec<u8>, bytes: u64) {
    let digits = (u64::BITS - (bytes | 1).leading_zeros()).div_ceil(4);
    let digit = |place: u32| b"0123456789abcdef"[(bytes >> (4 * place) & 0xf) as usize];
    out.extend((0..digits).rev().map(digit));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<u64>, ProtocolError> {
        let mut size = 0;
        let mut framing = ChunkFraming::default();
        let (used, is_end) = framing.read(&mut size, bytes, false)?;
        assert_eq!(used, bytes.len());
        Ok(is_end.then_some(size))
    }

    #[test]
    fn size_lines() {
        for (line, size) in [
            ("0\r\n", 0),
            ("1aF\r\n", 0x1af),
            ("00000000000000000000005\r\n", 5),
            ("ffffffffffffffff\r\n", u64::MAX),
            ("5;\r\n", 5),
            ("5 ; a=b\r\n", 5),
            ("5  \r\n", 5),
            ("5;a=\"x;y \\\" z\";b\r\n", 5),
        ] {
            assert_eq!(read(line.as_bytes()), Ok(Some(size)), "{line:?}");
            assert_eq!(read(&line.as_bytes()[..line.len() - 1]), Ok(None), "{line:?}");
        }
    }

    #[test]
    fn bad_size_lines() {
        for line in [
            "\r\n",
            " 5\r\n",
            "x\r\n",
            "0x5\r\n",
            "-5\r\n",
            "5\n",
            "5;a\n",
            "5\rx",
            "5 5\r\n",
            "10000000000000000\r\n",
            "5;\0\r\n",
            "5;\x7f\r\n",
            ";a\r\n",
        ] {
            assert_eq!(read(line.as_bytes()), Err(ProtocolError::BadChunkSize), "{line:?}");
        }
    }

    #[test]
    fn a_lone_lf_ends_a_line_for_a_lenient_reader() {
        for line in ["5\n", "5 \n", "5;a\n", "5\r\n", "\n5\r\n", "\r\n5\n"] {
            let after_data = line.starts_with(['\r', '\n']);
            let framing = if after_data { ChunkFraming::next() } else { ChunkFraming::default() };
            let mut size = 0;
            let mut lenient = framing;
            let read = lenient.read(&mut size, line.as_bytes(), true);
            assert_eq!((read, size), (Ok((line.len(), true)), 5), "{line:?}");
        }
        for line in ["\n", "5\rx", ";a\n"] {
            let read = ChunkFraming::default().read(&mut 0, line.as_bytes(), true);
            assert_eq!(read, Err(ProtocolError::BadChunkSize), "{line:?}");
        }
    }

    #[test]
    fn written_sizes_are_read() {
        for size in [1, 9, 10, 15, 16, 255, 256, 1 << 20, u64::MAX >> 4, u64::MAX] {
            let mut line = Vec::new();
            push_chunk_size(&mut line, size);
            assert_eq!(line, format!("{size:x}\r\n").as_bytes());
            assert_eq!(read(&line), Ok(Some(size)));
        }
        assert_eq!(read(&LAST_CHUNK[..3]), Ok(Some(0)));
    }

    #[test]
    fn size_lines_have_a_limit() {
        let limit = usize::from(CHUNK_LINE_BYTES_MAX);
        let longest = format!("5;{}\r\n", "a".repeat(limit - 4));
        assert_eq!(read(longest.as_bytes()), Ok(Some(5)));
        let longer = format!("5;{}\r\n", "a".repeat(limit - 3));
        assert_eq!(read(longer.as_bytes()), Err(ProtocolError::ChunkLineTooLong));
    }

    #[test]
    fn data_is_followed_by_crlf() {
        for (bytes, expected) in [
            (&b"\r\n5\r\n"[..], Ok((5, true))),
            (b"\r", Ok((1, false))),
            (b"\n", Err(ProtocolError::BadChunkEnd)),
            (b"\rx", Err(ProtocolError::BadChunkEnd)),
            (b"5", Err(ProtocolError::BadChunkEnd)),
        ] {
            assert_eq!(ChunkFraming::next().read(&mut 0, bytes, false), expected);
        }
    }
}

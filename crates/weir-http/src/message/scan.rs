//! Search for the ends of lines and names, eight bytes at a time. Defines the bytes that end or
//! invalidate a line (RFC 9112 §2.2, RFC 9110 §5.5), not the meaning of fields.
//!
//! Words in a register instead of memchr: header lines have about 30 bytes, for which the call
//! costs more than the search. One pass also finds NUL and bare CR along with the line end.

use memchr::memchr;

pub(crate) const ONES: u64 = 0x0101_0101_0101_0101;
pub(crate) const HIGHS: u64 = 0x8080_8080_8080_8080;

/// End of a line, if it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// The content ends before `content`, the next line starts at `next`.
    At { content: usize, next: usize },
    /// The end is not among the bytes.
    Missing,
    /// The line is complete and has a NUL or a CR that does not end it.
    Spoiled,
}

/// Returns the end of the line that contains `at`: CRLF or, as RFC 9112 §2.2 permits, a lone LF.
///
/// An invalid line is reported only once it is complete, so that the result does not depend on the
/// number of bytes received. Other control characters are kept (RFC 9110 §5.5 permits that).
#[inline]
pub(crate) fn line_end(bytes: &[u8], at: usize) -> LineEnd {
    let mut from = at;
    while let Some(found) = find_control(bytes, from) {
        match (bytes[found], bytes.get(found + 1)) {
            (b'\r', Some(b'\n')) => return LineEnd::At { content: found, next: found + 2 },
            (b'\r', None) => return LineEnd::Missing,
            (b'\n', _) => return LineEnd::At { content: found, next: found + 1 },
            (b'\r' | 0, _) => return spoiled(bytes, found),
            _ => from = found + 1,
        }
    }
    LineEnd::Missing
}

/// Returns the result for a line that is invalid at `at`: `Missing` until its LF has arrived.
#[cold]
pub(crate) fn spoiled(bytes: &[u8], at: usize) -> LineEnd {
    match memchr(b'\n', &bytes[at..]) {
        Some(_) => LineEnd::Spoiled,
        None => LineEnd::Missing,
    }
}

/// Returns the position of the first byte from `at` that is a colon, a space, a control character
/// or not ASCII. If it is a colon, it ends a well-formed field name.
#[inline(always)]
pub(crate) fn find_name_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hits = |word: u64| {
        let low_or_high = word.wrapping_sub(ONES * 0x21) | word;
        let colon = word ^ (ONES * b':' as u64);
        (low_or_high | (colon.wrapping_sub(ONES) & !colon)) & HIGHS
    };
    find(bytes, at, hits, |byte| byte == b':' || !(0x21..0x80).contains(&byte))
}

/// Returns the position of the first byte from `at` below 0x20.
#[inline(always)]
pub(crate) fn find_control(bytes: &[u8], at: usize) -> Option<usize> {
    find(bytes, at, control_flags, |byte| byte < 0x20)
}

/// Returns the high bits of the bytes of a word below 0x20; possibly also of a space above one.
#[inline(always)]
pub(crate) fn control_flags(word: u64) -> u64 {
    below(word, 0x20)
}

/// Returns the high bits of the bytes of a word below `limit`, which is at most 0x80; possibly also
/// of greater ones above one.
#[inline(always)]
pub(crate) fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGHS
}

/// Returns the position of the first byte from `at` that is a space or a control character below
/// it.
#[inline(always)]
pub(crate) fn find_blank(bytes: &[u8], at: usize) -> Option<usize> {
    find(bytes, at, |word| below(word, 0x21), |byte| byte <= b' ')
}

/// Returns the position of the first hit from `at`. `hits` sets the high bits of the hits in a
/// word. It may wrongly set the high bits of bytes above a hit (by a borrow), as only the lowest
/// counts.
#[inline(always)]
fn find(
    bytes: &[u8],
    mut at: usize,
    hits: impl Fn(u64) -> u64,
    is_hit: impl Fn(u8) -> bool,
) -> Option<usize> {
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let hits = hits(u64::from_le_bytes(*word));
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let tail = bytes.get(at..)?;
    tail.iter().position(|&byte| is_hit(byte)).map(|index| at + index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the simple search: every byte at every position among bytes of every kind.
    #[test]
    fn words_find_what_bytes_find() {
        for filler in [0x20, b'a', 0x7f, 0x80, 0xff] {
            for byte in 0..=255 {
                for at in 0..20 {
                    let mut bytes = [filler; 20];
                    bytes[at] = byte;
                    let control = bytes.iter().position(|&b| b < 0x20);
                    assert_eq!(find_control(&bytes, 0), control, "{byte:#x} at {at}");
                    let blank = bytes.iter().position(|&b| b <= b' ');
                    assert_eq!(find_blank(&bytes, 0), blank, "{byte:#x} at {at}");
                    let name = |b: &u8| *b == b':' || *b <= b' ' || !b.is_ascii();
                    for from in 0..=20 {
                        let end = bytes[from..].iter().position(name).map(|i| i + from);
                        assert_eq!(find_name_end(&bytes, from), end, "{byte:#x} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_ends_with_crlf_or_lf() {
        assert_eq!(line_end(b"a: b\r\nc", 0), LineEnd::At { content: 4, next: 6 });
        assert_eq!(line_end(b"a: b\nc", 0), LineEnd::At { content: 4, next: 5 });
        assert_eq!(line_end(b"a:\tb\x01c\r\n", 0), LineEnd::At { content: 6, next: 8 });
        assert_eq!(line_end(b"a: b\r", 0), LineEnd::Missing);
        assert_eq!(line_end(b"a: b", 0), LineEnd::Missing);
    }

    #[test]
    fn nul_and_bare_cr_spoil_a_line_once_it_is_complete() {
        for line in [&b"a: \0b\r\n"[..], b"a: b\rc\n", b"a\r\r\n"] {
            assert_eq!(line_end(line, 0), LineEnd::Spoiled);
            assert_eq!(line_end(&line[..line.len() - 1], 0), LineEnd::Missing);
        }
    }
}

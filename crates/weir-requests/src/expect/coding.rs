//! Content codings (RFC 9110 §8.4.1).

/// A content coding that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentCoding {
    /// The gzip format (RFC 1952).
    Gzip,
    /// The zlib format (RFC 1950), or deflate without it, which some servers send.
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl ContentCoding {
    /// Returns the coding of a token of `Content-Encoding`; `None` if it is another one.
    pub(super) fn named(token: &[u8]) -> Option<ContentCoding> {
        const NAMES: [(&[u8], ContentCoding); 5] = [
            (b"gzip", ContentCoding::Gzip),
            (b"x-gzip", ContentCoding::Gzip),
            (b"deflate", ContentCoding::Deflate),
            (b"br", ContentCoding::Brotli),
            (b"zstd", ContentCoding::Zstd),
        ];
        let found = NAMES.iter().find(|(name, _)| token.eq_ignore_ascii_case(name));
        found.map(|(_, coding)| *coding)
    }

    /// Returns the name of the coding.
    pub(super) fn name(self) -> &'static str {
        match self {
            ContentCoding::Gzip => "gzip",
            ContentCoding::Deflate => "deflate",
            ContentCoding::Brotli => "br",
            ContentCoding::Zstd => "zstd",
        }
    }
}

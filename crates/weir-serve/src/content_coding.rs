//! Content codings of bodies (RFC 9110 §8.4.1): their names, and their encoders. Bodies go through
//! them in pieces, so the uncompressed body is never held.

use std::io::{self, Read, Write};
use std::str::FromStr;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, FrameCompressor};

use crate::units::ParseError;

/// Content coding of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// The body as it is, without `Content-Encoding`.
    #[default]
    Identity,
    /// gzip (RFC 1952).
    Gzip,
    /// The zlib format (RFC 1950), which HTTP calls deflate.
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl ContentCoding {
    /// All codings, in the order of their names in messages.
    const ALL: [ContentCoding; 5] = [
        ContentCoding::Identity,
        ContentCoding::Gzip,
        ContentCoding::Deflate,
        ContentCoding::Brotli,
        ContentCoding::Zstd,
    ];

    /// Returns the name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            ContentCoding::Identity => "identity",
            ContentCoding::Gzip => "gzip",
            ContentCoding::Deflate => "deflate",
            ContentCoding::Brotli => "br",
            ContentCoding::Zstd => "zstd",
        }
    }

    /// Returns `body` in this coding. It is read in pieces.
    pub(crate) fn encoded(self, mut body: impl Read) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut body, &mut out).expect("memory is read and written without errors");
        out
    }

    fn encode(self, body: &mut impl Read, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            ContentCoding::Identity => io::copy(body, out).map(drop),
            ContentCoding::Gzip => {
                let mut encoder = GzEncoder::new(out, Compression::default());
                io::copy(body, &mut encoder)?;
                encoder.finish().map(drop)
            }
            ContentCoding::Deflate => {
                let mut encoder = ZlibEncoder::new(out, Compression::default());
                io::copy(body, &mut encoder)?;
                encoder.finish().map(drop)
            }
            ContentCoding::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(
                    out,
                    BROTLI_BUFFER_BYTES,
                    BROTLI_QUALITY,
                    BROTLI_WINDOW_BITS,
                );
                io::copy(body, &mut encoder)?;
                // Dropping it writes the end.
                encoder.flush()
            }
            ContentCoding::Zstd => {
                let mut encoder = FrameCompressor::new(CompressionLevel::Fastest);
                encoder.set_source(body);
                encoder.set_drain(out);
                encoder.compress();
                Ok(())
            }
        }
    }
}

/// Buffer of Brotli's encoder.
const BROTLI_BUFFER_BYTES: usize = 64 * 1024;

/// Quality that servers use for bodies that are compressed on each request; 11 would need minutes
/// for the largest body.
const BROTLI_QUALITY: u32 = 5;

/// Brotli's largest standard window, 4 MiB.
const BROTLI_WINDOW_BITS: u32 = 22;

impl FromStr for ContentCoding {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ContentCoding, ParseError> {
        ContentCoding::ALL.into_iter().find(|coding| coding.name() == text).ok_or_else(|| {
            let names = ContentCoding::ALL.map(ContentCoding::name).join(", ");
            ParseError(format!("`{text}` is not a content coding: choose one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the decoded body.
    fn decoded(coding: ContentCoding, encoded: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        let read = match coding {
            ContentCoding::Identity => io::copy(&mut &encoded[..], &mut body),
            ContentCoding::Gzip => io::copy(&mut flate2::read::GzDecoder::new(encoded), &mut body),
            ContentCoding::Deflate => {
                io::copy(&mut flate2::read::ZlibDecoder::new(encoded), &mut body)
            }
            ContentCoding::Brotli => {
                io::copy(&mut brotli::Decompressor::new(encoded, 4096), &mut body)
            }
            ContentCoding::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(encoded);
                io::copy(&mut decoder.expect("a frame"), &mut body)
            }
        };
        read.unwrap_or_else(|error| panic!("{coding:?}: {error}"));
        body
    }

    #[test]
    fn bodies_are_decoded_to_what_they_were() {
        let text: Vec<u8> = (0..100_000u32).flat_map(|k| k.to_string().into_bytes()).collect();
        for coding in ContentCoding::ALL {
            for body in [&b""[..], b"{\"ok\": true}", &[b'x'; 300_000], &text] {
                let encoded = coding.encoded(body);
                assert_eq!(decoded(coding, &encoded), body, "{coding:?}, {} bytes", body.len());
                let is_short = encoded.len() < body.len() / 2;
                let is_long = body.len() > 100;
                assert!(is_short == (is_long && coding != ContentCoding::Identity), "{coding:?}");
            }
        }
    }

    #[test]
    fn names_are_those_of_the_header() {
        for coding in ContentCoding::ALL {
            assert_eq!(coding.name().parse(), Ok(coding));
        }
        let error = "brotli".parse::<ContentCoding>().expect_err("it is br").to_string();
        assert!(error.contains("identity, gzip, deflate, br, zstd"), "{error}");
    }
}

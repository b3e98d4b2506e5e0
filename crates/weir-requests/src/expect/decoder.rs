//! The decoder of bodies: it undoes content codings, up to a limit of decoded bytes. A body that
//! would decode to more costs no more than one at the limit.

use std::io::{self, Read};
use std::mem;

use brotli_decompressor::Decompressor;
use flate2::bufread::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use weir_http::ReceivedResponse;

use crate::expect::call_content::CallContent;
use crate::expect::coding::ContentCoding;
use crate::expect::decode_error::{CODINGS_MAX, DecodeError};

/// Greatest number of bytes that are decoded at a time.
const STEP_BYTES: usize = 32 * 1024;

/// Window of zstd that a decoder of content codings must support (RFC 9659 §3).
const ZSTD_WINDOW_BYTES: u64 = 8 << 20;

/// Decodes bodies, one after the other, into buffers of its own. They grow up to the limit.
#[derive(Default)]
pub struct BodyDecoder {
    /// Greatest number of decoded bytes.
    limit: usize,
    decoded: Vec<u8>,
    /// Input of the second and further codings.
    input: Vec<u8>,
    /// True if the last body had a coding.
    is_coded: bool,
    zstd: Option<FrameDecoder>,
    /// Form of the messages in bodies, if these are of calls of gRPC.
    calls: Option<CallContent>,
}

impl std::fmt::Debug for BodyDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyDecoder").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl BodyDecoder {
    /// Returns a decoder of bodies up to `limit` decoded bytes.
    pub fn new(limit: usize) -> BodyDecoder {
        BodyDecoder { limit, ..BodyDecoder::default() }
    }

    /// Returns a decoder of the responses to calls of gRPC: their messages have the form of
    /// `calls`.
    pub fn of_calls(limit: usize, calls: CallContent) -> BodyDecoder {
        BodyDecoder { limit, calls: Some(calls), ..BodyDecoder::default() }
    }

    /// Returns the greatest number of decoded bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// True if bodies are those of calls of gRPC.
    fn is_of_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Decodes the body of a response; [`BodyDecoder::decoded`] returns it.
    ///
    /// # Errors
    /// As [`BodyDecoder::decode`], or if the body was longer than what was kept of it.
    pub(crate) fn read(&mut self, response: &ReceivedResponse<'_>) -> Result<(), DecodeError> {
        if response.is_cut && response.body.len() <= self.limit {
            return Err(DecodeError::NoMemory);
        }
        if response.is_cut {
            return Err(DecodeError::TooLarge(self.limit));
        }
        if self.is_of_calls() {
            return self.decode_messages(response.head, response.body);
        }
        let is_coding = |name: &[u8]| name.eq_ignore_ascii_case(b"content-encoding");
        let codings = response.fields().filter(|(name, _)| is_coding(name));
        self.decode(response.body, codings.map(|(_, value)| value)).map(|_| ())
    }

    /// Decodes the messages in the body of a response with this head.
    ///
    /// # Errors
    /// If one is damaged, or has no form by its schema, or they are too long.
    fn decode_messages(&mut self, head: &[u8], body: &[u8]) -> Result<(), DecodeError> {
        self.decoded.clear();
        self.is_coded = true;
        let calls = self.calls.as_ref().expect("only called if there is a form");
        calls.push(head, body, self.limit, &mut self.decoded)?;
        match self.decoded.len() > self.limit {
            true => Err(DecodeError::TooLarge(self.limit)),
            false => Ok(()),
        }
    }

    /// Decodes a body with the values of its `Content-Encoding` fields, in order. An empty body is
    /// empty with any coding: responses to HEAD have the fields and no body.
    ///
    /// # Errors
    /// If it is too long, damaged, or its codings are not supported.
    pub fn decode<'a>(
        &'a mut self,
        body: &'a [u8],
        encodings: impl Iterator<Item = &'a [u8]>,
    ) -> Result<&'a [u8], DecodeError> {
        self.is_coded = false;
        let codings = if body.is_empty() { Vec::new() } else { codings_of(encodings)? };
        // The last coding was applied last.
        for coding in codings.into_iter().rev() {
            mem::swap(&mut self.decoded, &mut self.input);
            self.decoded.clear();
            let input = mem::take(&mut self.input);
            let source = if self.is_coded { &input[..] } else { body };
            let result = self.undo(coding, source);
            self.input = input;
            self.is_coded = true;
            result?;
        }
        match self.decoded(body) {
            decoded if decoded.len() > self.limit => Err(DecodeError::TooLarge(self.limit)),
            decoded => Ok(decoded),
        }
    }

    /// Returns the last body, as far as it was decoded; `body` is the body as received.
    pub fn decoded<'a>(&'a self, body: &'a [u8]) -> &'a [u8] {
        if self.is_coded { &self.decoded } else { body }
    }

    fn undo(&mut self, coding: ContentCoding, body: &[u8]) -> Result<(), DecodeError> {
        let damaged = |error: io::Error| DecodeError::Damaged {
            coding: coding.name(),
            reason: reason(&error),
        };
        let BodyDecoder { limit, decoded, zstd, .. } = self;
        let is_whole = match coding {
            ContentCoding::Gzip => read_all(MultiGzDecoder::new(body), decoded, *limit),
            ContentCoding::Deflate => inflate(body, decoded, *limit),
            ContentCoding::Brotli => {
                // Its own buffer of the input, for which a slice has no use.
                read_all(Decompressor::new(body, 4 * 1024), decoded, *limit)
            }
            ContentCoding::Zstd => {
                let frames = zstd.get_or_insert_with(|| {
                    let mut decoder = FrameDecoder::new();
                    decoder.set_max_window_size(ZSTD_WINDOW_BYTES.max(*limit as u64));
                    decoder
                });
                frames_of(frames, body, decoded, *limit)
            }
        };
        match is_whole.map_err(damaged)? {
            true => Ok(()),
            false => Err(DecodeError::TooLarge(*limit)),
        }
    }
}

/// Returns the codings of a body, in the order in which they were applied.
fn codings_of<'a>(
    encodings: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<ContentCoding>, DecodeError> {
    let tokens = encodings.flat_map(|value| value.split(|byte| *byte == b','));
    let tokens = tokens.map(<[u8]>::trim_ascii);
    let tokens =
        tokens.filter(|token| !token.is_empty() && !token.eq_ignore_ascii_case(b"identity"));
    let mut codings = Vec::new();
    for token in tokens {
        if codings.len() == CODINGS_MAX {
            return Err(DecodeError::TooManyCodings);
        }
        let unknown = || {
            let token = &token[..token.len().min(40)];
            DecodeError::UnknownCoding(String::from_utf8_lossy(token).into_owned())
        };
        codings.push(ContentCoding::named(token).ok_or_else(unknown)?);
    }
    Ok(codings)
}

/// Appends all that the reader has. Returns false if that is more than `limit`.
fn read_all(mut reader: impl Read, decoded: &mut Vec<u8>, limit: usize) -> io::Result<bool> {
    loop {
        let room = make_room(decoded, limit);
        let begin = decoded.len();
        decoded.resize(begin + room, 0);
        let read = reader.read(&mut decoded[begin..]);
        decoded.truncate(begin + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            return Ok(true);
        }
        if decoded.len() > limit {
            return Ok(false);
        }
    }
}

/// Makes room for the next bytes and returns its size, at least 1. The buffer holds no more than
/// one byte above the limit.
fn make_room(decoded: &mut Vec<u8>, limit: usize) -> usize {
    let left = limit + 1 - decoded.len();
    if decoded.len() == decoded.capacity() {
        decoded.reserve_exact(decoded.len().max(STEP_BYTES).min(left));
    }
    (decoded.capacity() - decoded.len()).min(STEP_BYTES).min(left)
}

/// Appends the content of a stream of zlib, or of deflate alone. Returns false if that is more than
/// `limit`.
fn inflate(body: &[u8], decoded: &mut Vec<u8>, limit: usize) -> io::Result<bool> {
    let mut stream = Decompress::new(is_zlib(body));
    loop {
        let room = make_room(decoded, limit);
        let begin = decoded.len();
        let before = (stream.total_in(), stream.total_out());
        let input = &body[before.0 as usize..];
        decoded.resize(begin + room, 0);
        let status = stream.decompress(input, &mut decoded[begin..], FlushDecompress::None);
        decoded.truncate(begin + (stream.total_out() - before.1) as usize);
        let status = status.map_err(io::Error::other)?;
        if decoded.len() > limit {
            return Ok(false);
        }
        match status {
            Status::StreamEnd if stream.total_in() == body.len() as u64 => return Ok(true),
            Status::StreamEnd => return Err(io::Error::other("bytes follow its end")),
            _ if (stream.total_in(), stream.total_out()) == before => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            _ => {}
        }
    }
}

/// True if the body begins like a stream of zlib (RFC 1950 §2.2).
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [cmf, flags, ..] if cmf & 0x0f == 8 && cmf >> 4 <= 7
        && u16::from_be_bytes([*cmf, *flags]) % 31 == 0)
}

/// Appends the content of all frames of zstd. Returns false if that is more than `limit`.
fn frames_of(
    decoder: &mut FrameDecoder,
    body: &[u8],
    decoded: &mut Vec<u8>,
    limit: usize,
) -> io::Result<bool> {
    let mut rest = body;
    while !rest.is_empty() {
        match decoder.reset(&mut rest) {
            Ok(()) => {}
            Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Ok(false),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let skipped = rest.get(length as usize..);
                rest = skipped.ok_or(io::ErrorKind::UnexpectedEof)?;
                continue;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        if !read_all(ZstdFrame { decoder, rest: &mut rest }, decoded, limit)? {
            return Ok(false);
        }
        let is_intact = decoder.get_checksum_from_data().is_none_or(|expected| {
            decoder.get_calculated_checksum().is_none_or(|found| found == expected)
        });
        if !is_intact {
            return Err(io::Error::other("its checksum differs"));
        }
    }
    Ok(true)
}

/// The content of one frame of zstd, decoded block by block as it is read.
struct ZstdFrame<'a, 'b> {
    decoder: &'a mut FrameDecoder,
    rest: &'a mut &'b [u8],
}

impl Read for ZstdFrame<'_, '_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(&mut *self.rest, one).map_err(io::Error::other)?;
        }
        self.decoder.read(room)
    }
}

/// Returns the reason of a decoder in one short line.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends early".to_owned(),
        _ => error.to_string().lines().next().unwrap_or_default().chars().take(120).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const PLAIN: &[u8] = br#"{"status": "done", "items": [1, 2, 3]}"#;

    /// [`PLAIN`] in brotli, as the reference encoder writes it.
    const BROTLI: &[u8] = &[
        139, 18, 128, 123, 34, 115, 116, 97, 116, 117, 115, 34, 58, 32, 34, 100, 111, 110, 101, 34,
        44, 32, 34, 105, 116, 101, 109, 115, 34, 58, 32, 91, 49, 44, 32, 50, 44, 32, 51, 93, 125,
        3,
    ];

    /// 16 MiB of zeros in brotli.
    const BROTLI_ZEROS: &[u8] = &[
        203, 255, 255, 63, 248, 39, 0, 226, 177, 64, 32, 247, 254, 143, 255, 255, 127, 240, 79, 0,
        196, 97, 17, 128, 238, 253, 223,
    ];

    macro_rules! compressed {
        ($encoder:ident, $plain:expr) => {{
            let mut encoder = $encoder::new(Vec::new(), Compression::default());
            encoder.write_all($plain).expect("memory takes it");
            encoder.finish().expect("memory takes it")
        }};
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        compressed!(GzEncoder, plain)
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        compress_to_vec(plain, CompressionLevel::Fastest)
    }

    /// Decodes a body with these values of `Content-Encoding`.
    fn decode(body: &[u8], encodings: &[&str], limit: usize) -> Result<Vec<u8>, DecodeError> {
        let mut decoder = BodyDecoder::new(limit);
        let encodings = encodings.iter().map(|value| value.as_bytes());
        let result = decoder.decode(body, encodings).map(<[u8]>::to_vec);
        // One byte more than the limit shows that there is more.
        assert!(decoder.decoded.capacity() <= limit + 1, "{}", decoder.decoded.capacity());
        assert!(decoder.input.capacity() <= limit + 1, "{}", decoder.input.capacity());
        result
    }

    /// [`PLAIN`] in each coding.
    fn coded() -> [(&'static str, Vec<u8>); 6] {
        [
            ("gzip", gzip(PLAIN)),
            ("X-GZIP", [gzip(&PLAIN[..9]), gzip(&PLAIN[9..])].concat()),
            ("deflate", compressed!(ZlibEncoder, PLAIN)),
            ("deflate", compressed!(DeflateEncoder, PLAIN)),
            ("br", BROTLI.to_vec()),
            (
                "zstd",
                [zstd(&PLAIN[..9]), vec![0x5a, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7], zstd(&PLAIN[9..])]
                    .concat(),
            ),
        ]
    }

    #[test]
    fn every_coding_is_undone() {
        for (coding, body) in coded() {
            assert_eq!(decode(&body, &[coding], 100), Ok(PLAIN.to_vec()), "{coding}");
        }
        assert_eq!(decode(PLAIN, &[], 100), Ok(PLAIN.to_vec()));
        assert_eq!(decode(PLAIN, &["identity"], 100), Ok(PLAIN.to_vec()));
    }

    #[test]
    fn several_codings_are_undone_from_the_last_to_the_first() {
        let once = zstd(PLAIN);
        let twice = gzip(&once);
        for encodings in [&["zstd, gzip"][..], &["zstd", "gzip"], &["zstd ,, identity,gzip"]] {
            assert_eq!(decode(&twice, encodings, 100), Ok(PLAIN.to_vec()), "{encodings:?}");
        }
        assert!(decode(&twice, &["gzip, zstd"], 100).is_err());
        assert_eq!(decode(&twice, &["gzip"; 5], 100), Err(DecodeError::TooManyCodings));
    }

    #[test]
    fn a_body_at_the_limit_is_decoded_and_a_longer_one_is_not() {
        let limit = PLAIN.len();
        for (coding, body) in coded() {
            assert_eq!(decode(&body, &[coding], limit), Ok(PLAIN.to_vec()), "{coding}");
            let short = decode(&body, &[coding], limit - 1);
            assert_eq!(short, Err(DecodeError::TooLarge(limit - 1)), "{coding}");
        }
        assert!(decode(PLAIN, &[], limit).is_ok());
        assert_eq!(decode(PLAIN, &[], limit - 1), Err(DecodeError::TooLarge(limit - 1)));
    }

    #[test]
    fn a_bomb_takes_no_more_memory_than_the_limit() {
        let zeros = vec![0; 16 << 20];
        let limit = 100_000;
        for (coding, bomb) in [
            ("gzip", gzip(&zeros)),
            ("deflate", compressed!(ZlibEncoder, &zeros)),
            ("br", BROTLI_ZEROS.to_vec()),
            ("zstd", zstd(&zeros)),
            ("gzip, gzip", gzip(&gzip(&zeros))),
        ] {
            let bomb = decode(&bomb, &[coding], limit);
            assert_eq!(bomb, Err(DecodeError::TooLarge(limit)), "{coding}");
        }
        assert_eq!(decode(BROTLI_ZEROS, &["br"], 16 << 20), Ok(zeros));
    }

    #[test]
    fn a_window_of_zstd_that_is_too_large_is_not_made() {
        // A frame with a window of 1 GiB (RFC 8878 §3.1.1.1.2) and an empty last block.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0];
        assert_eq!(decode(&frame, &["zstd"], 10), Err(DecodeError::TooLarge(10)));
    }

    #[test]
    fn a_body_that_is_cut_anywhere_is_damaged() {
        for (coding, body) in coded() {
            // Both have whole members that are followed by another.
            let whole =
                [gzip(&PLAIN[..9]).len(), zstd(&PLAIN[..9]).len(), zstd(&PLAIN[..9]).len() + 9];
            for end in (1..body.len()).filter(|end| !whole.contains(end)) {
                let cut = decode(&body[..end], &[coding], 100);
                assert!(matches!(cut, Err(DecodeError::Damaged { .. })), "{coding} {end}: {cut:?}");
            }
        }
    }

    #[test]
    fn damage_is_found_by_checksums() {
        let [(_, mut body), ..] = coded();
        let end = body.len() - 5;
        body[end] ^= 1;
        let damaged = decode(&body, &["gzip"], 100).expect_err("its checksum is wrong").to_string();
        assert!(damaged.starts_with("it is not valid gzip: "), "{damaged}");
        let mut body = compressed!(ZlibEncoder, PLAIN);
        let end = body.len() - 1;
        body[end] ^= 1;
        assert!(decode(&body, &["deflate"], 100).is_err());
        let mut body = zstd(PLAIN);
        let end = body.len() - 1;
        body[end] ^= 1;
        assert!(decode(&body, &["zstd"], 100).is_err());
    }

    #[test]
    fn other_codings_are_named() {
        let unknown = |token: &str| Err(DecodeError::UnknownCoding(token.to_owned()));
        assert_eq!(decode(b"x", &["compress"], 9), unknown("compress"));
        assert_eq!(decode(b"x", &["gzip, aes128gcm"], 9), unknown("aes128gcm"));
        // A response to HEAD has the field and no body.
        assert_eq!(decode(b"", &["compress"], 9), Ok(Vec::new()));
    }

    #[test]
    fn a_decoder_is_used_again() {
        let mut decoder = BodyDecoder::new(100);
        for (coding, body) in coded().into_iter().chain(coded()) {
            assert!(decoder.decode(&body[..9], [coding.as_bytes()].into_iter()).is_err());
            let decoded = decoder.decode(&body, [coding.as_bytes()].into_iter());
            assert_eq!(decoded, Ok(PLAIN), "{coding}");
            assert_eq!(decoder.decode(b"plain", std::iter::empty()), Ok(&b"plain"[..]));
        }
    }

    proptest! {
        /// Nothing panics, and nothing exceeds the limit, whatever the bytes are.
        #[test]
        fn any_bytes_end_within_the_limit(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            of in 0..6_usize,
            at in 0..40_usize,
            limit in 0..100_usize,
        ) {
            let (coding, mut body) = coded()[of].clone();
            for encodings in [&[coding][..], &["gzip, br", "zstd"]] {
                if let Ok(decoded) = decode(&bytes, encodings, limit) {
                    prop_assert!(decoded.len() <= limit);
                }
            }
            let at = at.min(body.len());
            let end = (at + bytes.len().min(3)).min(body.len());
            body.splice(at..end, bytes.iter().copied().take(3));
            if let Ok(decoded) = decode(&body, &[coding], limit) {
                prop_assert!(decoded.len() <= limit);
            }
        }
    }
}

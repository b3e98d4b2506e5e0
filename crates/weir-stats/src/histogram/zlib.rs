//! Bytes compressed with zlib.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// Returns the bytes compressed.
pub fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

/// Inflates; `None` if the input was not deflated, or if the output exceeds `bytes_max`.
pub fn inflated(deflated: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let limit = u64::try_from(bytes_max).ok()?.saturating_add(1);
    ZlibDecoder::new(deflated).take(limit).read_to_end(&mut plain).ok()?;
    (plain.len() <= bytes_max).then_some(plain)
}

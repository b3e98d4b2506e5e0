//! Compression of messages. Independent of schemas.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Returns a message compressed with gzip.
pub fn gzip(message: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(message).and_then(|()| encoder.finish());
    written.expect("memory takes all bytes")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn messages_are_gzip() {
        for message in [&b""[..], b"abc", &[7; 10_000]] {
            let mut plain = Vec::new();
            GzDecoder::new(&gzip(message)[..]).read_to_end(&mut plain).expect("gzip");
            assert_eq!(plain, message);
        }
    }
}

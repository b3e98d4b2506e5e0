//! Compression of messages: the encodings of `grpc-encoding`, and their decoding in pieces. Memory
//! is bounded, whatever a peer sends.

use std::io::{self, Write};

use flate2::write::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};

/// The encoding of compressed messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MessageEncoding {
    /// None: a message must not be compressed.
    #[default]
    Identity,
    /// The gzip format (RFC 1952).
    Gzip,
    /// The zlib format (RFC 1950).
    Deflate,
    /// Another one.
    Unknown,
}

impl MessageEncoding {
    /// Returns the encoding of a value of `grpc-encoding`.
    pub(super) fn of_field(value: &[u8]) -> MessageEncoding {
        match value {
            b"identity" => MessageEncoding::Identity,
            b"gzip" => MessageEncoding::Gzip,
            b"deflate" => MessageEncoding::Deflate,
            _ => MessageEncoding::Unknown,
        }
    }
}

/// Memory of a decoder beside its content, about: the window and the tables.
const DECODER_BYTES: usize = 48 * 1024;

/// Bytes that a decoder of zlib produces at once.
const STEP_BYTES: usize = 8 * 1024;

/// The content of one message, decoded as it arrives.
#[derive(Debug)]
pub(super) enum MessageDecoder {
    Plain(KeptContent),
    Gzip(Box<GzDecoder<KeptContent>>),
    Deflate(Box<ZlibContent>),
}

/// Decoded content: its beginning is kept, and its length limited.
#[derive(Debug, Default)]
pub(super) struct KeptContent {
    pub(super) data: Vec<u8>,
    kept_max: usize,
    bytes: usize,
    bytes_max: usize,
}

/// Content in the zlib format.
#[derive(Debug)]
pub(super) struct ZlibContent {
    state: Decompress,
    is_ended: bool,
    content: KeptContent,
}

impl MessageDecoder {
    /// Makes a decoder that keeps `kept_max` bytes of the content, of which at most `bytes_max` may
    /// be compressed ones.
    pub(super) fn new(encoding: MessageEncoding, kept_max: usize, bytes_max: usize) -> Self {
        let content = KeptContent { kept_max, bytes_max, ..KeptContent::default() };
        match encoding {
            MessageEncoding::Gzip => MessageDecoder::Gzip(Box::new(GzDecoder::new(content))),
            MessageEncoding::Deflate => {
                let state = Decompress::new(true);
                let content = ZlibContent { state, is_ended: false, content };
                MessageDecoder::Deflate(Box::new(content))
            }
            MessageEncoding::Identity | MessageEncoding::Unknown => {
                let bytes_max = usize::MAX;
                MessageDecoder::Plain(KeptContent { bytes_max, ..content })
            }
        }
    }

    /// Reads a part of the message.
    ///
    /// # Errors
    /// If it is damaged, continues after its end, or exceeds the limit.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            MessageDecoder::Plain(content) => content.write_all(bytes),
            MessageDecoder::Gzip(decoder) => decoder.write_all(bytes),
            MessageDecoder::Deflate(content) => content.receive(bytes),
        }
    }

    /// Ends the message.
    ///
    /// # Errors
    /// If it is incomplete.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self {
            MessageDecoder::Plain(_) => Ok(()),
            MessageDecoder::Gzip(decoder) => decoder.try_finish(),
            MessageDecoder::Deflate(content) => match content.is_ended {
                true => Ok(()),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        }
    }

    /// Returns the content so far.
    pub(super) fn content(&self) -> &KeptContent {
        match self {
            MessageDecoder::Plain(content) => content,
            MessageDecoder::Gzip(decoder) => decoder.get_ref(),
            MessageDecoder::Deflate(decoder) => &decoder.content,
        }
    }

    /// Returns the memory that the peer has caused it to hold, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        let decoder = if matches!(self, MessageDecoder::Plain(_)) { 0 } else { DECODER_BYTES };
        decoder + self.content().data.capacity()
    }
}

impl KeptContent {
    /// True if there was more than the limit.
    pub(super) fn is_too_large(&self) -> bool {
        self.bytes > self.bytes_max
    }
}

impl Write for KeptContent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.is_too_large() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let room = self.kept_max - self.data.len();
        self.data.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ZlibContent {
    fn receive(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut step = [0; STEP_BYTES];
        loop {
            if self.is_ended {
                return match bytes {
                    [] => Ok(()),
                    _ => Err(io::ErrorKind::InvalidData.into()),
                };
            }
            let read = self.state.total_in();
            let made = self.state.total_out();
            let status = self.state.decompress(bytes, &mut step, FlushDecompress::None)?;
            let read = usize::try_from(self.state.total_in() - read).expect("part of a slice");
            let made = usize::try_from(self.state.total_out() - made).expect("part of a buffer");
            self.content.write_all(&step[..made])?;
            bytes = &bytes[read..];
            self.is_ended = status == Status::StreamEnd;
            if !self.is_ended && read == 0 && made == 0 {
                return Ok(());
            }
        }
    }
}

//! Messages in bodies: a prefix of a flag and a length before each ("gRPC over HTTP2",
//! Length-Prefixed-Message). Independent of the content.

/// Bytes of the prefix of a message: a flag, and the length as a big-endian number.
pub const PREFIX_BYTES: usize = 5;

/// Splits a body into messages, whatever the sizes of the pieces in which it arrives.
///
/// A message that is incomplete at the end of the body is none. A flag other than 0 and 1 is none
/// of gRPC: the rest of the body has no messages then.
#[derive(Debug)]
pub struct GrpcSplitter {
    /// Most bytes of a message that are kept.
    kept_max: usize,
    /// The prefix, as far as it has arrived.
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    /// Bytes of the message that are missing; 0 in a prefix.
    missing: u32,
    /// Content of the message, as far as it is kept.
    data: Vec<u8>,
    /// True after a prefix that is none of gRPC.
    is_broken: bool,
}

/// A message in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcMessage<'a> {
    /// True if its content is compressed.
    pub is_compressed: bool,
    /// Bytes of its content, as it was sent.
    pub data_bytes: u32,
    /// Its content, as it was sent: the beginning, if it is longer than the splitter keeps.
    pub data: &'a [u8],
}

/// Most memory that is kept from message to message, in bytes.
const CAPACITY_KEPT_BYTES: usize = 4096;

impl GrpcSplitter {
    /// Makes a splitter for a body that begins with the next bytes. It keeps at most `kept_max`
    /// bytes of a message that arrives in parts, and shows no more of any.
    pub fn new(kept_max: usize) -> GrpcSplitter {
        GrpcSplitter {
            kept_max,
            prefix: [0; PREFIX_BYTES],
            prefix_bytes: 0,
            missing: 0,
            data: Vec::new(),
            is_broken: false,
        }
    }

    /// Reads bytes of the body, and calls `on_message` for each message that they complete, in
    /// order.
    pub fn receive(&mut self, mut bytes: &[u8], mut on_message: impl FnMut(GrpcMessage<'_>)) {
        while !bytes.is_empty() && !self.is_broken {
            if self.missing > 0 {
                bytes = self.read_data(bytes, &mut on_message);
                continue;
            }
            let begin = bytes.len().min(PREFIX_BYTES - self.prefix_bytes);
            self.prefix[self.prefix_bytes..][..begin].copy_from_slice(&bytes[..begin]);
            self.prefix_bytes += begin;
            bytes = &bytes[begin..];
            if self.prefix_bytes < PREFIX_BYTES {
                return;
            }
            let length = self.length();
            self.is_broken = self.prefix[0] > 1;
            match usize::try_from(length) {
                _ if self.is_broken => {}
                // The usual message, which needs no copy.
                Ok(length) if length <= bytes.len() => {
                    self.message(&bytes[..length], &mut on_message);
                    bytes = &bytes[length..];
                }
                _ => self.missing = length,
            }
        }
    }

    /// True if the bytes so far end within a message, or are none of gRPC.
    pub fn is_incomplete(&self) -> bool {
        self.is_broken || self.prefix_bytes > 0
    }

    /// Returns the memory that the peer has caused it to hold, in bytes: at most twice what it
    /// keeps of a message.
    pub fn held_bytes(&self) -> usize {
        self.data.capacity()
    }

    /// Forgets an incomplete message: the next bytes are of another body.
    pub fn reset(&mut self) {
        self.prefix_bytes = 0;
        self.missing = 0;
        self.is_broken = false;
        self.data.clear();
        self.data.shrink_to(CAPACITY_KEPT_BYTES);
    }

    /// Returns the length in the prefix.
    fn length(&self) -> u32 {
        let [_, length @ ..] = self.prefix;
        u32::from_be_bytes(length)
    }

    /// Reads content of a message of which a part is missing, and returns the bytes after it.
    fn read_data<'a>(
        &mut self,
        bytes: &'a [u8],
        on_message: &mut impl FnMut(GrpcMessage<'_>),
    ) -> &'a [u8] {
        let missing = usize::try_from(self.missing).unwrap_or(usize::MAX);
        let (data, rest) = bytes.split_at(bytes.len().min(missing));
        let room = self.kept_max - self.data.len();
        self.data.extend_from_slice(&data[..data.len().min(room)]);
        self.missing -= u32::try_from(data.len()).expect("no more than the missing ones");
        if self.missing == 0 {
            let data = std::mem::take(&mut self.data);
            self.message(&data, on_message);
            self.data = data;
            self.reset();
        }
        rest
    }

    /// Ends a message with this content, or with the part of it that is kept.
    fn message(&mut self, data: &[u8], on_message: &mut impl FnMut(GrpcMessage<'_>)) {
        self.prefix_bytes = 0;
        let (is_compressed, data_bytes) = (self.prefix[0] == 1, self.length());
        let data = &data[..data.len().min(self.kept_max)];
        on_message(GrpcMessage { is_compressed, data_bytes, data });
    }
}

/// Appends a message, with its prefix.
///
/// # Panics
/// If its content has 4 GiB or more.
pub fn push_message(out: &mut Vec<u8>, is_compressed: bool, data: &[u8]) {
    let length = u32::try_from(data.len()).expect("a message is shorter than 4 GiB");
    out.push(is_compressed.into());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(data);
}

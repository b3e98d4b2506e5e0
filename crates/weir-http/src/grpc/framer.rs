//! The framing of messages in bodies: a prefix of a flag and a length before each ("gRPC over
//! HTTP2", Length-Prefixed-Message). Nothing of a message is kept.

/// Bytes of the prefix of a message: a flag, and the length as a big-endian number.
pub const PREFIX_BYTES: usize = 5;

/// Cuts a body into messages, whatever the sizes of the pieces in which it arrives.
///
/// A flag other than 0 and 1 is none of gRPC: the rest of the body has no messages then.
#[derive(Debug, Default)]
pub(super) struct MessageFramer {
    /// The prefix, as far as it has arrived; that of the message that has begun.
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    /// Bytes of the message that are missing; 0 in a prefix.
    missing: u32,
    /// True after a prefix that is none of gRPC.
    is_broken: bool,
}

/// The prefix of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessagePrefix {
    /// True if the content is compressed.
    pub(super) is_compressed: bool,
    /// Bytes of the content.
    pub(super) bytes: u32,
}

/// A part of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum FramedPart<'a> {
    /// The prefix of a message.
    Begin(MessagePrefix),
    /// Content of the message that has begun. Empty content has no part.
    Data(&'a [u8]),
    /// The end of the message.
    End,
}

impl MessageFramer {
    /// Reads bytes of the body, and calls `on_part` for each part in them, in order.
    pub(super) fn receive(&mut self, mut bytes: &[u8], mut on_part: impl FnMut(FramedPart<'_>)) {
        while !bytes.is_empty() && !self.is_broken {
            if self.missing == 0 {
                bytes = self.read_prefix(bytes, &mut on_part);
                continue;
            }
            let missing = usize::try_from(self.missing).unwrap_or(usize::MAX);
            let (data, rest) = bytes.split_at(bytes.len().min(missing));
            self.missing -= u32::try_from(data.len()).expect("no more than the missing ones");
            bytes = rest;
            on_part(FramedPart::Data(data));
            if self.missing == 0 {
                self.end(&mut on_part);
            }
        }
    }

    /// True if the bytes so far end within a message, or are none of gRPC.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_broken || self.prefix_bytes > 0
    }

    /// Returns the flag of a prefix that is none of gRPC.
    pub(super) fn bad_flag(&self) -> Option<u8> {
        self.is_broken.then_some(self.prefix[0])
    }

    /// Forgets an incomplete message: the next bytes are of another body.
    pub(super) fn reset(&mut self) {
        (self.prefix_bytes, self.missing, self.is_broken) = (0, 0, false);
    }

    /// Reads a prefix, or a part of it, and returns the bytes after it.
    fn read_prefix<'a>(
        &mut self,
        bytes: &'a [u8],
        on_part: &mut impl FnMut(FramedPart<'_>),
    ) -> &'a [u8] {
        let (begin, rest) = bytes.split_at(bytes.len().min(PREFIX_BYTES - self.prefix_bytes));
        self.prefix[self.prefix_bytes..][..begin.len()].copy_from_slice(begin);
        self.prefix_bytes += begin.len();
        if self.prefix_bytes < PREFIX_BYTES {
            return rest;
        }
        let [flag, length @ ..] = self.prefix;
        self.is_broken = flag > 1;
        if !self.is_broken {
            self.missing = u32::from_be_bytes(length);
            let prefix = MessagePrefix { is_compressed: flag == 1, bytes: self.missing };
            on_part(FramedPart::Begin(prefix));
            if self.missing == 0 {
                self.end(on_part);
            }
        }
        rest
    }

    fn end(&mut self, on_part: &mut impl FnMut(FramedPart<'_>)) {
        self.prefix_bytes = 0;
        on_part(FramedPart::End);
    }
}

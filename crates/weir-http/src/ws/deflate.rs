//! permessage-deflate (RFC 7692): its negotiation, and messages that are deflated and inflated.
//! Frames are not known here.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::frame::WsFault;

/// The field that offers the extension.
pub(super) const OFFER: &[u8] = b"Sec-WebSocket-Extensions: permessage-deflate\r\n";

/// Name of the extension.
const NAME: &str = "permessage-deflate";

/// End of a deflated message that is not sent (§7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// A last block without content, which only the end of another block may precede.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Capacity that a buffer begins with, and the one that it keeps.
const BUFFER_BYTES: usize = 4 * 1024;
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

/// The terms on which the messages of a connection are deflated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeflateTerms {
    /// True if each message of the client is deflated by itself.
    client_resets: bool,
    /// True if each message of the server is deflated by itself.
    server_resets: bool,
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeflateSide {
    Client,
    Server,
}

impl DeflateTerms {
    /// Reads the value of a server's `Sec-WebSocket-Extensions` that answers [`OFFER`]; `None` if
    /// it has what was not offered (§7.1).
    pub(super) fn of_response(value: &[u8]) -> Option<DeflateTerms> {
        DeflateTerms::of_parameters(str::from_utf8(value).ok()?, DeflateSide::Server)
    }

    /// Reads the value of a client's `Sec-WebSocket-Extensions`. Returns the terms of the first
    /// offer that can be accepted; one that limits the server's window cannot.
    pub fn of_offers(value: &[u8]) -> Option<DeflateTerms> {
        let mut offers = str::from_utf8(value).ok()?.split(',');
        offers.find_map(|offer| DeflateTerms::of_parameters(offer, DeflateSide::Client))
    }

    /// Reads the extension with its parameters, which `side` has sent.
    fn of_parameters(text: &str, side: DeflateSide) -> Option<DeflateTerms> {
        let mut parts = text.split(';').map(str::trim);
        if parts.next() != Some(NAME) {
            return None;
        }
        let mut terms = DeflateTerms::default();
        let mut has_window = false;
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
                None => (part, None),
            };
            let is_window =
                |bits: &str| bits.parse().is_ok_and(|bits: u8| (8..=15).contains(&bits));
            let is_given = match (name, value) {
                ("client_no_context_takeover", None) => &mut terms.client_resets,
                ("server_no_context_takeover", None) => &mut terms.server_resets,
                // Whatever window the peer deflates with, it is within the one that inflates.
                ("server_max_window_bits", Some(bits))
                    if side == DeflateSide::Server && is_window(bits) =>
                {
                    &mut has_window
                }
                ("client_max_window_bits", bits)
                    if side == DeflateSide::Client && bits.is_none_or(is_window) =>
                {
                    &mut has_window
                }
                _ => return None,
            };
            if std::mem::replace(is_given, true) {
                return None;
            }
        }
        Some(terms)
    }

    /// Returns the value of the field that accepts an offer on these terms.
    pub fn field_value(self) -> &'static str {
        match (self.client_resets, self.server_resets) {
            (false, false) => NAME,
            (true, false) => "permessage-deflate; client_no_context_takeover",
            (false, true) => "permessage-deflate; server_no_context_takeover",
            (true, true) => {
                "permessage-deflate; client_no_context_takeover; server_no_context_takeover"
            }
        }
    }

    /// Returns the state for the messages that the client sends.
    pub(super) fn client_deflater(self) -> Deflater {
        Deflater::new(self.client_resets)
    }

    /// Returns the state for the messages that the server sends.
    pub(super) fn server_deflater(self) -> Deflater {
        Deflater::new(self.server_resets)
    }

    /// Returns the state for messages that a peer has sent, which is a client if `is_client`.
    pub(super) fn inflater(self, is_client: bool, message_bytes_max: usize) -> Inflater {
        let resets = if is_client { self.client_resets } else { self.server_resets };
        Inflater::new(resets, message_bytes_max)
    }
}

/// Deflates the messages of one direction of a connection.
#[derive(Debug)]
pub(super) struct Deflater {
    state: Compress,
    /// True if each message is deflated by itself.
    resets: bool,
    out: DeflateOutput,
}

/// Inflates the messages of one direction of a connection.
#[derive(Debug)]
pub(super) struct Inflater {
    state: Decompress,
    /// True if each message is inflated by itself.
    resets: bool,
    message_bytes_max: usize,
    out: DeflateOutput,
}

/// A message as it is made.
#[derive(Debug, Default)]
struct DeflateOutput {
    /// The message, and room behind it.
    bytes: Vec<u8>,
    length: usize,
}

impl Deflater {
    /// A low level: the client's time is dearer than bytes.
    fn new(resets: bool) -> Deflater {
        let state = Compress::new(Compression::fast(), false);
        Deflater { state, resets, out: DeflateOutput::default() }
    }

    /// Returns a message deflated.
    pub(super) fn deflate(&mut self, mut content: &[u8]) -> &[u8] {
        let Deflater { state, resets, out } = self;
        out.clear();
        if *resets {
            state.reset();
        }
        loop {
            let taken = state.total_in();
            let made = state.total_out();
            let status = state.compress(content, out.room(), FlushCompress::Sync);
            status.expect("a stream without an end takes any bytes");
            let taken = usize::try_from(state.total_in() - taken).expect("part of a slice");
            out.length += usize::try_from(state.total_out() - made).expect("part of a buffer");
            content = &content[taken..];
            // The flush is complete once it leaves room.
            if content.is_empty() && out.length < out.bytes.len() {
                break;
            }
        }
        match out.made() {
            // An empty message (§7.2.3.6).
            [] => &[0],
            made => made.strip_suffix(&TAIL).unwrap_or(made),
        }
    }
}

impl Inflater {
    fn new(resets: bool, message_bytes_max: usize) -> Inflater {
        let state = Decompress::new(false);
        let out = DeflateOutput::default();
        Inflater { state, resets, message_bytes_max, out }
    }

    /// Returns a message inflated.
    ///
    /// # Errors
    /// If it is damaged, or longer than the limit. The connection cannot be used any more.
    pub(super) fn inflate(&mut self, content: &[u8]) -> Result<&[u8], WsFault> {
        self.out.clear();
        if self.resets {
            self.state.reset(false);
        }
        self.receive(content)?;
        let length = self.out.length;
        self.receive(&TAIL)?;
        // A block that is cut takes these for bytes of its own.
        let is_cut = content.is_empty() || self.out.length > length;
        if is_cut || (self.resets && self.receive(&LAST_BLOCK)? != Status::StreamEnd) {
            return Err(WsFault::DEFLATE);
        }
        Ok(self.out.made())
    }

    /// Inflates a part of a message, and returns the last status.
    fn receive(&mut self, mut part: &[u8]) -> Result<Status, WsFault> {
        let Inflater { state, message_bytes_max, out, .. } = self;
        let mut last = Status::Ok;
        loop {
            let taken = state.total_in();
            let made = state.total_out();
            let status = state.decompress(part, out.room(), FlushDecompress::Sync);
            let status = status.map_err(|_| WsFault::DEFLATE)?;
            let taken = usize::try_from(state.total_in() - taken).expect("part of a slice");
            let made = usize::try_from(state.total_out() - made).expect("part of a buffer");
            part = &part[taken..];
            out.length += made;
            if out.length > *message_bytes_max {
                return Err(WsFault::TOO_LARGE);
            }
            if status == Status::StreamEnd {
                // A message may end with a last block (§7.2.3.4); the next one begins anew.
                state.reset(false);
                last = status;
            } else if taken == 0 && made == 0 {
                return if part.is_empty() { Ok(last) } else { Err(WsFault::DEFLATE) };
            }
        }
    }

    /// Returns the memory that the peer has caused it to hold, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.out.bytes.capacity()
    }
}

impl DeflateOutput {
    /// Forgets the message, and memory beyond what a buffer keeps.
    fn clear(&mut self) {
        self.length = 0;
        self.bytes.truncate(BUFFER_BYTES_KEPT);
        self.bytes.shrink_to(BUFFER_BYTES_KEPT);
    }

    /// Returns the room behind what is made, which is never empty.
    fn room(&mut self) -> &mut [u8] {
        let DeflateOutput { bytes, length } = self;
        if *length == bytes.len() {
            bytes.resize((2 * *length).max(BUFFER_BYTES), 0);
        }
        &mut bytes[*length..]
    }

    fn made(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7692 §7.2.3.
    const HELLO: &[u8] = &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    const HELLO_AGAIN: &[u8] = &[0xf2, 0x00, 0x11, 0x00, 0x00];

    #[test]
    fn the_examples_of_the_standard() {
        let mut shared = Inflater::new(false, 100);
        assert_eq!(shared.inflate(HELLO), Ok(&b"Hello"[..]));
        assert_eq!(shared.inflate(HELLO_AGAIN), Ok(&b"Hello"[..]));
        let mut alone = Inflater::new(true, 100);
        assert_eq!(alone.inflate(HELLO), Ok(&b"Hello"[..]));
        // It refers to what another message had, which flate2 reads as zeros.
        assert_ne!(alone.inflate(HELLO_AGAIN), Ok(&b"Hello"[..]));
        for message in [
            // Without compression, with a last block, in two blocks.
            &[0, 5, 0, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0][..],
            &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00],
            &[0xf2, 0x48, 0x05, 0, 0, 0, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
        ] {
            for resets in [false, true] {
                let mut inflater = Inflater::new(resets, 100);
                assert_eq!(inflater.inflate(message), Ok(&b"Hello"[..]), "{message:x?}");
            }
        }
        assert_eq!(Inflater::new(false, 100).inflate(&[0]), Ok(&b""[..]));
    }

    /// Bytes without order, which no deflater makes shorter.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn messages_come_back() {
        let noise = noise(300_000);
        let text = b"a message of many ".repeat(20_000);
        for resets in [false, true] {
            let mut out = Deflater::new(resets);
            let mut back = Inflater::new(resets, text.len());
            let messages = [b"Hello", &b""[..], b"", b"Hello", &noise, b"", &[0; 100_000], &text];
            for message in messages.into_iter().chain([b"x"; 3].map(|it| &it[..])) {
                let deflated = out.deflate(message).to_vec();
                assert_eq!(back.inflate(&deflated), Ok(message), "{} bytes", message.len());
            }
            assert!(back.held_bytes() <= BUFFER_BYTES_KEPT);
        }
        let mut shared = Deflater::new(false);
        let lengths = [b"Hello", b"Hello"].map(|message| shared.deflate(message).len());
        assert!(lengths[1] < lengths[0], "{lengths:?}");
    }

    /// Each length up to a few buffers, so that some end exactly with one.
    #[test]
    fn messages_of_any_length_come_back() {
        let noise = noise(3 * BUFFER_BYTES);
        let mut out = Deflater::new(false);
        let mut back = Inflater::new(false, noise.len());
        for length in (0..200).chain(BUFFER_BYTES - 60..BUFFER_BYTES + 20).chain([noise.len()]) {
            let deflated = out.deflate(&noise[..length]).to_vec();
            assert_eq!(back.inflate(&deflated), Ok(&noise[..length]), "{length} bytes");
        }
    }

    #[test]
    fn a_message_is_inflated_up_to_the_limit() {
        let bomb = Deflater::new(false).deflate(&vec![0; 10 << 20]).to_vec();
        assert!(bomb.len() < 60_000, "{}", bomb.len());
        let mut small = Inflater::new(false, 1_000);
        assert_eq!(small.inflate(&bomb), Err(WsFault::TOO_LARGE));
        assert!(small.held_bytes() <= 2 * BUFFER_BYTES);
        assert!(Inflater::new(false, 10 << 20).inflate(&bomb).is_ok());
    }

    /// Without the end of its last block a message is shorter than the one that was sent.
    #[test]
    fn a_message_that_is_cut_is_damaged() {
        let message = br#"{"id":1,"text":"hello, hello, hello","numbers":[1,2,3,5,8,13]}"#;
        let deflated = Deflater::new(true).deflate(message).to_vec();
        for length in 0..deflated.len() {
            let cut = Inflater::new(true, 1_000).inflate(&deflated[..length]).map(<[u8]>::to_vec);
            assert_eq!(cut, Err(WsFault::DEFLATE), "{length} of {}", deflated.len());
        }
        let spoiled = Inflater::new(false, 1_000).inflate(&[0xff; 20]).map(<[u8]>::to_vec);
        assert_eq!(spoiled, Err(WsFault::DEFLATE));
    }

    #[test]
    fn terms_are_those_that_were_offered() {
        let read = |text: &str| DeflateTerms::of_response(text.as_bytes());
        let terms =
            |client_resets, server_resets| Some(DeflateTerms { client_resets, server_resets });
        for client_resets in [false, true] {
            for server_resets in [false, true] {
                let terms = DeflateTerms { client_resets, server_resets };
                assert_eq!(read(terms.field_value()), Some(terms));
            }
        }
        let text = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        assert_eq!(read(text), terms(true, true));
        assert_eq!(read("permessage-deflate;server_max_window_bits=\"12\""), terms(false, false));
        for other in [
            "",
            "x-webkit-deflate-frame",
            "permessage-deflate; client_max_window_bits=12",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            "permessage-deflate, permessage-deflate",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn the_first_offer_that_can_be_met_is_accepted() {
        let read = |text: &str| DeflateTerms::of_offers(text.as_bytes()).map(|it| it.field_value());
        assert_eq!(read("permessage-deflate; client_max_window_bits"), Some(NAME));
        assert_eq!(read("permessage-deflate; client_max_window_bits=10"), Some(NAME));
        let alone = "permessage-deflate; server_no_context_takeover";
        assert_eq!(read(&format!("x-other, {alone}")), Some(alone));
        let limited = "permessage-deflate; server_max_window_bits=10";
        assert_eq!(read(limited), None);
        assert_eq!(read(&format!("{limited}, permessage-deflate")), Some(NAME));
        assert_eq!(read("permessage-deflate; client_max_window_bits=7"), None);
        assert_eq!(read(""), None);
    }
}

//! Invariants for any body of gRPC messages: the messages do not depend on the cuts, are those of a
//! plain reading of the specification, and no more than the limit of one is kept.

use weir_http::grpc::{GrpcSplitter, PREFIX_BYTES};

use super::XorShift;

/// Limit of the bytes that are kept of a message.
pub(crate) const KEPT_MAX: usize = 50;

/// A message: its flag, its length, and its content as far as it is kept.
pub(crate) type Message = (bool, u32, Vec<u8>);

/// Splits `bytes`, in pieces whose lengths `cut` returns.
pub(crate) fn split(
    splitter: &mut GrpcSplitter,
    mut bytes: &[u8],
    mut cut: impl FnMut() -> usize,
) -> Vec<Message> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(cut().clamp(1, bytes.len()));
        splitter.receive(piece, |message| {
            messages.push((message.is_compressed, message.data_bytes, message.data.to_vec()));
        });
        bytes = rest;
    }
    messages
}

/// Returns the messages in `body`, which is read as a whole, and true if it ends within one.
pub(crate) fn plain_reading(mut body: &[u8]) -> (Vec<Message>, bool) {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = body.split_at_checked(PREFIX_BYTES) {
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
        let Some((data, rest)) = rest.split_at_checked(length as usize) else {
            return (messages, true);
        };
        if prefix[0] > 1 {
            return (messages, true);
        }
        messages.push((prefix[0] == 1, length, data[..data.len().min(KEPT_MAX)].to_vec()));
        body = rest;
    }
    (messages, !body.is_empty())
}

/// Checks an input: a seed of one byte, and a body.
pub(crate) fn messages(input: &[u8]) {
    let Some((&seed, body)) = input.split_first() else { return };
    let (expected, is_incomplete) = plain_reading(body);
    let mut splitter = GrpcSplitter::new(KEPT_MAX);
    assert_eq!(split(&mut splitter, body, || body.len()), expected, "as a whole");
    assert_eq!(splitter.is_incomplete(), is_incomplete);
    let mut random = XorShift::new(u64::from(seed) + 1);
    for longest in [1, 2, 7, 100, 10_000] {
        splitter.reset();
        let cut = || 1 + random.below(longest);
        assert_eq!(split(&mut splitter, body, cut), expected, "pieces of up to {longest}");
        assert_eq!(splitter.is_incomplete(), is_incomplete);
    }
}

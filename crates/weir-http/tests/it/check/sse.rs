//! Invariants for any body of server-sent events: the events do not depend on the cuts, and are
//! those of a plain reading of the standard.

use weir_http::sse::{DATA_KEPT_BYTES, EventSplitter};

use super::XorShift;

/// The data of an event as far as it is kept, and the number of its bytes.
pub(crate) type Data = (Vec<u8>, u64);

/// Splits `bytes`, in pieces whose lengths `cut` returns.
pub(crate) fn split(
    splitter: &mut EventSplitter,
    mut bytes: &[u8],
    mut cut: impl FnMut() -> usize,
) -> Vec<Data> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(cut().clamp(1, bytes.len()));
        splitter.receive(piece, |event| {
            assert_eq!(event.is_done(), event.data == b"[DONE]");
            events.push((event.data.to_vec(), event.data_bytes));
        });
        bytes = rest;
    }
    events
}

/// Returns the data of the events in `body`, which is read as a whole, step by step as in the
/// standard.
pub(crate) fn plain_reading(body: &[u8]) -> Vec<Vec<u8>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut after_cr = false;
    for &byte in body {
        match byte {
            b'\n' if after_cr => {}
            b'\r' | b'\n' => lines.push(std::mem::take(&mut line)),
            _ => line.push(byte),
        }
        after_cr = byte == b'\r';
    }
    let mut events = Vec::new();
    let mut buffer = Vec::new();
    for line in lines {
        if line.is_empty() {
            // The data buffer ends with a line feed, unless it is empty.
            if buffer.pop().is_some() {
                events.push(buffer);
            }
            buffer = Vec::new();
            continue;
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        if name == b"data" {
            buffer.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            buffer.push(b'\n');
        }
    }
    events
}

/// Checks an input: a seed of one byte, and a body.
pub(crate) fn events(input: &[u8]) {
    let Some((&seed, body)) = input.split_first() else { return };
    let kept = |data: Vec<u8>| {
        let bytes = data.len() as u64;
        (data[..data.len().min(DATA_KEPT_BYTES)].to_vec(), bytes)
    };
    let expected: Vec<Data> = plain_reading(body).into_iter().map(kept).collect();
    let mut splitter = EventSplitter::new();
    assert_eq!(split(&mut splitter, body, || body.len()), expected, "as a whole");
    let mut random = XorShift::new(u64::from(seed) + 1);
    for longest in [1, 2, 7, 100, 10_000] {
        splitter.reset();
        let cut = || 1 + random.below(longest);
        assert_eq!(split(&mut splitter, body, cut), expected, "pieces of up to {longest}");
    }
}

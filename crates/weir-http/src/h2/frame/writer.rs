//! Functions that append frames to a buffer. They write valid frames only, except for
//! [`push_frame`], with which tests write others.

use super::{ErrorCode, FrameKind, HEADER_BYTES, Settings, flags};

/// Appends a frame of any kind.
pub fn push_frame(out: &mut Vec<u8>, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
    let [_, high, middle, low] = (payload.len() as u32).to_be_bytes();
    let [a, b, c, d] = stream.to_be_bytes();
    let header: [u8; HEADER_BYTES] = [high, middle, low, kind.0, flags, a, b, c, d];
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
}

/// Appends the frames of a header block: HEADERS, and CONTINUATION for what is above
/// `frame_bytes_max`.
pub fn push_headers(
    out: &mut Vec<u8>,
    stream: u32,
    block: &[u8],
    is_end: bool,
    frame_bytes_max: u32,
) {
    let mut kind = FrameKind::HEADERS;
    let mut flag = if is_end { flags::END_STREAM } else { 0 };
    let mut rest = block;
    loop {
        let (part, after) = rest.split_at(rest.len().min(frame_bytes_max as usize));
        let end = if after.is_empty() { flags::END_HEADERS } else { 0 };
        push_frame(out, kind, flag | end, stream, part);
        if after.is_empty() {
            return;
        }
        (kind, flag, rest) = (FrameKind::CONTINUATION, 0, after);
    }
}

/// Appends a DATA frame, without padding.
pub fn push_data(out: &mut Vec<u8>, stream: u32, data: &[u8], is_end: bool) {
    push_frame(out, FrameKind::DATA, if is_end { flags::END_STREAM } else { 0 }, stream, data);
}

/// Appends a RST_STREAM frame.
pub fn push_reset(out: &mut Vec<u8>, stream: u32, ErrorCode(code): ErrorCode) {
    push_frame(out, FrameKind::RST_STREAM, 0, stream, &code.to_be_bytes());
}

/// Appends a SETTINGS frame with the settings that differ from those `before`.
pub fn push_settings(out: &mut Vec<u8>, settings: &Settings, before: &Settings) {
    let payload: Vec<u8> = settings.differing(before).flatten().collect();
    push_frame(out, FrameKind::SETTINGS, 0, 0, &payload);
}

/// Appends the acknowledgement of settings.
pub fn push_settings_ack(out: &mut Vec<u8>) {
    push_frame(out, FrameKind::SETTINGS, flags::ACK, 0, &[]);
}

/// Appends a PING frame.
pub fn push_ping(out: &mut Vec<u8>, data: [u8; 8], is_ack: bool) {
    push_frame(out, FrameKind::PING, if is_ack { flags::ACK } else { 0 }, 0, &data);
}

/// Appends a GOAWAY frame.
pub fn push_goaway(out: &mut Vec<u8>, last_stream: u32, ErrorCode(code): ErrorCode) {
    let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
    push_frame(out, FrameKind::GOAWAY, 0, 0, &payload);
}

/// Appends a WINDOW_UPDATE frame; stream 0 is the connection.
pub fn push_window_update(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    push_frame(out, FrameKind::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
}

//! Bodies of responses that wait for the client's windows. Independent of the streams' other state.

use std::collections::VecDeque;

use super::super::link::H2Link;
use super::super::stream_table::StreamTable;
use super::stream::ServerStream;

/// Sends what waits on the streams in `turns`, in turns, as far as the windows permit. Streams with
/// nothing left move to `sent`.
pub(super) fn push_pending(
    link: &mut H2Link,
    streams: &mut StreamTable<ServerStream>,
    turns: &mut VecDeque<u16>,
    out: &mut Vec<u8>,
    sent: &mut Vec<u16>,
) {
    let mut blocked = 0;
    while blocked < turns.len() {
        let Some(slot) = turns.pop_front() else { break };
        let number = streams.stream(slot);
        let ServerStream { pending, send_window, .. } = streams.state(slot);
        let rest = &pending.data[pending.sent..];
        let Some(bytes) = link.push_data((number, send_window), rest, pending.is_end, out) else {
            blocked += 1;
            turns.push_back(slot);
            continue;
        };
        blocked = 0;
        pending.sent += bytes;
        if pending.bytes() > 0 {
            turns.push_back(slot);
            continue;
        }
        pending.clear();
        sent.push(slot);
    }
}

//! The minimal client: it counts the bytes of responses, which all have the same length, and sends
//! the next requests. Its cost is the cost of the engine and the kernel.

use std::io;
use std::sync::Arc;

use weir_io::{Backend, ConnId, Endpoint, EventKind, Nanos, Segment, SocketOptions, WaitPolicy};

use crate::side::Load;

/// Runs until the backend fails, as it does when there are no more turns.
pub(crate) fn run<B: Backend>(
    mut backend: B,
    load: Load,
    endpoint: &Endpoint,
    request: &[u8],
    response_bytes: u64,
) -> io::Result<()> {
    let depth = u32::from(load.depth);
    let batch: Arc<[u8]> = request.repeat(load.depth.into()).into();
    let id = backend.template(Arc::clone(&batch));
    let one = u32::try_from(request.len()).map_err(io::Error::other)?;
    let options = SocketOptions { discard: load.discards(), ..SocketOptions::default() };
    for conn in 0..load.connections {
        backend.connect(ConnId(conn), endpoint, options);
    }
    let mut missing = vec![0; load.connections as usize];
    loop {
        backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
        while let Some(event) = backend.next() {
            let conn = event.conn;
            let missing: &mut u64 = &mut missing[conn.index()];
            let bytes = match event.kind {
                EventKind::Connected => {
                    *missing = response_bytes * u64::from(depth);
                    backend.send(conn, &[Segment::Template { id, bytes: one * depth }]);
                    continue;
                }
                EventKind::Received { bytes, .. } => bytes.len() as u64,
                EventKind::Discarded(bytes) => bytes,
                kind => return Err(io::Error::other(format!("{kind:?}"))),
            };
            // Sends as many requests as responses have been completed, as a real client does.
            let owed = missing.div_ceil(response_bytes);
            *missing -= bytes;
            let responded = owed - missing.div_ceil(response_bytes);
            if responded > 0 {
                *missing += responded * response_bytes;
                let bytes = one * u32::try_from(responded).expect("at most the depth");
                backend.send(conn, &[Segment::Template { id, bytes }]);
            } else if options.discard {
                backend.discard(conn, *missing);
            }
        }
    }
}

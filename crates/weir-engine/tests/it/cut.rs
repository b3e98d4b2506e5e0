//! Connections that end after a certain byte, for servers of any protocol.

use weir_sim::Link;

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Bytes that the server sends before it.
    pub(crate) sent: usize,
    /// Bytes that the server receives before it.
    pub(crate) received: usize,
    /// True for a reset, false for a clean close.
    pub(crate) resets: bool,
}

/// Counts the bytes of a connection up to its cut.
#[derive(Debug)]
pub(crate) struct Cutter {
    left: Option<Cut>,
    is_cut: bool,
}

impl Cutter {
    pub(crate) fn new(cut: Option<Cut>) -> Cutter {
        Cutter { left: cut, is_cut: false }
    }

    /// Sends bytes as far as the connection lasts. They end the response to a request, given with
    /// its status, if they are sent whole.
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        response: Option<(usize, u16)>,
        link: &mut Link<'_>,
    ) {
        if self.is_cut || bytes.is_empty() {
            return;
        }
        let sent = self.left.map_or(bytes.len(), |left| left.sent.min(bytes.len()));
        match response {
            Some((request, status)) if sent == bytes.len() => link.respond(request, status, bytes),
            _ if sent > 0 => link.send(&bytes[..sent]),
            _ => {}
        }
        if let Some(left) = &mut self.left {
            left.sent -= sent;
            if left.sent == 0 {
                self.end(link);
            }
        }
    }

    /// Returns the received bytes up to the cut.
    pub(crate) fn receive<'a>(&mut self, bytes: &'a [u8], link: &mut Link<'_>) -> &'a [u8] {
        if self.is_cut {
            return &[];
        }
        let Some(left) = &mut self.left else { return bytes };
        let received = left.received.min(bytes.len());
        left.received -= received;
        if left.received == 0 {
            self.end(link);
        }
        &bytes[..received]
    }

    fn end(&mut self, link: &mut Link<'_>) {
        self.is_cut = true;
        match self.left.is_some_and(|left| left.resets) {
            true => link.reset(),
            false => link.close(),
        }
    }
}

//! Leasing: connections have a protocol and request slots only while requests are in flight.

use weir_io::ConnId;

use super::ConnectionPool;
use crate::protocol_slots::NONE;

impl ConnectionPool {
    /// Returns the index of the state of `conn` in `places`; leases one if needed.
    #[inline]
    pub(super) fn slot_of(&mut self, conn: ConnId) -> u32 {
        let connection = &mut self.connections[conn.index()];
        if connection.place == NONE {
            connection.place = self.places.lease(conn);
        }
        connection.place
    }

    /// Takes back the lease of `conn` if nothing is in flight and its protocol is idle.
    #[inline(never)]
    pub(super) fn end_lease(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        if connection.load > 0 || connection.place == NONE {
            return;
        }
        let protocol = self.places.protocol(connection.place);
        if !protocol.is_mid_response() && protocol.capacity() > 0 {
            self.places.release(std::mem::replace(&mut connection.place, NONE));
        }
    }
}

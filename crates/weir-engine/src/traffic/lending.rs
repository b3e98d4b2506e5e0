//! What connections have only while they are at work, and the others are not to pay for.

use weir_io::ConnId;

use super::Traffic;
use crate::places::NONE;

impl Traffic {
    /// Where `conn` has its protocol and its requests in flight.
    #[inline]
    pub(super) fn place_of(&mut self, conn: ConnId) -> u32 {
        let connection = &mut self.connections[conn.index()];
        if connection.place == NONE {
            connection.place = self.places.lend(conn);
        }
        connection.place
    }

    /// Takes back what `conn` was lent, if it could as well go on with another.
    #[inline(never)]
    pub(super) fn end_loan(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        if connection.load > 0 || connection.place == NONE {
            return;
        }
        let protocol = self.places.protocol(connection.place);
        if !protocol.is_mid_answer() && protocol.capacity() > 0 {
            self.places.take_back(std::mem::replace(&mut connection.place, NONE));
        }
    }
}

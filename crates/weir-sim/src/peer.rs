//! The other side of the network: the built-in HTTP/1 server, or the services of a test.

use std::fmt::Debug;

use weir_io::Nanos;

use crate::agenda::{Cargo, Moment, Task};
use crate::truth::SocketName;

/// The server of a world.
pub(crate) trait Peer: Debug + Send {
    /// Handles a new connection.
    fn accept(&mut self, moment: &mut Moment<'_>, name: SocketName);

    /// Handles bytes that arrived; the first was sent at `sent_at`. Returns false if no open
    /// connection can take them.
    fn receive(&mut self, moment: &mut Moment<'_>, sent_at: Nanos, bytes: &[u8]) -> bool;

    /// Handles the client's end of a connection.
    fn client_leaves(&mut self, socket: usize);

    /// Handles cargo that is about to leave. Returns false if the connection is no longer open.
    fn departs(&mut self, moment: &mut Moment<'_>, cargo: &Cargo) -> bool;

    /// Does what it had planned.
    fn serve(&mut self, moment: &mut Moment<'_>, task: Task);

    /// Returns the sockets with an open connection.
    fn sockets(&self) -> Vec<usize>;

    /// Resets one connection.
    fn reset(&mut self, moment: &mut Moment<'_>) {
        moment.depart(moment.now, Cargo::Reset);
    }
}

//! Interface between the engine and the operating system: [`Backend`] and its argument types.

use std::io;
use std::sync::Arc;

use crate::capabilities::Capabilities;
use crate::endpoint::Endpoint;
use crate::listener::Listener;
use crate::socket_options::SocketOptions;
use crate::tcp::TcpTally;
use crate::time::{Clock, Nanos};
use crate::waker::Waker;

/// A connection's number, dense from zero. The engine assigns it when it opens a connection, and
/// the backend when it accepts one as a server. The number outlives the socket: a reconnected
/// connection keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

impl ConnId {
    /// Returns the number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Immutable bytes that many sends share, registered once with [`Backend::template`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TemplateId(pub u32);

/// Bytes of one send only, copied into the backend by [`Backend::pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PooledId(pub u32);

/// One piece of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The first `bytes` bytes of a template. A template that holds a request N times over thus
    /// serves every pipelining depth up to N.
    Template {
        /// The template.
        id: TemplateId,
        /// Bytes to send, counted from the start; at most the template's length.
        bytes: u32,
    },
    /// All bytes of a pooled buffer. The backend frees it when the kernel no longer reads it, or
    /// when the connection closes. An early response does not prove that the kernel has finished
    /// reading.
    Pooled(PooledId),
}

/// Method by which this side closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// close(2): the kernel still delivers the bytes sent before.
    Graceful,
    /// `SO_LINGER` with zero: a reset, and no `TIME_WAIT`.
    Reset,
}

/// Strategy of [`Backend::wait`] for the time until its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Sleep in the kernel until `until`: the cheapest, a few µs late.
    Sleep,
    /// Sleep until `until` minus an adaptive margin, then spin: precise and cheap (METHOD 1.8).
    Hybrid,
    /// Never sleep: the most precise, occupies a whole core.
    Spin,
    /// `Hybrid`, but poll for events before the first sleep. Suits events that are expected sooner
    /// than a sleeping thread could wake up.
    Attentive {
        /// End of polling before the first sleep.
        awake_until: Nanos,
    },
    /// `Sleep`, but let events accumulate first: many events handled at one wake-up cost less than
    /// each at its own. No event is delayed by more than `within_ns`.
    Gather {
        /// Number of events that ends the wait; at least 1.
        events: u32,
        /// Longest accumulation, from the start of the wait, in nanoseconds.
        within_ns: u32,
    },
}

/// The two clock readings around a batch of sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Time before the first byte could leave: a valid start stamp for every send of the batch
    /// (METHOD 1.1, rule N).
    pub before: Nanos,
    /// Time after the last send call returned.
    pub after: Nanos,
}

/// An event of one connection. `B` gives access to received bytes: a backend returns a slice, and
/// may store where they are until then.
#[derive(Debug)]
pub struct Event<B> {
    /// The connection.
    pub conn: ConnId,
    /// Number of the socket: 0 for the first `connect` or accept under this connection number, one
    /// more for each following one, wrapping. A backend never returns an event of an older socket.
    pub generation: u16,
    /// Time read after the kernel had delivered the data of the event, so it is a valid end stamp
    /// (METHOD 1.1, rule N).
    pub at: Nanos,
    /// Type of the event, with its data.
    pub kind: EventKind<B>,
}

/// Type of an [`Event`], with its data.
#[derive(Debug)]
pub enum EventKind<B> {
    /// `connect` succeeded: the connection can send.
    Connected,
    /// A listening socket accepted a new connection. Only after [`Backend::listen`].
    Accepted,
    /// Bytes arrived; never empty. The backend owns them, and they live until the next call of
    /// [`Backend::next`] or [`Backend::wait`]. The caller may change them in place (TLS decrypts
    /// there).
    Received {
        /// The bytes.
        bytes: B,
        /// Time at which the kernel received the last of the bytes, converted to this clock; never
        /// later than `at`. If the kernel merged packets before the read, it is the last packet's
        /// arrival for all of them.
        ///
        /// `None` on connections without stamps. It is also usual for the first packets of a
        /// stamped connection, because the kernel starts to stamp a little later. After a step of
        /// the wall clock it is usual for one second.
        rx_at: Option<Nanos>,
    },
    /// Body bytes that arrived and were dropped, as permitted by [`Backend::discard`].
    Discarded(u64),
    /// The kernel handed the last byte sent so far to the network (stamped connections only).
    ///
    /// This event ends no wait and does not occur alone. It precedes the next `Received` of its
    /// connection, and so the response in those bytes, if the kernel has reported the stamp by
    /// then.
    ///
    /// One event occurs for each send that the kernel reported, in order. Merged sends have one
    /// event. A large send that the kernel took in parts may have several events; the last is for
    /// its last byte. If all sends are stamped, a stamp therefore applies to every earlier request
    /// without one. For retransmitted bytes, the first transmission counts.
    Transmitted {
        /// Time on this clock; never later than `at`.
        tx_at: Nanos,
    },
    /// The peer ended its side of the stream (end of file). This side still has to close the
    /// socket.
    Closed,
    /// The connection failed while connecting, receiving or sending. The backend has already closed
    /// the socket, and no further event of this generation occurs. A failed send never hides
    /// response bytes that the kernel delivered before the failure.
    Failed(io::Error),
}

impl<B> EventKind<B> {
    /// Converts the received bytes, if it is about any.
    #[inline]
    pub fn map<C>(self, convert: impl FnOnce(B) -> C) -> EventKind<C> {
        match self {
            EventKind::Connected => EventKind::Connected,
            EventKind::Accepted => EventKind::Accepted,
            EventKind::Received { bytes, rx_at } => {
                EventKind::Received { bytes: convert(bytes), rx_at }
            }
            EventKind::Discarded(bytes) => EventKind::Discarded(bytes),
            EventKind::Transmitted { tx_at } => EventKind::Transmitted { tx_at },
            EventKind::Closed => EventKind::Closed,
            EventKind::Failed(error) => EventKind::Failed(error),
        }
    }
}

/// CPU time of a thread and time lost to other threads, since the thread started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Part of `cpu_ns` spent spinning in [`Backend::wait`] without an event.
    pub spun_ns: u64,
    /// Time runnable but not running, because another thread had the CPU, in nanoseconds; `None` if
    /// the kernel does not report it (`/proc/thread-self/schedstat`).
    pub run_delay_ns: Option<u64>,
}

/// Options of a backend that uses the operating system.
#[derive(Clone, Debug)]
pub struct BackendOptions {
    /// Clock of the run.
    pub clock: Clock,
    /// Maximum number of connections: a limit on accepted ones, and the size of tables.
    pub connections: u32,
    /// Backends of this kind that the process runs at the same time, this one included; at least 1.
    /// Resources of the process are divided by it, so that many small backends take no more memory
    /// than a few large ones.
    pub backends: u32,
    /// Waker that can end this backend's sleep.
    pub waker: Option<Waker>,
}

/// System interface of one worker thread: its sockets and its clock.
///
/// Calls only queue work. [`submit`](Backend::submit) sends the queued bytes and returns the times
/// before and after. [`wait`](Backend::wait) sleeps until an event or an instant.
/// [`next`](Backend::next) returns one event, whose bytes live until the following call. A backend
/// belongs to the thread that created it. The trait exists because tests replace it; users choose
/// between its implementations by name.
///
/// Methods without a default are essential. Those with one are optional, see [`Capabilities`].
pub trait Backend {
    /// The optional parts that this backend has: by default none.
    const CAPABILITIES: Capabilities = Capabilities::NONE;

    /// Returns the current time. Never goes back.
    fn now(&mut self) -> Nanos;

    /// Registers bytes that any number of sends may share, for the life of the backend.
    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId;

    /// Copies bytes into a buffer for one [`Segment::Pooled`].
    fn pool(&mut self, bytes: &[u8]) -> PooledId;

    /// Starts to connect `conn`, which must be new or closed. Ends in `Connected` or `Failed` (also
    /// if the socket cannot be created). The caller is responsible for a timeout.
    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions);

    /// Starts accepting from `listener`. Each accepted connection arrives as
    /// [`EventKind::Accepted`] under the lowest free number. The number is free again once the
    /// connection is closed.
    ///
    /// # Errors
    /// If the kernel cannot watch the listener. `Unsupported` by default, without
    /// [`Capabilities::listen`].
    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        let _unused = listener;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Queues `segments` on an open connection, in order, after those queued before. Success
    /// produces no event; a failure is [`EventKind::Failed`].
    fn send(&mut self, conn: ConnId, segments: &[Segment]);

    /// Permits the backend to drop the next `bytes` bytes of the stream. It then reports any mix of
    /// `Discarded` (at most that many in all) and `Received`, in stream order. Replaces an earlier
    /// permission. If called while an event is being handled, the bytes of that event do not count.
    /// The permission need not be used; by default it is not.
    fn discard(&mut self, conn: ConnId, bytes: u64) {
        let _unused = (conn, bytes);
    }

    /// Closes `conn`, in any state; no further event of this generation occurs. Has no effect if it
    /// is already closed.
    fn close(&mut self, conn: ConnId, how: Close);

    /// Sends the bytes that `send` queued.
    fn submit(&mut self) -> Submitted;

    /// Returns when [`next`](Backend::next) has at least one event, or at `until`, or after a wake
    /// from another thread, whichever is first. Also does the work of `submit`.
    ///
    /// # Errors
    /// Only if the system interface itself fails (a broken ring). An interrupted system call is
    /// retried.
    fn wait(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<()>;

    /// Returns the calling thread's usage so far. Takes some system calls: call it at the ends of
    /// the measurement window, not in each iteration. Zeros by default, without
    /// [`Capabilities::usage`].
    fn usage(&mut self) -> ThreadUsage {
        ThreadUsage::default()
    }

    /// Returns the CPU time of the calling thread so far, less the time spent polling without an
    /// event, in nanoseconds. Takes one system call. Zero by default, without
    /// [`Capabilities::usage`].
    fn busy_ns(&self) -> u64 {
        0
    }

    /// Lets waits until `until` spin without yielding the CPU: what another thread of the program
    /// is about to do can wait. By default nothing changes: a backend need not spin.
    fn keep_cpu(&mut self, _until: Nanos) {}

    /// Returns the bytes given to `send` that the kernel had not taken from the connection of the
    /// last [`EventKind::Failed`]. Valid until the next event is taken. Zero by default, without
    /// [`Capabilities::unsent_bytes`].
    fn unsent_bytes(&mut self) -> u64 {
        0
    }

    /// Returns the kernel's counters of this backend's own TCP sockets, over those already closed.
    /// No sockets by default, without [`Capabilities::tcp`].
    fn tcp(&self) -> TcpTally {
        TcpTally::default()
    }

    /// Returns the next event of this batch, or `None` if all have been returned.
    fn next(&mut self) -> Option<Event<&mut [u8]>>;
}

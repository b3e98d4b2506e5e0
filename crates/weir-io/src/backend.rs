//! The one seam between the engine and the machine: [`Backend`], and the words it is spoken in.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use crate::{Clock, Endpoint, Listener, Nanos, TcpTally, Waker};

/// A connection, numbered densely from zero by whoever opens it (the engine) or accepts it (the
/// backend, for a server). The number outlives the socket: a renewed connection keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

impl ConnId {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Immutable bytes that many sends share, registered once with [`Backend::template`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TemplateId(pub u32);

/// Bytes of one send only, lent to the backend with [`Backend::pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PooledId(pub u32);

/// One piece of what is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The first `bytes` bytes of a template. A template that holds a request N times over thus
    /// serves every pipelining depth up to N.
    Template {
        /// Which template.
        id: TemplateId,
        /// How many of its bytes, from the start; at most its length.
        bytes: u32,
    },
    /// All bytes of a pooled buffer. The backend frees it when the kernel no longer reads it, or
    /// when the connection closes; an early answer is no proof that the kernel is done.
    Pooled(PooledId),
}

/// How one connection's socket is to behave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Connect from this address of the machine, and a port that the kernel finds once it knows the
    /// far end (`IP_BIND_ADDRESS_NO_PORT`, ip(7)); `None` leaves both to the kernel. Without effect
    /// on Unix sockets.
    pub source: Option<IpAddr>,
    /// What of this connection the kernel is to stamp.
    pub stamps: StampRequest,
    /// [`Backend::discard`] will be called: choose a receive mode in which skipped bytes are not
    /// copied. Without effect on a stamped connection, as what is skipped has no stamp.
    pub discard: bool,
}

/// What the kernel is asked to stamp of what a connection receives (`rx_at`) and sends
/// (`Transmitted`). A backend, a kernel or a kind of socket that cannot leaves the one `None` and
/// the other out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampRequest {
    /// Nothing: the connection is not stamped.
    #[default]
    None,
    /// All that it receives, and the first of every [`SAMPLE`](StampRequest::SAMPLE) sends: those
    /// stamps are the dear ones.
    Sample,
    /// All.
    All,
}

impl StampRequest {
    /// One send in so many is stamped of a sample.
    pub const SAMPLE: u32 = 16;
}

/// How a connection is closed by this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// close(2): the kernel still delivers what was sent.
    Graceful,
    /// `SO_LINGER` with zero: a reset, and no `TIME_WAIT`.
    Reset,
}

/// How [`Backend::wait`] spends the time until its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Sleep in the kernel until `until`: cheapest, a few µs late.
    Sleep,
    /// Sleep until `until` less an adaptive margin, then spin: precise, cheap (METHOD 1.8).
    Hybrid,
    /// Never sleep: most precise, takes a whole core.
    Spin,
    /// `Hybrid`, but look for events without sleeping first: for what is expected sooner than a
    /// thread that sleeps would be awake.
    Attentive {
        /// Until when to look before the first sleep.
        awake_until: Nanos,
    },
    /// `Sleep`, but let events gather first: many that are handled at one waking cost less than
    /// each at its own. None is kept back for longer than `within_ns`.
    Gather {
        /// Events that are enough to wake for; at least 1.
        events: u32,
        /// For how long they may gather, from the beginning of the wait, in nanoseconds.
        within_ns: u32,
    },
}

/// The two clock readings around a batch of sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Read before the first byte could leave: a valid start stamp for every send of the batch
    /// (METHOD 1.1, rule N).
    pub before: Nanos,
    /// Read after the last send call returned.
    pub after: Nanos,
}

/// Something that happened to one connection.
#[derive(Debug)]
pub struct Event<'a> {
    /// The connection.
    pub conn: ConnId,
    /// Which socket of that connection: 0 for the first `connect` or accept under this number, one
    /// more for each following one, wrapping. A backend never lends an event of an older socket.
    pub generation: u16,
    /// Read from the clock after the kernel had delivered what the event reports, so it is a valid
    /// end stamp (METHOD 1.1, rule N).
    pub at: Nanos,
    /// What happened.
    pub kind: EventKind<'a>,
}

/// What happened to a connection.
#[derive(Debug)]
pub enum EventKind<'a> {
    /// `connect` succeeded: the connection can send.
    Connected,
    /// A listening socket gave a new connection. Only after [`Backend::listen`].
    Accepted,
    /// Bytes arrived; never empty. They are the backend's and live until the next call of
    /// [`Backend::next`] or [`Backend::wait`]; they may be changed in place (TLS decrypts there).
    Received {
        /// The bytes.
        bytes: &'a mut [u8],
        /// When the kernel received the last of them, converted to this clock, where stamped; never
        /// later than `at`. Where the kernel joined packets before the read, it is the last one's
        /// arrival for all of them. `None` is usual for the first packets after a stamped
        /// connection opens, as the kernel begins to stamp a little later, and for a second after
        /// a step of the wall clock.
        rx_at: Option<Nanos>,
    },
    /// This many body bytes arrived and were thrown away, as allowed by [`Backend::discard`].
    Discarded(u64),
    /// The kernel handed the last byte sent so far to the network (stamped connections only).
    ///
    /// It ends no wait and does not come by itself, but ahead of the next `Received` of its
    /// connection, so ahead of the answer to those bytes, if the kernel has told by then. One
    /// comes for each send that the kernel has told of, in order: sends that it joined have one,
    /// a large one that it took in parts may have several, of which the last is of its last byte.
    /// So where all sends are stamped, a stamp is that of every request sent before it and without
    /// one. What was sent again counts by the first time.
    Transmitted {
        /// When, on this clock; never later than `at`.
        tx_at: Nanos,
    },
    /// The peer ended its side of the stream (end of file). The socket stays this side's to close.
    Closed,
    /// The connection failed: while connecting, receiving or sending. The backend has already
    /// closed the socket; no further event comes for this generation. A failed send never hides
    /// answer bytes that the kernel delivered before the failure.
    Failed(io::Error),
}

/// What a thread has taken and lost since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Of `cpu_ns`: spinning in [`Backend::wait`] without anything to do.
    pub spun_ns: u64,
    /// Ready to run while something else had its CPU, in nanoseconds; `None` where the kernel does
    /// not tell (`/proc/thread-self/schedstat`).
    pub run_delay_ns: Option<u64>,
}

/// What a backend of the real machine is made with.
#[derive(Clone, Debug)]
pub struct BackendOptions {
    /// The clock of the run.
    pub clock: Clock,
    /// The most connections it will hold: a bound for accepted ones, and what tables are sized by.
    pub connections: u32,
    /// How many such backends the process runs at the same time, this one included; at least 1.
    /// What it has once is divided by it: many small ones take no more memory than a few large.
    pub backends: u32,
    /// Who can end its sleep.
    pub waker: Option<Waker>,
}

/// The machine under one worker: its sockets and its clock.
///
/// Calls only queue; [`submit`](Backend::submit) lets the queued sends out and brackets them in
/// time; [`wait`](Backend::wait) sleeps until an event or an instant; [`next`](Backend::next) lends
/// one event, whose bytes live until the following call. A backend belongs to the thread that made
/// it. The trait exists because tests replace it; users choose between its implementations by name.
pub trait Backend {
    /// The clock. Never goes back.
    fn now(&mut self) -> Nanos;

    /// Registers bytes that any number of sends may share. For the life of the backend.
    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId;

    /// Lends bytes for one [`Segment::Pooled`]; they are copied before this returns.
    fn pool(&mut self, bytes: &[u8]) -> PooledId;

    /// Begins to connect `conn`, which must be new or closed. Ends in `Connected` or `Failed`
    /// (also when the socket cannot even be made). Nothing times out here: that is the caller's.
    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions);

    /// Starts accepting from `listener`. Each accepted connection arrives as
    /// [`EventKind::Accepted`] under the lowest free number, which is free again once closed.
    ///
    /// # Errors
    /// When the kernel refuses to watch the listener, or the backend is no server.
    fn listen(&mut self, listener: Listener) -> io::Result<()>;

    /// Queues `segments` on an open connection, in order, after what was queued before. Success is
    /// no event; a failure is [`EventKind::Failed`].
    fn send(&mut self, conn: ConnId, segments: &[Segment]);

    /// Permits the backend to throw away the next `bytes` bytes of the stream. It then reports any
    /// mix of `Discarded` (at most that many in all) and `Received`, in stream order. Replaces an
    /// earlier permission. Called while handling an event: bytes lent by that event do not count.
    fn discard(&mut self, conn: ConnId, bytes: u64);

    /// Closes `conn`, in any state; no further event of this generation comes. Harmless when it is
    /// closed already.
    fn close(&mut self, conn: ConnId, how: Close);

    /// Lets out what `send` queued.
    fn submit(&mut self) -> Submitted;

    /// Returns when at least one event can be had from [`next`](Backend::next), or at `until`, or
    /// after a wake from another thread, whichever is first. Also does what `submit` does.
    ///
    /// # Errors
    /// Only when the machine itself fails (a broken ring); an interrupted system call is retried.
    fn wait(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<()>;

    /// What the calling thread has taken so far. Costs some system calls: for the borders of the
    /// window, not for each turn. A machine that is not real has nothing to tell.
    fn usage(&mut self) -> ThreadUsage {
        ThreadUsage::default()
    }

    /// Bytes given to `send` that the kernel had not taken when the connection failed whose
    /// [`EventKind::Failed`] was lent last. To be called before the next event is asked for.
    fn unsent_bytes(&mut self) -> u64 {
        0
    }

    /// What the kernel counted on this backend's own TCP sockets, those that are closed.
    fn tcp(&self) -> TcpTally {
        TcpTally::default()
    }

    /// The next event of this harvest, or `None` when all have been handed out.
    fn next(&mut self) -> Option<Event<'_>>;
}

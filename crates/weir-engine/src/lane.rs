//! The lane of a worker: the way in which its protocol carries requests over connections.
//!
//! With HTTP/1 the responses of a connection come in the order of its requests; with a multiplexed
//! protocol each request is a stream of its own. A run chooses one of the two, as it chooses its
//! backend, so that no request asks which it is. A lane holds the protocols and the requests in
//! flight. It neither opens nor closes sockets: it says what has become of a connection
//! ([`After`]), and the [handler](crate::handler) acts on it. This room may call connections, the
//! record, and the requests that it sends.

mod http1;
mod returned;
mod streams;

use std::fmt::Debug;

use weir_http::{Interest, ProtocolError, ReceivedResponse};
use weir_io::{Backend, ConnId, Nanos};
use weir_result::{ErrorKind, FailureCause};

use crate::exchange::{Exchange, ExchangePlace, Outcome};
use crate::pool::ConnectionPool;
use crate::record::Ledger;
use crate::requests::{Batch, RequestForm, Slots};
use crate::tls::TlsError;
pub(crate) use http1::Http1Lane;
pub(crate) use streams::StreamLane;

/// The state of a connection after its lane has handled an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It goes on.
    Open,
    /// It goes on, and the next bytes, part of a body that is not needed, may be discarded.
    Discard(u64),
    /// It takes no more requests and has none in flight.
    Drained,
    /// Its oldest request has timed out, and no other can end before.
    TimedOut,
    /// It has failed, for the reason in [`ConnectionPool::fault`].
    Failed,
}

/// Room on a connection for the requests of a script's string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringRoom {
    /// There is room.
    Now,
    /// Once requests in flight have ended.
    Later,
    /// Not even on an idle connection, which allows this number of streams.
    Never(u32),
}

/// The protocols of a worker's connections and the requests in flight on them.
pub(crate) trait Lane: Debug + Sized {
    /// The form in which it sends requests.
    type Request: RequestForm;

    /// Begins the protocol on a socket of `conn` whose layers are passed.
    fn begin(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> After;

    /// Handles received bytes, without their layers.
    fn received(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: &[u8],
        at: Nanos,
    ) -> After;

    /// Handles body bytes that the backend discarded because of [`After::Discard`].
    fn discarded(
        &mut self,
        _pool: &mut ConnectionPool,
        _conn: ConnId,
        _bytes: u64,
        _at: Nanos,
    ) -> After {
        After::Open
    }

    /// Handles the end of the peer's stream. Returns the kind of error of the requests that are
    /// still in flight.
    fn end_of_stream(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> ErrorKind;

    /// Handles the requests on `conn` that have exceeded their timeout.
    fn expire_requests(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) -> After;

    /// Ends every exchange in flight on `conn`, whose socket is lost: the oldest as `oldest`.
    fn end_all(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos, oldest: Outcome);

    /// Handles the end of the socket of `conn`, on which nothing is in flight.
    fn closed(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos);

    /// Handles that `conn` takes no more requests.
    fn retired(&mut self, _pool: &mut ConnectionPool, _conn: ConnId, _at: Nanos) {}

    /// Moves the bytes that announce the end of `conn` to its peer, which is still open, to the
    /// layers' output. HTTP/1 has none.
    fn announce_close(&mut self, _pool: &mut ConnectionPool, _conn: ConnId) {}

    /// Returns the send time of the oldest request in flight on `conn` that is not overdue already.
    fn oldest(&self, pool: &ConnectionPool, conn: ConnId) -> Option<Nanos>;

    /// True if a response has started on `conn` and is incomplete.
    fn is_mid_response(&self, pool: &ConnectionPool, conn: ConnId) -> bool;

    /// True if the peer of `conn` has announced the end of the connection.
    fn is_announced(&self, _conn: ConnId) -> bool {
        false
    }

    /// Returns the number of identical requests that `conn`, which can take one, can take at once.
    fn room(&self, pool: &ConnectionPool, conn: ConnId, request: &Self::Request) -> u16;

    /// Dispatches `slots.count` identical requests on `conn`.
    fn dispatch(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        request: &Self::Request,
        slots: Slots,
        now: Nanos,
    );

    /// Hands the requests dispatched on `conn` to the backend. `request` is the one that is sent
    /// each time; `None` if a script makes them.
    ///
    /// # Errors
    /// If they cannot be encrypted.
    fn flush(
        &mut self,
        pool: &mut ConnectionPool,
        backend: &mut impl Backend,
        conn: ConnId,
        request: Option<&Self::Request>,
    ) -> Result<(), TlsError>;

    /// Returns the intended time of the next request that its peer returned and that is sent again.
    #[inline(always)]
    fn next_returned(&self) -> Option<Nanos> {
        None
    }

    /// Dispatches the next returned request again, on `conn`.
    fn resend(&mut self, _pool: &mut ConnectionPool, _conn: ConnId, _now: Nanos) {}

    /// Removes the returned requests, each with its last connection.
    fn take_returned(&mut self) -> Vec<(ConnId, Exchange)> {
        Vec::new()
    }

    /// Returns the room for a script's string on `conn`, which can take a request.
    fn string_room(&self, pool: &ConnectionPool, conn: ConnId, batch: &Batch) -> StringRoom;

    /// Dispatches a script's string on `conn`, which has room for it. Each of its requests takes
    /// one of `slots`.
    ///
    /// # Errors
    /// If the string cannot be encrypted.
    fn dispatch_string(
        &mut self,
        pool: &mut ConnectionPool,
        backend: &mut impl Backend,
        conn: ConnId,
        batch: &Batch,
        slots: impl Iterator<Item = Slots>,
        now: Nanos,
    ) -> Result<(), TlsError>;

    /// Notes the requests in flight on `conn`, whose socket has failed, for [`Lane::unsend`].
    fn note_failing(&mut self, _pool: &ConnectionPool, _conn: ConnId) {}

    /// Counts the requests that the last failed socket did not send; `bytes` bytes were left.
    fn unsend(
        &mut self,
        _pool: &mut ConnectionPool,
        _bytes: u64,
        _request: Option<&Self::Request>,
    ) {
    }

    /// Returns the nth response in the last bytes that `conn` received.
    fn response(&self, pool: &ConnectionPool, conn: ConnId, nth: usize) -> ReceivedResponse<'_>;

    /// Drops the responses in the last bytes that `conn` received, after the script has read them.
    fn forget_responses(&mut self, pool: &ConnectionPool, conn: ConnId);

    /// Returns every request in flight with its place.
    fn live(&mut self) -> impl Iterator<Item = (ExchangePlace, &mut Exchange)>;

    /// Adds the counts of the protocols to the ledger, after the run's end at `end`.
    fn finish(&mut self, pool: &mut ConnectionPool, end: Nanos);
}

/// True if the `response` at `at` to so many identical exchanges, one of them at `place`, meets the
/// expectations. Kept responses are not merged.
#[inline(never)]
fn meets<'r>(
    ledger: &mut Ledger,
    place: ExchangePlace,
    exchange: &Exchange,
    exchanges: usize,
    at: Nanos,
    response: impl FnOnce() -> ReceivedResponse<'r>,
) -> bool {
    ledger.meets(place, exchange, exchanges as u32, at, &response())
}

/// Returns a response of which as much as `keeps` is kept; `kept` returns it.
#[inline]
fn response_of<'r>(
    keeps: Interest,
    status: u16,
    kept: impl FnOnce() -> ReceivedResponse<'r>,
) -> ReceivedResponse<'r> {
    match keeps {
        Interest::Status => ReceivedResponse::of_status(status),
        Interest::Head | Interest::Body => kept(),
    }
}

impl After {
    /// Notes the failure of a connection whose peer broke the protocol.
    #[cold]
    pub(crate) fn broken(pool: &mut ConnectionPool, error: ProtocolError) -> After {
        let code = error.code();
        pool.fault = (ErrorKind::Protocol(code), FailureCause::Protocol(code));
        After::Failed
    }

    /// Notes the failure of a connection's TLS.
    #[cold]
    pub(crate) fn insecure(pool: &mut ConnectionPool, error: &TlsError) -> After {
        let code = error.code();
        pool.fault = (ErrorKind::Tls(code), FailureCause::Tls(code));
        After::Failed
    }
}

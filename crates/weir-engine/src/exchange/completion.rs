//! The end of an exchange: its outcome, its times and the kernel's stamps.

use weir_io::{ConnId, Nanos};
use weir_result::{ErrorKind, OutcomeClass};

use super::Exchange;

/// The end of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Connection that carried the exchange.
    pub conn: ConnId,
    /// Request and its time stamps.
    pub exchange: Exchange,
    /// Outcome of the exchange.
    pub outcome: Outcome,
    /// End of the exchange (`Te`).
    pub at: Nanos,
    /// Messages of the response so far; `None` if they are not measured.
    pub messages: Option<ExchangeMessages>,
    /// Kernel time stamps; `None` if none were requested for this exchange.
    pub kernel: Option<KernelTimes>,
}

/// The messages of one exchange that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeMessages {
    /// Number of messages.
    pub count: u32,
    /// Their bytes, without framing.
    pub bytes: u64,
    /// Time of the first; [`Nanos::ZERO`] without one.
    pub first_at: Nanos,
}

/// The outcome of an exchange (METHOD 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A complete response that the plan counts as success.
    Ok(Response),
    /// A complete response that the plan does not count as success.
    BadResponse(Response),
    /// An error ended the exchange before a complete response arrived.
    TransportError(ErrorKind),
    /// No complete response arrived within the timeout.
    TimedOut,
    /// The run ended before the exchange did.
    InFlightAtEnd,
}

impl Outcome {
    /// Returns the outcome of an exchange with a complete response, a success or not.
    #[inline(always)]
    pub(crate) fn of(response: Response, is_ok: bool) -> Outcome {
        match is_ok {
            true => Outcome::Ok(response),
            false => Outcome::BadResponse(response),
        }
    }

    /// Returns its class.
    #[inline]
    pub fn class(&self) -> OutcomeClass {
        match self {
            Outcome::Ok(_) => OutcomeClass::Ok,
            Outcome::BadResponse(_) => OutcomeClass::BadResponse,
            Outcome::TransportError(_) => OutcomeClass::TransportError,
            Outcome::TimedOut => OutcomeClass::TimedOut,
            Outcome::InFlightAtEnd => OutcomeClass::InFlightAtEnd,
        }
    }
}

/// A complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status code.
    pub status: u16,
    /// Time of the first byte (`Tf`).
    pub first_byte_at: Nanos,
}

/// Kernel time stamps of one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTimes {
    /// Receive time stamp of the last byte (`Ke`), if the kernel reported it.
    pub received_at: Option<Nanos>,
    /// Transmit time stamp of the last byte (`Kx`), if the kernel reported it and it belongs to
    /// this request.
    pub transmitted_at: Option<Nanos>,
}

impl KernelTimes {
    /// Returns the stamps without a transmit stamp that predates the sending of the request.
    pub(crate) fn of(self, exchange: &Exchange) -> KernelTimes {
        let is_own = |at: &Nanos| *at >= exchange.sent_at;
        KernelTimes { transmitted_at: self.transmitted_at.filter(is_own), ..self }
    }
}

//! The end of an exchange: its outcome, its times and the kernel's stamps.

use weir_io::{ConnId, Nanos};
use weir_run::{ErrorKind, SuccessRule};

use crate::exchange::Exchange;

/// The end of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The connection that carried it.
    pub conn: ConnId,
    /// The request and its stamps.
    pub exchange: Exchange,
    /// How it ended.
    pub outcome: Outcome,
    /// `Te`.
    pub at: Nanos,
    /// The kernel's stamps; `None` if none were requested for this exchange.
    pub kernel: Option<KernelTimes>,
}

/// How an exchange ended (METHOD 1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A complete response that the plan counts as success.
    Ok(Response),
    /// A complete response that it does not.
    BadResponse(Response),
    /// No complete response can come any more.
    TransportError(ErrorKind),
    /// No complete response came within the timeout.
    TimedOut,
    /// The run ended first.
    InFlightAtEnd,
}

/// A complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Its status code.
    pub status: u16,
    /// `Tf`.
    pub first_byte_at: Nanos,
}

impl Outcome {
    /// Returns the outcome of an exchange that got a complete response. The only place where a
    /// response is judged.
    #[inline]
    pub(crate) fn of_response(response: Response, rule: SuccessRule) -> Outcome {
        match rule.accepts(response.status) {
            true => Outcome::Ok(response),
            false => Outcome::BadResponse(response),
        }
    }
}

/// The kernel's stamps of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTimes {
    /// `Ke`, if the kernel reported it.
    pub received_at: Option<Nanos>,
    /// `Kx`, if the kernel reported it and it belongs to this request.
    pub transmitted_at: Option<Nanos>,
}

impl KernelTimes {
    /// The stamps without a transmit stamp from before the request was sent.
    pub(crate) fn of(self, exchange: &Exchange) -> KernelTimes {
        let is_own = |at: &Nanos| *at >= exchange.sent_at;
        KernelTimes { transmitted_at: self.transmitted_at.filter(is_own), ..self }
    }
}

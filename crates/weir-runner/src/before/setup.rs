//! The setup of scenarios: its requests are sent before the load, and again during it if their
//! values do not last as long. They are in no figure but the count of requests on the wire.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use weir_http::h2::H2Client;
use weir_http::{BodyBudget, Http1, Interest, Multiplexed, Request, RequestTraits, SingleExchange};
use weir_io::{Clock, Endpoint};
use weir_result::{HttpPlan, Note};
use weir_tls::TlsConfig;

use crate::background::{Beside, End};
use crate::errors::NoServer;
use crate::link::Link;
use crate::lone_user::{KeptResponse, LoneRequest};
use crate::patience::{Hurry, Patience, text_of};
use crate::prepare::http;
use crate::prepare::list::{PreparedSetup, SETUP_BODY_MAX_BYTES};
use crate::prepare::load::PreparedLoad;

/// A setup that was made, and is made again while its values grow old.
#[derive(Debug)]
pub(crate) struct RunningSetup {
    /// Counts before the load.
    first: SetupCounts,
    /// The thread that makes it again; `None` if its values last.
    renewing: Option<Beside<SetupCounts>>,
    /// Ends its requests with the load.
    ending: Hurry,
}

/// The requests of a setup, and the way to its server.
#[derive(Debug)]
struct SetupClient {
    setup: Arc<PreparedSetup>,
    endpoint: Endpoint,
    source: Option<IpAddr>,
    tls: Option<TlsConfig>,
    version: HttpPlan,
    /// Longest time of one request, from connecting to the end of the response.
    limit: Duration,
    hurry: Hurry,
}

/// Counts of a setup.
#[derive(Debug, Default)]
pub(crate) struct SetupCounts {
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Times that it was made again.
    renewed: u64,
    /// Times that this failed, and the last reason.
    failed: u64,
    reason: String,
}

impl RunningSetup {
    /// Makes the setup of a load over a version of HTTP, and makes it again each time that its
    /// values have grown old; `None` if the load has none.
    ///
    /// # Errors
    /// When a request gets no response, or another one than it expects, or there is no thread.
    pub(crate) fn start(
        load: &PreparedLoad,
        version: HttpPlan,
        hurry: &Hurry,
    ) -> Result<Option<RunningSetup>> {
        let Some(setup) = &load.setup else { return Ok(None) };
        let tls = load.target.tls.as_ref();
        let mut client = SetupClient {
            setup: Arc::clone(setup),
            endpoint: load.target.endpoint.clone(),
            source: load.plan.connection.source(0),
            tls: tls.map(|tls| tls.offering(http::alpn(Some(version)))),
            version,
            limit: Duration::from_nanos(load.plan.load.timeout_ns),
            hurry: hurry.clone(),
        };
        let mut first = SetupCounts::default();
        let made = client.make(&mut first.sent);
        made.map_err(|error| NoServer(format!("{error:#}")))?;
        let ending = Hurry::default();
        client.hurry = ending.clone();
        let refresh_ns = client.setup.refresh_ns;
        let renew =
            |refresh_ns| Beside::start("setup", move |end| client.keep_fresh(refresh_ns, &end));
        Ok(Some(RunningSetup { first, renewing: refresh_ns.map(renew).transpose()?, ending }))
    }

    /// Ends it with the load, and returns its counts.
    pub(crate) fn finish(self) -> SetupCounts {
        self.ending.set();
        let renewed = self.renewing.and_then(Beside::finish).unwrap_or_default();
        SetupCounts { sent: self.first.sent + renewed.sent, ..renewed }
    }
}

impl SetupClient {
    /// Makes the setup: sends its requests, and gives their values to all users. Counts the
    /// requests in `sent`.
    ///
    /// # Errors
    /// When one gets no response, or another one than it expects.
    fn make(&self, sent: &mut u64) -> Result<()> {
        let mut user = self.setup.user();
        for (turn, request) in self.setup.turns() {
            let step = &request.step();
            let taken = user.take(step, turn, &mut |request| self.exchange(request, sent));
            taken.map_err(|error| {
                let why = self.why(&error);
                anyhow!("setup step {:?}: {why}", request.name)
            })?;
        }
        self.setup.share(self.setup.values_of(&user));
        Ok(())
    }

    /// Describes why a request failed.
    fn why(&self, error: &anyhow::Error) -> String {
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(ErrorKind::TimedOut) => {
                format!("no response within the timeout of {}", text_of(self.limit))
            }
            Some(ErrorKind::ConnectionRefused) => format!(
                "failed to connect to {}: connection refused; start the server, or check the \
                 address",
                self.endpoint
            ),
            _ => format!("{error:#}"),
        }
    }

    /// Sends a request on a connection of its own, and returns its response.
    fn exchange(&self, request: LoneRequest<'_>, sent: &mut u64) -> Result<KeptResponse> {
        let LoneRequest { bytes, is_head, .. } = request;
        let limit = Patience::new(self.limit, &self.hurry);
        let mut link = Link::open(self.source, &self.endpoint, limit)?;
        if let Some(config) = &self.tls {
            link.complete_handshake(config)?;
        }
        let budget = BodyBudget::of_bodies(2 * SETUP_BODY_MAX_BYTES, SETUP_BODY_MAX_BYTES + 1);
        let mut exchange = match self.version {
            HttpPlan::Http2(http2) => {
                let mut client = H2Client::new(1, &http::options(http2));
                client.set_interest(Interest::Body, &budget);
                let mut exchange = SingleExchange::http2(client, link.now().0);
                let scheme = if self.tls.is_some() { "https" } else { "http" };
                exchange.request(&Arc::new(Request::parse(bytes, scheme)?));
                exchange
            }
            _ => {
                let mut protocol = Http1::new(1);
                protocol.set_interest(Interest::Body, &budget);
                let traits = RequestTraits { head: is_head, closes: false };
                SingleExchange::http1(protocol, Arc::from(bytes), traits)
            }
        };
        let ended = link.exchange(&mut exchange, |_, _, _| false);
        *sent += u64::from(exchange.progress().is_sent);
        ended?;
        let response = exchange.response().ok_or_else(|| anyhow!("there is no response"))?;
        Ok(KeptResponse::of(&response))
    }

    /// Makes the setup again each time that its values have grown old, until the end has come.
    fn keep_fresh(&self, refresh_ns: u64, end: &End) -> SetupCounts {
        let clock = Clock::start();
        let mut counts = SetupCounts::default();
        loop {
            end.sleep_until(clock, clock.now().after(refresh_ns));
            if end.has_come() {
                return counts;
            }
            match self.make(&mut counts.sent) {
                Ok(()) => counts.renewed += 1,
                Err(_) if end.has_come() => return counts,
                Err(error) => {
                    counts.failed += 1;
                    counts.reason = format!("{error:#}");
                }
            }
        }
    }
}

impl SetupCounts {
    /// Returns a note if the setup could not be made again.
    pub(crate) fn note(&self) -> Option<Note> {
        let SetupCounts { renewed, failed, reason, .. } = self;
        let times = failed + renewed;
        let text = format!(
            "of {times} times that the setup was to be made again, {failed} failed: {reason}; its \
             last values were used on"
        );
        (*failed > 0).then(|| Note::new("setup_failed", text))
    }
}

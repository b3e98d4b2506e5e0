//! The setup of scenarios: its requests are sent before the load, and again during it if their
//! values do not last as long. They are in no figure but the count of requests on the wire.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use weir_http::h2::H2Client;
use weir_http::{
    BodyBudget, Http1, Interest, Multiplexed, ReceivedResponse, Request, RequestTraits,
    SingleExchange,
};
use weir_io::{Clock, Endpoint};
use weir_machine::sys;
use weir_requests::expect::{BodyDecoder, FirstBodies};
use weir_requests::list::{UserTexts, Values};
use weir_requests::scenario::{CookieJar, Redirect, RedirectHop, path_of};
use weir_result::{HttpPlan, Note};
use weir_text::setting::REDIRECTS;
use weir_tls::TlsConfig;

use crate::background::{Beside, End};
use crate::errors::NoServer;
use crate::link::Link;
use crate::patience::{Hurry, Patience, text_of};
use crate::prepare::http;
use crate::prepare::list::{PreparedSetup, SetupRequest};
use crate::prepare::load::PreparedLoad;

/// Greatest length of a response that is read, in bytes.
const BODY_MAX_BYTES: usize = 1 << 20;

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

/// The state of a setup between two of its requests.
#[derive(Default)]
struct SetupUser {
    jar: CookieJar,
    values: Vec<Option<Box<[u8]>>>,
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
        let mut user = SetupUser::default();
        for request in &self.setup.requests {
            let sent_request = self.send(request, &mut user, sent);
            sent_request.map_err(|error| {
                let why = self.why(&error);
                anyhow!("setup step {:?}: {why}", request.name)
            })?;
        }
        let values = user.values.into_iter().map(Option::unwrap_or_default);
        self.setup.shared.set(values.collect());
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

    /// Sends one request, follows its redirects, and keeps the cookies and values of its responses.
    fn send(&self, request: &SetupRequest, user: &mut SetupUser, sent: &mut u64) -> Result<()> {
        let PreparedSetup { origin, redirects, .. } = &*self.setup;
        let plain = self.rendered(request, user, &[]);
        let mut hop: Option<RedirectHop> = None;
        for hops in 0.. {
            let now_ns = sys::realtime_ns();
            let mut cookies = Vec::new();
            let path = hop.as_ref().map_or_else(|| path_of(&plain), RedirectHop::path);
            user.jar.write(path, origin.is_secure, now_ns, &mut cookies);
            let mut bytes = Vec::new();
            match &hop {
                None => bytes = self.rendered(request, user, &cookies),
                Some(hop) => hop.write(&plain, &cookies, &mut bytes),
            }
            let mut next = None;
            self.exchange(&bytes, request.is_head, sent, |response| {
                for (name, value) in response.fields() {
                    if name.eq_ignore_ascii_case(b"set-cookie") {
                        user.jar.store(value, path_of(&bytes), origin, now_ns);
                    }
                }
                let redirect = Redirect::of(response, &bytes, origin).filter(|_| *redirects > 0);
                match redirect {
                    None => return user.read(request, response),
                    Some(Redirect::Here(hop)) if hops < *redirects => next = Some(hop),
                    Some(Redirect::Here(_)) => bail!("it has more redirects ({REDIRECTS})"),
                    Some(Redirect::Elsewhere(_)) => bail!("it redirects to another origin"),
                }
                Ok(())
            })?;
            let Some(mut next) = next else { break };
            // What has become a GET stays one.
            next.is_get |= hop.is_some_and(|before| before.is_get);
            hop = Some(next);
        }
        Ok(())
    }

    /// Returns the bytes of a request with these cookies.
    fn rendered(&self, request: &SetupRequest, user: &SetupUser, cookies: &[u8]) -> Vec<u8> {
        let PreparedSetup { seed, row, .. } = &*self.setup;
        let texts = UserTexts { captured: &user.values, cookies, ..UserTexts::default() };
        let mut bytes = Vec::new();
        let values = Values { seed: *seed, index: 0, row, user: Some(&texts) };
        request.template.render(values, &mut bytes);
        bytes
    }

    /// Sends a request on a connection of its own, and passes its response to `read`.
    fn exchange(
        &self,
        bytes: &[u8],
        is_head: bool,
        sent: &mut u64,
        read: impl FnOnce(&ReceivedResponse<'_>) -> Result<()>,
    ) -> Result<()> {
        let limit = Patience::new(self.limit, &self.hurry);
        let mut link = Link::open(self.source, &self.endpoint, limit)?;
        if let Some(config) = &self.tls {
            link.complete_handshake(config)?;
        }
        let budget = BodyBudget::of_bodies(2 * BODY_MAX_BYTES, BODY_MAX_BYTES + 1);
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
        let response = exchange.response();
        read(&response.ok_or_else(|| anyhow!("there is no response"))?)
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

impl SetupUser {
    /// Checks the response to a request, and keeps the values that it captures.
    fn read(&mut self, request: &SetupRequest, response: &ReceivedResponse<'_>) -> Result<()> {
        let mut decoder = BodyDecoder::new(BODY_MAX_BYTES);
        let expectations = &request.expectations;
        let first = FirstBodies::new(1);
        if let Err(miss) = expectations.check(response, &mut decoder, &first, 0) {
            let example = expectations.example(miss, response, &mut decoder);
            bail!("status {}, expected {}", example.status, example.expected);
        }
        for rule in &request.captures {
            let value = rule.capture(response, &self.jar, &mut decoder);
            let value = value
                .map_err(|_| anyhow!("status {}, it has no {}", response.status, rule.source))?;
            self.values.resize(self.values.len().max(rule.value + 1), None);
            self.values[rule.value] = Some(value);
        }
        Ok(())
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

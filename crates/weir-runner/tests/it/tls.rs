//! TLS in the engine: rustls on both sides, in virtual time. Times, faults and the network follow
//! from the seed, and so do all keys, nonces and tickets: equal seeds give equal bytes. The key of
//! the server is of Ed25519, whose signatures need no random numbers.
//!
//! These simulations are here because the tests of weir-engine are built without cryptography for
//! the instruction counts (decision 0031).

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use weir_io::Nanos;
use weir_result::{Closer, ConnectionPlan, FailureCause, Plan, TlsCounts};
use weir_sim::{Law, Link, Seed, Service, ServiceFactory, World};
use weir_tls::{SeededRandom, TlsConfig, TlsOptions};

use crate::setup::{
    MS, Run, US, check_all, check_exact, closed, document, job, open, run_job, true_response,
};

/// Begin of an Ed25519 key in PKCS #8 (RFC 8410 §7), before its 32 secret bytes.
const ED25519_PKCS8: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The client's time for a step of a handshake, in nanoseconds.
const STEP_NS: u64 = 250 * US;

/// Habits of a server.
#[derive(Clone, Copy, Debug)]
struct Habits {
    version: &'static SupportedProtocolVersion,
    service_ns: u64,
    /// True if it resumes sessions.
    resumes: bool,
    ending: Ending,
}

/// The server's way to end connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Never,
    /// After each response, with a close_notify.
    InOrder,
    /// In the handshake, by a reset.
    ResetInHandshake,
}

const USUAL: Habits =
    Habits { version: &version::TLS13, service_ns: MS, resumes: true, ending: Ending::Never };

/// Records of all servers.
#[derive(Clone, Debug, Default)]
struct Seen {
    counts: Counts,
    /// All bytes received and sent, in the order of time.
    wire: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    accepted: u64,
    resumed: u64,
    /// Connections that the client closed with a close_notify.
    closed_in_order: u64,
}

/// The server's side of one connection.
#[derive(Debug)]
struct TlsService {
    habits: Habits,
    seen: Arc<Mutex<Seen>>,
    conn: ServerConnection,
    plain: Vec<u8>,
    is_closed: bool,
}

impl TlsService {
    /// Returns a factory of servers, and their records.
    fn factory(habits: Habits, seed: u64) -> (ServiceFactory, Arc<Mutex<Seen>>) {
        let provider = SeededRandom::provider(seed);
        let mut key = ED25519_PKCS8.to_vec();
        key.resize(ED25519_PKCS8.len() + 32, 0);
        let secret = provider.secure_random.fill(&mut key[ED25519_PKCS8.len()..]);
        secret.expect("seeded numbers do not end");
        let key = PrivatePkcs8KeyDer::from(key);
        let pair = KeyPair::try_from(&key).expect("any secret is a key");
        let params = CertificateParams::new(["sim".to_owned()]).expect("a name");
        let certificate = params.self_signed(&pair).expect("parameters are complete");
        let builder = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[habits.version])
            .expect("the provider has ciphers for it")
            .with_no_client_auth();
        let config = builder.with_single_cert(vec![certificate.der().clone()], key.into());
        let mut config = config.expect("the key is of a known kind");
        config.time_provider = SeededRandom::clock();
        if !habits.resumes {
            config.session_storage = Arc::new(NoServerSessionStorage {});
        }
        let config = Arc::new(config);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let make = move || -> Box<dyn Service> {
            Box::new(TlsService {
                habits,
                seen: Arc::clone(&shared),
                conn: ServerConnection::new(Arc::clone(&config)).expect("no limit is set"),
                plain: Vec::new(),
                is_closed: false,
            })
        };
        (ServiceFactory::new(make), seen)
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.seen.lock().expect("no server panicked").counts);
    }

    fn record(&self, bytes: &[u8]) {
        self.seen.lock().expect("no server panicked").wire.extend_from_slice(bytes);
    }

    fn output(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.conn.wants_write() {
            self.conn.write_tls(&mut bytes).expect("a Vec takes all");
        }
        self.record(&bytes);
        bytes
    }
}

impl Service for TlsService {
    fn accepted(&mut self, link: &mut Link<'_>) {
        self.count(|counts| counts.accepted += 1);
        if self.habits.ending == Ending::ResetInHandshake {
            link.wake(MS, 0);
        }
    }

    fn received(&mut self, mut bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        if self.habits.ending == Ending::ResetInHandshake {
            return;
        }
        self.record(bytes);
        let was_handshaking = self.conn.is_handshaking();
        while !bytes.is_empty() {
            self.conn.read_tls(&mut bytes).expect("a slice can be read");
            let state = self.conn.process_new_packets().expect("the client speaks TLS");
            if state.peer_has_closed() && !self.is_closed {
                self.is_closed = true;
                self.count(|counts| counts.closed_in_order += 1);
            }
            // Until the client closes, the end of the data is an error, which is expected.
            let _ = self.conn.reader().read_to_end(&mut self.plain);
        }
        if was_handshaking && !self.conn.is_handshaking() {
            let kind = self.conn.handshake_kind();
            let is_resumed = kind == Some(rustls::HandshakeKind::Resumed);
            self.count(|counts| counts.resumed += u64::from(is_resumed));
        }
        let output = self.output();
        if !output.is_empty() {
            link.send(&output);
        }
        while let Some(at) = self.plain.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            self.plain.drain(..at + 4);
            let request = link.request(None, sent_at) as u64;
            link.wake(self.habits.service_ns, request);
        }
    }

    fn woken(&mut self, token: u64, link: &mut Link<'_>) {
        if self.habits.ending == Ending::ResetInHandshake {
            return link.reset();
        }
        self.conn.writer().write_all(RESPONSE).expect("there is room");
        if self.habits.ending == Ending::InOrder {
            self.conn.send_close_notify();
        }
        let request = usize::try_from(token).expect("it was a number of a request");
        let output = self.output();
        link.respond(request, 200, &output);
    }
}

/// Runs a plan over TLS; returns the counts of its servers, too.
fn run(habits: Habits, world: World, plan: &Plan, resume: bool) -> (Run, Counts) {
    let (run, seen) = run_seen(habits, world, plan, resume);
    (run, seen.counts)
}

/// Runs a plan over TLS; returns the records of its servers, too.
fn run_seen(habits: Habits, world: World, plan: &Plan, resume: bool) -> (Run, Seen) {
    let Seed(seed) = world.seed;
    let (service, seen) = TlsService::factory(habits, !seed);
    let world = World { service: Some(service), ..world };
    let options = TlsOptions { verify: false, resume, ..TlsOptions::new("sim") };
    let tls = TlsConfig::seeded(&options, seed).expect("the options are right");
    let mut job = job(plan);
    job.target.tls = Some(tls);
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let seen = seen.lock().expect("no server panicked").clone();
    (run, seen)
}

fn tls(run: &Run) -> &TlsCounts {
    run.measured.tls.as_ref().expect("there was TLS")
}

fn renewing(plan: Plan, connection: ConnectionPlan) -> Plan {
    Plan { connection, ..plan }
}

fn after_requests(plan: Plan, requests: u32) -> Plan {
    renewing(plan, ConnectionPlan { requests: Some(requests), ..ConnectionPlan::default() })
}

#[test]
fn requests_over_tls_are_measured_exactly() {
    for version in [&version::TLS12, &version::TLS13] {
        let plan = open(500, 1, 4);
        let (run, counts) = run(Habits { version, ..USUAL }, World::default(), &plan, false);
        assert_eq!(run.measured.results.outcomes.ok, 500, "{version:?}");
        check_exact("response", &run.measured.results.response_time.ok, true_response(&run, &plan));
        check_all("client's lag", &run.measured.sched_lag, 500, 0);
        let tls = tls(&run);
        assert_eq!((tls.full, tls.resumed, tls.in_window), (4, 0, 0), "{tls:?}");
        assert_eq!((tls.negotiated.len(), tls.certificates.len()), (1, 1), "{tls:?}");
        assert_eq!(tls.certificates[0].names, ["sim"]);
        assert_eq!(counts.accepted, 4, "{counts:?}");
    }
}

/// Handshakes, tickets and records, with sessions that are resumed.
#[test]
fn equal_seeds_give_equal_bytes_and_documents() {
    for version in [&version::TLS12, &version::TLS13] {
        let plan = after_requests(open(100, 1, 4), 5);
        let seeded = |seed| {
            let world = World { seed: Seed(seed), ..World::default() };
            let (run, seen) = run_seen(Habits { version, ..USUAL }, world, &plan, true);
            assert!(tls(&run).resumed > 10, "{version:?}: {:?}", tls(&run));
            (document(&plan, run.measured), seen.wire)
        };
        let (first, bytes) = seeded(7);
        let (again, same) = seeded(7);
        let (_, other) = seeded(8);
        assert!(bytes == same, "{version:?}: the bytes differ");
        assert_eq!(first, again, "{version:?}");
        assert!(bytes != other, "{version:?}: the bytes do not depend on the seed");
        assert_eq!(bytes.len(), other.len(), "{version:?}: a length depends on the seed");
    }
}

#[test]
fn renewed_connections_resume_their_own_sessions_if_that_is_wanted() {
    for version in [&version::TLS12, &version::TLS13] {
        for (resume, resumes) in [(false, true), (true, true), (true, false)] {
            let plan = after_requests(open(100, 1, 4), 5);
            let habits = Habits { version, resumes, ..USUAL };
            let (run, counts) = run(habits, World::default(), &plan, resume);
            let what = format!("{version:?}, {resume}, {resumes}: {:?}", tls(&run));
            assert_eq!(run.measured.results.outcomes.ok, 100, "{what}");
            let TlsCounts { full, resumed, not_resumed, .. } = *tls(&run);
            // The end of the run may come before the server's end of a handshake.
            assert!((resumed.saturating_sub(4)..=resumed).contains(&counts.resumed), "{what}");
            let later = full + resumed - 4;
            assert!(later > 10 && full + resumed <= counts.accepted, "{what}");
            let expected = match (resume, resumes) {
                (true, true) => (later, 0),
                (true, false) => (0, later),
                (false, _) => (0, 0),
            };
            assert_eq!((resumed, not_resumed), expected, "{what}");
        }
    }
}

/// RFC 8446 §6.1: "Each party MUST send a "close_notify" alert before closing its write side".
#[test]
fn every_connection_that_is_closed_in_order_is_announced() {
    for version in [&version::TLS12, &version::TLS13] {
        let plan = after_requests(closed(3), 50);
        let (run, counts) = run(Habits { version, ..USUAL }, World::default(), &plan, false);
        // The simulation ends with the run: the last closes are on their way.
        let renewed = run.measured.connections.renewed;
        assert!(renewed > 10, "{:?}", run.measured.connections);
        assert!((renewed - 3..=renewed).contains(&counts.closed_in_order), "{renewed}, {counts:?}");

        // The server announces its end, and the client answers.
        let habits = Habits { version, ending: Ending::InOrder, ..USUAL };
        let plan = closed(3).with_load(|load| {
            load.requests = Some(30);
            load.duration_ns = None;
        });
        let (run, counts) = self::run(habits, World::default(), &plan, false);
        let connections = &run.measured.connections;
        assert_eq!((run.measured.results.outcomes.ok, connections.failures.len()), (30, 0));
        let closed = connections.closed_by_peer;
        assert!(closed >= 27, "{connections:?}");
        assert!((closed - 3..=closed).contains(&counts.closed_in_order), "{closed}, {counts:?}");
    }
}

#[test]
fn a_reset_in_the_handshake_is_a_failure_of_tls() {
    let habits = Habits { ending: Ending::ResetInHandshake, ..USUAL };
    let (run, _) = run(habits, World::default(), &closed(1), false);
    let causes = run.measured.connections.failures.keys().map(|kind| kind.cause);
    assert_eq!(causes.collect::<Vec<_>>(), [FailureCause::Tls("reset_in_handshake")]);
}

/// Renewals of many connections at once delay a slot by one step of a handshake, however many
/// steps are ready together.
#[test]
fn due_slots_are_sent_between_steps_of_handshakes() {
    let mut world = World::default();
    world.network.connect = Law::Fixed(100 * US);
    world.client.handshake_ns = STEP_NS;
    let connection = ConnectionPlan { lifetime_ns: Some(200 * MS), ..ConnectionPlan::default() };
    let plan = renewing(open(2_000, 1, 60), connection);
    let (run, _) = run(USUAL, world, &plan, false);
    let measured = &run.measured;
    assert_eq!(measured.results.outcomes.ok, 2_000, "{:?}", measured.results.outcomes);
    assert!(tls(&run).in_window >= 200, "{:?}", tls(&run));
    let lag = measured.sched_lag.exact();
    assert!((1..=STEP_NS).contains(&lag.max_ns), "a slot was {} ns late", lag.max_ns);
}

/// A closed loop, too, sends on each connection as soon as its handshake has ended, and not after
/// all other handshakes.
#[test]
fn a_closed_loop_sends_between_steps_of_handshakes() {
    let mut world = World::default();
    world.client.handshake_ns = STEP_NS;
    let connection = ConnectionPlan { close: Some(Closer::Client), ..ConnectionPlan::default() };
    let plan = renewing(closed(40), connection).with_load(|load| {
        load.requests = Some(120);
        load.duration_ns = None;
    });
    let (run, _) = run(USUAL, world, &plan, false);
    assert_eq!(run.measured.results.outcomes.ok, 120);
    // The requests of the first sockets wait for the start. All others follow their handshakes.
    let sent: Vec<Nanos> = run.truth.requests.iter().skip(40).map(|one| one.sent_at).collect();
    let together = sent.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(together <= 2, "{together} of {} requests left together", sent.len());
}

//! Connections that cannot be opened, that end, or that are partitioned: their description in the
//! report, and that none of them counts as an error which it is not.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_machine::sys;
use weir_result::FailurePhase::{Connect, Idle, InUse};

use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::wait::let_pass;
use crate::support::weir::{self, Ran, WEIR};

/// A port that refuses: the kernel has assigned it to the client's side of a connection, so no
/// other socket gets it, and none listens on it. The URL has an address of its own: a connect from
/// 127.0.0.1 to itself might meet its own port, and succeed.
struct Refusing {
    _listener: TcpListener,
    taken: TcpStream,
}

impl Refusing {
    fn new() -> Refusing {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let taken = TcpStream::connect(address).expect("it listens");
        Refusing { _listener: listener, taken }
    }

    fn url(&self) -> String {
        let address = self.taken.local_addr().expect("it is connected");
        format!("http://127.0.0.9:{}/", address.port())
    }
}

/// Checks that a refused port never looks like a fast server.
fn assert_refused(ran: &Ran) {
    assert_eq!(ran.code, 1, "{ran}");
    let document = &ran.document;
    assert_eq!(document.connections.open_at_t0, 0, "{ran}");
    assert_eq!(document.accounting.sent.total, 0, "{ran}");
    assert_eq!(document.results.outcomes.never_sent, document.results.planned, "{ran}");
    assert!(ran.failures(Connect, "ECONNREFUSED") >= 4, "{ran}");
    assert_eq!(document.results.response_time.ok.count, 0, "{ran}");
    ran.assert_says("FAILED: no connection: connection refused");
    ran.assert_says("0 of 4 open: ECONNREFUSED (connection refused)");
    assert!(!ran.text.contains("mean"), "{ran}");
}

#[test]
fn a_refused_port_ends_the_run_before_its_warm_up() {
    let port = Refusing::new();
    on_an_engine(|engine| {
        for flags in ["", "--no-preflight", "-X POST", "-R 100", "-n 100"] {
            let ran = weir::load(engine, &format!("-c4 -t2 -d300s {flags}"), &[&port.url()]);
            assert_refused(&ran);
            assert!(!ran.document.run.interrupted, "{ran}");
            let phases = &ran.document.phases;
            assert!(phases.iter().all(|one| (one.t0_ns, one.t1_ns) == (0, 0)), "{ran}");
            let address = &ran.document.plan.target.address;
            let expected = format!(
                "error: cannot connect to {address}: connection refused; start the server, or \
                 wait for it with --wait-for-server 30s\n"
            );
            assert_eq!(ran.stderr, expected, "{ran}");
        }
    });
}

/// Of several destinations, one that accepts is enough.
#[test]
fn a_run_needs_one_connection() {
    let port = Refusing::new();
    let server = Raw::answering(OK);
    let refusing = port.url();
    let refusing = refusing.trim_start_matches("http://").trim_end_matches('/');
    let to = format!("{refusing},{}", server.authority());
    let ran = weir::load(
        "epoll",
        "-c4 -t1 -R 40 -d500ms --warmup 0",
        &["--connect-to", &to, "http://any.host/"],
    );
    ran.assert_all_ok();
    assert!(ran.failures(Connect, "ECONNREFUSED") >= 2, "{ran}");
    assert_eq!(server.finish(), ran.document.accounting.sent.total, "{ran}");
}

#[test]
fn connections_that_fail_are_tried_again_without_a_storm() {
    let port = Refusing::new();
    let server = Raw::answering(OK);
    let refusing = port.url();
    let refusing = refusing.trim_start_matches("http://").trim_end_matches('/');
    let to = format!("{},{refusing}", server.authority());
    on_an_engine(|engine| {
        let flags = "-c8 -t1 -R 100 -d1s --warmup 0 --no-preflight --connect-to";
        let ran = weir::load(engine, flags, &[&to, "http://any.host/"]);
        // Back-off doubles from 10 ms, so a second contains at most seven attempts of each.
        assert!(ran.failures(Connect, "ECONNREFUSED") <= 4 * 8, "{ran}");
    });
}

#[test]
fn fewer_descriptors_than_connections_are_foreseen() {
    let server = Served::plainly();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", WEIR, "-c200", "-t2", &server.url()]);
    let output = Process::start(&mut limited).wait();
    assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{output:?}");
    let expected = "200 connections need 108 descriptors in each thread, and the limit is 64";
    for part in [expected, "ulimit -n 108", "(-t)", "(-c)"] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn remainders_are_opened_and_partitioned() {
    on_an_engine(|engine| {
        let deals: [(&str, &[u32]); 3] =
            [("-c7 -t2", &[4, 3]), ("-c10 -t4", &[3, 3, 2, 2]), ("-c3 -t5", &[1, 1, 1])];
        for (deal, shares) in deals {
            let server = Served::plainly();
            let flags = format!("{deal} -n 100 --no-preflight");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            let partitioned: Vec<u32> =
                ran.document.phases.iter().map(|one| one.connections).collect();
            assert_eq!(partitioned, shares, "{ran}");
            let all = u64::from(shares.iter().sum::<u32>());
            assert_eq!(ran.document.connections.open_at_t0, all, "{ran}");
            let stats = server.stop();
            assert_eq!((stats.accepted, stats.requests.received), (all, 100), "{ran}");
        }
    });
}

#[test]
fn more_threads_than_connections_are_noted() {
    let server = Served::plainly();
    on_an_engine(|engine| {
        let ran = weir::load(engine, "-c3 -t5 -n 10", &[&server.url()]);
        ran.assert_says("5 threads for 3 connections: each thread needs one; 3 threads run");
    });
}

#[test]
fn threads_are_pinned_on_request_only() {
    let server = Served::plainly();
    let usable = sys::usable_cpus().expect("affinity");
    let last = *usable.last().expect("it runs somewhere");
    on_an_engine(|engine| {
        let cpus = |more: &str| {
            let flags = format!("-c4 -t2 -n 10 {more}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.document.phases.iter().map(|one| one.cpu).collect::<Vec<_>>()
        };
        assert_eq!(cpus(""), [None, None]);
        assert_eq!(cpus("--pin"), [Some(usable[0]), Some(usable[1 % usable.len()])]);
        // One CPU for both, as requested.
        assert_eq!(cpus(&format!("--pin {last}")), [Some(last), Some(last)]);
    });
}

#[test]
fn a_server_that_announces_the_close_causes_no_error() {
    on_an_engine(|engine| {
        for load in ["", "-R 500"] {
            let server = Served::with(|behaviour| behaviour.requests_per_connection = Some(3));
            let flags = format!("-c4 -t2 -n 100 {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert_eq!(ran.document.results.outcomes.ok, 100, "{ran}");
            assert_eq!(
                server.stop().requests.received,
                ran.document.accounting.sent.total,
                "{ran}"
            );
            assert!(ran.connects() >= 34, "{ran}");
            assert!(ran.document.connections.closed_by_peer >= 30, "{ran}");
            ran.assert_says("closed by the server:");
        }
    });
}

#[test]
fn a_server_that_closes_every_connection_causes_no_error() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| behaviour.close = true);
        let ran = weir::load(engine, "-c5 -t2 -n 60", &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert!(ran.connects() >= 60, "{ran}");
        assert_eq!(server.stop().requests.received, 61, "{ran}");
    });
}

#[test]
fn a_users_connection_close_renews_each_connection() {
    on_an_engine(|engine| {
        for load in ["", "-R 300"] {
            let server = Served::plainly();
            let flags = format!("-c5 -t2 -n 60 --no-preflight {load}");
            let ran = weir::load(engine, &flags, &["-H", "Connection: close", &server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert!(ran.connects() >= 60, "{ran}");
            let stats = server.stop();
            assert_eq!((stats.requests.received, stats.requests.answered), (60, 60), "{ran}");
        }
    });
}

/// A server that closes each connection after its response without announcing it. It counts the
/// requests that crossed the close: only those may be errors.
fn silently_closing() -> (Raw, Arc<AtomicU64>) {
    let crossed = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&crossed);
    let server = Raw::start(move |peer| {
        if peer.read_request()?.is_some() {
            peer.write(OK)?;
            peer.end_stream()?;
            while peer.read_request()?.is_some() {
                theirs.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    (server, crossed)
}

#[test]
fn connections_closed_while_idle_are_renewed_without_an_error() {
    on_an_engine(|engine| {
        let (server, crossed) = silently_closing();
        let flags = "-c4 -t2 -R 40 -d500ms --warmup 0 --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let requests = server.finish();
        let crossed = crossed.load(Ordering::Relaxed);
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!(results.planned, 20, "{ran}");
        assert_eq!(results.outcomes.transport_error, crossed, "{ran}");
        assert_eq!(results.outcomes.ok, 20 - crossed, "{ran}");
        assert_eq!(accounting.sent.total, requests, "{ran}");
        assert_eq!(ran.failures(Idle, "closed"), 0, "{ran}");
        assert_eq!(ran.failures(InUse, "closed"), crossed, "{ran}");
        assert!(ran.document.connections.closed_by_peer >= 10, "{ran}");
    });
}

#[test]
fn idle_timeouts_of_a_server_cause_no_error() {
    on_an_engine(|engine| {
        let idle = Duration::from_millis(50);
        let server = Served::with(|behaviour| behaviour.idle_timeout = Some(idle));
        // The connections are idle for most of a second between their two requests.
        let flags = "-c2 -t1 -R 2 -d2s --warmup 0 --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let stats = server.stop();
        let results = &ran.document.results;
        // A request that crossed the close was never read, and is the only kind of error.
        assert_eq!((results.planned, results.outcomes.ok), (4, stats.requests.answered), "{ran}");
        assert_eq!(results.outcomes.transport_error, 4 - stats.requests.received, "{ran}");
        assert_eq!(ran.failures(Idle, "closed"), 0, "{ran}");
        assert!(ran.document.connections.closed_by_peer >= 2, "{ran}");
    });
}

#[test]
fn every_injected_reset_is_counted_once() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| {
            behaviour.faults = vec!["reset:1/10".parse().expect("a fault")];
        });
        let ran = weir::load(engine, "-c4 -t2 -n 200 --no-preflight", &[&server.url()]);
        let requests = server.stop().requests;
        let results = &ran.document.results;
        assert_eq!((requests.received, requests.reset), (200, 20), "{ran}");
        assert_eq!((results.outcomes.ok, results.outcomes.transport_error), (180, 20), "{ran}");
        assert_eq!(results.errors.get("ECONNRESET"), Some(&20), "{ran}");
        assert_eq!(ran.failures(InUse, "ECONNRESET"), 20, "{ran}");
        ran.assert_says("ECONNRESET (connection reset by peer): 20");
    });
}

#[test]
fn answers_cut_short_are_errors_of_their_own_kind() {
    on_an_engine(|engine| {
        for (fault, kind) in
            [("close:1/10", "closed_before_answer"), ("partial:1/10", "closed_in_answer")]
        {
            let server = Served::with(|behaviour| {
                behaviour.faults = vec![fault.parse().expect("a fault")];
            });
            let ran = weir::load(engine, "-c4 -t2 -n 100 --no-preflight", &[&server.url()]);
            let results = &ran.document.results;
            assert_eq!(
                (results.outcomes.ok, results.outcomes.transport_error),
                (90, 10),
                "{fault}: {ran}"
            );
            assert_eq!(results.errors.get(kind), Some(&10), "{fault}: {ran}");
            assert_eq!(server.stop().requests.received, 100, "{fault}: {ran}");
        }
    });
}

#[test]
fn connections_to_unix_sockets_carry_the_load() {
    let directory = crate::support::directory::Directory::new();
    on_an_engine(|engine| {
        let path = directory.file(&format!("{engine}.socket"));
        let server = Served::at(weir_io::Endpoint::Unix(path.clone().into()), |_| {});
        let ran = weir::load(engine, "-c4 -t2 -n 100", &["--unix", &path, "http://any.host/"]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert_eq!(ran.document.plan.target.address, format!("unix:{path}"), "{ran}");
        assert_eq!(server.stop().requests.received, ran.document.accounting.sent.total, "{ran}");
    });
}

#[test]
fn connections_to_ipv6_addresses_carry_the_load() {
    on_an_engine(|engine| {
        let loopback = weir_io::Endpoint::Tcp(([0, 0, 0, 0, 0, 0, 0, 1], 0).into());
        let server = Served::at(loopback, |_| {});
        assert!(server.url().starts_with("http://[::1]:"));
        let ran = weir::load(engine, "-c4 -t2 -n 100", &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert_eq!(server.stop().requests.received, ran.document.accounting.sent.total, "{ran}");
    });
}

#[test]
fn the_first_answer_may_take_its_time_without_holding_up_the_others() {
    on_an_engine(|engine| {
        // A server that is slow to respond does not make a connect slow.
        let server = Raw::start(|peer| -> io::Result<()> {
            while peer.read_request()?.is_some() {
                if peer.number == 0 {
                    let_pass(Duration::from_millis(300));
                }
                peer.write(OK)?;
            }
            Ok(())
        });
        let ran = weir::load(engine, "-c4 -t1 -n 40 --no-preflight", &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        let slowest = ran.response_time().max_ns.expect("there are answers");
        assert!(slowest >= 300_000_000, "{ran}");
        assert_eq!(server.finish(), 40, "{ran}");
    });
}

//! `-c A..B` and `--in-flight N`: connections that are opened while the load runs, and requests
//! that are shed. Servers hold their responses until enough requests came, or long enough for any
//! client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::secure::{Authority, Secure};
use crate::support::served::Served;
use crate::support::wait::let_pass;
use crate::support::weir::{self, weir};

/// A server that holds its responses until `held` requests have arrived.
fn holding(held: u64) -> Raw {
    let count = AtomicU64::new(0);
    Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            count.fetch_add(1, Ordering::SeqCst);
            while count.load(Ordering::SeqCst) < held {
                let_pass(Duration::from_millis(1));
            }
            peer.write(OK.as_bytes())?;
        }
        Ok(())
    })
}

#[test]
fn a_request_that_finds_no_connection_opens_one() {
    on_an_engine(|engine| {
        // Twelve requests are in flight at once, though two connections were open before.
        let server = holding(12);
        let flags = "-c 2..100 -t2 -R 100 -d 300ms --warmup 0 --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        let connections = &ran.document.connections;
        assert_eq!(connections.requested, 2, "{ran}");
        assert!((10..=98).contains(&connections.grown), "{ran}");
        assert_eq!(connections.open_at_end, 2 + connections.grown, "{ran}");
        let opened = ran.document.latency.connect_grown.as_ref().map(|grown| grown.ok.count);
        assert_eq!(opened, Some(connections.grown), "{ran}");
        ran.assert_says("2 to 100 connections");
        ran.assert_says("2 at the start");
        assert_eq!(server.accepted(), 2 + connections.grown, "{ran}");
    });
}

/// However late the client is: of the requests due at once, five are sent.
#[test]
fn requests_beyond_the_limit_are_shed() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        let url = format!("{}?delay=400ms", server.url());
        let flags = "-c 10 -t2 --in-flight 5 -R 200 -d 300ms --warmup 0 --no-preflight \
                     --drain 60s -T 60s";
        let ran = weir::load(engine, flags, &[&url]);
        let results = &ran.document.results;
        assert_eq!(
            (results.planned, results.outcomes.never_sent),
            (60, results.outcomes.shed),
            "{ran}"
        );
        assert_eq!(results.outcomes.ok + results.outcomes.shed, 60, "{ran}");
        assert!(results.outcomes.ok >= 5 && results.outcomes.shed > 0, "{ran}");
        ran.assert_says("never sent: due while as many requests were in flight as allowed");
        ran.assert_says("at most 5 in flight");
    });
}

#[test]
fn connections_grow_with_tls_streams_and_renewals() {
    let authority = Authority::new();
    let secure = Secure::start(&authority.sign_loopback(), |peer| {
        while peer.read_request()?.is_some() {
            let_pass(Duration::from_millis(40));
            peer.write(OK)?;
        }
        Ok(())
    });
    let plain = Served::plainly();
    let slow = format!("{}?delay=40ms", plain.url());
    for (flags, url) in [
        ("-k", &secure.url()),
        ("--http 2 --streams 2", &slow),
        ("--requests-per-connection 3", &slow),
    ] {
        let flags = format!("-c 1..200 -R 200 -d 200ms --warmup 0 --no-preflight {flags}");
        let ran = weir::load("epoll", &flags, &[url]);
        assert_eq!(ran.document.results.outcomes.ok, 40, "{flags}\n{ran}");
        assert!(ran.document.connections.grown > 0, "{flags}\n{ran}");
    }
}

#[test]
fn loads_that_cannot_grow_or_shed_are_refused() {
    for (words, part) in [
        ("-c 2..9", "-c 2..9 needs a rate"),
        ("-c 9..2 -R 5", "give the smaller number first"),
        ("-c 0..2 -R 5", "as in 10..1000"),
        ("--in-flight 5", "--in-flight needs a rate"),
        ("-R 5 -t4 --in-flight 3", "raise it to 4, or use -t 3"),
        ("-R 5 -d 0 --in-flight 30", "give -d a length"),
        ("-R 5 -s /dev/null --in-flight 30", "cannot be used with --script"),
        ("-R 5M -d 10m --in-flight 30", "at most 1000000000 can be shed: lower -R or shorten -d"),
        ("search p99<1s -c 2..9", "give -c one number"),
        ("search p99<1s --in-flight 9", "give their number by -c"),
    ] {
        let output = weir(words, &["http://127.0.0.1:1/"]);
        assert_eq!(output.code(), 2, "{words}: {}", output.stderr);
        assert!(output.stderr.contains(part), "{words}: {}", output.stderr);
    }
}

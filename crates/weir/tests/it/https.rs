//! https: against servers that use rustls without weir's own TLS code, with certificates made for
//! the test. The tests cover trust, the errors without it, and that the counts add up.

use std::fs;

use weir_machine::sys;
use weir_result::FailurePhase;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::secure::{Authority, Secure};
use crate::support::weir::{self, Ran, sum_ns, weir};
use crate::support::wrk::weir_reporting_as;
use crate::support::wrk_report::Report;

/// Handshakes in the document.
fn handshakes(ran: &Ran) -> u64 {
    ran.document.latency.tls_handshake.as_ref().map_or(0, |metric| metric.headline().count)
}

/// Checks that every request succeeded, on connections with one handshake each. The preflight may
/// have made one more.
#[track_caller]
fn assert_sound(ran: &Ran, server: &Secure) {
    ran.assert_all_ok();
    ran.assert_no_failure();
    let results = &ran.document.results;
    let accounting = &ran.document.accounting;
    let connections = &ran.document.connections;
    assert_eq!(server.raw.requests(), accounting.sent.total, "{ran}");
    assert_eq!(handshakes(ran), ran.connects(), "{ran}");
    assert_eq!(server.handshakes(), connections.connects + accounting.sent.preflight, "{ran}");
    let answered = results.status.iter().collect::<Vec<_>>();
    assert_eq!(answered.len(), 1, "{ran}");
    let times = ran.document.latency.tls_handshake.as_ref().expect("there were some");
    assert!(sum_ns(times) > 0, "{ran}");
}

#[test]
fn https_works_with_servers_that_the_file_certifies() {
    let authority = Authority::new();
    on_an_engine(|engine| {
        for load in ["-n 500", "-R 1000 -d300ms --warmup 100ms", "-d200ms --warmup 0 --pipeline 8"]
        {
            let server = Secure::answering(&authority.sign_loopback(), OK);
            let flags = format!("-c4 -t2 {load} --cacert");
            let ran = weir::load(engine, &flags, &[&authority.file(), &server.url()]);
            assert_sound(&ran, &server);
            let target = &ran.document.plan.target;
            assert_eq!(target.scheme, "https", "{ran}");
            assert_eq!(ran.connects(), 4, "{ran}");
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            match load.split(' ').next() {
                Some("-n") => assert_eq!(results.outcomes.ok, 500, "{ran}"),
                Some("-R") => assert_eq!((results.outcomes.ok, accounting.sent.warmup), (300, 100)),
                _ => assert!(results.outcomes.ok > 0, "{ran}"),
            }
        }
    });
}

#[test]
fn insecure_takes_any_certificate() {
    let authority = Authority::new();
    for identity in [
        authority.sign_loopback(),
        authority.sign(&["elsewhere.test"], 2000..2100),
        authority.sign(&["127.0.0.1"], 2000..2001),
    ] {
        let server = Secure::answering(&identity, OK);
        let ran = weir::load("epoll", "-n 50 -c2 --insecure", &[&server.url()]);
        assert_sound(&ran, &server);
    }
}

/// Checks that a server that makes a load impossible is reported once, before it, with the remedy.
#[track_caller]
fn check_refused(flags: &str, more: &[&str], says: &[&str]) {
    check_wrong(flags, more, says, 1);
}

#[track_caller]
fn check_wrong(flags: &str, more: &[&str], says: &[&str], code: i32) {
    let output = weir(&format!("-n 10 -c2 {flags}"), more);
    assert_eq!((output.code(), output.stdout.as_str()), (code, ""), "{output:?}");
    assert!(output.stderr.starts_with("error: "), "{output:?}");
    for part in says {
        assert!(output.stderr.contains(part), "{part:?}: {output:?}");
    }
}

#[test]
fn certificates_that_do_not_fit_are_refused_with_the_reason() {
    let authority = Authority::new();
    let trusted = ["--cacert", &authority.file()].join(" ");
    for (names, years, flags, says) in [
        (&["127.0.0.1"][..], 2000..2100, "", &["issuer is not trusted", "--cacert FILE"][..]),
        (&["elsewhere.test"], 2000..2100, &trusted, &["\"127.0.0.1\"", "\"elsewhere.test\""]),
        (&["127.0.0.1"], 2000..2001, &trusted, &["expired on 2001-01-01"]),
        (&["127.0.0.1"], 2090..2100, &trusted, &["not valid before 2090-01-01"]),
    ] {
        let server = Secure::answering(&authority.sign(names, years), OK);
        check_refused(flags, &[&server.url()], says);
        check_refused(flags, &[&server.url()], &["--insecure"]);
        assert_eq!(server.raw.requests(), 0, "nothing was sent");
    }
    let other = Authority::new();
    let server = Secure::answering(&authority.sign_loopback(), OK);
    check_refused("--cacert", &[&other.file(), &server.url()], &["certificate"]);
}

#[test]
fn files_of_certificates_that_cannot_be_used_are_reported() {
    let directory = Directory::new();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (name, content) in [("missing", None), ("empty", Some("")), ("broken", Some(broken))] {
        let file = directory.file(name);
        if let Some(content) = content {
            fs::write(&file, content).expect("the directory is the test's own");
        }
        check_wrong("--cacert", &[&file, "https://127.0.0.1:9/"], &["--cacert", name], 2);
    }
}

#[test]
fn a_server_without_tls_gets_a_remedy() {
    let says = ["does not speak TLS", "load http:// instead"];
    let eager = Raw::start(|peer| {
        peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        peer.await_close()
    });
    check_refused("--insecure", &[&format!("https://{}/", eager.authority())], &says);
}

/// During a run, a close in the handshake is a failure of connections.
#[test]
fn connections_closed_in_the_handshake_are_counted_and_reported() {
    on_an_engine(|engine| {
        let server = Raw::start(|_| Ok(()));
        let url = format!("https://{}/", server.authority());
        let ran = weir::load(engine, "-d200ms --warmup 0 -c2 --insecure", &[&url]);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.failures(FailurePhase::Connect, "tls_closed_in_handshake") > 0, "{ran}");
        assert_eq!((handshakes(&ran), ran.connects()), (0, 0), "{ran}");
        assert_eq!(ran.document.results.planned, 0, "{ran}");
        assert!(ran.stderr.contains("TLS: closed in handshake; check the server's TLS"), "{ran}");
    });
}

/// A certificate that is refused only by the load, because there is no preflight.
#[test]
fn without_a_preflight_refused_certificates_are_failures_of_connections() {
    let authority = Authority::new();
    let server = Secure::answering(&authority.sign(&["127.0.0.1"], 2000..2001), OK);
    let flags = "-d200ms --warmup 0 -c2 --no-preflight --cacert";
    let ran = weir::load("epoll", flags, &[&authority.file(), &server.url()]);
    assert_eq!((ran.code, server.raw.requests()), (1, 0), "{ran}");
    assert!(ran.failures(FailurePhase::Connect, "tls_expired_certificate") > 0, "{ran}");
    ran.assert_says("expired certificate");
}

/// A handshake that never ends is a connection that cannot be opened.
#[test]
fn a_server_that_stays_silent_is_waited_for_no_longer_than_a_connection() {
    let server = Raw::start(|peer| peer.await_close());
    let url = format!("https://{}/", server.authority());
    let flags = "-d300ms --warmup 0 -c2 --insecure --no-preflight --connect-timeout 100ms";
    on_an_engine(|engine| {
        let ran = weir::load(engine, flags, &[&url]);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.failures(FailurePhase::Connect, "timeout") >= 2, "{ran}");
        assert_eq!(handshakes(&ran), 0, "{ran}");
    });
}

/// With or without a close_notify of TLS, the response contains its length (RFC 9112 §9.8).
#[test]
fn connections_that_end_with_their_answer_are_renewed_with_a_handshake_each() {
    const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let identity = Authority::new().sign_loopback();
    on_an_engine(|engine| {
        for in_order in [true, false] {
            let server = Secure::start(&identity, move |peer| {
                peer.read_request()?;
                peer.write(CLOSING)?;
                if in_order { peer.close_in_order() } else { peer.break_off() }
            });
            let ran = weir::load(engine, "-n 60 -c3 -t1 --insecure", &[&server.url()]);
            assert_sound(&ran, &server);
            assert!(ran.connects() >= 60, "in order {in_order}: {ran}");
        }
    });
}

/// If only the end of the connection delimits the response, an end without a close_notify may be a
/// truncation by a third party (RFC 9112 §9.8).
#[test]
fn an_answer_that_may_have_been_cut_is_none() {
    let identity = Authority::new().sign_loopback();
    for in_order in [true, false] {
        let server = Secure::start(&identity, move |peer| {
            peer.read_request()?;
            peer.write("HTTP/1.1 200 OK\r\n\r\nas long as it lasts")?;
            if in_order { peer.close_in_order() } else { peer.break_off() }
        });
        let flags = "-n 20 -c2 -t1 --insecure --no-preflight --http 1.1";
        let ran = weir::load("epoll", flags, &[&server.url()]);
        if in_order {
            assert_sound(&ran, &server);
        } else {
            let results = &ran.document.results;
            assert_eq!((results.outcomes.ok, results.outcomes.transport_error), (0, 20), "{ran}");
            assert_eq!(ran.code, 1, "{ran}");
        }
    }
}

/// Connections that the server closes while they are idle are opened again.
#[test]
fn idle_connections_that_end_are_no_failures() {
    let identity = Authority::new().sign_loopback();
    let server = Secure::start(&identity, |peer| {
        peer.read_request()?;
        peer.write(OK)?;
        peer.close_in_order()
    });
    let flags = "-R 20 -n 10 -c1 -t1 --insecure --no-preflight";
    let ran = weir::load("epoll", flags, &[&server.url()]);
    let results = &ran.document.results;
    assert_eq!(results.outcomes.ok + results.outcomes.transport_error, 10, "{ran}");
    assert!(results.outcomes.ok > 0 && ran.document.connections.closed_by_peer > 0, "{ran}");
}

#[test]
fn scripts_speak_https_too() {
    let script = "function init(args)\n\
                  \x20 assert(wrk.scheme == 'https' and wrk.host == '127.0.0.1')\n\
                  \x20 assert(type(wrk.port) == 'string' and args[0]:find('https://', 1, true))\n\
                  end\n\
                  function request() return wrk.format(nil, '/' .. wrk.port) end\n\
                  function response(status, headers, body)\n\
                  \x20 assert(status == 200 and body == 'ok')\n\
                  \x20 assert(headers['Content-Length'] == '2')\n\
                  end\n\
                  function done(summary) print('done', summary.requests) end\n";
    let directory = Directory::new();
    let file = directory.file("s.lua");
    fs::write(&file, script).expect("the directory is the test's own");
    let identity = Authority::new().sign_loopback();
    for load in ["-n 200", "-R 500 -d200ms --warmup 0"] {
        let server = Secure::answering(&identity, OK);
        let flags = format!("-c4 -t2 {load} --insecure -s");
        let ran = weir::load("epoll", &flags, &[&file, &server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert_eq!(server.raw.requests(), ran.document.accounting.sent.total, "{ran}");
        assert_eq!((handshakes(&ran), server.raw.accepted() >= 4), (4, true), "{ran}");
        assert!(ran.text.contains("done\t"), "{ran}");
    }
}

#[test]
fn the_dialects_verify_nothing_and_say_so_in_the_report() {
    let identity = Authority::new().sign(&["elsewhere.test"], 2000..2001);
    // One request, long before the end: a request that is due at the end is not sent if it is late.
    for (dialect, flags) in [("wrk", ""), ("wrk2", "-R1")] {
        let server = Secure::answering(&identity, OK);
        let words = format!("-d1 -c4 {flags}");
        let (output, own) = weir_reporting_as(dialect, &words, &[&server.url()]);
        assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
        let report = Report::read(&output.stdout);
        report.assert_consistent();
        assert!(report.requests > 0 && report.socket_errors.is_none(), "{report:#?}");
        assert_eq!(own.matches("not verified").count(), 1, "{own}");
        assert_eq!(server.handshakes(), 4, "{output:?}");
        // Bytes are counted after decryption, as in wrk.
        let bytes = report.requests as f64 * OK.len() as f64;
        assert!((report.bytes - bytes).abs() <= bytes * 0.02 + 100.0, "{report:#?}");
    }
}

#[test]
fn a_server_that_refuses_tls_is_a_connect_error_of_the_dialects() {
    let server = Raw::start(|peer| {
        peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        peer.await_close()
    });
    let url = format!("https://{}/", server.authority());
    let (output, own) = weir_reporting_as("wrk", "-d1 -c2 -t1", &[&url]);
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    let report = Report::read(&output.stdout);
    let errors = report.socket_errors.unwrap_or_else(|| panic!("{report:#?}"));
    assert!(report.requests == 0 && errors.connect > 0 && errors.read == 0, "{report:#?}");
    assert!(own.contains("TLS"), "{own}");
}

#[test]
fn large_answers_come_whole() {
    let identity = Authority::new().sign_loopback();
    let answer: &'static str = Box::leak(
        format!("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n{}", "x".repeat(300_000))
            .into_boxed_str(),
    );
    on_an_engine(|engine| {
        let server = Secure::answering(&identity, answer);
        let ran = weir::load(engine, "-n 40 -c4 -t1 --insecure", &[&server.url()]);
        assert_sound(&ran, &server);
    });
}

#[test]
fn a_thousand_connections_speak_tls() {
    let _as_it_was = sys::raise_descriptor_limit();
    let server = Secure::answering(&Authority::new().sign_loopback(), OK);
    let flags = "-c1000 -t2 -n 5000 --insecure --timeout 60s";
    let ran = weir::load("epoll", flags, &[&server.url()]);
    assert_sound(&ran, &server);
    let connections = &ran.document.connections;
    assert_eq!((connections.open_at_t0, ran.connects()), (1_000, 1_000), "{ran}");
}

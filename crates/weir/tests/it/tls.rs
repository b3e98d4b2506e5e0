//! Choices of TLS: the client's certificate, versions, ciphers, names, sessions. Failures of TLS:
//! the message of each, its remedy, its class in the document.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustls::version::{TLS12, TLS13};
use weir_result::document::{InputRole, TlsSection};

use crate::support::directory::Directory;
use crate::support::nginx::Nginx;
use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::secure::{Authority, Secure, SecurePeer};
use crate::support::weir::{self, Ran, weir};

fn tls(ran: &Ran) -> &TlsSection {
    ran.document.tls.as_ref().unwrap_or_else(|| panic!("{ran}"))
}

/// Responds to every request until the client closes.
fn answer(peer: &mut SecurePeer<'_>) -> io::Result<()> {
    while peer.read_request()?.is_some() {
        peer.write(OK)?;
    }
    Ok(())
}

/// A server that resets each connection once the client has sent something.
fn resetting() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A close with unread bytes is a reset.
            let _arrived = stream.peek(&mut [0]);
        }
    });
    format!("https://{address}/")
}

/// Checks a failure: the message of the preflight with its remedy, and, of a run without one, the
/// class in the document. Neither may take long.
#[track_caller]
fn check_failure(url: &str, flags: &str, says: &[&str], class: &str) {
    let output = weir(&format!("-n 10 -c1 --timeout 5s {flags}"), &[url]);
    assert_eq!(output.code(), 1, "{output:?}");
    for part in says {
        assert!(output.stderr.contains(part), "{part:?}: {output:?}");
    }
    let flags = format!("-d200ms --warmup 0 -c1 --timeout 5s --no-preflight {flags}");
    let ran = weir::load("epoll", &flags, &[url]);
    assert_eq!((ran.code, ran.document.results.outcomes.ok), (1, 0), "{ran}");
    let failures = &ran.document.connections.failures;
    assert!(failures.iter().any(|failure| failure.cause == class), "{class}: {failures:?}\n{ran}");
}

#[test]
fn each_failure_has_its_message_its_remedy_and_its_class() {
    let authority = Authority::new();
    let trusted = ["--cacert", &authority.file()].join(" ");
    let valid = authority.sign_loopback();
    let check = |name: &str, years, says: [&str; 2], class| {
        let server = Secure::answering(&authority.sign(&[name], years), OK);
        check_failure(&server.url(), &trusted, &says, class);
    };
    let says = ["expired on 2001-01-01", "renew it"];
    check("127.0.0.1", 2000..2001, says, "tls_expired_certificate");
    let says = ["it names \"a.test\"", "load the host it names"];
    check("a.test", 2000..2100, says, "tls_wrong_name");
    let server = Secure::answering(&valid, OK);
    let says = ["issuer is not trusted", "--cacert FILE"];
    check_failure(&server.url(), "", &says, "tls_unknown_issuer");

    let eager = Raw::start(|peer| {
        peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        peer.await_close()
    });
    let url = format!("https://{}/", eager.authority());
    check_failure(&url, "-k", &["does not speak TLS", "load http:// instead"], "tls_not_tls");

    let url = server.url().replace("https://", "http://");
    let says = ["speaks TLS, and the URL is http", "use https://"];
    check_failure(&url, "", &says, "protocol_tls_record");

    let mut config = valid.config(rustls::ALL_VERSIONS, None);
    config.alpn_protocols = vec![b"spdy/1".to_vec()];
    let picky = Secure::serving(config, answer);
    let says = ["none of the protocols offered (ALPN)", "--http"];
    check_failure(&picky.url(), "-k", &says, "tls_alert_no_application_protocol");

    for version in [&TLS12, &TLS13] {
        let config = valid.config(&[version], Some(&authority));
        let server = Secure::serving(config, answer);
        let says = ["it requires a client certificate", "--cert FILE and --key FILE"];
        check_failure(&server.url(), "-k", &says, "tls_alert_certificate_required");
    }
    let says = ["TLS: reset in handshake", "check the server's TLS"];
    check_failure(&resetting(), "-k", &says, "tls_reset_in_handshake");
}

/// nginx responds to a request without TLS on such a port, with status 400 and a sentence.
#[test]
fn a_page_about_https_is_no_port_for_tls() {
    let nginx = Nginx::start("");
    let url = nginx.secure_url().replace("https://", "http://");
    let output = weir("-n 5", &[&url]);
    assert_eq!((output.code(), output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.contains("speaks TLS, and the URL is http; use https://"), "{output:?}");

    let text = "this is not the HTTPS port";
    let head = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n", text.len());
    let plain = Raw::answering(head + text);
    let output = weir("-n 5 -t1 -c1", &[&plain.url()]);
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(!output.stderr.contains("speaks TLS"), "{output:?}");
    assert!(output.stderr.contains("100% of responses were 400"), "{output:?}");
}

#[test]
fn a_client_certificate_is_presented_and_its_key_is_written_nowhere() {
    let authority = Authority::new();
    let directory = Directory::new();
    let (cert, key) = authority.sign_client(&directory);
    let cert_text = fs::read_to_string(&cert).expect("written");
    let key_text = fs::read_to_string(&key).expect("written");
    let both = directory.file("both.pem");
    fs::write(&both, format!("{key_text}{cert_text}")).expect("the directory is the test's own");
    for version in [&TLS12, &TLS13] {
        let config = authority.sign_loopback().config(&[version], Some(&authority));
        let server = Secure::serving(config, answer);
        for (flags, roles) in [
            (format!("--cert {cert} --key {key}"), &[InputRole::CertFile][..]),
            // A file with a key is not digested.
            (format!("--cert {both}"), &[]),
            (format!("--cert {cert} --key {both}"), &[InputRole::CertFile]),
        ] {
            let ran = weir::load("epoll", &format!("-n 20 -c2 -k {flags}"), &[&server.url()]);
            ran.assert_all_ok();
            let inputs = &ran.document.run.inputs;
            assert_eq!(inputs.iter().map(|input| input.role).collect::<Vec<_>>(), roles, "{ran}");
            assert!(ran.document.plan.tls.client_certificate, "{ran}");
            let written = serde_json::to_string(&ran.document).expect("a document is JSON");
            let secret = key_text.lines().nth(1).expect("a line of the key");
            assert!(!written.contains(secret) && !ran.text.contains(secret), "{ran}");
        }
    }
    // A certificate of another issuer is not accepted.
    let stranger = Authority::named("another authority");
    let (cert, key) = stranger.sign_client(&directory);
    let config = authority.sign_loopback().config(&[&TLS13], Some(&authority));
    let server = Secure::serving(config, answer);
    let flags = format!("-k --cert {cert} --key {key}");
    let output = weir(&format!("-n 10 -c1 {flags}"), &[&server.url()]);
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains("does not accept the client's certificate"), "{output:?}");
}

#[test]
fn choices_that_cannot_be_made_are_reported_by_flag() {
    let authority = Authority::new();
    let directory = Directory::new();
    let (cert, key) = authority.sign_client(&directory);
    let file = |name: &str, content: &str| {
        let path = directory.file(name);
        fs::write(&path, content).expect("the directory is the test's own");
        path
    };
    let other = Directory::new();
    let (_, other_key) = authority.sign_client(&other);
    let label = "ENCRYPTED PRIVATE KEY";
    let encrypted =
        file("encrypted.key", &format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n"));
    let empty = file("empty.pem", "");
    let https = "https://127.0.0.1:9/";
    let check = |flags: &str, url: &str, says: &[&str]| {
        let output = weir(&format!("-n 1 -c1 {flags}"), &[url]);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{flags}: {output:?}");
        for part in says {
            assert!(output.stderr.contains(part), "{part:?}: {output:?}");
        }
    };
    check(&format!("--key {key}"), https, &["--key needs --cert"]);
    check(&format!("--cert {cert}"), https, &["--cert ", "no private key", "to --key"]);
    check(&format!("--cert {cert} --key {empty}"), https, &["--key ", "no private key in PEM"]);
    check(&format!("--cert {empty} --key {key}"), https, &["--cert ", "no certificate in PEM"]);
    let says = ["--key ", "not that of the first certificate"];
    check(&format!("--cert {cert} --key {other_key}"), https, &says);
    let says = ["--key ", "is encrypted; decrypt it"];
    check(&format!("--cert {cert} --key {encrypted}"), https, &says);
    let missing = directory.file("missing.pem");
    check(&format!("--cert {missing}"), https, &["--cert ", "missing.pem cannot be read"]);
    check(&format!("--cert {cert} --key {missing}"), https, &["--key ", "cannot be read"]);
    check("--sni 127.0.0.1", https, &["--sni 127.0.0.1 is an address", "RFC 6066"]);
    check("--sni a..b", https, &["--sni: host \"a..b\""]);
    check("--tls-min 1.3 --tls-max 1.2", https, &["--tls-min: TLS 1.3 is above TLS 1.2"]);
    check("--tls-min 1.1", https, &["--tls-min", "must be 1.2 or 1.3"]);
    let says = ["--ciphers: \"AES128-SHA\" is not known", "ECDHE-RSA-AES128-GCM-SHA256"];
    check("--ciphers AES128-SHA", https, &says);
    let says = ["--ciphers: no cipher in the list is one of TLS 1.2"];
    check("--ciphers TLS_AES_128_GCM_SHA256 --tls-max 1.2", https, &says);
    for flags in ["--sni a.test", "--tls-resume on", "--tls-max 1.2", "--ciphers x", "--key x"] {
        let flag = flags.split(' ').next().expect("a flag");
        let says = [flag, "needs an https URL", "use https://"];
        check(flags, "http://127.0.0.1:9/", &says);
    }
}

#[test]
fn a_name_replaces_the_host_in_the_handshake_and_in_the_check() {
    let authority = Authority::new();
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&names);
    let server = Secure::start(&authority.sign(&["a.test"], 2000..2100), move |peer| {
        seen.lock().expect("no server panicked").push(peer.server_name());
        answer(peer)
    });
    let flags = format!("-n 20 -c2 --sni a.test --cacert {}", authority.file());
    let ran = weir::load("epoll", &flags, &[&server.url()]);
    ran.assert_all_ok();
    assert_eq!(ran.document.plan.tls.server_name.as_deref(), Some("a.test"));
    let names = names.lock().expect("no server panicked");
    assert!(names.iter().all(|name| name.as_deref() == Some("a.test")), "{names:?}");
    let flags = format!("-n 1 -c1 --sni b.test --cacert {}", authority.file());
    let output = weir(&flags, &[&server.url()]);
    assert!(output.stderr.contains("not valid for \"b.test\""), "{output:?}");
}

#[test]
fn versions_and_ciphers_are_those_chosen_and_the_document_names_them() {
    let identity = Authority::new().sign_loopback();
    let server = Secure::answering(&identity, OK);
    for (flags, version, cipher) in [
        ("", "TLS 1.3", "TLS_AES_256_GCM_SHA384"),
        ("--tls-min 1.3", "TLS 1.3", "TLS_AES_256_GCM_SHA384"),
        ("--tls-max 1.2", "TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        ("--ciphers TLS_CHACHA20_POLY1305_SHA256", "TLS 1.3", "TLS_CHACHA20_POLY1305_SHA256"),
        (
            "--ciphers ECDHE-RSA-AES128-GCM-SHA256:ecdhe-ecdsa-aes128-gcm-sha256",
            "TLS 1.2",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        ),
    ] {
        let ran = weir::load("epoll", &format!("-n 20 -c3 -k {flags}"), &[&server.url()]);
        ran.assert_all_ok();
        let tls = tls(&ran);
        assert_eq!((tls.full, tls.resumed, tls.negotiated.len()), (3, 0, 1), "{ran}");
        let found = &tls.negotiated[0];
        assert_eq!((found.version.as_str(), found.cipher.as_str()), (version, cipher), "{ran}");
        assert_eq!(found.group.as_deref(), Some("X25519"), "{ran}");
        assert_eq!((tls.certificates.len(), found.handshakes), (1, 3), "{ran}");
        let certificate = &tls.certificates[0];
        assert_eq!(certificate.issuer, "CN=an authority", "{ran}");
        assert_eq!(certificate.names, ["127.0.0.1", "localhost"], "{ran}");
        assert_eq!(certificate.not_after, "2100-01-01T00:00:00Z", "{ran}");
        ran.assert_says(&format!("TLS {version} {cipher} X25519"));
    }
}

#[test]
fn each_connection_resumes_its_own_sessions() {
    let identity = Authority::new().sign_loopback();
    on_an_engine(|engine| {
        for version in [&TLS12, &TLS13] {
            let run = |server: &Secure, resume: &str| {
                let flags = "-n 60 -c3 -t1 -k --no-preflight --requests-per-connection 5";
                let ran = weir::load(engine, &format!("{flags} {resume}"), &[&server.url()]);
                ran.assert_all_ok();
                let handshakes = ran.document.latency.tls_handshake.as_ref();
                let timed = handshakes.map_or(0, |metric| metric.headline().count);
                assert_eq!(timed, tls(&ran).full + tls(&ran).resumed, "{ran}");
                assert_eq!(timed, ran.connects(), "{ran}");
                ran
            };
            let server = Secure::serving(identity.config(&[version], None), answer);
            let off = run(&server, "");
            assert_eq!((tls(&off).resumed, tls(&off).not_resumed), (0, 0), "{off}");
            let on = run(&server, "--tls-resume on");
            let found = tls(&on);
            assert_eq!((found.full, found.not_resumed), (3, 0), "{on}");
            assert!(found.resumed >= 9 && on.document.plan.tls.resume, "{on}");

            let mut config = identity.config(&[version], None);
            config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
            let forgetful = Secure::serving(config, answer);
            let lost = run(&forgetful, "--tls-resume on");
            let found = tls(&lost);
            assert_eq!((found.resumed, found.not_resumed), (0, found.full - 3), "{lost}");
            lost.assert_says("--tls-resume: the server resumed 0 of");
        }
    });
}

#[test]
fn connections_per_request_have_handshakes_per_second() {
    let server = Secure::answering(&Authority::new().sign_loopback(), OK);
    let flags = "-d300ms --warmup 0 -c2 -t1 -k --no-preflight --close client";
    let ran = weir::load("epoll", flags, &[&server.url()]);
    ran.assert_all_ok();
    let tls = tls(&ran);
    assert!(tls.in_window > 0 && tls.handshakes_per_second > 0.0, "{ran}");
    assert!(tls.in_window <= tls.full, "{ran}");
    ran.assert_says("handshakes ");
}

/// RFC 8446 §6.1: an end without a close_notify could be a truncation.
#[test]
fn the_server_receives_the_end_of_each_connection() {
    let identity = Authority::new().sign_loopback();
    on_an_engine(|engine| {
        for version in [&TLS12, &TLS13] {
            let in_order = Arc::new(AtomicU64::new(0));
            let cut = Arc::new(AtomicU64::new(0));
            let counts = (Arc::clone(&in_order), Arc::clone(&cut));
            let server = Secure::serving(identity.config(&[version], None), move |peer| {
                // An end without a close_notify is an error here.
                let ended = answer(peer);
                let count = if ended.is_ok() { &counts.0 } else { &counts.1 };
                count.fetch_add(1, Ordering::AcqRel);
                ended
            });
            let flags = "-n 30 -c3 -t1 -k --requests-per-connection 4";
            let ran = weir::load(engine, flags, &[&server.url()]);
            ran.assert_all_ok();
            let handshakes = server.handshakes();
            server.raw.finish();
            let [in_order, cut] = [in_order, cut].map(|count| count.load(Ordering::Acquire));
            assert_eq!(in_order + cut, handshakes, "{ran}");
            // The run may end within a client's part of a handshake.
            let connects = ran.connects() + ran.document.accounting.sent.preflight;
            assert!(in_order >= connects, "{in_order} of {handshakes}: {ran}");
        }
    });
}

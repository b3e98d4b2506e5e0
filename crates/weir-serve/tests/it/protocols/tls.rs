//! TLS, with rustls as the client, and with bytes that are no TLS.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned, version};
use weir_http::StreamEventKind;
use weir_http::h2::H2Options;
use weir_serve::{HttpVersion, Identity, Stats, TlsConfig, TlsOptions, TlsVersion};

use crate::protocols::client::{Connection, check, connect, get, read};

pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Makes an identity, and the configuration of a client that trusts it and offers `alpn`.
pub(crate) fn make(alpn: &[&str]) -> (Identity, ClientConfig) {
    let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
    (identity, client(&pem, alpn, None))
}

/// Returns the configuration of a client with a certificate and its key, if it has one.
fn client(
    pem: &str,
    alpn: &[&str],
    own: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>,
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(pem.as_bytes()).expect("it is PEM");
    roots.add(root).expect("it is a certificate");
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has ciphers for both")
        .with_root_certificates(roots);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            builder.with_client_auth_cert(vec![certificate], key).expect("they fit together")
        }
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
}

pub(crate) fn config(identity: Identity) -> TlsConfig {
    TlsConfig::new(TlsOptions::new(identity)).expect("the options are right")
}

/// Connects to a server by one of the names of its certificate.
pub(crate) fn open(address: SocketAddr, config: &ClientConfig, name: &'static str) -> Stream {
    let name = ServerName::try_from(name).expect("a valid name");
    let conn = ClientConnection::new(Arc::new(config.clone()), name).expect("no limit is set");
    StreamOwned::new(conn, connect(address))
}

/// Reads one response of HTTP/1 with `Content-Length`. Returns its status and its body's length.
fn response(stream: &mut Stream) -> (u16, usize) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a response");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("it is text");
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let length = head.split("Content-Length: ").nth(1).and_then(|rest| rest.split('\r').next());
    let length = length.and_then(|word| word.parse().ok()).expect("a length");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the whole body");
    (status.expect("a status"), length)
}

#[test]
fn every_name_of_the_own_certificate_is_valid() {
    let (identity, client) = make(&[]);
    let tls = config(identity);
    check(
        Some(&tls),
        |_| {},
        |_, address| {
            for name in ["localhost", "127.0.0.1", "::1"] {
                let mut stream = open(address, &client, name);
                stream.write_all(GET.as_bytes()).expect("the server reads");
                assert_eq!(response(&mut stream), (200, 14), "{name}");
                assert_eq!(stream.conn.alpn_protocol(), None);
            }
        },
        |stats| {
            assert_eq!((stats.tls.handshakes, stats.tls.resumed, stats.tls.failures), (3, 0, 0));
            assert_eq!(
                (stats.accepted, stats.requests.received, stats.requests.answered),
                (3, 3, 3)
            );
        },
    );
}

#[test]
fn pipelined_requests_of_one_record_and_large_responses_pass() {
    let (identity, client) = make(&["http/1.1"]);
    let tls = config(identity);
    check(
        Some(&tls),
        |_| {},
        |_, address| {
            let mut stream = open(address, &client, "localhost");
            // 500 requests of 30 bytes are less than one record of 16 KiB.
            stream.write_all(GET.repeat(500).as_bytes()).expect("the server reads");
            for _ in 0..500 {
                assert_eq!(response(&mut stream), (200, 14));
            }
            for size in [0, 1, 100_000, 20_000_000] {
                let text = format!("GET /?size={size} HTTP/1.1\r\nHost: a\r\n\r\n");
                stream.write_all(text.as_bytes()).expect("the server reads");
                assert_eq!(response(&mut stream), (200, size));
            }
            let upload = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n";
            stream.write_all(upload.as_bytes()).expect("the server reads");
            stream.write_all(&vec![b'y'; 3_000_000]).expect("the server reads");
            assert_eq!(response(&mut stream), (200, 14));
        },
        |stats| assert_eq!((stats.requests.received, stats.requests.answered), (505, 505)),
    );
}

#[test]
fn closes_are_announced_by_both_sides() {
    let (identity, client) = make(&[]);
    let tls = config(identity);
    check(
        Some(&tls),
        |p| p.delay = "20ms".parse().expect("valid"),
        |_, address| {
            let mut stream = open(address, &client, "localhost");
            let text = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(text.as_bytes()).expect("the server reads");
            assert_eq!(response(&mut stream), (200, 14));
            // rustls returns an error if close_notify is missing.
            assert_eq!(read(&mut stream, &mut [0]).map_err(|error| error.kind()), Ok(0));

            // The client's side is closed before the response is due.
            for has_fin in [false, true] {
                let mut stream = open(address, &client, "localhost");
                stream.write_all(GET.as_bytes()).expect("the server reads");
                stream.conn.send_close_notify();
                stream.flush().expect("the server reads");
                if has_fin {
                    stream.sock.shutdown(Shutdown::Write).expect("it is connected");
                }
                assert_eq!(response(&mut stream), (200, 14), "with FIN: {has_fin}");
                assert_eq!(read(&mut stream, &mut [0]).map_err(|error| error.kind()), Ok(0));
            }
        },
        |stats| {
            let Stats { requests, tls, .. } = stats;
            assert_eq!((requests.received, requests.answered, tls.failures), (3, 3, 0));
        },
    );
}

#[test]
fn alpn_h2_carries_streams() {
    let (identity, client) = make(&["h2", "http/1.1"]);
    let tls = config(identity);
    check(
        Some(&tls),
        |p| p.delay = "uniform:0ms..3ms".parse().expect("valid"),
        |_, address| {
            let stream = open(address, &client, "localhost");
            let mut connection = Connection::open(stream, 50, &H2Options::default());
            let (_, ends) = connection.load(&vec![get("/?size=10k"); 500]);
            assert_eq!(ends, [StreamEventKind::Response { status: 200 }; 500]);
        },
        |stats| assert_eq!((stats.requests.received, stats.requests.answered), (500, 500)),
    );
}

/// Waits until the server has counted `count` failures of TLS, and returns their reasons.
fn failures(handle: &weir_serve::Handle, count: u64) -> String {
    while handle.stats().tls.failures < count {
        std::thread::yield_now();
    }
    handle.tls_errors(0).join("; ")
}

/// Returns the error of a handshake, which a client of TLS 1.3 may see only after it.
fn refusal(mut stream: Stream) -> String {
    // Without a request, which the server would leave unread and reset.
    read(&mut stream, &mut [0]).expect_err("it is refused").to_string()
}

#[test]
fn a_protocol_that_alpn_did_not_choose_ends_the_connection() {
    let (identity, client) = make(&["h2"]);
    let tls = config(identity);
    check(
        Some(&tls),
        |_| {},
        |handle, address| {
            let mut stream = open(address, &client, "localhost");
            stream.write_all(GET.as_bytes()).expect("the server reads");
            assert!(failures(handle, 1).contains("ALPN chose h2"));
            let mut without = client.clone();
            without.alpn_protocols.clear();
            let mut stream = open(address, &without, "localhost");
            stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("the server reads");
            assert!(failures(handle, 2).contains("without ALPN h2"));
        },
        |stats| {
            let Stats { requests, tls, .. } = stats;
            assert_eq!((requests.received, requests.bad, tls.handshakes), (0, 0, 2));
        },
    );
    check(
        Some(&tls),
        |p| p.http = HttpVersion::Http1,
        |handle, address| {
            let error = refusal(open(address, &client, "localhost"));
            assert!(error.contains("NoApplicationProtocol"), "{error}");
            assert_eq!(handle.stats().tls.handshakes, 0);
        },
        |stats| assert_eq!(stats.tls.failures, 1),
    );
}

#[test]
fn bad_bytes_end_their_connection_only() {
    let (identity, client) = make(&[]);
    let tls = config(identity);
    check(
        Some(&tls),
        |_| {},
        |handle, address| {
            let mut good = open(address, &client, "localhost");
            good.write_all(GET.as_bytes()).expect("the server reads");
            assert_eq!(response(&mut good), (200, 14));

            let mut plain = connect(address);
            plain.write_all(GET.as_bytes()).expect("the server reads");
            assert!(failures(handle, 1).contains("no TLS"));
            let mut late = open(address, &client, "localhost");
            late.write_all(GET.as_bytes()).expect("the server reads");
            assert_eq!(response(&mut late), (200, 14));
            late.sock.write_all(&[0x17, 3, 3, 0, 32]).expect("the server reads");
            late.sock.write_all(&[7; 32]).expect("the server reads");
            failures(handle, 2);
            let end = read(&mut late, &mut [0]).expect_err("the server sent an alert");
            assert_eq!(end.kind(), ErrorKind::InvalidData, "{end}");
            // In the handshake, and before it.
            let half = connect(address);
            (&half).write_all(&[0x16, 3, 1]).expect("the server reads");
            drop(half);
            drop(connect(address));
            let reasons = failures(handle, 3);
            assert!(reasons.contains("ended the connection in the handshake"), "{reasons}");

            good.write_all(GET.as_bytes()).expect("the server reads");
            assert_eq!(response(&mut good), (200, 14));
        },
        |stats| {
            let Stats { requests, tls, .. } = stats;
            assert_eq!((tls.failures, requests.received, requests.answered), (3, 3, 3));
        },
    );
}

/// A reset would hide the alert from a client that sends on.
#[test]
fn a_client_that_sends_on_after_its_failure_reads_the_alert() {
    let tls = config(make(&[]).0);
    check(
        Some(&tls),
        |_| {},
        |handle, address| {
            let mut plain = connect(address);
            plain.write_all(GET.as_bytes()).expect("the server reads");
            failures(handle, 1);
            plain.write_all(&[7; 1_000_000]).expect("the server reads on");
            plain.shutdown(Shutdown::Write).expect("it is connected");
            let mut alert = Vec::new();
            plain.read_to_end(&mut alert).expect("the connection is closed in order");
            assert_eq!(alert, [21, 3, 3, 0, 2, 2, 50]);
        },
        |stats| assert_eq!((stats.tls.failures, stats.requests.received), (1, 0)),
    );
}

#[test]
fn a_client_certificate_may_be_required() {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = || KeyPair::generate().expect("random bytes do not fail");
    let issuer = CertifiedIssuer::self_signed(params, key()).expect("parameters are complete");
    let own = |issuer: &CertifiedIssuer<'static, KeyPair>| {
        let key = key();
        let params = CertificateParams::new(["client".to_owned()]).expect("a valid name");
        let certificate = params.signed_by(&key, issuer).expect("parameters are complete");
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        (certificate.der().clone(), key)
    };
    let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
    let mut options = TlsOptions::new(identity);
    options.client_ca = Some(issuer.pem().into_bytes());
    let tls = TlsConfig::new(options).expect("the options are right");
    check(
        Some(&tls),
        |_| {},
        |handle, address| {
            let known = client(&pem, &[], Some(own(&issuer)));
            let mut stream = open(address, &known, "localhost");
            stream.write_all(GET.as_bytes()).expect("the server reads");
            assert_eq!(response(&mut stream), (200, 14));

            let error = refusal(open(address, &client(&pem, &[], None), "localhost"));
            assert!(error.contains("CertificateRequired"), "{error}");
            failures(handle, 1);

            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let other =
                CertifiedIssuer::self_signed(params, key()).expect("parameters are complete");
            refusal(open(address, &client(&pem, &[], Some(own(&other))), "localhost"));
            failures(handle, 2);
        },
        |stats| {
            let Stats { requests, tls, .. } = stats;
            assert_eq!((requests.received, tls.handshakes, tls.failures), (1, 1, 2));
        },
    );
}

#[test]
fn versions_and_resumption_are_as_the_options_say() {
    let of = |min, max, resumes| {
        let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
        let options = TlsOptions { min, max, resumes, ..TlsOptions::new(identity) };
        (TlsConfig::new(options).expect("the options are right"), client(&pem, &[], None))
    };
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        for resumes in [false, true] {
            let (tls, client) = of(version, version, resumes);
            check(
                Some(&tls),
                |_| {},
                |_, address| {
                    // The client's memory of sessions is shared by its copies.
                    for is_first in [true, false] {
                        let mut stream = open(address, &client, "localhost");
                        stream.write_all(GET.as_bytes()).expect("the server reads");
                        assert_eq!(response(&mut stream), (200, 14));
                        let spoken = match version {
                            TlsVersion::Tls12 => version::TLS12.version,
                            TlsVersion::Tls13 => version::TLS13.version,
                        };
                        assert_eq!(stream.conn.protocol_version(), Some(spoken));
                        if !resumes || is_first {
                            continue;
                        }
                        assert_eq!(stream.conn.handshake_kind(), Some(HandshakeKind::Resumed));
                    }
                },
                |stats| {
                    assert_eq!(stats.tls.handshakes, 2);
                    assert!(stats.tls.resumed >= u64::from(resumes), "{stats:?}");
                    assert!(resumes || stats.tls.resumed == 0, "{stats:?}");
                },
            );
        }
    }
    let (identity, _) = Identity::generate(&[]).expect("keys can be made");
    let min = TlsVersion::Tls13;
    let max = TlsVersion::Tls12;
    let options = TlsOptions { min, max, ..TlsOptions::new(identity) };
    let error = TlsConfig::new(options).expect_err("nothing is left").to_string();
    assert!(error.contains("--tls-min"), "{error}");
}

#[test]
fn what_cannot_be_used_is_reported_with_the_flag() {
    let (_, pem) = Identity::generate(&[]).expect("keys can be made");
    let error = Identity::from_pem(b"", b"").expect_err("nothing is there").to_string();
    assert!(error.contains("--cert"), "{error}");
    let error = Identity::from_pem(pem.as_bytes(), b"").expect_err("no key").to_string();
    assert!(error.contains("--key"), "{error}");
    let other = KeyPair::generate().expect("random bytes do not fail").serialize_pem();
    let identity = Identity::from_pem(pem.as_bytes(), other.as_bytes()).expect("both are PEM");
    let error = TlsConfig::new(TlsOptions::new(identity)).expect_err("not a pair").to_string();
    assert!(error.contains("--cert and --key"), "{error}");
    let (identity, _) = Identity::generate(&[]).expect("keys can be made");
    let options = TlsOptions { client_ca: Some(Vec::new()), ..TlsOptions::new(identity) };
    let error = TlsConfig::new(options).expect_err("no authority").to_string();
    assert!(error.contains("--client-ca"), "{error}");
}

//! Ends of connections: closed by either side, refused, or broken.

use weir_tls::TlsError;

use crate::certificates::Authority;
use crate::server::{Server, VERSIONS, client, config, established, insecure, shake};

#[test]
fn the_server_closes() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let (mut client, mut server) = established(&config(version, &identity, None), &insecure());
        server.say(b"the last");
        server.conn.send_close_notify();
        let mut bytes = server.output();
        bytes.extend_from_slice(b"HTTP/1.1 after the end");
        let mut plain = Vec::new();
        assert!(!client.is_closed());
        client.receive(&mut bytes, &mut plain).unwrap();
        assert_eq!(plain, b"the last");
        assert!(client.is_closed());
        client.receive(&mut bytes, &mut plain).unwrap();
        assert_eq!(plain, b"the last");

        // The other direction stays open until it is closed too.
        let mut out = Vec::new();
        client.send(b"one more", &mut out).unwrap();
        client.close(&mut out);
        assert_eq!(server.receive(&out), b"one more");
        assert!(server.conn.process_new_packets().unwrap().peer_has_closed());
    }
}

#[test]
fn the_client_closes_once() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let (mut client, mut server) = established(&config(version, &identity, None), &insecure());
        let mut out = Vec::new();
        client.close(&mut out);
        let once = out.len();
        client.close(&mut out);
        assert!(once > 0 && out.len() == once);
        server.receive(&out);
        assert!(server.conn.process_new_packets().unwrap().peer_has_closed());
        // The server may still respond.
        server.say(b"response");
        assert_eq!(shake(&mut client, &mut server).unwrap(), b"response");
    }
}

#[test]
fn closing_within_the_handshake_leaves_only_what_waited() {
    let mut client = client(&insecure());
    let mut hello = Vec::new();
    let mut nothing = Vec::new();
    client.close(&mut hello);
    assert_eq!(hello[0], 0x16, "the ClientHello");
    client.close(&mut nothing);
    assert_eq!(nothing, b"");
}

#[test]
fn a_server_without_tls_is_recognised_by_its_first_bytes() {
    let check = |bytes: &[u8], first_line: Option<&str>, sentence: &str| {
        let mut client = client(&insecure());
        let found = client.receive(&mut bytes.to_vec(), &mut Vec::new()).unwrap_err();
        assert_eq!(found, TlsError::NotTls { first_line: first_line.map(str::to_owned) });
        assert_eq!((found.code(), found.to_string().as_str()), ("not_tls", sentence));
    };
    check(
        b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n<html>",
        Some("HTTP/1.1 400 Bad Request"),
        "the server does not speak TLS (it sent \"HTTP/1.1 400 Bad Request\"): load http:// \
         instead, or ws:// for WebSocket",
    );
    check(
        b"SSH-2.0-OpenSSH_9.2p1 with a comment that is too long to be shown here\r\n",
        Some("SSH-2.0-OpenSSH_9.2p1 with a comment tha"),
        "the server does not speak TLS (it sent \"SSH-2.0-OpenSSH_9.2p1 with a comment \
         tha\"): load http:// instead, or ws:// for WebSocket",
    );
    check(
        b"\x4a\0\0\0\x0a8.0",
        None,
        "the server does not speak TLS: load http:// instead, or ws:// for WebSocket",
    );
    check(
        b"\x16\x09\x03\0\x02",
        None,
        "the server does not speak TLS: load http:// instead, or ws:// for WebSocket",
    );
}

#[test]
fn an_error_is_sent_to_the_server_and_ends_the_connection() {
    let mut client = client(&insecure());
    let mut out = Vec::new();
    client.take_output(&mut out);
    out.clear();
    let mut plain = Vec::new();
    client.receive(&mut b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), &mut plain).unwrap_err();
    assert!(client.take_output(&mut out));
    assert_eq!(out, [0x15, 3, 3, 0, 2, 2, 50], "decode_error, RFC 8446 §6");
    assert_eq!(client.receive(&mut [0x16], &mut plain), Ok(()));
    client.close(&mut out);
    assert_eq!((out.len(), plain.len()), (7, 0));
}

#[test]
fn what_came_before_a_broken_record_is_kept() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let (mut client, mut server) = established(&config(version, &identity, None), &insecure());
        server.say(b"good");
        let mut bytes = server.output();
        server.say(b"bad");
        let broken = server.output();
        bytes.extend_from_slice(&broken);
        *bytes.last_mut().unwrap() ^= 1;
        let mut plain = Vec::new();
        let found = client.receive(&mut bytes, &mut plain).unwrap_err();
        assert_eq!((found.code(), plain.as_slice()), ("protocol", b"good".as_slice()));
        let mut out = Vec::new();
        assert!(client.take_output(&mut out), "bad_record_mac");
    }
}

#[test]
fn an_alert_within_the_handshake_is_named() {
    let check = |alert: u8, code: &str, sentence: &str| {
        let mut client = client(&insecure());
        let mut bytes = [0x15, 3, 3, 0, 2, 2, alert];
        let found = client.receive(&mut bytes, &mut Vec::new()).unwrap_err();
        assert_eq!((found.code(), found.to_string().as_str()), (code, sentence));
    };
    check(
        40,
        "alert_handshake_failure",
        "the server refused TLS with the alert handshake_failure: it supports no offered \
         version or cipher, or requires a client certificate (`tls.cert`)",
    );
    check(80, "alert_internal_error", "the server refused TLS with the alert internal_error");
    check(
        112,
        "alert_unrecognized_name",
        "the server refused TLS with the alert unrecognized_name: it does not serve the host \
         named; load one that it serves, or name it with `tls.server_name`",
    );
    check(255, "alert_unknown", "the server refused TLS with the alert unknown");
}

#[test]
fn a_server_that_requires_a_client_certificate_refuses() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let config = config(version, &identity, Some(&authority));
        let found = shake(&mut client(&insecure()), &mut Server::new(&config)).unwrap_err();
        assert_eq!(found.code(), "alert_certificate_required");
        assert_eq!(
            found.to_string(),
            "the server refused TLS with the alert certificate_required: it requires a client \
             certificate; give one with `tls.cert` FILE and `tls.key` FILE"
        );
    }
}

/// ServerHello of TLS 1.0, from a server too old for the versions offered.
#[test]
fn a_server_too_old_shares_no_version() {
    let mut bytes = vec![0x16, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1];
    bytes.extend_from_slice(&[7; 32]);
    bytes.extend_from_slice(&[0, 0xc0, 0x14, 0]);
    let found = client(&insecure()).receive(&mut bytes, &mut Vec::new()).unwrap_err();
    assert_eq!(found.code(), "no_common_version_or_cipher", "{found}");
}

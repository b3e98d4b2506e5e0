//! Offered and negotiated parameters.

use rustls::crypto::aws_lc_rs;
use weir_tls::{Negotiated, TlsOptions};

use crate::certificates::Authority;
use crate::server::{Server, VERSIONS, client, config, config_with, established, insecure, shake};

#[test]
fn what_was_agreed_on_is_known_after_the_handshake() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let negotiated = VERSIONS.map(|version| {
        let config = config(version, &identity, None);
        assert_eq!(client(&insecure()).negotiated(), None);
        established(&config, &insecure()).0.negotiated().unwrap()
    });
    let expected = [
        ("TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        ("TLS 1.3", "TLS_AES_256_GCM_SHA384"),
    ];
    let expected = expected.map(|(version, cipher)| Negotiated {
        version,
        cipher: cipher.to_owned(),
        alpn: None,
        group: Some("X25519".to_owned()),
    });
    assert_eq!(negotiated, expected);
}

/// In TLS 1.3 a server sends a HelloRetryRequest for a group that came without a key share.
#[test]
fn the_group_is_the_servers_choice() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        for group in aws_lc_rs::default_provider().kx_groups {
            let mut provider = aws_lc_rs::default_provider();
            provider.kx_groups = vec![group];
            let name = format!("{:?}", group.name());
            if name.contains("MLKEM") && version == VERSIONS[0] {
                continue; // TLS 1.3 only
            }
            let config = config_with(provider, version, &identity, None);
            let negotiated = established(&config, &insecure()).0.negotiated().unwrap();
            assert_eq!(negotiated.group, Some(name), "{version:?}");
        }
    }
}

#[test]
fn a_protocol_is_offered_and_chosen() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let check = |offered: &[&str], spoken: &[&str], expected: Result<Option<&str>, &str>| {
        let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
        for version in VERSIONS {
            let mut config = config(version, &identity, None);
            config.alpn_protocols = names(spoken);
            let options = TlsOptions { alpn: names(offered), ..insecure() };
            let (mut client, mut server) = (client(&options), Server::new(&config));
            let result = shake(&mut client, &mut server).map_err(|error| error.code());
            let chosen = result.map(|_| client.negotiated().unwrap().alpn);
            let expected = expected.map(|name| name.map(|name| name.as_bytes().to_vec()));
            assert_eq!(chosen, expected, "{offered:?} offered to {spoken:?}");
        }
    };
    check(&[], &[], Ok(None));
    check(&[], &["http/1.1"], Ok(None));
    check(&["http/1.1"], &[], Ok(None));
    check(&["http/1.1"], &["h2", "http/1.1"], Ok(Some("http/1.1")));
    check(&["h2", "http/1.1"], &["http/1.1"], Ok(Some("http/1.1")));
    check(&["h2"], &["http/1.1"], Err("alert_no_application_protocol"));
}

/// RFC 6066 §3: "Literal IPv4 and IPv6 addresses are not permitted".
#[test]
fn a_server_is_told_its_name_but_never_an_address() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let check = |name: &str, expected: Option<&str>| {
        for version in VERSIONS {
            let config = config(version, &identity, None);
            let options = TlsOptions { server_name: name.to_owned(), ..insecure() };
            let server = established(&config, &options).1;
            assert_eq!(server.conn.server_name(), expected, "{name}");
        }
    };
    check("localhost", Some("localhost"));
    check("Example.Test", Some("example.test"));
    check("my_host.test", Some("my_host.test"));
    check("127.0.0.1", None);
    check("::1", None);
}

#[test]
fn every_connection_makes_a_full_handshake() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let config = config(version, &identity, None);
        let shared = weir_tls::TlsConfig::new(&insecure()).unwrap();
        for _ in 0..3 {
            let (mut client, mut server) = (weir_tls::Session::new(&shared), Server::new(&config));
            shake(&mut client, &mut server).unwrap();
            let kind = server.conn.handshake_kind();
            assert_eq!(kind, Some(rustls::HandshakeKind::Full), "{version:?}");
        }
    }
}

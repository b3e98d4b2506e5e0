//! Offered and negotiated parameters, and the kinds of handshakes.

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use weir_tls::{HandshakeKind, Negotiated, Session, TlsConfig, TlsOptions, TlsVersion};

use crate::certificates::Authority;
use crate::server::{
    Server, VERSIONS, client, config, config_with, established, insecure, shake, talk,
};

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
        cipher,
        alpn: None,
        group: Some("X25519"),
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
            let client = established(&config, &insecure()).0;
            let negotiated = client.negotiated().unwrap();
            assert_eq!(negotiated.group, Some(name.as_str()), "{version:?}");
            // A client of TLS 1.3 sends a share for its first group only.
            let is_repeated = version == VERSIONS[1] && name != "X25519";
            let kind = if is_repeated {
                HandshakeKind::FullWithHelloRetryRequest
            } else {
                HandshakeKind::Full
            };
            assert_eq!(client.handshake_kind(), Some(kind), "{name}, {version:?}");
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
            let mut client = client(&options);
            let mut server = Server::new(&config);
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
fn server_name_indication_is_a_name_and_never_an_address() {
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

/// Makes a connection, whose client then receives what the server sends after the handshake.
/// Returns the kind of its handshake, as both sides see it.
fn kind(client: &TlsConfig, server: &ServerConfig) -> HandshakeKind {
    let mut client = Session::new(client);
    let mut server = Server::new(server);
    assert_eq!(client.handshake_kind(), None);
    shake(&mut client, &mut server).expect("nothing is wrong with the server");
    server.say(b"response");
    talk(&mut client, &mut server, |flight| vec![flight]).expect("the session is established");
    assert_eq!(client.certificates().len(), 1, "a resumed session keeps them");
    let kind = client.handshake_kind().expect("the handshake has ended");
    let theirs = server.conn.handshake_kind().expect("the handshake has ended");
    assert_eq!(kind, theirs);
    kind
}

#[test]
fn every_connection_makes_a_full_handshake() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let config = config(version, &identity, None);
        // Also with the wish to resume, unless the client is one that returns.
        for resume in [false, true] {
            let shared = TlsConfig::new(&TlsOptions { resume, ..insecure() }).unwrap();
            for _ in 0..3 {
                assert_eq!(kind(&shared, &config), HandshakeKind::Full, "{version:?}");
            }
        }
    }
}

#[test]
fn a_returning_client_resumes_its_own_sessions() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let config = config(version, &identity, None);
        let shared = TlsConfig::new(&TlsOptions { resume: true, ..insecure() }).unwrap();
        let clients = [(); 2].map(|()| shared.returning_client().unwrap());
        for client in &clients {
            assert_eq!(kind(client, &config), HandshakeKind::Full, "{version:?}");
        }
        for _ in 0..5 {
            for client in &clients {
                assert_eq!(kind(client, &config), HandshakeKind::Resumed, "{version:?}");
            }
        }
        // Another server does not know the session.
        let other = crate::server::config(version, &identity, None);
        assert_eq!(kind(&clients[0], &other), HandshakeKind::Full, "{version:?}");
    }
}

#[test]
fn only_what_is_wanted_is_offered() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let [old, new] = VERSIONS.map(|version| config(version, &identity, None));
    let check = |options: TlsOptions, server: &ServerConfig, expected: Result<&str, &str>| {
        let mut client = client(&options);
        let mut server = Server::new(server);
        let result = shake(&mut client, &mut server).map_err(|error| error.code());
        let cipher = result.map(|_| client.negotiated().unwrap().cipher);
        assert_eq!(cipher, expected, "{options:?}");
    };
    let refused = Err("alert_protocol_version");
    let versions = |min_version, max_version| TlsOptions { min_version, max_version, ..insecure() };
    let only_old = || versions(TlsVersion::Tls12, TlsVersion::Tls12);
    let only_new = || versions(TlsVersion::Tls13, TlsVersion::Tls13);
    check(only_old(), &new, refused);
    check(only_old(), &old, Ok("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"));
    check(only_new(), &old, refused);
    check(only_new(), &new, Ok("TLS_AES_256_GCM_SHA384"));
    let ciphers = |names: &[&str]| {
        let ciphers = names.iter().map(|name| (*name).to_owned()).collect();
        TlsOptions { ciphers, ..insecure() }
    };
    let aes = "TLS_AES_128_GCM_SHA256";
    let chacha = "ECDHE-ECDSA-CHACHA20-POLY1305";
    check(ciphers(&[aes, chacha]), &new, Ok(aes));
    let chacha_registered = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256";
    check(ciphers(&[aes, chacha]), &old, Ok(chacha_registered));
    // Ciphers of one version alone offer that version alone.
    check(ciphers(&[chacha]), &new, refused);
    check(ciphers(&[aes]), &old, refused);
    check(ciphers(&["ECDHE-RSA-AES128-GCM-SHA256"]), &old, Err("alert_handshake_failure"));
}

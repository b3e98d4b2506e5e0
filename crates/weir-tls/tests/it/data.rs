//! Data in both directions, in every version and cut anywhere.

use crate::certificates::Authority;
use crate::server::{Server, VERSIONS, client, config, established, insecure, talk};

/// Returns bytes that differ from their neighbours.
fn body(len: usize) -> Vec<u8> {
    (0u8..=250).cycle().take(len).collect()
}

fn halves(bytes: Vec<u8>, at: usize) -> Vec<Vec<u8>> {
    let (head, tail) = bytes.split_at(at.min(bytes.len()));
    vec![head.to_vec(), tail.to_vec()]
}

fn single(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    bytes.into_iter().map(|byte| vec![byte]).collect()
}

#[test]
fn data_goes_both_ways_in_both_versions_whatever_its_length() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let (mut client, mut server) = established(&config(version, &identity, None), &insecure());
        for len in [0, 1, 100, 16_384, 16_385, 100_000, 1_000_000] {
            let mut out = Vec::new();
            client.send(&body(len), &mut out).unwrap();
            assert_eq!(server.receive(&out), body(len));

            server.say(&body(len));
            let mut plain = b"before ".to_vec();
            client.receive(&mut server.output(), &mut plain).unwrap();
            assert_eq!(plain, [b"before ".to_vec(), body(len)].concat());
        }
    }
}

#[test]
fn handshakes_may_be_cut_at_every_byte() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let config = config(version, &identity, None);
        for at in 0.. {
            let mut client = client(&insecure());
            let mut server = Server::new(&config);
            let longest = std::cell::Cell::new(0);
            let cut = |flight: Vec<u8>| {
                longest.set(longest.get().max(flight.len()));
                halves(flight, at)
            };
            talk(&mut client, &mut server, cut).unwrap();
            assert!(!client.is_handshaking(), "{version:?} cut at {at}");
            assert!(!server.conn.is_handshaking(), "{version:?} cut at {at}");
            if at > longest.get() {
                break;
            }
        }
    }
}

/// Handshake messages span records, and each byte arrives alone.
#[test]
fn handshakes_in_fragments_arrive_byte_by_byte() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        for fragment in [32, 33, 64, 100] {
            let mut config = config(version, &identity, None);
            config.max_fragment_size = Some(fragment);
            let mut client = client(&insecure());
            let mut server = Server::new(&config);
            talk(&mut client, &mut server, single).unwrap();
            server.say(&body(1000));
            assert_eq!(talk(&mut client, &mut server, single).unwrap(), body(1000));
        }
    }
}

#[test]
fn responses_may_be_cut_at_every_byte() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let mut config = config(version, &identity, None);
        config.max_fragment_size = Some(100);
        let (mut client, mut server) = established(&config, &insecure());
        for at in 0..500 {
            server.say(&body(300));
            let cut = |bytes| halves(bytes, at);
            assert_eq!(talk(&mut client, &mut server, cut).unwrap(), body(300), "cut at {at}");
        }
    }
}

#[test]
fn key_updates_pass_unseen() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let config = config(&rustls::version::TLS13, &identity, None);
    let (mut client, mut server) = established(&config, &insecure());
    for round in 0..3 {
        server.conn.refresh_traffic_keys().unwrap();
        server.say(b"response");
        assert_eq!(talk(&mut client, &mut server, single).unwrap(), b"response", "round {round}");
        // The client's own key update is sent before its next data, in the same call.
        let mut out = Vec::new();
        client.send(b"request", &mut out).unwrap();
        assert!(out.len() > b"request".len() + 22 + 22, "an update and the data");
        assert_eq!(server.receive(&out), b"request");
    }
}

#[test]
fn output_comes_in_the_order_in_which_it_arose() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let mut client = client(&insecure());
        let mut server = Server::new(&config(version, &identity, None));
        let mut out = Vec::new();
        while client.is_handshaking() {
            assert!(client.take_output(&mut out));
            server.receive(&std::mem::take(&mut out));
            client.receive(&mut server.output(), &mut Vec::new()).unwrap();
        }
        // In TLS 1.3 the client's Finished is still pending: it precedes the data.
        client.send(b"request", &mut out).unwrap();
        assert!(!client.take_output(&mut out));
        assert_eq!(server.receive(&out), b"request");
    }
}

//! The reference server over real sockets, on every backend that this machine offers. Each feature
//! is tested once, by the bytes that arrive, the server's own time stamps and its counters, never
//! by the duration of a test.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as SocketName, UnixStream};
use std::time::Duration;

use weir_io::{Endpoint, Engine, EngineChoice};
use weir_serve::{
    Behaviour, FaultKind, Framing, Handle, Mode, RequestCounts, ServeError, ServeOptions, Stats,
    spawn,
};

/// Runs `test` against a fresh server on each backend, and checks the counters afterwards.
fn check(behaviour: Behaviour, test: impl Fn(&Handle, SocketAddr)) {
    check_stats(behaviour, test, |_| {});
}

fn check_stats(behaviour: Behaviour, test: impl Fn(&Handle, SocketAddr), judge: impl Fn(&Stats)) {
    for engine in [EngineChoice::Only(Engine::Epoll), EngineChoice::Only(Engine::Uring)] {
        let behaviour = behaviour.clone();
        let options = ServeOptions { engine, behaviour, ..ServeOptions::default() };
        let handle = match spawn(options) {
            Ok(handle) => handle,
            // The kernel lacks io_uring or forbids it.
            Err(ServeError::Worker(_)) if engine == EngineChoice::Only(Engine::Uring) => continue,
            Err(error) => panic!("{engine:?}: {error}"),
        };
        test(&handle, address(&handle));
        let stats = handle.stop().expect("the workers end well");
        let requests = &stats.requests;
        let ended = requests.answered
            + requests.reset
            + requests.closed
            + requests.blackholed
            + requests.partial
            + requests.abandoned
            + requests.owed();
        assert_eq!(ended, requests.received, "{engine:?}: {stats:?}");
        judge(&stats);
    }
}

fn address(handle: &Handle) -> SocketAddr {
    match handle.endpoint() {
        Endpoint::Tcp(address) => *address,
        other => panic!("not TCP: {other}"),
    }
}

fn with(change: impl FnOnce(&mut Behaviour)) -> Behaviour {
    let mut behaviour = Behaviour::default();
    change(&mut behaviour);
    behaviour
}

struct Response {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Response {
    fn number(&self, header: &str) -> u64 {
        let value = self.headers.get(header).unwrap_or_else(|| panic!("no {header}"));
        value.parse().expect("a number")
    }
}

struct Client<S> {
    stream: BufReader<S>,
}

impl Client<TcpStream> {
    fn connect(address: SocketAddr) -> Client<TcpStream> {
        let stream = TcpStream::connect(address).expect("the server listens");
        // Turns a hang into a failure; no test depends on the timeout's length.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a valid timeout");
        Client { stream: BufReader::new(stream) }
    }
}

impl<S: Read + Write> Client<S> {
    fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).expect("the server reads");
    }

    fn get(&mut self, target: &str) -> Response {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n"));
        self.response().expect("a response")
    }

    fn head(&mut self) -> io::Result<Response> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {line:?}"));
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_string());
        }
        Ok(Response { status, headers, body: Vec::new() })
    }

    fn response(&mut self) -> io::Result<Response> {
        let mut response = self.head()?;
        if response.headers.contains_key("transfer-encoding") {
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line)?;
                let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk size");
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk)?;
                assert_eq!(&chunk[size..], b"\r\n");
                response.body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    return Ok(response);
                }
            }
        }
        match response.headers.get("content-length") {
            Some(length) => {
                response.body = vec![0; length.parse().expect("a length")];
                self.stream.read_exact(&mut response.body)?;
            }
            None => {
                self.stream.read_to_end(&mut response.body)?;
            }
        }
        Ok(response)
    }

    /// True if the server closed the connection in order, with no more bytes.
    fn is_at_end(&mut self) -> bool {
        let mut rest = Vec::new();
        matches!(self.stream.read_to_end(&mut rest), Ok(0))
    }
}

#[test]
fn responses_as_programmed() {
    let behaviour = with(|p| {
        p.status = 503;
        p.body_bytes = 1000;
        p.headers = vec!["Retry-After: 1".parse().expect("valid")];
    });
    check(behaviour, |_, address| {
        let mut client = Client::connect(address);
        for _ in 0..3 {
            let response = client.get("/");
            assert_eq!((response.status, response.body.len()), (503, 1000));
            assert_eq!(response.number("retry-after"), 1);
        }
        let response = client.get("/?status=201&size=100k");
        assert_eq!((response.status, response.body.len()), (201, 102_400));
        assert_eq!(client.get("/").status, 503);
    });
}

#[test]
fn bodies_of_every_framing_and_size_are_whole() {
    let framings = [Framing::Length, Framing::Chunked { chunk_bytes: 1000 }, Framing::UntilClose];
    for framing in framings {
        check(with(|p| p.framing = framing), |_, address| {
            for size in [0, 1, 999, 1000, 5000, 70_000, 5_000_000] {
                let mut client = Client::connect(address);
                let response = client.get(&format!("/?size={size}"));
                assert_eq!(response.body.len(), size, "{framing:?}");
                assert!(response.body.iter().all(|&byte| byte == b'x'));
                if framing == Framing::UntilClose {
                    assert!(client.is_at_end());
                } else {
                    assert_eq!(client.get("/?size=3").body, b"xxx", "the connection goes on");
                }
            }
        });
    }
}

#[test]
fn a_large_response_that_closes_arrives_whole() {
    check(with(|p| p.close = true), |_, address| {
        let mut client = Client::connect(address);
        assert_eq!(client.get("/?size=20m").body.len(), 20 << 20);
        assert!(client.is_at_end());
    });
}

#[test]
fn pipelined_responses_keep_their_order() {
    check(with(|p| p.stamps = true), |_, address| {
        let mut client = Client::connect(address);
        let mut text = String::new();
        for slot in 0..200u64 {
            let delay_ns = (slot * 7919) % 3_000_000;
            text +=
                &format!("GET /?delay_ns={delay_ns} HTTP/1.1\r\nHost: a\r\nx-slot: {slot}\r\n\r\n");
        }
        client.send(&text);
        let mut sent_before = 0;
        for slot in 0..200u64 {
            let response = client.response().expect("a response");
            assert_eq!(response.number("x-slot"), slot);
            let received = response.number("x-srv-recv-ns");
            let sent = response.number("x-srv-send-ns");
            assert!(sent >= received + (slot * 7919) % 3_000_000, "slot {slot} came early");
            assert!(sent >= sent_before);
            sent_before = sent;
        }
    });
}

#[test]
fn plain_responses_to_a_deep_pipeline_are_all_there() {
    let judge = |stats: &Stats| {
        assert_eq!((stats.requests.received, stats.requests.answered), (5000, 5000));
    };
    check_stats(
        Behaviour::default(),
        |_, address| {
            let mut client = Client::connect(address);
            client.send(&"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(5000));
            for _ in 0..5000 {
                assert_eq!(client.response().expect("a response").body.len(), 14);
            }
        },
        judge,
    );
}

#[test]
fn a_delay_is_never_early() {
    let behaviour = with(|p| {
        p.stamps = true;
        p.delay = "uniform:0ms..3ms".parse().expect("valid");
    });
    check(behaviour, |_, address| {
        let mut client = Client::connect(address);
        for k in 0..50u64 {
            let response = client.get(&format!("/?delay_ns={}", k * 10_000));
            let held = response.number("x-srv-send-ns") - response.number("x-srv-recv-ns");
            assert!(held >= k * 10_000, "held back {held} ns instead of {}", k * 10_000);
        }
    });
}

#[test]
fn fifo_departures_follow_the_law_of_one_worker() {
    let behaviour = with(|p| {
        p.stamps = true;
        p.mode = Mode::Fifo;
        p.delay = "2ms".parse().expect("valid");
    });
    check(behaviour, |_, address| {
        let mut clients: Vec<_> = (0..10).map(|_| Client::connect(address)).collect();
        for client in &mut clients {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        let mut seen: Vec<_> = (clients.iter_mut())
            .map(|client| client.response().expect("a response"))
            .map(|r| (r.number("x-srv-recv-ns"), r.number("x-srv-send-ns")))
            .collect();
        seen.sort_unstable();
        let mut departed = 0;
        for (received, sent) in seen {
            departed = departed.max(received) + 2_000_000;
            assert!(sent >= departed, "served {} ns too early", departed - sent);
        }
    });
}

#[test]
fn a_dripped_body_arrives_whole_and_spaced() {
    let behaviour = with(|p| {
        p.stamps = true;
        p.drip = "5@2ms".parse().ok();
        p.body_bytes = 1003;
    });
    check(behaviour, |_, address| {
        let mut client = Client::connect(address);
        let first = client.get("/");
        let second = client.get("/");
        assert_eq!((first.body.len(), second.body.len()), (1003, 1003));
        // The second request was sent after the last piece of the first response had arrived. The
        // pieces are due from the receipt on, however late the first one is sent.
        let gap = second.number("x-srv-recv-ns") - first.number("x-srv-recv-ns");
        assert!(gap >= 8_000_000, "five pieces within {gap} ns");
    });
}

#[test]
fn connections_end_when_they_should() {
    check(with(|p| p.requests_per_connection = Some(3)), |_, address| {
        let mut client = Client::connect(address);
        for k in 1..=3 {
            let response = client.get("/");
            assert_eq!(response.headers.contains_key("connection"), k == 3);
        }
        assert!(client.is_at_end());
    });
    check(with(|p| p.idle_timeout = Some(Duration::from_millis(20))), |_, address| {
        assert!(Client::connect(address).is_at_end());
    });
    check(Behaviour::default(), |_, address| {
        let mut client = Client::connect(address);
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(client.response().expect("a response").headers["connection"], "close");
        assert!(client.is_at_end());
        let mut client = Client::connect(address);
        client.send("NONSENSE\r\n\r\n");
        assert_eq!(client.response().expect("a response").status, 400);
        assert!(client.is_at_end());
    });
}

#[test]
fn head_and_uploads_and_continue() {
    check(Behaviour::default(), |_, address| {
        let mut client = Client::connect(address);
        client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.head().expect("a head").number("content-length"), 14);
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n");
        client.send(&"y".repeat(200_000));
        assert_eq!(client.response().expect("a response").status, 200);
        client
            .send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
        assert_eq!(client.head().expect("a head").status, 100);
        client.send("ab");
        assert_eq!(client.response().expect("a response").status, 200);
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab");
        client.send("c\r\n0\r\n\r\n");
        assert_eq!(client.response().expect("a response").status, 200);
    });
}

#[test]
fn injected_faults_are_counted_exactly() {
    let faults = ["reset:1/10", "close:1/7", "partial:1/11", "garbage:1/13"];
    let faults = faults.map(|text| text.parse().expect(text)).to_vec();
    let behaviour = with(|p| p.faults = faults.clone());
    let expected = |n: u64| match n {
        _ if n.is_multiple_of(10) => Some(FaultKind::Reset),
        _ if n.is_multiple_of(7) => Some(FaultKind::Close),
        _ if n.is_multiple_of(11) => Some(FaultKind::Partial),
        _ if n.is_multiple_of(13) => Some(FaultKind::Garbage),
        _ => None,
    };
    let judge = |stats: &Stats| {
        let RequestCounts { reset, closed, blackholed, partial, garbage, .. } = stats.requests;
        let counts = [reset, closed, blackholed, partial, garbage];
        for (kind, found) in FaultKind::ALL.into_iter().zip(counts) {
            let count = (1..=200).filter(|&n| expected(n) == Some(kind)).count();
            assert_eq!(found, count as u64, "{kind:?}");
        }
        assert_eq!(stats.requests.received, 200);
    };
    check_stats(
        behaviour,
        |_, address| {
            let mut client = Client::connect(address);
            for n in 1..=200 {
                client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
                let response = client.response();
                match expected(n) {
                    None => assert_eq!(response.expect("a response").body.len(), 14),
                    Some(FaultKind::Garbage) => {
                        assert_eq!(response.expect("a response").body.len(), 14);
                        let mut garbage = [0; 16];
                        client.stream.read_exact(&mut garbage).expect("sixteen bytes");
                        assert!(garbage.starts_with(b"\0garbage"));
                    }
                    Some(FaultKind::Reset) => {
                        let error = response.err().map(|error| error.kind());
                        assert_eq!(error, Some(io::ErrorKind::ConnectionReset));
                        client = Client::connect(address);
                    }
                    Some(_) => {
                        let error = response.err().map(|error| error.kind());
                        assert_eq!(error, Some(io::ErrorKind::UnexpectedEof));
                        client = Client::connect(address);
                    }
                }
            }
        },
        judge,
    );
}

#[test]
fn a_black_hole_accepts_and_stays_silent() {
    let judge = |stats: &Stats| {
        assert_eq!(
            (stats.requests.blackholed, stats.requests.answered, stats.requests.received),
            (1, 1, 2)
        );
    };
    check_stats(
        with(|p| p.faults = vec!["blackhole:1/1".parse().expect("valid")]),
        |handle, address| {
            let mut hole = Client::connect(address);
            hole.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            // The counter, not the clock, shows that the request has been handled.
            while handle.stats().requests.blackholed == 0 {
                std::thread::yield_now();
            }
            let stream = hole.stream.get_mut();
            stream.set_nonblocking(true).expect("a socket");
            let error = stream.read(&mut [0; 1]).expect_err("nothing to read");
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "open, and silent");
            let mut client = Client::connect(address);
            let json = String::from_utf8(client.get("/weir/stats").body).expect("text");
            assert!(json.contains("\"blackholed\":1"), "{json}");
            client.send("GET / HTTP/1.1\r\nHost: a\r\nx-fault: garbage\r\n\r\n");
            assert_eq!(client.response().expect("a response").status, 200);
        },
        judge,
    );
}

#[test]
fn nothing_is_sent_during_a_stall() {
    let begin_ns = 30_000_000;
    let length_ns = 60_000_000;
    let behaviour = with(|p| {
        p.stamps = true;
        p.stalls = vec!["30ms+60ms".parse().expect("valid")];
    });
    check(behaviour, |_, address| {
        let mut client = Client::connect(address);
        let mut first_at = None;
        loop {
            let response = client.get("/");
            let begin = *first_at.get_or_insert(response.number("x-srv-recv-ns")) + begin_ns;
            let sent = response.number("x-srv-send-ns");
            let stall = begin..begin + length_ns;
            assert!(!stall.contains(&sent), "sent {} ns into the stall", sent - begin);
            if sent >= stall.end {
                break;
            }
        }
    });
}

#[test]
fn arrivals_are_kept_with_their_slots() {
    let judge = |stats: &Stats| {
        let [arrivals] = stats.arrivals.as_slice() else { panic!("there is one worker") };
        let slots: Vec<_> = arrivals.iter().map(|arrival| arrival.slot).collect();
        assert_eq!(slots, [Some(7), None, Some(9), Some(10)]);
        let places: Vec<_> = arrivals.iter().map(|a| (a.connection, a.request)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert!(arrivals.is_sorted_by_key(|arrival| arrival.received_ns));
        // The last request was answered by a reset.
        let responded = arrivals.iter().map(|a| a.sent_ns.map(|sent_ns| sent_ns >= a.received_ns));
        assert_eq!(responded.collect::<Vec<_>>(), [Some(true), Some(true), Some(true), None]);
        assert_eq!((stats.requests.received, stats.arrivals_lost), (5, 1));
    };
    check_stats(
        with(|p| p.arrivals_max = 4),
        |_, address| {
            let ask = |client: &mut Client<TcpStream>, slot: &str, more: &str| {
                client.send(&format!("GET / HTTP/1.1\r\nHost: a\r\nx-slot: {slot}\r\n{more}\r\n"));
            };
            for slots in [["7", "seven"], ["9", "10"]] {
                let mut client = Client::connect(address);
                for slot in slots {
                    let is_reset = slot == "10";
                    ask(&mut client, slot, if is_reset { "x-fault: reset\r\n" } else { "" });
                    assert_eq!(client.response().is_err(), is_reset);
                }
            }
            let mut client = Client::connect(address);
            ask(&mut client, "11", "");
            assert_eq!(client.response().expect("a response").status, 200);
        },
        judge,
    );
}

#[test]
fn many_delayed_responses_wait_at_once() {
    let connections = 50;
    let per_connection = 200;
    let judge = |stats: &Stats| assert_eq!(stats.requests.answered, connections * per_connection);
    check_stats(
        with(|p| p.delay = "uniform:10ms..50ms".parse().expect("valid")),
        |_, address| {
            let mut clients: Vec<_> = (0..connections).map(|_| Client::connect(address)).collect();
            let text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
            for client in &mut clients {
                client.send(&text.repeat(usize::try_from(per_connection).expect("small")));
            }
            for client in &mut clients {
                for _ in 0..per_connection {
                    assert_eq!(client.response().expect("a response").status, 200);
                }
            }
        },
        judge,
    );
}

#[test]
fn several_threads_and_addresses_serve_together() {
    for engine in [EngineChoice::Only(Engine::Epoll), EngineChoice::Auto] {
        let any = Endpoint::Tcp(([127, 0, 0, 1], 0).into());
        let options = ServeOptions {
            listen: vec![any.clone(), any],
            threads: 3,
            engine,
            pin: true,
            ..ServeOptions::default()
        };
        let handle = spawn(options).expect("free ports");
        assert_ne!(handle.endpoints()[0], handle.endpoints()[1]);
        for endpoint in handle.endpoints() {
            let Endpoint::Tcp(address) = endpoint else { panic!("not TCP") };
            for _ in 0..20 {
                assert_eq!(Client::connect(*address).get("/").status, 200);
            }
        }
        assert!(!handle.has_failed());
        let stats = handle.stop().expect("the workers end well");
        assert_eq!(
            (stats.accepted, stats.requests.received, stats.requests.answered),
            (40, 40, 40)
        );
        assert_eq!(stats.accepted_by_worker.len(), 3);
    }
}

#[test]
fn a_server_that_never_sleeps_serves_and_ends() {
    for engine in [EngineChoice::Only(Engine::Epoll), EngineChoice::Auto] {
        let options = ServeOptions { engine, spin: true, ..ServeOptions::default() };
        let handle = spawn(options).expect("a free port");
        let Endpoint::Tcp(address) = handle.endpoints()[0] else { panic!("not TCP") };
        assert_eq!(Client::connect(address).get("/").status, 200);
        assert_eq!(handle.stop().expect("it ends well").requests.answered, 1);
    }
}

#[test]
fn serves_on_a_unix_socket() {
    for engine in [EngineChoice::Only(Engine::Epoll), EngineChoice::Auto] {
        let path = format!("@weir-serve-test-{}-{engine:?}", std::process::id());
        let listen = vec![Endpoint::Unix(path.clone().into())];
        let handle = spawn(ServeOptions { listen, engine, ..ServeOptions::default() });
        let handle = handle.expect("a free name");
        let name = SocketName::from_abstract_name(&path[1..]);
        let stream = UnixStream::connect_addr(&name.expect("a valid name")).expect("it listens");
        let mut client = Client { stream: BufReader::new(stream) };
        assert_eq!(client.get("/").body.len(), 14);
        assert_eq!(handle.stop().expect("the worker ends well").requests.answered, 1);
    }
}

#[test]
fn a_taken_address_is_reported_with_the_remedy() {
    let handle = spawn(ServeOptions::default()).expect("a free port");
    let listen = vec![handle.endpoint().clone()];
    let error = spawn(ServeOptions { listen, ..ServeOptions::default() }).expect_err("taken");
    let text = error.to_string();
    assert!(text.contains("listen on 127.0.0.1:") && text.contains("port 0"), "{text}");
}

#[test]
fn a_stopped_server_listens_no_more() {
    for threads in [1, 3] {
        let options = ServeOptions { threads, ..ServeOptions::default() };
        let handle = spawn(options).expect("a free port");
        let address = address(&handle);
        let mut streams: Vec<_> =
            (0..8).map(|_| TcpStream::connect(address).expect("connect")).collect();
        handle.stop().expect("the workers end well");
        for stream in &mut streams {
            // Connections that had not been accepted are reset.
            assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
        }
        let error = TcpStream::connect(address).expect_err("nothing listens there");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}

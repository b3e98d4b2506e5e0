//! Every fault, injected alone and at known positions: the client sees it as often and in its form,
//! and the truth counts it as often.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{REQUEST, endpoint};
use weir_io::{Backend, Close, ConnId, EventKind, Nanos, Segment, SocketOptions, WaitPolicy};
use weir_sim::{
    Breakage, Client, ConnectCounts, ConnectFault, Counts, Drip, Fate, Faults, Framing, Law, Pause,
    Pick, ResponseFault, Responses, Server, Sim, Version, World, errno,
};

const MS: u64 = 1_000_000;

/// The end of a request as the client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// A complete response of default size.
    Response,
    /// The end of the stream, or an error, before or within a response.
    EndBefore,
    EndWithin,
    ErrorBefore(i32),
    ErrorWithin(i32),
    /// Bytes that are no response.
    Nonsense,
    /// No event for 100 ms.
    Silence,
}

/// Sends `requests` requests one after the other on one connection, which is reopened if needed.
/// Failures of connects are counted separately.
fn run(world: World, requests: usize) -> (BTreeMap<Seen, usize>, BTreeMap<i32, usize>, Sim) {
    let mut sim = Sim::new(world);
    let template = sim.template(Arc::from(REQUEST));
    let mut seen = BTreeMap::new();
    let mut failed_connects = BTreeMap::new();
    let conn = ConnId(0);
    let mut is_open = false;
    for _ in 0..requests {
        while !is_open {
            sim.connect(conn, &endpoint(), SocketOptions::default());
            let give_up_at = sim.now().after(100 * MS);
            match wait_connected(&mut sim, give_up_at) {
                Ok(()) => is_open = true,
                Err(errno) => *failed_connects.entry(errno).or_default() += 1,
            }
        }
        let bytes = u32::try_from(REQUEST.len()).unwrap();
        sim.send(conn, &[Segment::Template { id: template, bytes }]);
        let (what, stays_open) = wait_response(&mut sim);
        *seen.entry(what).or_default() += 1;
        is_open = stays_open && what == Seen::Response;
        if !is_open {
            sim.close(conn, Close::Reset);
        }
    }
    (seen, failed_connects, sim)
}

/// Returns an error number if the connect failed, or zero if there was no event.
fn wait_connected(sim: &mut Sim, give_up_at: Nanos) -> Result<(), i32> {
    sim.wait(give_up_at, WaitPolicy::Sleep).unwrap();
    match sim.next().map(|event| event.kind) {
        Some(EventKind::Connected) => Ok(()),
        Some(EventKind::Failed(error)) => Err(error.raw_os_error().unwrap()),
        None => {
            sim.close(ConnId(0), Close::Reset);
            Err(0)
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the end of a request, and true if the connection can take another.
fn wait_response(sim: &mut Sim) -> (Seen, bool) {
    let give_up_at = sim.now().after(100 * MS);
    let mut received = Vec::new();
    let mut response = None;
    loop {
        if response.is_none() {
            sim.wait(give_up_at, WaitPolicy::Sleep).unwrap();
        }
        let Some(event) = sim.next() else {
            match response {
                Some(what) => return (what, true),
                None if sim.now() >= give_up_at => return (Seen::Silence, true),
                None => continue,
            }
        };
        match event.kind {
            EventKind::Received { bytes, .. } => {
                received.extend_from_slice(bytes);
                response = response.or(judge(&received));
            }
            EventKind::Closed if response.is_some() => return (Seen::Response, false),
            EventKind::Closed if received.is_empty() => return (Seen::EndBefore, false),
            EventKind::Closed => return (Seen::EndWithin, false),
            EventKind::Failed(error) => {
                let errno = error.raw_os_error().unwrap();
                return match (response, received.is_empty()) {
                    (Some(what), _) => (what, false),
                    (None, true) => (Seen::ErrorBefore(errno), false),
                    (None, false) => (Seen::ErrorWithin(errno), false),
                };
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Returns `Response` for a complete response of default size, `Nonsense` for other bytes, or
/// `None` as long as neither is certain.
fn judge(received: &[u8]) -> Option<Seen> {
    const HEAD: &[u8] = b"HTTP/1.1 200 Simulated\r\nserver: weir-sim\r\n";
    let shared = HEAD.len().min(received.len());
    if received[..shared] != HEAD[..shared] {
        return Some(Seen::Nonsense);
    }
    let whole = "content-length: 64\r\n\r\n".len() + HEAD.len() + 64;
    (received.len() >= whole).then_some(Seen::Response)
}

fn with_fault(fault: ResponseFault) -> World {
    let response = vec![(Pick::Exactly(vec![3, 4, 17]), fault)];
    World { faults: Faults { response, ..Faults::default() }, ..World::default() }
}

/// Checks that three of twenty requests meet `fault`, and that the client sees `seen` each time.
fn check_response_fault(fault: ResponseFault, seen: Seen) {
    let (counts, failed_connects, sim) = run(with_fault(fault), 20);
    let truth = sim.truth();
    let mut expected = BTreeMap::from([(Seen::Response, 17)]);
    *expected.entry(seen).or_default() += 3;
    assert_eq!(counts, expected, "{fault:?}");
    assert!(failed_connects.is_empty());
    assert_eq!(truth.requests.len(), 20);
    assert_eq!(truth.counts.injected, BTreeMap::from([(fault, 3)]));
    let faulted: Vec<usize> = (0..20)
        .filter(|&index: &usize| truth.requests[index].fate == Fate::Faulted(fault))
        .collect();
    if seen == Seen::Response {
        assert_eq!((faulted.len(), truth.responded()), (0, 20), "{fault:?}");
    } else {
        assert_eq!((faulted, truth.responded()), (vec![3, 4, 17], 17), "{fault:?}");
    }
}

#[test]
fn faults_of_responses_are_seen_and_counted_exactly() {
    check_response_fault(ResponseFault::ResetBefore, Seen::ErrorBefore(errno::ECONNRESET));
    check_response_fault(ResponseFault::ResetWithin, Seen::ErrorWithin(errno::ECONNRESET));
    check_response_fault(ResponseFault::ResetIdle { after_ns: 0 }, Seen::Response);
    check_response_fault(ResponseFault::CloseBefore, Seen::EndBefore);
    check_response_fault(ResponseFault::CloseWithin, Seen::EndWithin);
    check_response_fault(ResponseFault::CloseAfter, Seen::Response);
    check_response_fault(ResponseFault::Swallow, Seen::Silence);
    check_response_fault(ResponseFault::JunkAfter, Seen::Response);
    for breakage in Breakage::ALL {
        check_response_fault(ResponseFault::Malformed(breakage), Seen::Nonsense);
    }
}

#[test]
fn a_share_of_faults_is_counted_as_it_comes() {
    let fault = ResponseFault::ResetWithin;
    let faults = Faults { response: vec![(Pick::Share(0.1), fault)], ..Faults::default() };
    let (seen, _, sim) = run(World { faults, ..World::default() }, 5_000);
    let injected = sim.truth().counts.injected(fault);
    assert_eq!(seen[&Seen::ErrorWithin(errno::ECONNRESET)] as u64, injected);
    assert!((400..600).contains(&injected), "{injected}");
}

#[test]
fn connects_fail_as_configured() {
    let connect = vec![
        (Pick::First(2), ConnectFault::Refuse),
        (Pick::Exactly(vec![2]), ConnectFault::Hang),
        (Pick::Exactly(vec![3]), ConnectFault::ResetAtOnce),
    ];
    let mut world = World { faults: Faults { connect, ..Faults::default() }, ..World::default() };
    world.network.connect = Law::Fixed(MS);
    let (seen, failed, sim) = run(world, 3);
    assert_eq!(failed, BTreeMap::from([(errno::ECONNREFUSED, 2), (0, 1)]));
    let reset = Seen::ErrorBefore(errno::ECONNRESET);
    assert_eq!(seen, BTreeMap::from([(Seen::Response, 2), (reset, 1)]));
    let expected =
        ConnectCounts { called: 5, refused: 2, hung: 1, reset: 1, done: 2, over_limit: 0 };
    assert_eq!(sim.truth().counts.connects, expected);
}

#[test]
fn connects_are_refused_during_an_interval() {
    let between = Pick::Between { from: Nanos::ZERO, until: Nanos(10 * MS) };
    let connect = vec![(between, ConnectFault::Refuse)];
    let mut world = World { faults: Faults { connect, ..Faults::default() }, ..World::default() };
    world.network.connect = Law::Fixed(MS);
    let (_, failed, sim) = run(world, 1);
    assert_eq!(failed, BTreeMap::from([(errno::ECONNREFUSED, 10)]));
    assert_eq!(sim.truth().counts.connects.refused, 10);
}

#[test]
fn sockets_beyond_the_limit_fail_at_once() {
    let client = Client { open_max: Some(2), ..Client::default() };
    let mut sim = Sim::new(World { client, ..World::default() });
    for conn in 0..4 {
        sim.connect(ConnId(conn), &endpoint(), SocketOptions::default());
    }
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = sim.next() {
        kinds.push(match event.kind {
            EventKind::Connected => (event.conn.0, 0),
            EventKind::Failed(error) => (event.conn.0, error.raw_os_error().unwrap()),
            other => panic!("{other:?}"),
        });
    }
    kinds.sort_unstable();
    assert_eq!(kinds, [(0, 0), (1, 0), (2, errno::EMFILE), (3, errno::EMFILE)]);
    sim.close(ConnId(0), Close::Graceful);
    sim.connect(ConnId(2), &endpoint(), SocketOptions::default());
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    assert!(matches!(sim.next().unwrap().kind, EventKind::Connected));
    assert_eq!((sim.truth().counts.connects.over_limit, sim.truth().counts.open_max), (2, 2));
}

#[test]
fn sends_fail_as_configured() {
    let send = vec![Pick::Every(5)];
    let (seen, _, sim) =
        run(World { faults: Faults { send, ..Faults::default() }, ..World::default() }, 20);
    let failed = Seen::ErrorBefore(errno::ENOBUFS);
    assert_eq!(seen, BTreeMap::from([(Seen::Response, 16), (failed, 4)]));
    assert_eq!(sim.truth().counts.sends_failed, 4);
    assert_eq!(sim.truth().requests.len(), 16);
}

#[test]
fn all_connections_are_reset_at_a_time() {
    let faults = Faults { reset_all_at: vec![Nanos(MS / 2), Nanos(4 * MS)], ..Faults::default() };
    let (seen, _, sim) = run(World { faults, ..World::default() }, 10);
    let reset = Seen::ErrorBefore(errno::ECONNRESET);
    assert_eq!(seen, BTreeMap::from([(Seen::Response, 8), (reset, 2)]));
    assert_eq!(sim.truth().counts.closes.reset_by_time, 2);
}

#[test]
fn a_black_hole_responds_to_nothing_from_its_time_on() {
    let mut world = World::default();
    world.server.black_hole_from = Some(Nanos(5 * MS));
    let (seen, _, sim) = run(world, 8);
    assert_eq!(seen, BTreeMap::from([(Seen::Response, 5), (Seen::Silence, 3)]));
    let swallowed = |request: &&weir_sim::TrueRequest| request.fate == Fate::Swallowed;
    assert_eq!(sim.truth().requests.iter().filter(swallowed).count(), 3);
}

fn counts_of(server: Server, requests: usize) -> (usize, Counts) {
    let (seen, _, sim) = run(World { server, ..World::default() }, requests);
    (seen.get(&Seen::Response).copied().unwrap_or(0), sim.truth().counts)
}

#[test]
fn connections_end_after_so_many_responses() {
    let responses = Responses { close_after: Some(4), ..Responses::default() };
    let (_, counts) = counts_of(Server { responses, ..Server::default() }, 20);
    // The last response of each has `connection: close`, which `judge` does not accept as a
    // response.
    assert_eq!((counts.closes.after_response, counts.connects.called), (5, 5));
    let responses =
        Responses { version: Version::Http10 { keep_alive: false }, ..Responses::default() };
    let (_, counts) = counts_of(Server { responses, ..Server::default() }, 7);
    assert_eq!((counts.closes.after_response, counts.connects.called), (7, 7));
    let responses = Responses { framing: Framing::Close, ..Responses::default() };
    let (_, counts) = counts_of(Server { responses, ..Server::default() }, 7);
    assert_eq!((counts.closes.after_response, counts.connects.called), (7, 7));
}

#[test]
fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let server = Server { idle_close_ns: Some(3 * MS), ..Server::default() };
    let (responses, counts) = counts_of(server.clone(), 20);
    assert_eq!((responses, counts.closes.when_idle), (20, 0));
    let mut sim = Sim::new(World { server, ..World::default() });
    sim.connect(ConnId(0), &endpoint(), SocketOptions::default());
    assert_eq!(wait_connected(&mut sim, Nanos(1)), Ok(()));
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    assert!(matches!(sim.next().unwrap().kind, EventKind::Closed));
    assert_eq!((sim.now(), sim.truth().counts.closes.when_idle), (Nanos(3 * MS), 1));
}

#[test]
fn a_drip_delivers_pieces_at_their_times_and_a_stall_holds_it_up() {
    let drip = Some(Drip { pieces: 4, gap_ns: MS });
    let responses = Responses { drip, ..Responses::default() };
    let stalls = vec![Pause::new(Nanos(2 * MS + 1), 10 * MS)];
    let server = Server { responses, stalls, ..Server::default() };
    let (_, _, sim) = run(World { server, ..World::default() }, 1);
    let request = sim.truth().requests[0];
    assert_eq!(request.first_delivered_at, Some(Nanos(MS)));
    assert_eq!(request.delivered_at, Some(Nanos(14 * MS)));
}

#[test]
fn bytes_for_a_connection_that_the_server_closed_are_answered_with_a_reset() {
    let mut world = World::default();
    world.server.idle_close_ns = Some(MS);
    world.network.down = Law::Fixed(MS);
    world.network.up = Law::Fixed(MS);
    let mut sim = Sim::new(world);
    let template = sim.template(Arc::from(REQUEST));
    sim.connect(ConnId(0), &endpoint(), SocketOptions::default());
    assert_eq!(wait_connected(&mut sim, Nanos(1)), Ok(()));
    sim.wait(Nanos(MS + 1), WaitPolicy::Sleep).unwrap();
    let bytes = u32::try_from(REQUEST.len()).unwrap();
    sim.send(ConnId(0), &[Segment::Template { id: template, bytes }]);
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    assert!(matches!(sim.next().unwrap().kind, EventKind::Closed));
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    let EventKind::Failed(error) = sim.next().unwrap().kind else { panic!("a reset was due") };
    assert_eq!(error.raw_os_error(), Some(errno::ECONNRESET));
    let truth = sim.truth();
    assert_eq!((truth.requests.len(), truth.counts.sends_too_late), (0, 1));
}

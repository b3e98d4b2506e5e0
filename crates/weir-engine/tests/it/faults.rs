//! Every fault: as many errors as were injected, each of its kind, and no slot lost.

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_result::{ErrorKind, FailureCause, FailureKind, FailurePhase, Plan};
use weir_sim::{Breakage, ConnectFault, Drip, Fate, Law, Pick, ResponseFault, World, errno};

use crate::setup::{
    MS, Run, SECOND, START, US, check_all, check_exact, closed, due_at, open, run, run_part,
    serving,
};

/// Ordinals of the faulty requests: some early, two in a row, one on a later socket.
const PLACES: [u64; 5] = [3, 10, 11, 12, 500];

fn with_fault(fault: ResponseFault) -> World {
    let mut world = serving(MS);
    world.faults.response = vec![(Pick::Exactly(PLACES.to_vec()), fault)];
    world
}

fn failure(phase: FailurePhase, cause: FailureCause) -> FailureKind {
    FailureKind { phase, cause }
}

/// Checks that the faults appear as `expected` and cause no other error, in closed and open loops.
fn check_fault(fault: ResponseFault, expected: Option<ErrorKind>) {
    let struck = PLACES.len() as u64;
    for plan in [closed(1), closed(4), open(1_000, 1, 4), open(1_000, 1, 50)] {
        let what = format!("{fault:?}, {:?}", plan.load);
        let run = run(with_fault(fault), &plan);
        let outcomes = run.measured.results.outcomes;
        assert_eq!(run.truth.counts.injected(fault), struck, "{what}");
        let errors = expected.map(|kind| (kind, struck));
        assert_eq!(run.measured.results.errors, BTreeMap::from_iter(errors), "{what}");
        let failed = if expected.is_some() { struck } else { 0 };
        assert_eq!(outcomes.transport_error, failed, "{what}");
        assert_eq!(outcomes.ok, run.measured.results.planned - failed, "{what}");
        check_all(&what, &run.measured.results.service_time.ok, outcomes.ok, MS);
        check_all(&what, &run.measured.results.service_time.failed_at, failed, MS);
    }
}

#[test]
fn responses_that_fail_are_counted_by_kind() {
    let reset = ErrorKind::Errno(errno::ECONNRESET);
    check_fault(ResponseFault::ResetBefore, Some(reset));
    check_fault(ResponseFault::ResetWithin, Some(reset));
    check_fault(ResponseFault::CloseBefore, Some(ErrorKind::ClosedBeforeAnswer));
    check_fault(ResponseFault::CloseWithin, Some(ErrorKind::ClosedInAnswer));
}

#[test]
fn what_follows_a_response_is_no_failure_of_it() {
    check_fault(ResponseFault::CloseAfter, None);
    check_fault(ResponseFault::JunkAfter, None);
    check_fault(ResponseFault::ResetIdle { after_ns: 0 }, None);
}

#[test]
fn broken_responses_are_counted_by_the_rule_they_break() {
    let kinds = [
        (Breakage::StatusLine, "bad_status_line"),
        (Breakage::Version, "bad_status_line"),
        (Breakage::StatusCode, "bad_status_line"),
        (Breakage::HeaderLine, "bad_header"),
        (Breakage::HeaderName, "bad_header"),
        (Breakage::Length, "bad_content_length"),
        (Breakage::TwoLengths, "conflicting_content_length"),
        (Breakage::ChunkSize, "bad_chunk_size"),
        (Breakage::ChunkEnd, "bad_chunk_end"),
        (Breakage::EndlessHead, "head_too_large"),
    ];
    assert_eq!(kinds.len(), Breakage::ALL.len());
    for (breakage, code) in kinds {
        check_fault(ResponseFault::Malformed(breakage), Some(ErrorKind::Protocol(code)));
    }
}

#[test]
fn failures_of_connections_are_counted_where_they_happened() {
    let connections = |fault: ResponseFault| {
        let plan = closed(1).with_load(|load| load.timeout_ns = 20 * MS);
        let run = run(with_fault(fault), &plan);
        (run.measured.connections.failures, run.measured.connections.closed_by_peer)
    };
    let reset = FailureCause::Errno(errno::ECONNRESET);
    let count = |phase, cause| BTreeMap::from([(failure(phase, cause), 5)]);
    use FailurePhase::{Idle, InUse};
    assert_eq!(connections(ResponseFault::ResetBefore), (count(InUse, reset), 0));
    assert_eq!(connections(ResponseFault::ResetIdle { after_ns: 0 }), (count(Idle, reset), 0));
    let closed = count(InUse, FailureCause::Closed);
    assert_eq!(connections(ResponseFault::CloseBefore), (closed, 0));
    assert_eq!(connections(ResponseFault::CloseAfter), (BTreeMap::new(), 5));
    let junk = count(Idle, FailureCause::Protocol("unsolicited_bytes"));
    assert_eq!(connections(ResponseFault::JunkAfter), (junk, 0));
    assert_eq!(connections(ResponseFault::Swallow), (count(InUse, FailureCause::Timeout), 0));
}

#[test]
fn a_reset_of_an_idle_connection_costs_no_request() {
    let fault = ResponseFault::ResetIdle { after_ns: 300 * US };
    let run = run(with_fault(fault), &open(100, 1, 4));
    assert_eq!(run.truth.counts.injected(fault), 4, "the fifth place lies beyond the end");
    assert_eq!((run.measured.results.outcomes.ok, run.measured.results.planned), (100, 100));
    check_all("service", &run.measured.results.service_time.ok, 100, MS);
}

#[test]
fn a_share_of_faults_is_counted_as_it_came() {
    let mut world = serving(MS);
    let faults = [
        (0.05, ResponseFault::ResetWithin),
        (0.05, ResponseFault::CloseBefore),
        (0.05, ResponseFault::CloseWithin),
        (0.05, ResponseFault::Malformed(Breakage::Length)),
    ];
    world.faults.response =
        faults.iter().map(|(share, fault)| (Pick::Share(*share), *fault)).collect();
    let plan = open(2_000, 1, 50);
    let run = run(world, &plan);
    // A fault may also affect a request sent after the window.
    let injected = |index: usize| {
        let measured = &run.truth.requests[..2_000];
        let struck =
            |request: &&weir_sim::TrueRequest| request.fate == Fate::Faulted(faults[index].1);
        measured.iter().filter(struck).count() as u64
    };
    let expected = [
        (ErrorKind::Errno(errno::ECONNRESET), injected(0)),
        (ErrorKind::ClosedBeforeAnswer, injected(1)),
        (ErrorKind::ClosedInAnswer, injected(2)),
        (ErrorKind::Protocol("bad_content_length"), injected(3)),
    ];
    assert_eq!(run.measured.results.errors, BTreeMap::from(expected));
    assert!(run.measured.results.outcomes.transport_error > 300);
}

#[test]
fn responses_behind_a_failed_one_are_never_requested_again() {
    let plan = closed(1).with_load(|load| load.pipeline = 4);
    let mut world = serving(MS);
    let fault = ResponseFault::CloseWithin;
    world.faults.response = vec![(Pick::Exactly(vec![3, 30, 50, 200, 500]), fault)];
    let run = run(world, &plan);
    let errors = &run.measured.results.errors;
    assert_eq!(errors[&ErrorKind::ClosedInAnswer], 5);
    let dropped = |request: &&weir_sim::TrueRequest| request.fate == Fate::Dropped;
    let dropped = run.truth.requests.iter().filter(dropped).count() as u64;
    // The requests behind it had arrived at the server, except those in transit.
    assert_eq!(errors[&ErrorKind::ClosedBeforeAnswer], dropped);
    assert_eq!(
        run.truth.requests.len() as u64,
        run.measured.results.planned + run.measured.sent.tail
    );
}

#[test]
fn refused_connections_are_tried_again_and_counted() {
    let mut world = serving(MS);
    world.faults.connect = vec![(Pick::First(7), ConnectFault::Refuse)];
    let run = run(world, &closed(3));
    let refused = failure(FailurePhase::Connect, FailureCause::Errno(errno::ECONNREFUSED));
    assert_eq!(run.measured.connections.failures, BTreeMap::from([(refused, 7)]));
    assert_eq!(run.measured.connections.connects, 3);
    assert!(run.measured.results.errors.is_empty(), "no request was sent for nothing");
    assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
}

#[test]
fn a_server_that_refuses_for_a_while_leaves_slots_waiting() {
    let mut world = serving(MS);
    let between = Pick::Between { from: Nanos(100 * MS), until: Nanos(400 * MS) };
    world.faults.connect = vec![(between, ConnectFault::Refuse)];
    world.faults.reset_all_at = vec![Nanos(100 * MS)];
    let plan = open(100, 1, 2);
    let run = run(world, &plan);
    let outcomes = run.measured.results.outcomes;
    assert_eq!(outcomes.ok + outcomes.transport_error, 100);
    // Slots due while the server refused were sent later, and record the wait.
    let wait = run.measured.connection_wait.exact();
    assert!(wait.max_ns > 290 * MS && wait.max_ns < 1_200 * MS, "{wait:?}");
    assert_eq!(run.measured.sched_lag.exact().max_ns, 0);
    let refused = failure(FailurePhase::Connect, FailureCause::Errno(errno::ECONNREFUSED));
    assert_eq!(run.measured.connections.failures[&refused], run.truth.counts.connects.refused);
}

#[test]
fn a_server_that_is_not_there_ends_every_kind_of_run() {
    let number = closed(3).with_load(|load| {
        load.requests = Some(10);
        load.duration_ns = None;
        load.timeout_ns = SECOND;
    });
    let number = number.with_load(|load| load.connect_timeout_ns = SECOND);
    let plans = [
        (0, closed(3).with_load(|load| load.timeout_ns = SECOND)),
        (10, number.clone()),
        (10, number.with_load(|load| load.due = open(100, 1, 3).load.due)),
        (100, open(100, 1, 3).with_load(|load| load.timeout_ns = SECOND)),
    ];
    for fault in [ConnectFault::Refuse, ConnectFault::Hang, ConnectFault::ResetAtOnce] {
        for (planned, plan) in &plans {
            let mut world = serving(MS);
            world.network.connect = Law::Fixed(MS);
            world.faults.connect = vec![(Pick::Share(1.0), fault)];
            let run = run(world, plan);
            let outcomes = run.measured.results.outcomes;
            let what = format!("{fault:?}, {:?}, {outcomes:?}", plan.load);
            assert_eq!((outcomes.ok, outcomes.bad_response), (0, 0), "{what}");
            // A connection that is reset at once may have carried a request that no server
            // received.
            if fault != ConnectFault::ResetAtOnce {
                assert_eq!(
                    (run.measured.results.planned, outcomes.never_sent),
                    (*planned, *planned)
                );
            }
        }
    }
}

#[test]
fn connects_without_a_response_time_out() {
    let mut world = serving(MS);
    world.faults.connect = vec![(Pick::First(2), ConnectFault::Hang)];
    let plan = closed(2).with_load(|load| load.connect_timeout_ns = 50 * MS);
    let run = run(world, &plan);
    let hung = failure(FailurePhase::Connect, FailureCause::Timeout);
    assert_eq!(run.measured.connections.failures, BTreeMap::from([(hung, 2)]));
    assert_eq!(run.start(), START.after(50 * MS), "all had failed once");
    assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
    // Both were reopened after the shortest back-off, 10 ms: 4.998 ms into the window.
    assert_eq!(run.measured.results.planned, 2 * 996);
}

#[test]
fn sockets_beyond_the_limit_are_counted_and_the_rest_carries_on() {
    let mut world = serving(MS);
    world.client.open_max = Some(5);
    let run = run(world, &closed(8));
    let failures = &run.measured.connections.failures;
    let over = failure(FailurePhase::Connect, FailureCause::Errno(errno::EMFILE));
    assert_eq!(failures.keys().collect::<Vec<_>>(), [&over]);
    assert_eq!(failures[&over], run.truth.counts.connects.over_limit);
    assert_eq!(run.measured.connections.open_max, 5);
    assert_eq!(run.measured.results.outcomes.ok, 5 * 1_000);
}

#[test]
fn sends_that_fail_are_errors_of_their_requests() {
    let mut world = serving(MS);
    world.faults.send = vec![Pick::Every(100)];
    let run = run(world, &open(1_000, 1, 10));
    let failed = run.truth.counts.sends_failed;
    assert_eq!(failed, 10);
    let expected = BTreeMap::from([(ErrorKind::Errno(errno::ENOBUFS), failed)]);
    assert_eq!(run.measured.results.errors, expected);
    let sent = run.measured.sent;
    assert_eq!((sent.measured, sent.failed), (1_000 - failed, failed));
    assert_eq!(run.truth.requests.len() as u64, sent.total());
}

#[test]
fn of_requests_sent_together_those_that_did_not_leave_are_not_sent() {
    for (plan, name) in [(closed(2), "closed"), (open(20_000, 1, 2), "open")] {
        let mut world = serving(MS);
        world.faults.send = vec![Pick::Every(7)];
        let plan = plan.with_load(|load| load.pipeline = 4);
        let run = run(world, &plan);
        let sent = run.measured.sent;
        assert!(sent.failed >= run.truth.counts.sends_failed, "{name}: {sent:?}");
        assert!(run.truth.counts.sends_failed > 10, "{name}");
        assert_eq!(run.truth.requests.len() as u64, sent.total(), "{name}: {sent:?}");
    }
}

/// V10: a server that accepts, and never responses.
#[test]
fn a_black_hole_leaves_bounds_and_no_zeros() {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(Nanos::ZERO);
    let plan = closed(4).with_load(|load| load.timeout_ns = 200 * MS);
    let closed_loop = run(world.clone(), &plan);
    let outcomes = closed_loop.measured.results.outcomes;
    assert_eq!(outcomes.timed_out, outcomes.total());
    assert_eq!(closed_loop.measured.results.completed, 0);
    check_all(
        "ages",
        &closed_loop.measured.results.response_time.censored,
        outcomes.timed_out,
        200 * MS,
    );
    // Sent at 0, 200, 400, 600, 800 ms: a socket that was open for that long is replaced at once.
    assert_eq!(outcomes.timed_out, 4 * 5);

    let plan = open(1_000, 1, 4).with_load(|load| load.timeout_ns = 200 * MS);
    let open_loop = run(world, &plan);
    let outcomes = open_loop.measured.results.outcomes;
    assert_eq!(outcomes.ok, 0);
    assert_eq!(outcomes.timed_out + outcomes.in_flight_at_end + outcomes.never_sent, 1_000);
    assert!(outcomes.timed_out >= 16 && outcomes.never_sent > 900, "{outcomes:?}");
    let service = open_loop.measured.results.service_time.censored.exact();
    assert_eq!(service.max_ns, 200 * MS, "the timeout counts from the send");
}

#[test]
fn a_black_hole_in_the_middle_is_exact() {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(START.after(500 * MS));
    let plan = open(1_000, 1, 2_000).with_load(|load| load.timeout_ns = 100 * MS);
    let run = run(world, &plan);
    let outcomes = run.measured.results.outcomes;
    // Due at 0.5, 1.5, … ms: 500 before the fault, all others lost, each on a connection of its
    // own.
    assert_eq!((outcomes.ok, outcomes.timed_out), (500, 500));
    check_all("ages", &run.measured.results.response_time.censored, 500, 100 * MS);
}

#[test]
fn a_timeout_is_exact_to_the_nanosecond() {
    for (service_ns, is_late) in [(100 * MS - 1, false), (100 * MS, false), (100 * MS + 1, true)] {
        let plan = open(100, 1, 100).with_load(|load| load.timeout_ns = 100 * MS);
        let run = run(serving(service_ns), &plan);
        let outcomes = run.measured.results.outcomes;
        let expected = if is_late { (0, 100) } else { (100, 0) };
        assert_eq!((outcomes.ok, outcomes.timed_out), expected, "{service_ns}");
        check_all("ages", &run.measured.results.response_time.censored, expected.1, 100 * MS);
        check_all("responses", &run.measured.results.response_time.ok, expected.0, service_ns);
    }
}

#[test]
fn a_response_that_drips_past_the_timeout_times_out() {
    let mut world = serving(MS);
    world.server.responses.drip = Some(Drip { pieces: 10, gap_ns: 20 * MS });
    let plan = open(20, 1, 50).with_load(|load| load.timeout_ns = 100 * MS);
    let run = run(world, &plan);
    assert_eq!(run.measured.results.outcomes.timed_out, 20);
    check_all("ages", &run.measured.results.response_time.censored, 20, 100 * MS);
}

/// Ages of slots that waited for a connection first count from the time they were due.
#[test]
fn a_timeout_counts_from_the_send_and_its_age_from_the_plan() {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(Nanos::ZERO);
    let plan = open(20, 1, 1).with_load(|load| {
        load.requests = Some(4);
        load.duration_ns = None;
    });
    let plan = plan.with_load(|load| load.timeout_ns = 100 * MS);
    let run = run(world, &plan);
    // Due at 25, 75, 125, 175 ms; the window ends at 200 ms and the drain at 300 ms.
    let sent: Vec<u64> =
        run.truth.requests.iter().map(|request| request.sent_at.since(START) / MS).collect();
    assert_eq!(sent, [25, 125, 225]);
    let outcomes = run.measured.results.outcomes;
    assert_eq!((outcomes.timed_out, outcomes.in_flight_at_end, outcomes.never_sent), (2, 1, 1));
    let ends = [125, 225, 300, 300].map(|ms| START.after(ms * MS));
    let ages = (0..).zip(ends).map(|(index, end)| end.since(due_at(&run, &plan, index)));
    check_exact("ages", &run.measured.results.response_time.censored, ages);
    let service = run.measured.results.service_time.censored.exact();
    assert_eq!((service.count, service.max_ns, service.min_ns), (3, 100 * MS, 75 * MS));
}

#[test]
fn a_server_that_closes_idle_connections_is_no_error() {
    let mut world = serving(MS);
    world.server.idle_close_ns = Some(20 * MS);
    // Four connections in turn, each idle for 99 ms between two slots.
    let run = run(world, &open(40, 1, 4));
    assert!(run.truth.counts.closes.when_idle > 20, "{:?}", run.truth.counts);
    assert_eq!((run.measured.results.outcomes.ok, run.measured.results.planned), (40, 40));
    assert!(run.measured.connections.failures.is_empty());
}

#[test]
fn an_interrupted_run_ends_in_order_at_any_time() {
    for plan in [
        closed(4),
        open(1_000, 1, 4),
        closed(2).with_load(|load| {
            load.pipeline = 3;
            load.warmup.span_ns = 20 * MS;
        }),
    ] {
        for at in (0..60).map(|step| Nanos(step * 777 * US)) {
            let mut world = serving(MS);
            world.network.connect = Law::Fixed(2 * MS);
            let run = run_part(world, &plan, 0, at);
            check_interrupted(&run, &plan, at);
        }
    }
}

fn check_interrupted(run: &Run, plan: &Plan, at: Nanos) {
    let measured = &run.measured;
    let what = format!("interrupted at {at}, {:?}: {:?}", plan.load, measured.results.outcomes);
    assert!(measured.interrupted, "{what}");
    let end = Nanos(measured.workers[0].drained_ns);
    assert!(end >= at && end <= at.after(10 * MS), "{what}: ended at {end}");
    assert_eq!(measured.results.outcomes.transport_error, 0, "{what}");
    let t0 = run.start().after(plan.load.warmup.span_ns);
    let sent_in_window = run.sent_between(t0, at.max(t0)).len() as u64;
    assert_eq!(measured.sent.measured, sent_in_window, "{what}");
    assert_eq!(
        measured.results.outcomes.ok + measured.results.outcomes.in_flight_at_end,
        sent_in_window,
        "{what}"
    );
    assert!(run.truth.requests.iter().all(|request| request.sent_at < at), "{what}: sent after");
}

/// A connection that is repeatedly closed for being idle is open again when a slot is due.
#[test]
fn a_server_that_closes_idle_connections_costs_slow_slots_nothing() {
    let mut world = serving(MS);
    world.server.idle_close_ns = Some(5 * SECOND);
    let plan = open(1, 97, 1).with_load(|load| load.duration_ns = Some(3_000 * SECOND));
    let run = run(world, &plan);
    assert!(run.truth.counts.closes.when_idle > 500);
    check_all("wait", &run.measured.connection_wait, run.measured.results.planned, 0);
    check_all("response", &run.measured.results.response_time.ok, run.measured.results.planned, MS);
}

//! The drain (METHOD 1.5): its length, its sends, and the ages of the slots that it leaves.

use weir_engine::{Ending, Job};
use weir_io::Nanos;
use weir_result::Plan;
use weir_sim::{ConnectFault, Law, Pause, Pick, Workers, World};

use crate::setup::{
    MS, Run, SECOND, START, check_all, check_exact, check_ranges, closed, due_at, job, open, run,
    run_job, run_part, serving,
};

/// Returns a server that accepts connections and requests, and never responds.
fn silent() -> World {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(Nanos::ZERO);
    world
}

/// Returns a server that takes `service_ns` for every response and stalls from `from` for
/// `stall_ns`.
fn stalled(service_ns: u64, from: Nanos, stall_ns: u64) -> World {
    let mut world = serving(service_ns);
    world.server.stalls = vec![Pause::new(from, stall_ns)];
    world
}

/// Returns the job of a plan in a dialect: late responses count, and the load ends at t1.
fn dialect(plan: &Plan) -> Job {
    let ending = Ending { late_responses: true, stops_at_t1: true, ..Ending::default() };
    Job { ending, ..job(plan) }
}

fn run_dialect(world: World, plan: &Plan) -> Run {
    run_job(world, &dialect(plan), 0, Nanos::MAX, None)
}

/// Returns the end of sending, and the time at which the sockets were closed.
fn ends(run: &Run) -> (Nanos, Nanos) {
    let phases = &run.measured.workers[0];
    (Nanos(phases.tail_end_ns), Nanos(phases.drained_ns))
}

#[test]
fn a_silent_server_costs_one_drain_and_no_more() {
    // The longer of 1 s and a fifth of the window, but at most the timeout.
    let timeout_ns = 10 * SECOND;
    let with_window = |window_ns, timeout_ns, drain_ns| {
        closed(4).with_load(|load| {
            load.duration_ns = Some(window_ns);
            load.timeout_ns = timeout_ns;
            load.drain_ns = drain_ns;
        })
    };
    for (plan, drain_ns) in [
        (with_window(2 * SECOND, timeout_ns, None), SECOND),
        (with_window(12 * SECOND, timeout_ns, None), 12 * SECOND / 5),
        (with_window(9 * SECOND, 20 * SECOND, None), 9 * SECOND / 5),
        (with_window(2 * SECOND, 300 * MS, None), 300 * MS),
        (with_window(2 * SECOND, timeout_ns, Some(3 * SECOND)), 3 * SECOND),
        (with_window(2 * SECOND, timeout_ns, Some(0)), 0),
    ] {
        for due in [plan.load.due.clone(), open(100, 1, 4).load.due] {
            let plan = plan.clone().with_load(|load| load.due = due);
            let run = run(silent(), &plan);
            let end = START.after(plan.load.length_ns().expect("it is by time") + drain_ns);
            let what = format!("{:?} {drain_ns}", plan.load);
            // If requests time out before that, the window's last ones may do so too.
            assert!(ends(&run) <= (end, end), "{what}: {:?}", ends(&run));
            if plan.load.timeout_ns > drain_ns {
                assert_eq!(ends(&run), (end, end), "{what}");
                assert_eq!(run.measured.results.outcomes.in_flight_at_end, 4, "{what}");
            }
        }
    }
}

#[test]
fn what_a_drain_leaves_is_as_old_as_it_is_then() {
    let plan = open(100, 1, 4).with_load(|load| load.duration_ns = Some(2 * SECOND));
    let run = run(silent(), &plan);
    let outcomes = run.measured.results.outcomes;
    assert_eq!((outcomes.in_flight_at_end, outcomes.never_sent), (4, 196));
    let end = START.after(3 * SECOND);
    let ages = (0..200).map(|index| end.since(due_at(&run, &plan, index)));
    check_ranges("ages", &run.measured.results.response_time.censored, ages);
}

/// A window without a length has no fraction as the limit, so the limit is the timeout.
#[test]
fn a_number_of_requests_alone_is_awaited_for_the_timeout() {
    let plan = open(10, 1, 4).with_load(|load| {
        load.requests = Some(4);
        load.duration_ns = None;
    });
    let run = run(silent(), &plan.with_load(|load| load.timeout_ns = 3 * SECOND));
    // Due at 50, 150, 250, 350 ms; the window ends at 400 ms, and the last times out at 3,350 ms.
    assert_eq!(run.measured.results.outcomes.timed_out, 4);
    assert_eq!(ends(&run).0, START.after(3_350 * MS));
}

/// Due requests of the window are sent in the drain as connections become free, and responses that
/// arrive in it complete their requests. The load beyond the window does neither.
#[test]
fn a_backlog_is_worked_off_in_the_drain() {
    let world = stalled(MS, START.after(500 * MS), 700 * MS);
    let plan = open(100, 1, 2);
    let run = run(world, &plan);
    assert_eq!((run.measured.results.planned, run.measured.results.outcomes.ok), (100, 100));
    let t1 = START.after(SECOND);
    assert!(run.measured.results.completed <= 50);
    assert!(run.sent_between(t1, Nanos::MAX).len() as u64 > run.measured.sent.tail);
    assert!(run.measured.sent.tail > 0, "the load continues");
    // The server resumes at 1,200 ms and takes 1 ms for each of 2: all is served long before 2 s.
    let (sending_end, closed_at) = ends(&run);
    assert!(sending_end < START.after(1_300 * MS), "{sending_end}");
    assert!(closed_at <= sending_end.after(2 * MS), "{closed_at}");
}

/// A faultless server has responded to every request it received when the sockets close.
#[test]
fn the_load_of_the_drain_is_awaited() {
    for plan in [closed(5), open(1_000, 1, 50)] {
        let run = run(serving(20 * MS), &plan);
        let sent = run.measured.sent;
        assert!(sent.tail > 0);
        assert_eq!(run.truth.responded(), sent.measured + sent.tail);
        assert!(ends(&run).1 <= START.after(SECOND + 40 * MS));
    }
}

#[test]
fn a_dialect_sends_nothing_after_the_window() {
    // Two connections carry 200 of the planned 1,000 requests per second.
    let plan = open(1_000, 1, 2);
    let run = run_dialect(serving(10 * MS), &plan);
    let t1 = START.after(SECOND);
    let measured = &run.measured;
    assert_eq!(run.sent_between(t1, Nanos::MAX).len(), 0);
    assert_eq!(
        (measured.results.planned, measured.sent.measured, measured.sent.tail),
        (1_000, 200, 0)
    );
    assert_eq!((measured.results.outcomes.ok, measured.results.outcomes.never_sent), (200, 800));
    // The age of a slot that was never sent is its age at t1.
    let ages = (200..1_000).map(|index| t1.since(due_at(&run, &plan, index)));
    check_ranges("ages", &measured.results.response_time.censored, ages);
    // Sent at 0.5 and 1.5 ms, and every 10 ms from there: the last at 990.5 and 991.5 ms.
    assert_eq!(ends(&run), (t1, t1.after(1_500_000)));
    check_all("service", &measured.results.service_time.ok, 200, 10 * MS);

    let run = run_dialect(serving(10 * MS), &closed(2));
    assert_eq!(run.sent_between(t1, Nanos::MAX).len(), 0);
    assert_eq!((run.measured.results.outcomes.ok, run.measured.sent.tail), (200, 0));
    // The last requests were sent at 990 ms, and their responses came as the window ended.
    assert_eq!(ends(&run), (t1, t1));
}

#[test]
fn a_dialect_awaits_what_is_in_flight_for_one_drain() {
    for (window_ns, drain_ns) in [(SECOND, SECOND), (10 * SECOND, 2 * SECOND)] {
        let plan = open(100, 1, 3).with_load(|load| {
            load.duration_ns = Some(window_ns);
            load.timeout_ns = 2 * SECOND;
            load.drain_ns = None;
        });
        let run = run_dialect(silent(), &plan);
        let t1 = START.after(window_ns);
        assert_eq!(ends(&run), (t1, t1.after(drain_ns)));
        let outcomes = run.measured.results.outcomes;
        let censored = &run.measured.results.response_time.censored;
        assert_eq!(
            (outcomes.in_flight_at_end, outcomes.never_sent),
            (3, run.measured.results.planned - 3)
        );
        // The age of requests in flight is that at the drain's end, the age of the others that at
        // t1.
        let until = |index| if index < 3 { t1.after(drain_ns) } else { t1 };
        let ages = (0..run.measured.results.planned)
            .map(|index| until(index).since(due_at(&run, &plan, index)));
        check_ranges("ages", censored, ages);
    }
}

#[test]
fn absurd_rates_of_a_dialect_end_with_the_window() {
    let plan = open(100_000_000, 1, 3).with_load(|load| load.duration_ns = Some(2 * SECOND));
    let run = run_dialect(serving(MS), &plan);
    // Each connection sends every millisecond, first when the first slots are due.
    assert_eq!(run.truth.requests.len(), 3 * 2_000);
    assert_eq!(run.measured.results.outcomes.ok, 3 * 2_000);
    assert_eq!(run.measured.results.outcomes.never_sent, 200_000_000 - 6_000);
    let ages = run.measured.results.response_time.censored.exact();
    assert!(ages.min_ns <= 5 && ages.max_ns < 2 * SECOND, "{ages:?}");
    assert!(ends(&run).1 <= START.after(2 * SECOND + MS));
}

#[test]
fn a_signal_in_the_drain_ends_it_and_keeps_the_window() {
    let plan = open(100, 1, 4).with_load(|load| load.drain_ns = Some(10 * SECOND));
    let stop_at = START.after(SECOND + 300 * MS);
    let world = stalled(MS, START.after(500 * MS), 60 * SECOND);
    let run = run_part(world, &plan, 0, stop_at);
    assert!(!run.measured.interrupted, "its window was complete");
    assert_eq!(run.measured.results.planned, 100);
    assert_eq!(ends(&run), (stop_at, stop_at));
    let outcomes = run.measured.results.outcomes;
    assert_eq!((outcomes.ok, outcomes.in_flight_at_end, outcomes.never_sent), (50, 4, 46));
    let ages = (50..100).map(|index| stop_at.since(due_at(&run, &plan, index)));
    check_ranges("ages", &run.measured.results.response_time.censored, ages);
    assert_eq!(run.sent_between(stop_at, Nanos::MAX).len(), 0);
}

/// Slots that a stall of the server delays past the end are sent in the drain, and the load goes on
/// until they have their response.
#[test]
fn a_signal_is_the_planned_end_of_a_window_without_one() {
    for (load, planned) in [(open(100, 1, 4), 80), (closed(4), 404)] {
        let plan = load.with_load(|load| load.duration_ns = None);
        let world = stalled(5 * MS, START.after(500 * MS), 500 * MS);
        let stop_at = START.after(800 * MS);
        let run = run_part(world, &plan, 0, stop_at);
        let measured = &run.measured;
        assert!(!measured.interrupted, "{:?}", plan.load);
        assert_eq!(
            (measured.results.planned, measured.results.outcomes.ok),
            (planned, planned),
            "{:?}",
            plan.load
        );
        assert_eq!(measured.workers[0].window_ns, (START.0, stop_at.0));
        assert!(!run.sent_between(stop_at, Nanos::MAX).is_empty(), "{:?}", plan.load);
    }
}

#[test]
fn a_signal_ends_a_silent_window_within_one_second() {
    for load in [open(100, 1, 4), closed(4)] {
        let plan = load.with_load(|load| load.duration_ns = None);
        let stop_at = START.after(5 * SECOND);
        let run = run_part(silent(), &plan, 0, stop_at);
        assert!(!run.measured.interrupted);
        assert_eq!(run.measured.results.outcomes.in_flight_at_end, 4);
        assert_eq!(ends(&run).1, stop_at.after(SECOND));
    }
}

#[test]
fn a_signal_in_the_warm_up_of_a_window_without_an_end_interrupts_it() {
    let plan = closed(4).with_load(|load| {
        load.duration_ns = None;
        load.warmup.span_ns = SECOND;
    });
    let run = run_part(serving(MS), &plan, 0, START.after(500 * MS));
    assert!(run.measured.interrupted);
    assert_eq!(run.measured.results.planned, 0);
}

/// Only the load of the drain is left when the signal arrives.
#[test]
fn a_signal_ends_the_wait_for_unmeasured_responses() {
    // From t1 on one in two requests takes ten seconds.
    let mut world = serving(MS);
    world.server.service = Law::Bimodal { fast_ns: MS, slow_ns: 10 * SECOND, slow_share: 0.5 };
    let plan = open(4, 1, 400).with_load(|load| load.drain_ns = Some(60 * SECOND));
    let whole = run(world.clone(), &plan);
    assert_eq!(whole.measured.results.outcomes.ok, whole.measured.results.planned);
    let (sending_end, closed_at) = ends(&whole);
    assert!(closed_at > sending_end, "{closed_at}");
    let stop_at = sending_end.after(1);
    let stopped = run_part(world, &plan, 0, stop_at);
    assert!(!stopped.measured.interrupted);
    assert_eq!(stopped.measured.results.outcomes, whole.measured.results.outcomes);
    assert_eq!(ends(&stopped), (sending_end, stop_at));
}

#[test]
fn a_client_that_stops_over_the_windows_end_ends_with_the_drain() {
    let mut world = serving(MS);
    world.client.stops = vec![Pause::new(START.after(500 * MS), SECOND)];
    world.server.workers = Workers::Unlimited;
    for plan in [closed(4), open(1_000, 1, 50), open(1_000_000, 1, 4)] {
        let run = run(world.clone(), &plan);
        assert!(ends(&run).1 <= START.after(2 * SECOND), "{:?}: {:?}", plan.load, ends(&run));
        let run = run_dialect(world.clone(), &plan);
        assert!(ends(&run).1 <= START.after(1_500 * MS), "{:?}: {:?}", plan.load, ends(&run));
        assert_eq!(run.sent_between(START.after(SECOND), Nanos::MAX).len(), 0);
    }
}

#[test]
fn without_any_connection_a_run_ends_at_the_barrier() {
    for fault in [ConnectFault::Refuse, ConnectFault::Hang] {
        for plan in [closed(3), open(100, 1, 3)] {
            let plan = plan.with_load(|load| load.connect_timeout_ns = 50 * MS);
            let mut world = serving(MS);
            world.faults.connect = vec![(Pick::Share(1.0), fault)];
            let ending = Ending { needs_connection: true, ..Ending::default() };
            let job = Job { ending, ..job(&plan) };
            let run = run_job(world, &job, 0, Nanos::MAX, None);
            assert_eq!((run.measured.results.planned, run.measured.sent.measured), (0, 0));
            assert!(!run.measured.interrupted);
            assert_eq!(run.truth.connects.len(), 3, "{fault:?}: one attempt each");
            assert_eq!(run.measured.connections.failures.values().sum::<u64>(), 3);
            assert!(ends(&run).1 <= Nanos(60 * MS), "{:?}", ends(&run));
        }
    }
}

#[test]
fn one_connection_is_enough_to_begin() {
    let mut world = serving(MS);
    world.faults.connect = vec![(Pick::First(2), ConnectFault::Refuse)];
    let plan = closed(3);
    let ending = Ending { needs_connection: true, ..Ending::default() };
    let job = Job { ending, ..job(&plan) };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    assert_eq!(run.measured.connections.connects, 3);
    let times = run.truth.requests.iter().filter(|request| request.sent_at < START.after(SECOND));
    check_exact("service", &run.measured.results.service_time.ok, times.map(|_| MS));
}

//! Messages of a worker during the load: frames, four times per second, agree with the truth so
//! far; intervals equal the measurements' intervals.

use std::sync::mpsc;

use weir_engine::{Control, LiveMessage, WorkerFrame, run_on};
use weir_result::{Measurements, Plan};
use weir_sim::{Sim, Truth};

use crate::setup::{MS, START, closed, job, open, serving};

/// Runs a plan on a server that takes 3 ms per request; returns the messages too.
fn messages(plan: &Plan) -> (Vec<LiveMessage>, Measurements, Truth) {
    let (sender, receiver) = mpsc::channel();
    let sim = Sim::new(serving(3 * MS));
    let truth = sim.truth_handle();
    let control = Control::new(1, None);
    let measured = run_on(&job(plan), 0, &control, sim, Some(sender), None);
    let messages = receiver.try_iter().collect();
    (messages, measured.expect("a simulated machine"), truth.snapshot())
}

/// Runs a plan likewise; returns the frames alone.
fn run(plan: &Plan) -> (Vec<WorkerFrame>, Measurements, Truth) {
    let (messages, measured, truth) = messages(plan);
    let frames = messages.into_iter().filter_map(|message| match message {
        LiveMessage::Frame(0, frame) => Some(*frame),
        _ => None,
    });
    (frames.collect(), measured, truth)
}

#[test]
fn frames_agree_with_the_truth() {
    // Two connections serve 667 per second, so that requests wait for them.
    let (frames, measured, truth) = run(&open(1_000, 1, 2));
    let times: Vec<u64> = frames.iter().map(|frame| frame.at.since(START) / MS).collect();
    assert_eq!(times[..4], [250, 500, 750, 1_000]);
    for frame in &frames {
        let sent = truth.requests.iter().filter(|request| request.sent_at <= frame.at);
        assert_eq!(frame.send_lag.exact().count, sent.count() as u64, "{frame:?}");
        assert_eq!(frame.open, 2);
        assert_eq!(frame.sched_lag_max_ns, 0, "the client is innocent");
    }
    let quarter = &frames[0];
    assert_eq!(quarter.stamped.exact().count, quarter.interval.completed);
    assert_eq!(quarter.stamped.exact().max_ns, quarter.interval.latency.exact().max_ns);
    assert_eq!(quarter.stamped_outside, quarter.stamped, "no time in weir");
    assert_eq!(quarter.connection_wait.exact().max_ns, quarter.send_lag.exact().max_ns);
    // Coarse, and never less than the exact figure.
    let last = frames.last().expect("five frames or more").send_lag.to_histogram();
    let coarse = last.percentile(50.0);
    let exact = measured.send_lag.ok.percentile(50.0);
    let coarse = coarse.expect("requests");
    let exact = exact.expect("requests");
    assert!(last.count() <= measured.send_lag.ok.count());
    assert!(coarse <= exact + exact / 100, "{coarse} {exact}");
}

#[test]
fn a_closed_loop_has_no_send_lag() {
    let (frames, ..) = run(&closed(3));
    let last = frames.last().expect("four frames");
    assert!(last.send_lag.exact().count == 0 && last.stamped.exact().count > 0, "{last:?}");
}

#[test]
fn every_interval_is_sent_even_the_last_part_of_a_second() {
    let (messages, measured, _) = messages(&open(1_000, 1, 2));
    let intervals = messages.into_iter().filter_map(|message| match message {
        LiveMessage::Interval(0, interval) => Some(interval),
        _ => None,
    });
    assert_eq!(intervals.collect::<Vec<_>>(), measured.intervals);
    let last = measured.intervals.last().expect("some");
    assert!(last.length_ns % (1_000 * MS) != 0 && last.completed > 0, "in the drain: {last:?}");
}

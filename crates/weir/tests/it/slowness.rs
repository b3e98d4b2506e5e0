//! Servers that are slow, stop, or never respond. Each planned request is accounted for, and no
//! time is less than it really was. All bounds here are lower bounds, so that a slow machine cannot
//! break them.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use weir_result::FailurePhase::InUse;

use crate::support::on_an_engine;
use crate::support::raw::{OK, Peer, Raw};
use crate::support::served::Served;
use crate::support::wait::let_pass;
use crate::support::weir::{self, sum_ns};

const MS: u64 = 1_000_000;

/// A server that accepts, reads, and never responds.
fn black_hole() -> Raw {
    Raw::start(|peer| {
        while peer.read_request()?.is_some() {}
        Ok(())
    })
}

#[test]
fn a_server_that_never_answers_yields_bounds_and_no_latency() {
    on_an_engine(|engine| {
        for (load, planned) in [("", None), ("-R 100", Some(40))] {
            let server = black_hole();
            let flags = format!("-c4 -t2 -d400ms --warmup 0 -T 150ms {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            assert_eq!(ran.code, 1, "{ran}");
            assert!(planned.is_none_or(|planned| planned == results.planned), "{ran}");
            let answered = results.outcomes.ok
                + results.outcomes.bad_response
                + results.outcomes.transport_error;
            assert_eq!(answered, 0, "{ran}");
            assert!(results.outcomes.timed_out >= 4, "{ran}");
            assert!(ran.failures(InUse, "timeout") >= results.outcomes.timed_out, "{ran}");
            assert_eq!(ran.document.results.completed, 0, "{ran}");
            ran.assert_only_bounds(0);
            assert!(ran.response_time().max_ns.is_some_and(|ns| ns >= 150 * MS), "{ran}");
            ran.assert_says("Latency unknown: no request of the window got a response");
            assert!(ran.stderr.contains("no valid response from http"), "{ran}");
            assert!(ran.stderr.contains(": timeout after "), "{ran}");
            assert_eq!(server.finish(), accounting.sent.total, "{ran}");
        }
    });
}

#[test]
fn more_connections_than_the_rate_needs_cause_no_timeout() {
    on_an_engine(|engine| {
        // Most connections are idle for longer than the timeout.
        let server = Served::plainly();
        let flags = "-c60 -t2 -R 20 -d2s --warmup 0 -T 1s";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert_eq!(ran.document.results.outcomes.timed_out, 0, "{ran}");
        assert_eq!(ran.document.results.planned, 40, "{ran}");
        assert_eq!(ran.connects(), 60, "{ran}");
    });
}

#[test]
fn the_number_of_connections_does_not_change_what_a_rate_sends() {
    on_an_engine(|engine| {
        for connections in [1, 10, 100] {
            let server = Served::plainly();
            let flags = format!("-c{connections} -t2 -R 1000 -d500ms --warmup 100ms");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            assert_eq!((results.planned, accounting.sent.warmup), (500, 100), "{ran}");
            assert_eq!(server.stop().requests.received, accounting.sent.total, "{ran}");
        }
    });
}

#[test]
fn rates_below_one_a_second_are_kept() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        let ran = weir::load(engine, "-c2 -t2 -R 1/2s -d2s --warmup 0", &[&server.url()]);
        ran.assert_all_ok();
        assert_eq!(ran.document.results.planned, 1, "{ran}");
        assert_eq!(ran.document.throughput.offered_rps, Some(0.5), "{ran}");
    });
}

#[test]
fn an_absurd_rate_ends_and_is_accounted_for() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        // The rest of the plan would fill any drain.
        let flags = "-c3 -t2 -R 100m -d100ms --warmup 0 -T 100ms --drain 100ms";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let results = &ran.document.results;
        assert_eq!(results.planned, 10_000_000, "{ran}");
        assert!(results.outcomes.never_sent > 5_000_000, "{ran}");
        assert!(ran.response_time().max_ns.is_some_and(|ns| ns >= 100 * MS), "{ran}");
    });
}

/// The gate of a server that responds to a number of requests and then stalls until the gate opens.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    passed: u64,
    /// Connections that their client closed while the gate was shut.
    given_up: u64,
    is_open: bool,
}

impl Gate {
    /// Counts a request, and returns the number of those before it.
    fn count(&self) -> u64 {
        let mut state = self.state.lock().expect("no holder panics");
        state.passed += 1;
        state.passed - 1
    }

    fn open(&self) {
        self.state.lock().expect("no holder panics").is_open = true;
        self.changed.notify_all();
    }

    fn is_open(&self) -> bool {
        self.state.lock().expect("no holder panics").is_open
    }

    fn await_open(&self) {
        let state = self.state.lock().expect("no holder panics");
        let _open = self.changed.wait_while(state, |state| !state.is_open);
    }

    /// Counts a connection that its client closed; opens the gate after `all` of them.
    fn give_up(&self, all: u64) {
        let mut state = self.state.lock().expect("no holder panics");
        state.given_up += 1;
        let is_last = state.given_up >= all;
        drop(state);
        if is_last {
            self.open();
        }
    }
}

/// A server that responds to `quick` requests, then to none until `stall` has passed since the next
/// one.
fn stalling_after(quick: u64, stall: Duration) -> Raw {
    let gate = Arc::new(Gate::default());
    Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            match gate.count() {
                before if before < quick => {}
                before if before == quick => {
                    let_pass(stall);
                    gate.open();
                }
                _ => gate.await_open(),
            }
            peer.write(OK)?;
        }
        Ok(())
    })
}

/// Lower bounds, in nanoseconds, for `count` response times: a stall of `stall_ns` began with the
/// first of these requests, which were planned `spacing_ns` apart.
fn stall_curve(stall_ns: u64, spacing_ns: u64, count: u64) -> Vec<u64> {
    (0..count).map(|late| stall_ns.saturating_sub(late * spacing_ns)).collect()
}

#[test]
fn a_stall_at_the_very_end_is_not_under_reported() {
    on_an_engine(|engine| {
        // The last 40 of 200 requests, 5 ms apart, meet a stall of 400 ms. Counted from 0 in
        // descending order, the j-th response time is at least 400 ms − j · 5 ms.
        let server = stalling_after(160, Duration::from_millis(400));
        let flags = "-c50 -t2 -R 200 -d1s --warmup 0 --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!((results.planned, results.outcomes.ok), (200, 200), "{ran}");
        assert!(accounting.sent.tail > 0, "the load goes on while late answers are awaited\n{ran}");
        ran.assert_tail(&stall_curve(400 * MS, 5 * MS, 40));
        assert_eq!(server.finish(), accounting.sent.total, "{ran}");
    });
}

#[test]
fn a_stall_longer_than_the_run_leaves_bounds() {
    on_an_engine(|engine| {
        // The stall begins with the 81st of 100 requests and never ends.
        let server = stalling_until_given_up(80, u64::MAX);
        let flags = "-c4 -t2 -R 100 -d1s --warmup 0 --no-preflight -T 400ms";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let results = &ran.document.results;
        assert_eq!((results.planned, results.outcomes.ok), (100, 80), "{ran}");
        assert_eq!(results.outcomes.transport_error, 0, "{ran}");
        assert!(results.outcomes.timed_out >= 1, "{ran}");
        // The run ends 400 ms after t1 at the earliest. A request that timed out before waited for
        // 400 ms. Any other waited for at least as long, as it was due before t1.
        ran.assert_tail(&[400 * MS; 20]);
        let p99 = ran.response_time().percentiles.last().expect("of 100");
        // If the client lacked CPU time, it is unknown from above too.
        assert_ne!(p99.bound, weir_result::quantile::Bound::Exact, "{ran}");
        let is_shown = ["> ", "unknown"].iter().any(|mark| ran.text.contains(mark));
        assert!(is_shown, "{ran}");
    });
}

/// A server that responds to `quick` requests, then stalls until clients have closed `all`
/// connections.
fn stalling_until_given_up(quick: u64, all: u64) -> Raw {
    fn starve(peer: &mut Peer, gate: &Gate, all: u64) -> io::Result<()> {
        let closed = peer.await_close();
        gate.give_up(all);
        closed
    }
    let gate = Arc::new(Gate::default());
    Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            if gate.count() >= quick && !gate.is_open() {
                return starve(peer, &gate, all);
            }
            peer.write(OK)?;
        }
        Ok(())
    })
}

#[test]
fn a_stall_longer_than_the_timeout_is_counted_and_over_when_it_is_over() {
    on_an_engine(|engine| {
        let server = stalling_until_given_up(60, 6);
        // With a short connect timeout, weir would consider the server dead and end the run.
        let flags = "-c4 -t2 -n 200 -T 200ms --connect-timeout 60s --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let results = &ran.document.results;
        assert!(results.outcomes.timed_out >= 6, "{ran}");
        assert_eq!(results.outcomes.ok + results.outcomes.timed_out, 200, "{ran}");
        assert_eq!(ran.failures(InUse, "timeout"), results.outcomes.timed_out, "{ran}");
        assert!(ran.response_time().max_ns.is_some_and(|ns| ns >= 200 * MS), "{ran}");
        ran.assert_says("timed out");
        assert_eq!(server.finish(), 200, "{ran}");
    });
}

#[test]
fn a_rate_sees_a_stall_longer_than_the_timeout_in_every_request_it_held_up() {
    on_an_engine(|engine| {
        let server = stalling_until_given_up(40, 4);
        let flags = "-c4 -t2 -R 100 -d1s -T 200ms --warmup 0 --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let results = &ran.document.results;
        assert!(results.outcomes.timed_out >= 4, "{ran}");
        assert_eq!(
            results.outcomes.ok + results.outcomes.timed_out + results.outcomes.never_sent,
            100,
            "{ran}"
        );
        // From the 41st request on there was no response for at least 200 ms. Four requests were in
        // flight; those after them, 10 ms apart, waited for the first to time out.
        ran.assert_tail(&stall_curve(200 * MS, 10 * MS, 20));
    });
}

#[test]
fn requests_in_a_pipeline_have_their_own_times() {
    on_an_engine(|engine| {
        // Three leave together. The fourth leaves after two responses, when half of the pipeline is
        // free. The other responses come 100 ms later.
        let server = Raw::start(|peer| {
            for _ in 0..3 {
                peer.read_request()?;
            }
            peer.write(OK.repeat(2))?;
            peer.read_request()?;
            let_pass(Duration::from_millis(100));
            peer.write(OK.repeat(2))?;
            peer.await_close()
        });
        let flags = "-c1 -t1 -n 4 --pipeline 3 --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        let times = &ran.document.results.service_time;
        let min_ns = times.ok.min_ns.expect("four");
        let max_ns = times.ok.max_ns.expect("four");
        assert!(max_ns >= min_ns + 100 * MS, "{ran}");
        assert!(sum_ns(times) >= u128::from(2 * 100 * MS + 2 * min_ns), "{ran}");
        assert_eq!(server.finish(), 4, "{ran}");
    });
}

#[test]
fn what_times_out_in_a_pipeline_takes_the_others_with_it() {
    on_an_engine(|engine| {
        let server = black_hole();
        let flags = "-c2 -t1 -n 12 --pipeline 3 -T 100ms --no-preflight";
        let ran = weir::load(engine, flags, &[&server.url()]);
        let results = &ran.document.results;
        // Sent together, they time out together.
        assert_eq!(results.outcomes.timed_out + results.outcomes.transport_error, 12, "{ran}");
        assert!(results.outcomes.timed_out >= 4, "{ran}");
        assert_eq!(server.finish(), 12, "{ran}");
    });
}

//! Scripts in virtual time. Every request is the script's own, in its order. Every response is
//! passed to the script with its request. The effects of scripts on the load are counted as they
//! truly happened.

use weir_engine::{Ending, Extras, Job};
use weir_io::{ConnId, Nanos};
use weir_result::{Callback, ErrorKind, Plan};
use weir_sim::{Drip, Fate, Framing, Law, Responses, Split};

use crate::setup::{
    MS, Run, SECOND, START, US, check_all, check_exact, closed, due_at, job, open, run_job,
    run_script, script, serving, true_service,
};

/// A script that numbers its requests.
const COUNTING: &str = r#"
made = 0
function request()
  made = made + 1
  return wrk.format("GET", "/" .. made)
end
"#;

/// Returns a script whose strings hold `sizes` requests in turn, numbered.
fn batching(sizes: &str) -> String {
    format!(
        r#"
made, strings, sizes = 0, 0, {{ {sizes} }}
function request()
  local requests = {{}}
  for index = 1, sizes[strings % #sizes + 1] do
    made = made + 1
    requests[index] = wrk.format("GET", "/" .. made)
  end
  strings = strings + 1
  return table.concat(requests)
end
"#
    )
}

/// A `response()` that fails unless each response belongs to the request passed with it.
const SHOWN: &str = r#"
shown = 0
function response(status, headers, body, connection, request)
  local number = request:match("^GET /(%d+) ")
  assert(headers["x-number"] == number, "the field is that of another request")
  assert(body:sub(1, #number + 1) == number .. " ", "the body is that of another request")
  assert(#body == 64 and status == 200)
  shown = shown + 1
end
"#;

/// Returns the numbers of all requests that reached the server, in the order of arrival.
fn numbers(run: &Run) -> Vec<u64> {
    run.truth.requests.iter().map(|request| request.number.expect("numbered")).collect()
}

/// Returns the number of calls of a callback.
fn calls(run: &Run, callback: Callback) -> u64 {
    let script = run.measured.script.as_ref().expect("there was a script");
    script.callbacks.get(&callback).map_or(0, |usage| usage.calls)
}

fn check_well(run: &Run, what: &str) {
    assert_eq!(run.failure, None, "{what}");
    assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned, "{what}");
    assert!(!run.measured.interrupted, "{what}");
}

#[test]
fn each_request_is_another_one() {
    for plan in [closed(1), closed(7), open(1_000, 1, 1), open(1_000, 1, 7)] {
        let what = format!("{:?}", plan.load);
        let run = run_script(serving(MS), &plan, COUNTING);
        check_well(&run, &what);
        let sent = run.measured.sent;
        let all = sent.warmup + sent.measured + sent.tail;
        assert_eq!(numbers(&run), (1..=all).collect::<Vec<_>>(), "{what}");
        let planned =
            if !plan.load.is_open_loop() { 1_000 * plan.load.connections.count() } else { 1_000 };
        assert_eq!(run.measured.results.planned, u64::from(planned), "{what}");
        check_all(&what, &run.measured.results.service_time.ok, planned.into(), MS);
        assert_eq!(run.measured.script.as_ref().expect("a script").ran_dry, 0, "{what}");
    }
}

#[test]
fn a_request_for_a_connection_goes_out_on_it() {
    const NUMBERED: &str = r#"
function request(connection)
  return wrk.format("GET", "/" .. connection.id)
end
"#;
    for plan in [closed(1), closed(7), open(1_000, 1, 1), open(1_000, 1, 7)] {
        let what = format!("{:?}, {:?}", plan.load, plan.load.connections);
        let run = run_script(serving(MS / 2), &plan, NUMBERED);
        check_well(&run, &what);
        assert!(run.measured.results.planned >= 1_000, "{what}");
        check_all(
            &what,
            &run.measured.results.response_time.ok,
            run.measured.results.planned,
            MS / 2,
        );
        for request in &run.truth.requests {
            assert_eq!(request.number, Some(u64::from(request.conn.0) + 1), "{what}");
        }
    }
}

#[test]
fn delays_are_exact() {
    let script = "function delay() return 3 end";
    let run = run_script(serving(MS), &Plan { ..closed(2) }, script);
    check_well(&run, "rests");
    assert_eq!(run.measured.results.planned, 2 * 250);
    for conn in [0, 1].map(ConnId) {
        let requests = run.truth.requests.iter().filter(|request| request.conn == conn);
        for (index, request) in (0..).zip(requests) {
            assert_eq!(request.sent_at, START.after((3 + 4 * index) * MS));
        }
    }
}

/// Returns the first slot of the batch that slot `index` belongs to.
fn first_of_batch(index: u64, sizes: &[u64]) -> u64 {
    let mut first = 0;
    for size in sizes.iter().cycle() {
        if index < first + size {
            return first;
        }
        first += size;
    }
    unreachable!("sizes go round")
}

/// Returns the true response times of the measured slots of an open loop in batches. All requests
/// of a string count from the first one's slot.
fn true_responses(run: &Run, plan: &Plan, sizes: &[u64]) -> Vec<u64> {
    let t0 = run.start().after(plan.load.warmup.span_ns);
    let t1 = t0.after(plan.load.length_ns().expect("a run of known length"));
    let mut times = Vec::new();
    for request in &run.truth.requests {
        let slot = request.number.expect("numbered") - 1;
        if (t0..t1).contains(&due_at(run, plan, slot)) {
            let due = due_at(run, plan, first_of_batch(slot, sizes));
            times.push(request.delivered_at.expect("it got a response").since(due));
        }
    }
    times
}

#[test]
fn batches_are_timed_response_by_response() {
    let in_words = |sizes: &[u64]| {
        let words: Vec<String> = sizes.iter().map(u64::to_string).collect();
        words.join(",")
    };
    for sizes in [&[1][..], &[3], &[1, 4, 2], &[2, 40, 1], &[1, 100, 300]] {
        let text = batching(&in_words(sizes)) + SHOWN;
        for plan in [closed(1), closed(3), open(200, 1, 3), open(333, 2, 5)] {
            let plan = plan.with_load(|load| load.warmup.span_ns = 100 * MS);
            let what = format!("{sizes:?} {:?} {:?}", plan.load, plan.load.connections);
            let run = run_script(serving(MS), &plan, &text);
            check_well(&run, &what);
            let sent = run.measured.sent;
            let all = sent.warmup + sent.measured + sent.tail;
            let mut numbers = numbers(&run);
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=all).collect::<Vec<_>>(), "{what}");
            assert_eq!(calls(&run, Callback::Response), all, "{what}: each response is shown");
            let t0 = START.after(100 * MS);
            let t1 = START.after(1_100 * MS);
            if !plan.load.is_open_loop() {
                let measured = run.sent_between(t0, t1);
                assert_eq!(run.measured.results.planned, measured.len() as u64, "{what}");
                check_exact(&what, &run.measured.results.service_time.ok, true_service(&measured));
            } else {
                let response = true_responses(&run, &plan, sizes);
                assert_eq!(run.measured.results.planned, response.len() as u64, "{what}");
                check_exact(&what, &run.measured.results.response_time.ok, response);
            }
        }
    }
}

/// Responses in every shape, cut at every position: `response()` always receives the right one.
#[test]
fn responses_are_shown_with_their_requests() {
    let plain = Responses::default();
    let shapes = [
        ("plain", plain.clone()),
        ("chunked", Responses { framing: Framing::Chunked { chunk_bytes: 10 }, ..plain.clone() }),
        ("interim", Responses { interim: Some((103, 0.5)), ..plain.clone() }),
        ("drip", Responses { drip: Some(Drip { pieces: 5, gap_ns: 70 * US }), ..plain.clone() }),
        ("limit", Responses { close_after: Some(6), ..plain.clone() }),
        ("close", Responses { framing: Framing::Close, ..plain }),
    ];
    for (name, responses) in shapes {
        for split in [Split::Whole, Split::Random, Split::EveryByte] {
            for sizes in ["1", "3", "1, 4, 2"] {
                let mut world = serving(MS);
                world.server.responses = responses.clone();
                world.network.split = split;
                world.network.segment_bytes = 100;
                let plan = closed(3).with_load(|load| load.duration_ns = Some(SECOND / 10));
                let run = run_script(world, &plan, &(batching(sizes) + SHOWN));
                let what = format!("{name}, {split:?}, {sizes}");
                assert_eq!(run.failure, None, "{what}");
                assert!(run.measured.results.outcomes.ok > 50, "{what}");
                let responded = run.truth.requests.iter();
                let responded = responded.filter(|request| request.delivered_at.is_some()).count();
                assert_eq!(calls(&run, Callback::Response), responded as u64, "{what}");
            }
        }
    }
}

#[test]
fn a_batch_may_end_with_a_request_that_closes() {
    const CLOSING: &str = r#"
made = 0
function request()
  made = made + 2
  return wrk.format("GET", "/" .. made - 1)
    .. wrk.format("GET", "/" .. made, { Connection = "close" })
end
"#;
    let run = run_script(serving(MS), &closed(1), CLOSING);
    check_well(&run, "closing");
    // The server leaves the close to the client, which waits 100 ms for it.
    assert_eq!(run.measured.results.planned, 20);
    assert_eq!(run.measured.connections.connects, 10);
    for request in &run.truth.requests {
        let number = request.number.expect("numbered");
        let batch = (number - 1) / 2;
        assert_eq!(u64::from(request.generation), batch);
        assert_eq!(request.sent_at, START.after(batch * 102 * MS));
    }
}

#[test]
fn a_server_that_closes_in_a_batch_leaves_the_rest_without_a_response() {
    let mut world = serving(MS);
    world.server.responses.close_after = Some(2);
    let run = run_script(world, &closed(2), &batching("5"));
    assert_eq!(run.failure, None);
    let outcomes = run.measured.results.outcomes;
    assert_eq!(outcomes.ok * 3, outcomes.transport_error * 2);
    assert_eq!(
        run.measured.results.errors[&ErrorKind::ClosedBeforeAnswer],
        outcomes.transport_error
    );
    assert_eq!(run.measured.results.planned, 2 * 500 * 5);
    let dropped = run.truth.requests.iter().filter(|request| request.fate == Fate::Dropped);
    assert_eq!(dropped.count() as u64, outcomes.transport_error, "none is sent again");
}

#[test]
fn a_number_of_requests_is_measured_exactly_in_batches() {
    for (requests, size) in [(1, 1), (1, 4), (10, 3), (100, 7), (12, 4)] {
        for plan in [closed(1), closed(5), open(200, 1, 2), open(200, 1, 40)] {
            let plan = plan.with_load(|load| {
                load.requests = Some(requests);
                load.duration_ns = None;
            });
            let what = format!("{requests} in {size}, {:?}", plan.load);
            let run = run_script(serving(MS), &plan, &batching(&size.to_string()));
            check_well(&run, &what);
            assert_eq!(run.measured.results.planned, requests, "{what}");
            let whole = requests.div_ceil(size) * size;
            assert_eq!(run.truth.requests.len() as u64, whole, "{what}: whole strings only");
        }
    }
}

#[test]
fn delays_hold_across_reconnects() {
    let mut world = serving(MS);
    world.server.responses.close_after = Some(1);
    world.network.connect = Law::Fixed(200 * US);
    let run = run_script(world, &closed(3), "function delay() return 3 end");
    check_well(&run, "reconnects");
    let start = run.start();
    for conn in [0, 1, 2].map(ConnId) {
        let requests = run.truth.requests.iter().filter(|request| request.conn == conn);
        for (index, request) in (0..).zip(requests) {
            assert_eq!(request.generation, index);
            let sent_at = start.after(3 * MS + u64::from(index) * 4_200 * US);
            assert_eq!(request.sent_at, sent_at, "{index}");
        }
    }
    assert_eq!(run.measured.results.planned, 3 * 238);
}

/// A connection that is closed during its delay begins a new delay, and the old one has no effect.
#[test]
fn a_rest_ends_with_its_socket() {
    const ALTERNATING: &str = r#"
asked = 0
function delay(connection)
  asked = asked + 1
  return asked % 2 == 0 and 2 or 8
end
"#;
    let mut world = serving(MS);
    world.server.idle_close_ns = Some(5 * MS);
    let run = run_script(world, &closed(1), ALTERNATING);
    check_well(&run, "idle");
    // 5 ms of a delay of 8, then 2 on a new socket, then 1 for the response. Delays begin at S,
    // when the first socket had been open for 5.002 ms, so it was closed shortly after S.
    let sent: Vec<Nanos> = run.truth.requests.iter().map(|request| request.sent_at).collect();
    for (index, pair) in sent.windows(2).enumerate() {
        assert_eq!(pair[1].since(pair[0]), 8 * MS, "{index}: {pair:?}");
    }
    assert!(run.truth.counts.closes.when_idle >= 120, "{:?}", run.truth.counts);
}

#[test]
fn long_delays_are_not_the_end_of_a_number_of_requests() {
    let plan = closed(1).with_load(|load| {
        load.requests = Some(3);
        load.duration_ns = None;
        load.timeout_ns = SECOND;
    });
    let plan = plan.with_load(|load| load.connect_timeout_ns = SECOND);
    let run = run_script(serving(MS), &plan, "function delay() return 60000 end");
    check_well(&run, "long rests");
    assert_eq!((run.measured.results.planned, run.measured.results.outcomes.ok), (3, 3));
}

#[test]
fn a_batch_for_a_socket_that_is_gone_is_made_again() {
    const OPENED: &str = r#"
function request(connection)
  return wrk.format("GET", "/" .. connection.opened)
end
"#;
    // Requests are made 20 µs before their slots, at 25, 75, 125, … ms.
    for conns in [1, 3] {
        let mut world = serving(MS);
        world.faults.reset_all_at = vec![START.after(75 * MS - 10 * US)];
        let run = run_script(world, &open(20, 1, conns), OPENED);
        check_well(&run, "made again");
        check_all("response", &run.measured.results.response_time.ok, 20, MS);
        assert_eq!(calls(&run, Callback::Request), run.truth.requests.len() as u64 + 1);
        for request in &run.truth.requests {
            assert_eq!(request.number, Some(u64::from(request.generation) + 1));
        }
    }
}

/// Requests are made ahead if the script reads no responses. A script that reads them is called
/// after the last response that arrived in time.
#[test]
fn a_script_that_learns_is_called_as_late_as_can_be() {
    const LEARNING: &str = r#"
made, shown = 0, 0
function request()
  made = made + 1
  return wrk.format("GET", "/" .. made - 1 - shown)
end
"#;
    let learning = LEARNING.to_owned() + "function response() shown = shown + 1 end";
    // At 900/s responses arrive 0.1 ms before the next slot; at 990/s still half the least lead.
    for plan in [closed(1), open(900, 1, 1), open(970, 1, 1), open(2_000, 1, 1)] {
        let what = format!("{:?}", plan.load);
        let run = run_script(serving(MS), &plan, &learning);
        assert_eq!(run.failure, None, "{what}");
        for (index, request) in run.truth.requests.iter().enumerate() {
            assert_eq!(request.number, Some(0), "{what}: {index} was made before a response");
        }
        assert_eq!(run.measured.script.as_ref().expect("a script").ran_dry, 0, "{what}");
    }
    let run = run_script(serving(MS), &open(900, 1, 1), LEARNING);
    assert_eq!(calls(&run, Callback::Request), run.truth.requests.len() as u64, "none for nothing");
    let failing =
        LEARNING.replace("made + 1", "made + 1 + (made == 300 and error('no more') or 0)");
    let run = run_script(serving(MS), &open(900, 1, 1), &failing);
    let sent = run.truth.requests.len();
    assert!(sent <= 100, "300 were made when {sent} were sent");
}

/// The time of a script's calls falls before time stamps or after sends, never between. With a
/// clock that takes 10 µs each call takes 20.
#[test]
fn a_slow_script_is_not_charged_to_the_server() {
    for text in [COUNTING.to_owned(), batching("2"), COUNTING.to_owned() + SHOWN] {
        for plan in [open(100, 1, 20), open(100, 1, 1), open(8, 1, 3)] {
            let mut world = serving(MS);
            world.client.clock_ns = 10 * US;
            let run = run_script(world, &plan, &text);
            let what = format!("{:?}, {text}", plan.load);
            check_well(&run, &what);
            let t1 = run.start().after(SECOND);
            let members = run.sent_between(run.start(), t1);
            check_exact(&what, &run.measured.results.service_time.ok, true_service(&members));
        }
    }
}

const STOPPING: [(&str, &str); 3] = [
    ("request", "function request() count() return wrk.format('GET', '/1') end"),
    ("response", "function response() count() end"),
    ("delay", "function delay() count() return 0 end"),
];

/// Returns a script with `callback`, which calls `wrk.thread:stop()` at its hundredth call.
fn stopping(callback: &str) -> String {
    let count = r#"
local calls = 0
function count()
  calls = calls + 1
  if calls == 100 then wrk.thread:stop() end
end
"#;
    count.to_owned() + callback
}

#[test]
fn a_script_that_stops_ends_the_window_there() {
    for (name, callback) in STOPPING {
        for plan in [closed(1), open(500, 1, 1)] {
            let what = format!("{name}, {:?}", plan.load);
            let run = run_script(serving(MS), &plan, &stopping(callback));
            check_well(&run, &what);
            assert_eq!(run.measured.script.as_ref().expect("a script").stopped, 1, "{what}");
            // `delay()` is called before each request, and the hundredth request is never sent.
            let sent = if name == "delay" { 99 } else { 100 };
            assert_eq!(run.truth.requests.len(), sent, "{what}");
            assert_eq!(run.measured.results.planned, sent as u64, "{what}");
            assert_eq!(run.measured.sent.tail, 0, "{what}");
            let last = run.truth.requests.last().expect("requests were sent");
            let stopped_at = match name {
                "request" => last.sent_at,
                _ => last.delivered_at.expect("it got a response"),
            };
            let phases = &run.measured.workers[0];
            assert!(phases.t1_ns.abs_diff(stopped_at.0) <= 1, "{what}: {phases:?}");
            assert!(phases.tail_end_ns <= stopped_at.after(MS).0 + 1, "{what}: {phases:?}");
        }
    }
}

/// The idiom `stop(); return nil` ends the thread without an error.
#[test]
fn a_script_that_stops_may_return_nothing() {
    for returned in ["return nil", "return ''", "return"] {
        for plan in [closed(1), closed(5), open(500, 1, 1), open(500, 1, 9)] {
            let what = format!("{returned}, {:?}", plan.load);
            let text = format!(
                "made = 0 function request() made = made + 1
                 if made == 100 then wrk.thread:stop() {returned} end
                 return wrk.format('GET', '/' .. made) end"
            );
            let run = run_script(serving(MS), &plan, &text);
            check_well(&run, &what);
            assert_eq!(run.failure, None, "{what}");
            assert_eq!(run.measured.script.as_ref().expect("a script").stopped, 1, "{what}");
            assert_eq!(run.truth.requests.len(), 99, "{what}");
            assert_eq!(run.measured.results.planned, 99, "{what}");
        }
    }
}

/// Responses received together with the one that stopped the thread are not passed to the script.
#[test]
fn no_response_is_shown_after_a_stop() {
    for plan in [closed(1), closed(5), open(500, 1, 3)] {
        let shown = "shown = 0 function response() shown = shown + 1
                     if shown >= 2 then wrk.thread:stop() end end";
        let run = run_script(serving(MS), &plan, &(batching("4") + shown));
        let calls = run.measured.script.as_ref().expect("a script").callbacks[&Callback::Response];
        assert_eq!(calls.calls, 2, "{:?}", plan.load);
        assert!(
            run.measured.results.outcomes.ok >= 4,
            "{:?}: {:?}",
            plan.load,
            run.measured.results.outcomes
        );
        assert_eq!(run.failure, None);
    }
}

#[test]
fn a_callback_that_fails_ends_the_run_in_order() {
    let failing = [
        (
            "request",
            "made = 0 function request() made = made + 1
            if made == 50 then error('no more') end return wrk.format('GET', '/' .. made) end",
        ),
        (
            "request",
            "made = 0 function request() made = made + 1
            return made == 50 and 'no more' or wrk.format('GET', '/' .. made) end",
        ),
        (
            "response",
            "made = 0 function response() made = made + 1
            if made == 50 then error('no more') end end",
        ),
        (
            "delay",
            "made = 0 function delay() made = made + 1
            if made == 50 then error('no more') end return 1 end",
        ),
    ];
    for (name, text) in failing {
        for plan in [closed(1), closed(5), open(500, 1, 1), open(500, 1, 9)] {
            let what = format!("{name}, {:?}", plan.load);
            let run = run_script(serving(MS), &plan, text);
            let failure = run.failure.as_ref().expect("it failed");
            assert!(failure.contains(name), "{what}: {failure}");
            let usage = run.measured.script.as_ref().expect("there is a script");
            assert_eq!((usage.stopped, run.measured.interrupted), (1, false), "{what}");
            let end = Nanos(run.measured.workers[0].drained_ns);
            assert!(end < START.after(SECOND / 2), "{what}: it ended at {end}");
            assert_eq!(run.measured.results.outcomes.transport_error, 0, "{what}");
        }
    }
}

/// Requests of one string are sent before their slots are due, so the end may fall between them.
#[test]
fn an_end_between_the_slots_of_a_batch_is_accounted_for() {
    let plans = [
        open(10, 1, 3),
        open(100, 1, 3),
        open(30, 1, 1).with_load(|load| load.warmup.span_ns = 333 * MS),
    ];
    for plan in plans {
        for ending in ["wrk.thread:stop()", "error('no more')"] {
            for at in 1..20 {
                let what = format!("{ending} at {at}, {:?}", plan.load);
                let shown = format!(
                    "shown = 0 function response() shown = shown + 1
                     if shown == {at} then {ending} end end"
                );
                let run = run_script(serving(MS), &plan, &(batching("4, 1, 7") + &shown));
                let outcomes = run.measured.results.outcomes;
                assert_eq!(outcomes.transport_error + outcomes.never_sent, 0, "{what}");
                let t1 = Nanos(run.measured.workers[0].t1_ns);
                assert!(run.truth.requests.iter().all(|request| request.sent_at < t1), "{what}");
            }
        }
        for at in (0..100).map(|step| START.after(step * 3_333 * US)) {
            let mut script = script(&batching("4, 1, 7"));
            let run = run_job(serving(MS), &job(&plan), 0, at, Some(&mut script));
            assert!(run.measured.interrupted);
            assert!(run.truth.requests.iter().all(|request| request.sent_at < at), "{at}");
        }
    }
}

fn late(plan: &Plan) -> Job {
    let extras = Extras { thread_rates: true, batch_times: true, ..Extras::default() };
    Job { ending: Ending { late_responses: true, ..Ending::default() }, extras, ..job(plan) }
}

#[test]
fn late_responses_are_taken_and_counted() {
    // Some requests are slow: 50 ms instead of 1 ms.
    let mut world = serving(MS);
    world.server.service = Law::Bimodal { fast_ns: MS, slow_ns: 50 * MS, slow_share: 0.3 };
    for plan in [closed(4), closed(2).with_load(|load| load.pipeline = 3), open(200, 1, 30)] {
        let plan = plan.with_load(|load| load.timeout_ns = 20 * MS);
        // The drain lasts no longer than the timeout: the last slow requests are in flight at its
        // end.
        let run = run_job(world.clone(), &late(&plan), 0, Nanos::MAX, None);
        let what = format!("{:?}, {}", plan.load, plan.load.pipeline);
        let outcomes = run.measured.results.outcomes;
        assert_eq!(outcomes.ok + outcomes.in_flight_at_end, run.measured.results.planned, "{what}");
        assert_eq!(
            run.measured.connections.connects,
            u64::from(plan.load.connections.count()),
            "{what}"
        );
        assert!(run.measured.connections.failures.is_empty(), "{what}");
        let t1 = run.start().after(SECOND);
        let end = Nanos(run.measured.workers[0].tail_end_ns);
        let members = run.sent_between(run.start(), t1);
        let overdue = members.iter().filter(|request| {
            let ended_at = request.delivered_at.unwrap_or(Nanos::MAX).min(end.after(1));
            ended_at.since(request.sent_at) > 20 * MS
        });
        assert_eq!(run.measured.overdue, overdue.count() as u64, "{what}");
        let mut responded = members.clone();
        responded.retain(|request| request.delivered_at.is_some_and(|at| at <= end));
        check_exact(&what, &run.measured.results.service_time.ok, true_service(&responded));
    }
}

#[test]
fn a_response_that_never_comes_is_overdue_once() {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(Nanos::ZERO);
    let plan = closed(4).with_load(|load| load.timeout_ns = 100 * MS);
    let run = run_job(world, &late(&plan), 0, Nanos::MAX, None);
    assert_eq!((run.measured.results.planned, run.measured.overdue), (4, 4));
    assert_eq!(run.measured.results.outcomes.in_flight_at_end, 4);
    check_all("ages", &run.measured.results.response_time.censored, 4, 1_100 * MS);
}

#[test]
fn rates_are_sampled_and_batches_timed() {
    let plan = closed(2).with_load(|load| load.duration_ns = Some(950 * MS));
    let mut world = serving(MS);
    world.server.stalls = vec![weir_sim::Pause::new(START.after(200 * MS), 300 * MS)];
    let run = run_job(world.clone(), &late(&plan), 0, Nanos::MAX, None);
    // Whole spans without a response count; the last span is half as long.
    let rates: Vec<u64> = run
        .measured
        .thread_rates
        .buckets()
        .flat_map(|(bucket, count)| (0..count).map(move |_| bucket))
        .map(weir_result::histogram::lowest_in)
        .collect();
    let about = |expected: u64, found: u64| found.abs_diff(expected) * 1_000 <= 20 * expected;
    assert_eq!(rates.len(), 10, "{rates:?}");
    assert!(rates[..3].iter().all(|rate| *rate == 0), "{rates:?}");
    assert!(rates[3..].iter().all(|rate| about(2_000, *rate)), "{rates:?}");
    assert_eq!(run.measured.batch_time.count(), run.measured.results.planned);

    let mut script = script(&batching("5"));
    let run = run_job(serving(MS), &late(&closed(2)), 0, Nanos::MAX, Some(&mut script));
    check_well(&run, "batches");
    check_all("batch", &run.measured.batch_time, run.measured.results.planned / 5, 5 * MS);
}

//! Scripts over streams: their requests, strings of several, delays, and what they are shown.

use weir_engine::Job;
use weir_http::h2::{H2Client, H2Options};
use weir_io::Nanos;
use weir_result::{Callback, Plan};
use weir_sim::{Law, Random, Seed, World};

use super::bad_habits;
use super::service::{H2Service, Habits};
use crate::observers::PerTag;
use crate::setup::{MS, Run, check_all, closed, job, open, run_job, script};
use crate::streams::wild_plan;

/// Runs a plan with up to `streams` streams per connection, and a script.
fn run(habits: Habits, plan: Plan, streams: u16, text: &str) -> Run {
    let plan = plan.with_load(|load| load.pipeline = streams);
    let (service, _) = H2Service::factory(habits);
    let world = World { service: Some(service), ..World::default() };
    let job = Job { protocol: H2Client::factory(H2Options::default()), ..job(&plan) };
    run_job(world, &job, 0, Nanos::MAX, Some(&mut script(text)))
}

fn calls(run: &Run, callback: Callback) -> u64 {
    let script = run.measured.script.as_ref().expect("there was one");
    script.callbacks.get(&callback).map_or(0, |usage| usage.calls)
}

#[test]
fn requests_of_a_script_use_every_stream() {
    let text = "function request() return wrk.format('POST', '/a', nil, 'body') end";
    let run = run(Habits::default(), closed(2), 10, text);
    assert_eq!(run.failure, None);
    // 20 streams of 2 ms each.
    assert!(
        (9_990..=10_020).contains(&run.measured.results.outcomes.ok),
        "{:?}",
        run.measured.results.outcomes
    );
    let occupancy = run.measured.occupancy;
    assert_eq!(occupancy.integral_ns, occupancy.capacity_ns, "{occupancy:?}");

    let run = self::run(Habits::default(), open(1_000, 1, 1), 10, text);
    check_all("response", &run.measured.results.response_time.ok, 1_000, 2 * MS);
    check_all("client's lag", &run.measured.sched_lag, 1_000, 0);
    assert!(calls(&run, Callback::Request) >= 1_000);
}

#[test]
fn a_script_without_requests_of_its_own() {
    let run = run(Habits::default(), open(1_000, 1, 1), 10, "wrk.path = '/a'");
    check_all("response", &run.measured.results.response_time.ok, 1_000, 2 * MS);
}

/// Strings of three requests, each on a stream of the same connection.
#[test]
fn strings_of_several_requests() {
    let text = "function request()
        return wrk.format('GET', '/a') .. wrk.format('GET', '/b') .. wrk.format('GET', '/c')
    end";
    let three = |run: &Run| {
        for string in run.truth.requests.chunks_exact(3) {
            let first = (string[0].conn, string[0].sent_at);
            assert!(string.iter().all(|request| (request.conn, request.sent_at) == first));
        }
    };
    let run = run(Habits::default(), open(900, 1, 2), 10, text);
    assert_eq!((run.measured.results.outcomes.ok, &run.failure), (900, &None));
    check_all("service", &run.measured.results.service_time.ok, 900, 2 * MS);
    three(&run);
    // Seven streams carry two strings, and one that is left over.
    let run = self::run(Habits::default(), closed(1), 7, text);
    assert!(
        (2_990..=3_010).contains(&run.measured.results.outcomes.ok),
        "{:?}",
        run.measured.results.outcomes
    );
    three(&run);
    // One string at a time, in 20 ms: those that wait for streams wait for the server.
    let habits = Habits { service: Law::Fixed(20 * MS), streams_max: 4, ..Habits::default() };
    let run = self::run(habits, open(120, 1, 1), 7, text);
    assert_eq!(run.measured.results.outcomes.ok, 120, "{:?}", run.measured.results.outcomes);
    check_all("client's lag", &run.measured.sched_lag, 120, 0);
    three(&run);
}

#[test]
fn a_string_that_no_connection_has_streams_for() {
    let text = "function request() return string.rep(wrk.format('GET', '/a'), 5) end";
    for plan in [closed(1), open(100, 1, 1)] {
        let run = run(Habits { streams_max: 4, ..Habits::default() }, plan, 10, text);
        let failure = run.failure.expect("it was stopped");
        assert!(failure.contains("5 requests in one string"), "{failure}");
        assert!(failure.contains("allows 4 streams"), "{failure}");
    }
}

/// Fields and bodies are the response's own, on each of many streams.
#[test]
fn responses_are_shown_as_they_were() {
    let shown = "function response(status, headers, body)
        assert(status == 200 and headers['server'] == 'weir-sim' and body == 'body')
    end";
    let head = "function response(status, headers)
        assert(status == 200 and headers['server'] == 'weir-sim')
    end";
    let status = "function response(status) assert(status == 200) end";
    for text in [shown, head, status] {
        let habits = Habits {
            service: Law::Exponential { mean_ns: 3 * MS },
            body_ns: MS,
            failed: 0.1,
            returned: 0.1,
            retires: 0.01,
            ..Habits::default()
        };
        let run = run(habits, open(1_000, 1, 2), 20, text);
        assert_eq!(run.failure, None, "{text}");
        let outcomes = run.measured.results.outcomes;
        assert!(outcomes.ok > 800, "{outcomes:?}");
        assert!(calls(&run, Callback::Response) >= outcomes.ok);
    }
    let wrong = "function response(status, headers, body) assert(body == 'other') end";
    let run = run(Habits::default(), closed(1), 5, wrong);
    assert!(run.failure.is_some_and(|failure| failure.contains("assertion failed")));
}

/// A connection takes one string at a time, and rests after it.
#[test]
fn delays_between_strings() {
    let text = "function delay() return 8 end";
    let run = run(Habits::default(), closed(1), 10, text);
    // 8 ms and 2 ms, in turns.
    assert!(
        (99..=101).contains(&run.measured.results.outcomes.ok),
        "{:?}",
        run.measured.results.outcomes
    );
    let text = "function delay() return 8 end
        function request() return wrk.format('GET', '/a') .. wrk.format('GET', '/b') end";
    let run = self::run(Habits::default(), closed(2), 10, text);
    assert!(
        (396..=404).contains(&run.measured.results.outcomes.ok),
        "{:?}",
        run.measured.results.outcomes
    );
    assert_eq!(run.failure, None);
}

#[test]
fn a_stopped_script_ends_its_load() {
    let text = "local count = 0
        function request()
            count = count + 1
            if count > 50 then wrk.thread:stop() return nil end
            return wrk.format('GET', '/a')
        end";
    let run = run(Habits::default(), closed(1), 10, text);
    assert_eq!((run.measured.results.outcomes.ok, run.failure), (50, None));
}

/// Everything that can fail, fails, under scripts of each kind: no slot is lost or counted twice,
/// and every run ends.
#[test]
fn wild_worlds_conserve_every_slot_of_a_script() {
    let texts = [
        "function request() return wrk.format('POST', '/a', nil, string.rep('x', 300)) end
        function response(status, headers, body) assert(headers['server'] and #body == 4) end",
        "function request() return string.rep(wrk.format('GET', '/a'), math.random(1, 3)) end",
        "function delay() return math.random(0, 3) end
        function request() return string.rep(wrk.format('GET', '/a'), 2) end
        function response(status) assert(status == 200) end",
    ];
    let mut ok = 0;
    let mut other = 0;
    let mut refused = 0;
    for seed in 0..120 {
        let mut random = Random::new(Seed(seed), 302);
        let plan = wild_plan(&mut random);
        let habits = bad_habits(&mut random);
        let (service, _) = H2Service::factory(habits);
        let world = World { service: Some(service), ..World::wild(Seed(seed), 100 * MS) };
        let observed = PerTag::default();
        let job = Job {
            protocol: H2Client::factory(H2Options::default()),
            observers: vec![observed.factory()],
            ..job(&plan)
        };
        let text = texts[seed as usize % texts.len()];
        let run = run_job(world, &job, 0, Nanos::MAX, Some(&mut script(text)));
        observed.check(&run, &format!("seed {seed}"));
        if let Some(failure) = run.failure {
            assert!(failure.contains("in one string"), "seed {seed}: {failure}");
            refused += 1;
        }
        ok += run.measured.results.outcomes.ok;
        other += run.measured.results.outcomes.total() - run.measured.results.outcomes.ok;
    }
    assert!(ok > 500 && other > 500, "{ok} {other}");
    assert!((1..100).contains(&refused), "{refused}");
}

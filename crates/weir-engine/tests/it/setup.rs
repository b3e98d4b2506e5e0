//! Setup of simulated runs, the invariants of every run, and checks of histograms against exact
//! values.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::{Endpoint, Nanos};
use weir_result::histogram::{bucket_of, highest_in};
use weir_result::{
    Arrivals, Document, DocumentParts, DueTimes, Histogram, IoEngine, Load, Measurements, Plan,
    Rate, ResultCounts, Sent, StampChoice,
};
use weir_script::{Main, Mode, Options, WorkerState};
use weir_sim::{Fate, Law, Server, Sim, TrueRequest, Truth, World};

/// A microsecond, a millisecond and a second in nanoseconds.
pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// Start of the schedule in a world whose connects take no time.
pub(crate) const START: Nanos = Nanos(5_002_000);

/// One run, and its truth.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) measured: Measurements,
    pub(crate) truth: Truth,
    /// Error of the script, if it failed.
    pub(crate) failure: Option<String>,
}

impl Run {
    /// Returns the start of the schedule (S).
    pub(crate) fn start(&self) -> Nanos {
        Nanos(self.measured.workers[0].start_ns)
    }

    /// Returns the requests that reached the server and left the client in `[from, until)`.
    pub(crate) fn sent_between(&self, from: Nanos, until: Nanos) -> Vec<TrueRequest> {
        let sent = |request: &&TrueRequest| (from..until).contains(&request.sent_at);
        self.truth.requests.iter().filter(sent).copied().collect()
    }
}

/// Returns a closed loop of one second.
pub(crate) fn closed(connections: u32) -> Plan {
    Plan {
        load: Load {
            connections: connections.into(),
            duration_ns: Some(SECOND),
            ..Plan::default().load
        },
        io: IoEngine::Simulated,
        stamps: StampChoice::All,
        ..Plan::default()
    }
}

/// Returns an open loop of one second: `requests` per `seconds`.
pub(crate) fn open(requests: u64, seconds: u64, connections: u32) -> Plan {
    let rate = Rate { numerator: requests, denominator: seconds };
    let due = Some(DueTimes::constant(rate, Arrivals::Uniform));
    closed(connections).with_load(|load| load.due = due)
}

/// Returns an open loop of one second with Poisson arrivals.
pub(crate) fn poisson(requests: u64, seconds: u64, connections: u32, seed: u64) -> Plan {
    let rate = Rate { numerator: requests, denominator: seconds };
    let due = Some(DueTimes::constant(rate, Arrivals::Poisson { seed }));
    closed(connections).with_load(|load| load.due = due)
}

/// Returns a faultless server with a worker for each connection, which takes `service_ns` per
/// request.
pub(crate) fn serving(service_ns: u64) -> World {
    let server = Server { service: Law::Fixed(service_ns), ..Server::default() };
    World { server, ..World::default() }
}

/// Returns the job of a plan.
pub(crate) fn job(plan: &Plan) -> Job {
    let request = Prepared::http1(&plan.request.method, "/", "sim", &[], None);
    let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    let mut job = Job::new(plan.clone(), endpoint, request.expect("a plain request"));
    job.responses.discard = true;
    job
}

/// Runs a plan of one worker.
pub(crate) fn run(world: World, plan: &Plan) -> Run {
    run_part(world, plan, 0, Nanos::MAX)
}

/// Runs worker `number` of a plan in a world of its own, interrupted at `stop_at`.
pub(crate) fn run_part(world: World, plan: &Plan, number: u32, stop_at: Nanos) -> Run {
    run_job(world, &job(plan), number, stop_at, None)
}

/// Runs a plan of one worker with a script.
pub(crate) fn run_script(world: World, plan: &Plan, text: &str) -> Run {
    run_job(world, &job(plan), 0, Nanos::MAX, Some(&mut script(text)))
}

/// Returns a worker's state with the script `text`.
pub(crate) fn script(text: &str) -> WorkerState {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{number}.lua"));
    fs::write(&file, text).expect("a file in the directory that cargo gives tests");
    let options = Options {
        file: file.clone(),
        url: "http://sim/".to_owned(),
        scheme: "http".to_owned(),
        host: "sim".to_owned(),
        port: None,
        path: "/".to_owned(),
        headers: Vec::new(),
        args: Vec::new(),
        sends_both_lengths: false,
        mode: Mode::ClosedLoop,
        memory_limit_bytes: 0,
        is_ipv4: None,
        source: None,
        calling: Arc::default(),
    };
    let mut main = Main::load(options).expect("the script is Lua");
    main.add_worker().expect("the script sets up");
    fs::remove_file(file).expect("it is no longer needed");
    main.take_workers().pop().expect("one was added")
}

/// Runs worker `number` of a job in a world of its own, with its script if it has one,
/// interrupted at `stop_at`.
pub(crate) fn run_job(
    world: World,
    job: &Job,
    number: u32,
    stop_at: Nanos,
    script: Option<&mut WorkerState>,
) -> Run {
    let seed = world.seed.0;
    let sim = Sim::new(world);
    let truth = sim.truth_handle();
    let control = Control::new(1, None);
    if stop_at < Nanos::MAX {
        control.stop_exactly_at(stop_at);
    }
    let measured = run_on(job, number, &control, sim, None, script).expect("a simulated machine");
    let failure = control.script_failure().map(|failure| failure.error.to_string());
    let run = Run { measured, truth: truth.snapshot(), failure };
    check_conservation(&run, seed);
    run
}

/// Assembles the document of a plan.
pub(crate) fn document(plan: &Plan, measurements: Measurements) -> Document {
    let parts = DocumentParts::bare(plan.clone(), measurements);
    weir_verdict::assemble(parts).expect("it adds up")
}

/// Checks the invariants of every run: nothing is lost, and nothing is counted twice.
fn check_conservation(run: &Run, seed: u64) {
    let ResultCounts { outcomes, status, errors, response_time, service_time, .. } =
        &run.measured.results;
    let equal = |what: &str, left: u64, right: u64| {
        let Run { measured, failure, .. } = run;
        assert_eq!(
            left, right,
            "seed {seed}: {what}: {:?}, {failure:?}",
            measured.results.outcomes
        );
    };
    let unresolved = outcomes.timed_out + outcomes.in_flight_at_end;
    let responded = outcomes.ok + outcomes.bad_response;
    equal("classes and plan", outcomes.total(), run.measured.results.planned);
    equal("status codes", status.values().sum(), responded);
    equal("errors by kind", errors.values().sum(), outcomes.transport_error);
    equal("ok times", response_time.ok.count(), outcomes.ok);
    equal("bad times", response_time.bad.count(), outcomes.bad_response);
    equal("failures", response_time.failed_at.count(), outcomes.transport_error);
    equal("ages", response_time.censored.count(), unresolved + outcomes.never_sent);
    equal("ok service times", service_time.ok.count(), outcomes.ok);
    equal("first bytes", run.measured.first_byte.count(), outcomes.ok);
    let sent = outcomes.total() - outcomes.never_sent;
    let Sent { measured, failed, .. } = run.measured.sent;
    assert!(measured <= sent && sent <= measured + failed, "seed {seed}: {measured} of {sent}");
    let slices = |of: fn(&weir_result::Slice) -> &Histogram| {
        run.measured.slices.iter().map(|slice| of(slice).count()).sum::<u64>()
    };
    // A run that ended before its window began has no slices.
    if !run.measured.slices.is_empty() {
        let others = outcomes.total() - outcomes.ok;
        equal("ok over slices", slices(|slice| &slice.ok), outcomes.ok);
        equal("others over slices", slices(|slice| &slice.not_ok), others);
    }
    check_evidence(run, seed);
    let sent = run.measured.sent;
    let intervals =
        |of: fn(&weir_result::Interval) -> u64| run.measured.intervals.iter().map(of).sum::<u64>();
    let all_sent = sent.total();
    equal("sent over intervals", intervals(|interval| interval.sent), all_sent + sent.failed);
    let received = run.truth.requests.len() as u64;
    assert!(received <= all_sent, "seed {seed}: {received} received, {all_sent} sent");
    let completed = run.truth.requests.iter().filter(|request| request.delivered_at.is_some());
    let completed = completed.count() as u64;
    assert!(responded <= completed, "seed {seed}: {responded} responses, {completed} delivered");
    assert!(run.measured.connections.connects <= run.truth.counts.connects.done);
}

/// Checks the client's measurements of itself against its other results.
fn check_evidence(run: &Run, seed: u64) {
    let Measurements { results, occupancy, departures, stamped, slices, window, .. } =
        &run.measured;
    let outcomes = &results.outcomes;
    let equal = |what: &str, left: u64, right: u64| {
        assert_eq!(left, right, "seed {seed}: {what}: {outcomes:?}");
    };
    assert_eq!(occupancy.integral_ns, occupancy.sum_ns, "seed {seed}: Little's law: {outcomes:?}");
    let is_limited = occupancy.capacity_ns > 0;
    let is_within = occupancy.integral_ns <= occupancy.capacity_ns;
    assert!(is_within || !is_limited, "seed {seed}: more requests than allowed: {occupancy:?}");
    if run.measured.send_lag.ok.count() > 0 {
        equal("unlagged times and ok requests", run.measured.unlagged.count(), outcomes.ok);
        let Sent { measured, failed, .. } = run.measured.sent;
        let dispatched = departures.gaps + 1;
        assert!(measured <= dispatched && dispatched <= measured + failed, "seed {seed}");
        let sent: u32 = departures.sent.iter().sum();
        assert!(u64::from(sent) <= dispatched, "seed {seed}");
    }
    equal("stamped times", stamped.rx_delay.count(), stamped.response.count());
    assert!(stamped.response.count() + stamped.missed <= outcomes.ok, "seed {seed}: {outcomes:?}");
    // The client's share and the outside share add up to the whole (METHOD 1.2).
    let sum = |histogram: &Histogram| histogram.exact().sum_ns;
    let whole = sum(&stamped.outside) + sum(&stamped.rx_delay);
    assert_eq!(whole, sum(&stamped.unlagged), "seed {seed}: {outcomes:?}");
    let counted = |of: fn(&weir_result::Slice) -> u64| slices.iter().map(of).sum::<u64>();
    equal("sent over slices", counted(|slice| slice.sent), window.sent);
    equal("completed over slices", counted(|slice| slice.completed), results.completed);
    equal("good over slices", counted(|slice| slice.good), results.good);
}

/// Returns percentile `p`, in `[0, 1]`: the upper edge of its bucket, or the greatest value.
pub(crate) fn quantile(histogram: &Histogram, p: f64) -> u64 {
    let rank = ((p * histogram.count() as f64).ceil() as u64).max(1);
    let mut seen = 0;
    for (bucket, count) in histogram.buckets() {
        seen += count;
        if seen >= rank {
            return highest_in(bucket).min(histogram.exact().max_ns);
        }
    }
    panic!("percentile {p} of an empty histogram")
}

/// Checks a histogram against its expected values, bucket by bucket and in its exact figures.
pub(crate) fn check_exact(what: &str, found: &Histogram, values: impl IntoIterator<Item = u64>) {
    let mut expected = Histogram::new();
    for value in values {
        expected.record(value);
    }
    assert_eq!(found.exact(), expected.exact(), "{what}");
    let buckets: Vec<(usize, u64)> = found.buckets().collect();
    assert_eq!(buckets, expected.buckets().collect::<Vec<_>>(), "{what}");
}

/// Checks a histogram of slots that were recorded as ranges, whose sums are accurate to 1 ns each.
pub(crate) fn check_ranges(what: &str, found: &Histogram, values: impl IntoIterator<Item = u64>) {
    let mut expected = Histogram::new();
    for value in values {
        expected.record(value);
    }
    let found_exact = found.exact();
    let exact = expected.exact();
    assert_eq!(found_exact.count, exact.count, "{what}");
    assert_eq!((found_exact.min_ns, found_exact.max_ns), (exact.min_ns, exact.max_ns), "{what}");
    assert!(found_exact.sum_ns.abs_diff(exact.sum_ns) <= u128::from(exact.count), "{what}");
    let buckets: Vec<(usize, u64)> = found.buckets().collect();
    assert_eq!(buckets, expected.buckets().collect::<Vec<_>>(), "{what}");
}

/// Checks that a histogram has `count` values, all of them `ns`.
pub(crate) fn check_all(what: &str, histogram: &Histogram, count: u64, ns: u64) {
    let exact = histogram.exact();
    assert_eq!(exact.count, count, "{what}: count");
    if count > 0 {
        assert_eq!((exact.min_ns, exact.max_ns), (ns, ns), "{what}: least and greatest");
        assert_eq!(exact.sum_ns, u128::from(ns) * u128::from(count), "{what}: sum");
        assert_eq!(histogram.buckets().collect::<Vec<_>>(), [(bucket_of(ns), count)], "{what}");
    }
}

/// Returns the true service times of the ok responses among `requests`.
pub(crate) fn true_service(requests: &[TrueRequest]) -> Vec<u64> {
    let ok =
        |request: &&TrueRequest| matches!(request.fate, Fate::Responded(status) if status < 400);
    let times = requests
        .iter()
        .filter(ok)
        .filter_map(|request| Some(request.delivered_at?.since(request.sent_at)));
    times.collect()
}

/// Returns the due time of slot `index` of a uniform plan.
pub(crate) fn due_at(run: &Run, plan: &Plan, index: u64) -> Nanos {
    let Some(rate) = plan.load.rate() else { panic!("a closed loop has no plan") };
    let product = (2 * u128::from(index) + 1) * u128::from(rate.denominator) * u128::from(SECOND);
    let offset = product / (2 * u128::from(rate.numerator));
    run.start().after(u64::try_from(offset).expect("a short run"))
}

/// Returns the true response times of a faultless run of a uniform plan. Slots are sent in order,
/// so the n-th request at the server is the n-th slot.
pub(crate) fn true_response(run: &Run, plan: &Plan) -> Vec<u64> {
    let t0 = run.start().after(plan.load.warmup.span_ns);
    let t1 = t0.after(plan.load.length_ns().expect("a run of known length"));
    let slots = (0u64..).zip(&run.truth.requests);
    let slots = slots.map(|(index, request)| (due_at(run, plan, index), request));
    let measured = slots.filter(|(due_at, _)| (t0..t1).contains(due_at));
    measured
        .map(|(due, request)| request.delivered_at.expect("it got a response").since(due))
        .collect()
}

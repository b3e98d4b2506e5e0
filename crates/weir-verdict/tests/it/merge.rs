//! Merging parts of a run: without loss, in any order, and refused with a reason if the parts do
//! not belong together.

use std::thread;

use proptest::prelude::*;
use weir_result::document::{
    AgentEnd, AgentSection, ClientUsage, Delivery, FleetSection, Grade, MergeError, Metric,
    NetworkSection, Probed, RuleOutcome, ServerSection, Summary,
};
use weir_result::quantile::Bound;
use weir_result::{
    ClientHealth, DepartureSpan, Document, DocumentParts, IoEngine, Measurements, Note, Part, Stops,
};

use crate::document::requests;
use crate::fixture::{self, End, Request, S, json, measurements, parts};

/// A hundred responses of worker `worker`, sent when due.
fn hundred(worker: u32) -> Measurements {
    let request = |ns| Request { slice: 0, lag_ns: 0, service_ns: ns, end: End::Ok };
    measurements(worker, &(1..=100).map(request).collect::<Vec<_>>())
}

/// Part `index` of `count`, after a change.
fn part_with(index: u32, count: u32, change: impl FnOnce(&mut DocumentParts)) -> Document {
    let mut parts = parts(index, count, hundred(index - 1));
    parts.given.plan.threads = count.max(2);
    change(&mut parts);
    weir_verdict::assemble(parts).expect("it adds up")
}

fn part(index: u32, count: u32) -> Document {
    part_with(index, count, |_| {})
}

/// The document as another machine reads it.
fn sent(document: &Document) -> Document {
    with_room(|| Document::from_json(&json(document)).expect("what is written can be read"))
}

fn refused(documents: &[Document]) -> String {
    weir_verdict::merge(documents).expect_err("they do not belong together").to_string()
}

#[test]
fn documents_that_do_not_belong_together_are_refused() {
    assert_eq!(weir_verdict::merge(&[]), Err(MergeError::Nothing));
    let twice = refused(&[part(1, 2), part(1, 2)]);
    assert_eq!(twice, "part 1 of 2 is there twice: give each part once");
    let mixed = refused(&[part(1, 2), part(2, 3)]);
    assert!(mixed.starts_with("part 2 of 3 and part 1 of 2 do not belong together"), "{mixed}");
    let whole = refused(&[part(1, 2), part(1, 1)]);
    assert!(whole.starts_with("document 2 is of a whole run, not of a part"), "{whole}");
    let slower = part_with(2, 2, |parts| parts.given.plan.load.connections = 11.into());
    assert_eq!(
        refused(&[part(1, 2), slower]),
        "parts 1 and 2 have different plans: load.connections is 10 and 11; run all parts with the \
         same flags"
    );
    let closed = part_with(2, 2, |parts| parts.given.plan.load.due = None);
    let closed = refused(&[part(1, 2), closed]);
    assert!(closed.contains("load.due is 1,000/s, poisson and absent"), "{closed}");
    let mut other = part(2, 2);
    other.slices[1].start_s = 0.5;
    assert_eq!(
        weir_verdict::merge(&[part(1, 2), other]),
        Err(MergeError::OtherSlices { part: 2 }),
        "slices that cross those of the first"
    );
}

#[test]
fn facts_of_a_machine_may_differ() {
    let other = part_with(2, 2, |parts| {
        parts.given.plan.target.address = "10.0.0.2:80".to_owned();
        parts.given.plan.io = IoEngine::Epoll;
        parts.given.plan.connection.sources = vec!["10.0.0.9".parse().expect("an address")];
        parts.given.environment.kernel = Some("6.1.0".to_owned());
    });
    let merged = weir_verdict::merge(&[other, part(1, 2)]).expect("the load is the same");
    assert_eq!(merged.plan.target.address, "127.0.0.1:80", "that of the first part");
    assert_eq!((merged.plan.part, merged.run.part, merged.run.parts), (None, 1, 1));
    let kernels: Vec<_> = merged.parts.iter().map(|of| of.environment.kernel.clone()).collect();
    assert_eq!(kernels, [None, Some("6.1.0".to_owned())]);
}

#[test]
fn each_part_keeps_the_server_as_it_was_watched() {
    let watched = part_with(2, 2, |parts| {
        parts.given.server = Some(ServerSection {
            not_compared: Some("the server counts the requests of all parts".to_owned()),
            ..ServerSection::default()
        });
    });
    let merged = weir_verdict::merge(&[part(1, 2), sent(&watched)]).expect("two parts of one run");
    assert_eq!(merged.server, None);
    assert_eq!((&merged.parts[0].server, &merged.parts[1].server), (&None, &watched.server));
    assert_eq!(sent(&merged).parts, merged.parts);
}

#[test]
fn a_missing_part_is_known_and_its_load_is_not_expected() {
    let two = [part(3, 3), part(1, 3)];
    let merged = weir_verdict::merge(&two).expect("two of three");
    assert_eq!(merged.missing_parts().collect::<Vec<_>>(), [2]);
    assert!(merged.notes.is_empty(), "a missing part is no note");
    // Ten connections on three threads: 4, 3, 3.
    assert_eq!((merged.share(), merged.throughput.offered_rps), (0.7, Some(700.0)));
    let load = &merged.verdict.load;
    assert_eq!(load.delivery, Delivery::AsPlanned);
    assert_eq!(load.text, "as planned: 700.0/s, of 1,000/s over all parts");
    assert_eq!(part(1, 3).throughput.offered_rps, Some(400.0));
    assert_eq!(part(1, 3).missing_parts().count(), 0, "a part by itself lacks nothing");

    let whole = weir_verdict::merge(&[part(2, 3), sent(&merged)]).expect("three of three");
    assert_eq!(whole.missing_parts().count(), 0);
    assert_eq!((whole.share(), whole.throughput.offered_rps), (1.0, Some(1_000.0)));
    assert_eq!(whole.verdict.load.text, "as planned: 1,000/s");
    let again = weir_verdict::merge(&[whole, part(2, 3)]);
    let part = Part::new(2, 3).expect("it exists");
    assert_eq!(again, Err(MergeError::Twice { part }));
}

/// Moves the window of a part by some milliseconds.
fn shifted(index: u32, by_ms: u64) -> Document {
    part_with(index, 2, |parts| parts.given.run.epoch_unix_ns += by_ms * 1_000_000)
}

#[test]
fn parts_run_at_the_same_time() {
    let apart = |document: &Document| {
        let rules = &document.verdict.rules;
        let rule = rules.iter().find(|rule| rule.id == "parts-apart").expect("two windows");
        (rule.outcome, rule.value)
    };
    // The windows are 3 s long.
    let together = weir_verdict::merge(&[shifted(1, 0), shifted(2, 0)]).expect("together");
    assert_eq!(apart(&together), (RuleOutcome::Pass, Some(1.0)));
    let late = weir_verdict::merge(&[shifted(1, 0), shifted(2, 600)]).expect("mostly together");
    assert_eq!(apart(&late), (RuleOutcome::Finding, Some(0.8)));
    let text = refused(&[shifted(1, 2_000), shifted(2, 0)]);
    assert!(text.contains("their windows share 33%, less than half; start all parts"), "{text}");
    let text = refused(&[shifted(1, 0), shifted(2, 4_500)]);
    let expected = "the window of part 2 began 1.50 s after that of part 1 had ended";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn parts_that_send_in_other_ways_are_a_finding() {
    let alike = |io| {
        let other = part_with(2, 2, |parts| parts.given.plan.io = io);
        let merged = weir_verdict::merge(&[part(1, 2), other]).expect("machines may differ");
        let rule = merged.verdict.rules.into_iter().find(|rule| rule.id == "parts-alike");
        rule.map(|rule| (rule.outcome, rule.text)).expect("two parts")
    };
    let own = part(1, 2).plan.io;
    assert_eq!(alike(own).0, RuleOutcome::Pass);
    let (outcome, text) = alike(IoEngine::Epoll);
    assert_eq!(outcome, RuleOutcome::Finding, "{own:?}");
    assert!(text.contains("part 2 by epoll"), "{text}");
}

#[test]
fn agents_that_did_not_begin_together_are_a_finding() {
    let mut merged = weir_verdict::merge(&[part(1, 2), part(2, 2)]).expect("two of two");
    let mut spread = |start_spread_ns| {
        merged.fleet = Some(FleetSection { start_spread_ns, agents: Vec::new() });
        let verdict = weir_verdict::verdict(&merged);
        verdict.rules.iter().find(|rule| rule.id == "start-spread").map(|rule| rule.outcome)
    };
    assert_eq!(spread(Some(60_000)), Some(RuleOutcome::Pass));
    assert_eq!(spread(Some(5_100_000)), Some(RuleOutcome::Finding));
    assert_eq!(spread(None), None);
}

#[test]
fn a_clock_of_another_rate_is_a_finding() {
    let mut merged = weir_verdict::merge(&[part(1, 2), part(2, 2)]).expect("two of two");
    let mut drift = |clock_drift| {
        let agent = AgentSection {
            name: "gen-2".to_owned(),
            part: Part::new(2, 2).expect("it exists"),
            begun_monotonic_ns: None,
            clock_error_ns: None,
            clock_drift,
            end: AgentEnd::Planned,
            reason: String::new(),
            heard_until_ns: None,
            silences_ns: Vec::new(),
            intervals: Vec::new(),
        };
        merged.fleet = Some(FleetSection { start_spread_ns: None, agents: vec![agent] });
        let verdict = weir_verdict::verdict(&merged);
        verdict.rules.iter().find(|rule| rule.id == "clock-drift").map(|rule| rule.outcome)
    };
    assert_eq!(drift(None), None);
    assert_eq!(drift(Some((-300e-6, 190e-6))), Some(RuleOutcome::Pass));
    assert_eq!(drift(Some((-310e-6, -210e-6))), Some(RuleOutcome::Finding));
}

#[test]
fn an_interrupted_part_merges_with_the_others() {
    let cut = |parts: &mut DocumentParts| {
        let m = &mut parts.measurements;
        m.interrupted = true;
        m.slices.truncate(2);
        m.slices[1].end_ns = S + S / 2;
        m.workers[0].t1_ns = S + S / 2;
        m.departures.spans.truncate(1);
        m.departures.sent.truncate(20);
        m.departures.planned.truncate(20);
        parts.given.run.epoch_unix_ns += 10 * S;
    };
    let merged = weir_verdict::merge(&[part(1, 2), part_with(2, 2, cut)]).expect("it was cut");
    assert!(merged.run.interrupted && merged.parts[1].run.interrupted);
    assert!(!merged.parts[0].run.interrupted);
    let ends: Vec<f64> = merged.slices.iter().map(|slice| slice.end_s).collect();
    assert_eq!(ends, [1.0, 2.0, 3.0]);
    assert_eq!(merged.results.outcomes.ok, 200);
    let planned = merged.departures.map(|departures| departures.planned);
    assert_eq!(planned, Some(60), "40 of one, 20 of the other");
}

#[test]
fn the_worst_part_decides_the_grade() {
    // The threads of part 2 waited for a CPU all the time: a third of the requests, diluted.
    let contended = part_with(2, 3, |parts| {
        parts.beside.health = Some(ClientHealth { throttled_ns: Some(S), ..fixture::health(2) });
    });
    assert_eq!(outcome(&contended, "cpu-quota"), Some(RuleOutcome::Bound));
    let failed = part_with(3, 3, |parts| {
        let request = |ns| Request { slice: 0, lag_ns: 0, service_ns: ns, end: End::Bad };
        parts.measurements = measurements(2, &(1..=100).map(request).collect::<Vec<_>>());
    });
    assert_eq!(failed.verdict.grade, Grade::Failed);
    let merged =
        weir_verdict::merge(&[part(1, 3), contended.clone(), failed]).expect("three of three");
    assert_eq!(merged.verdict.grade, Grade::Failed);
    let reason = &merged.verdict.reason;
    assert!(reason.starts_with("part 3: 100"), "{reason}");
    let quota = merged.verdict.rules.iter().find(|rule| rule.id == "cpu-quota").expect("judged");
    assert_eq!(quota.outcome, RuleOutcome::Bound);
    assert!(quota.text.starts_with("CPU quota in part 2: the cgroup throttled"), "{}", quota.text);
    let grades: Vec<Grade> = merged.parts.iter().map(|of| of.verdict.grade).collect();
    assert_eq!(grades[1..], [contended.verdict.grade, Grade::Failed]);
    assert_eq!(merged.parts[1].verdict, contended.verdict);
}

fn outcome(document: &Document, id: &str) -> Option<RuleOutcome> {
    document.verdict.rules.iter().find(|rule| rule.id == id).map(|rule| rule.outcome)
}

/// Three parts with any requests, whose other facts differ or are equal in turn.
fn three(all: [Vec<Request>; 3]) -> [Document; 3] {
    let mut index = 0;
    all.map(|requests| {
        index += 1;
        let mut parts = parts(index, 3, measurements(index - 1, &requests));
        parts.given.plan.threads = 3;
        let bins = 20 - 3 * index;
        let m = &mut parts.measurements;
        m.departures.spans = vec![DepartureSpan { start_ms: (7 * index).into(), bins }];
        m.departures.sent.truncate(bins as usize);
        m.departures.planned.truncate(bins as usize);
        parts.beside.script_file = (index != 1).then(|| format!("{}.lua", 9 - index));
        parts.beside.health = Some(fixture::health(1 + index / 2));
        parts.given.notes = vec![Note::new("same", "in all"), Note::new("own", format!("{index}"))];
        sent(&weir_verdict::assemble(parts).expect("it adds up"))
    })
}

/// Carries out work on a stack of its own: that of a test holds only so many documents.
fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const STACK_BYTES: usize = 8 << 20;
    thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        started.expect("a thread").join().expect("it does not panic")
    })
}

/// Returns the document of both halves, as if one machine had measured them.
fn whole(one: &Measurements, two: &Measurements) -> Document {
    let mut both = one.clone();
    both.merge(two);
    let mut whole_parts = parts(1, 1, both);
    let mut witness = fixture::witness(1);
    witness.merge(&fixture::witness(2));
    whole_parts.beside.witness = Some(witness);
    // The worst of both parts: the gap of the first, the steal of the second, the number of its
    // stops.
    let stops = fixture::health(1).stops.expect("it has some");
    whole_parts.beside.health = Some(ClientHealth {
        steal: Some(0.002),
        stops: Some(Stops { count: 2, longest_at_ns: -2, ..stops }),
        server_cpu: fixture::health(2).server_cpu,
        ..fixture::health(1)
    });
    // Counts add up; the lower median and the longer round trip remain.
    let probe = fixture::probe(2);
    whole_parts.beside.probe =
        Probed { sent: 82, failed: 2, returned: 0, answered: 80, connects: 2, ..probe };
    whole_parts.beside.network = Some(NetworkSection {
        sockets: 10,
        sampled: 10,
        retransmitted_segments: 3,
        retransmission_timeouts: Some(2),
        handshakes: 3,
        ..fixture::network(2)
    });
    whole_parts.beside.preflight_sent = 2;
    whole_parts.given.run.client =
        ClientUsage { cpu_user_ns: 10, cpu_system_ns: 14, max_resident_bytes: 22 };
    weir_verdict::assemble(whole_parts).expect("it adds up")
}

/// Takes over the bounds that are weaker in `merged`: a client that was short of CPU time in one
/// part qualifies the numbers of all.
fn weaken(whole: &mut Document, merged: &Document) {
    let weaker = |own: Bound, other: Bound| match (own, other) {
        (Bound::Exact, Bound::Upper) | (Bound::Lower, Bound::Unknown) => other,
        _ => own,
    };
    let summary = |own: &mut Summary, other: &Summary| {
        own.mean_bound = weaker(own.mean_bound, other.mean_bound);
        for (own, other) in own.percentiles.iter_mut().zip(&other.percentiles) {
            let bound = weaker(own.bound, other.bound);
            if bound != own.bound {
                (own.bound, own.range) = (bound, other.range);
            }
        }
    };
    let metric = |own: &mut Metric, other: &Metric| {
        summary(&mut own.ok, &other.ok);
        if let (Some(own), Some(other)) = (&mut own.all, &other.all) {
            summary(own, other);
        }
    };
    metric(&mut whole.results.response_time, &merged.results.response_time);
    metric(&mut whole.results.service_time, &merged.results.service_time);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merging_two_halves_is_assembling_both(one in requests(), two in requests()) {
        let one = measurements(0, &one);
        let two = measurements(1, &two);
        let mut whole = whole(&one, &two);
        let halves = [parts(1, 2, one), parts(2, 2, two)].map(|half| {
            sent(&weir_verdict::assemble(half).expect("it adds up"))
        });
        let merged = weir_verdict::merge(&halves).expect("halves of one run");
        // The facts of each part, and the part that a worker belonged to, are the only difference.
        whole.parts = merged.parts.clone();
        whole.phases[1].part = 2;
        weaken(&mut whole, &merged);
        whole.verdict = weir_verdict::verdict(&whole);
        prop_assert!(merged == whole, "{merged:?} is not {whole:?}");
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_order_of_merging_makes_no_difference(
        one in requests(), two in requests(), three_of in requests(),
    ) {
        let [a, b, c] = three([one, two, three_of]);
        let merge = |documents: &[&Document]| {
            let documents: Vec<Document> = documents.iter().copied().cloned().collect();
            sent(&weir_verdict::merge(&documents).expect("parts of one run"))
        };
        let whole = merge(&[&a, &b, &c]);
        prop_assert!(merge(&[&c, &a, &b]) == whole);
        prop_assert!(merge(&[&merge(&[&a, &b]), &c]) == whole);
        prop_assert!(merge(&[&merge(&[&c, &a]), &b]) == whole);
        prop_assert!(merge(&[&a, &merge(&[&b, &merge(&[&c])])]) == whole);
    }
}

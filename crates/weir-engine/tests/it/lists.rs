//! Lists of requests: which slot carries which, and names that add up to the whole.

use std::sync::Arc;

use weir_engine::{Job, ListRows, ListedRequest, RequestList};
use weir_http::Prepared;
use weir_io::Nanos;
use weir_requests::list::{Order, Sequence};
use weir_result::{Load, NamedSlice, Plan, ResultCounts};
use weir_sim::{Random, Seed, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::setup::{MS, Run, closed, document, job, open, poisson, run_job, serving};

/// Returns a list of requests for `/0`, `/1` and so on, with these weights. Every third has the
/// name 0, so that names have several rows.
pub(crate) fn list(order: Order, weights: &[u32]) -> RequestList {
    let request = |row: usize| {
        let request = Prepared::http1("GET", &format!("/{row}"), "sim", &[], None);
        let name = if row.is_multiple_of(3) { 0 } else { row as u16 };
        ListedRequest {
            request: request.expect("a plain request"),
            name,
            template: None,
            encoder: None,
            message: None,
        }
    };
    RequestList {
        rows: ListRows::Prepared((0..weights.len()).map(request).collect()),
        sequence: Sequence::weighted(order, weights).expect("small weights"),
        names: u16::try_from(weights.len()).expect("few rows"),
        with_slices: vec![0, 1],
        seed: 0,
        table: None,
        users: None,
    }
}

pub(crate) fn job_of(plan: &Plan, list: RequestList) -> Job {
    let mut job = job(plan);
    job.requests.list = Some(Arc::new(list));
    job
}

/// Checks that names add up to the whole: every class, status, error and bucket, and in slices.
fn check_names(run: &Run, seed: u64) {
    let measured = &run.measured;
    let mut sum = ResultCounts::default();
    for name in &measured.names {
        assert_eq!(name.outcomes.total(), name.planned, "seed {seed}: a name");
        sum.add(name);
    }
    let what = |part: &str| format!("seed {seed}: {part}: {:?}", measured.results.outcomes);
    assert_eq!(sum.planned, measured.results.planned, "{}", what("planned"));
    assert_eq!(sum.outcomes, measured.results.outcomes, "{}", what("outcomes"));
    assert_eq!(sum.status, measured.results.status, "{}", what("statuses"));
    assert_eq!(sum.errors, measured.results.errors, "{}", what("errors"));
    assert_eq!(sum.completed, measured.results.completed, "{}", what("completed"));
    assert_eq!(sum.good, measured.results.good, "{}", what("good"));
    for (of_names, of_all) in [
        (&sum.response_time, &measured.results.response_time),
        (&sum.service_time, &measured.results.service_time),
    ] {
        for (of_names, of_all) in of_names.by_class().into_iter().zip(of_all.by_class()) {
            assert!(of_names.agrees_with(of_all), "{}", what("times"));
        }
    }
    for (place, name) in [(0, 0), (1, 1)] {
        let shares = measured.slices.iter().filter_map(|slice| slice.named.get(place));
        let mut whole = NamedSlice::default();
        for share in shares {
            whole.ok.add(&share.ok);
            whole.not_ok.add(&share.not_ok);
            whole.completed += share.completed;
        }
        let Some(counts) = measured.names.get(name) else { continue };
        assert_eq!(whole.ok, counts.response_time.ok, "{}", what("slices"));
        let others = counts.planned - counts.outcomes.ok;
        assert_eq!(whole.not_ok.count(), others, "{}", what("slices of failures"));
        assert_eq!(whole.completed, counts.completed, "{}", what("completed in slices"));
    }
}

/// Random worlds with all kinds of faults.
#[test]
fn names_add_up_in_wild_worlds() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300);
    let mut responded = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 205);
        let (plan, number, stop_at) = random_plan(&mut random);
        let rows = random.between(1, 7);
        let weights: Vec<u32> = (0..rows).map(|_| random.between(1, 4) as u32).collect();
        let order = match random.chance(0.5) {
            true => Order::Sequential,
            false => Order::Random { seed },
        };
        let job = job_of(&plan, list(order, &weights));
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job, number, stop_at, None);
        check_names(&run, seed);
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= seeds, "{responded} responses in {seeds} runs say nothing");
}

/// Returns the rows that the server saw, in the order of their sending.
fn rows(run: &Run) -> Vec<u64> {
    run.truth.requests.iter().map(|request| request.number.expect("it is in the target")).collect()
}

#[test]
fn slots_carry_the_rows_of_the_order() {
    let weights = [3, 1, 2];
    for order in [Order::Sequential, Order::Random { seed: 9 }] {
        let sequence = Sequence::weighted(order, &weights).expect("small weights");
        for plan in [open(2_000, 1, 10), poisson(2_000, 1, 10, 5), closed(1)] {
            let run = run_job(
                serving(MS / 10),
                &job_of(&plan, list(order, &weights)),
                0,
                Nanos::MAX,
                None,
            );
            let rows = rows(&run);
            let expected = (0..rows.len() as u64).map(|slot| sequence.row(slot).expect("no end"));
            assert_eq!(rows, expected.collect::<Vec<u64>>(), "{order:?} {:?}", plan.load);
            assert!(rows.len() > 1_000, "{}", rows.len());
        }
    }
}

/// Two workers of an open loop together carry the slots of one.
#[test]
fn workers_share_the_slots_of_a_list() {
    let order = Order::Sequential;
    let one = |threads, number| {
        let plan = Plan { threads, ..open(1_000, 1, 10) };
        let run = run_job(
            serving(MS / 10),
            &job_of(&plan, list(order, &[1, 2, 3])),
            number,
            Nanos::MAX,
            None,
        );
        let names = run.measured.names.iter().map(|name| name.planned);
        names.collect::<Vec<u64>>()
    };
    let both: Vec<u64> = one(2, 0).iter().zip(one(2, 1)).map(|(a, b)| a + b).collect();
    assert_eq!(both, one(1, 0));
}

#[test]
fn a_list_that_is_sent_once_has_each_row_once() {
    for load in [open(1_000, 1, 4).load, closed(4).load] {
        for threads in [1, 3] {
            let mut all = Vec::new();
            for number in 0..threads {
                let requests = Some(50);
                let load = load.clone();
                let plan = Plan {
                    load: Load { requests, duration_ns: None, ..load },
                    threads,
                    ..closed(4)
                };
                let job = job_of(&plan, list(Order::Once, &[1; 50]));
                let run = run_job(serving(MS / 10), &job, number, Nanos::MAX, None);
                assert_eq!(run.measured.sent.tail, 0);
                all.extend(rows(&run));
            }
            all.sort_unstable();
            assert_eq!(all, (0..50).collect::<Vec<u64>>(), "{load:?}, {threads} workers");
        }
    }
}

/// The document has the names' sums checked before it exists.
#[test]
fn a_list_has_a_document() {
    let plan = open(2_000, 1, 10);
    let run = run_job(
        serving(MS / 10),
        &job_of(&plan, list(Order::Sequential, &[1, 1])),
        0,
        Nanos::MAX,
        None,
    );
    let planned = run.measured.results.planned;
    assert_eq!(document(&plan, run.measured).results.planned, planned);
}

//! Loads under a lease: they send nothing after its end, however late they notice it.

use weir_engine::{Control, run_on};
use weir_io::Nanos;
use weir_sim::{Pause, Sim, Truth, World};

use crate::setup::{MS, SECOND, START, job, open, serving};

/// Returns the requests of a load of 200/s for 5 s, whose lease ends 2 s after its start.
fn leased(world: World) -> Truth {
    let plan = open(200, 1, 8).with_load(|load| load.duration_ns = Some(5 * SECOND));
    let sim = Sim::new(world);
    let truth = sim.truth_handle();
    let control = Control::new(1, None);
    control.renew_lease(Nanos::ZERO, START.after(2 * SECOND));
    let measured = run_on(&job(&plan), 0, &control, sim, None, None).expect("a simulated machine");
    assert!(measured.interrupted);
    truth.snapshot()
}

#[test]
fn a_load_ends_with_its_lease() {
    let requests = leased(serving(MS)).requests;
    let last = requests.iter().map(|request| request.sent_at).max().expect("a load");
    assert!((398..=401).contains(&requests.len()), "{}", requests.len());
    assert!(last < START.after(2 * SECOND), "{last:?}");
}

#[test]
fn a_process_that_did_not_run_sends_nothing_that_fell_due_meanwhile() {
    let mut world = serving(MS);
    world.client.stops = vec![Pause::new(START.after(SECOND), 3 * SECOND)];
    let requests = leased(world).requests;
    let last = requests.iter().map(|request| request.sent_at).max().expect("a load");
    assert!((198..=201).contains(&requests.len()), "{}", requests.len());
    assert!(last < START.after(SECOND + MS), "{last:?}");
}

//! One test for each thing that can go wrong.

use weir_fleet::{
    Agent, AgentAction, Ending, FromAgent, LEASE_NS, MemberEnd, MemberResult, OnLoss, Order,
    RunWork, Settings, ToAgent, start_spread_ns,
};
use weir_result::Part;
use weir_runner::HttpChoice;

use crate::world::{Fate, LOAD_NS, MS, Outcome, SECOND, World, settings};

/// A time within every load of these tests.
const WITHIN: u64 = 12 * SECOND;

/// Runs three agents, of which the second has a fate.
fn with_fate(on_loss: OnLoss, fate: Fate) -> (World, Outcome) {
    let mut world = World::new(1, 3, settings(3, on_loss));
    world.nodes[1].fate = fate;
    let outcome = world.run();
    (world, outcome)
}

fn ends(outcome: &Outcome) -> Vec<MemberEnd> {
    members(outcome).iter().map(|member| member.end.clone()).collect()
}

fn members(outcome: &Outcome) -> &[MemberResult] {
    match outcome {
        Outcome::Finished(members) => members,
        other => panic!("{other:?}"),
    }
}

fn reasons(outcome: &Outcome) -> String {
    match outcome {
        Outcome::NotStarted(reasons) => reasons.join("; "),
        other => panic!("{other:?}"),
    }
}

const PLANNED: MemberEnd = MemberEnd::Reported(Ending::Planned);
const STOPPED: MemberEnd = MemberEnd::Reported(Ending::Stopped);

#[test]
fn without_faults_all_begin_together_and_end_as_planned() {
    let (world, outcome) = with_fate(OnLoss::Stop, Fate::default());
    assert_eq!(ends(&outcome), [PLANNED, PLANNED, PLANNED]);
    let begins: Vec<u64> = world.nodes.iter().filter_map(|node| node.begun).collect();
    let spread = begins.iter().max().zip(begins.iter().min()).map(|(last, first)| last - first);
    assert!(spread.is_some_and(|spread| spread < MS), "{begins:?}");
    let bound = start_spread_ns(members(&outcome)).expect("all have begun");
    assert!(spread.is_some_and(|spread| spread <= bound) && bound < MS, "{spread:?} {bound}");
    for (member, begun) in members(&outcome).iter().zip(begins) {
        let span = member.begun.expect("its clock is known");
        assert!(span.low_ns <= begun + 1 && begun <= span.high_ns + 1, "{span:?} {begun}");
        assert!(span.bound_ns() < MS && member.silences_ns.is_empty(), "{member:?}");
    }
}

#[test]
fn agents_with_the_coordinators_clock_need_no_probe() {
    let mut world = World::new(1, 2, settings(2, OnLoss::Stop));
    world.share_clock();
    let outcome = world.run();
    assert_eq!(ends(&outcome), [PLANNED, PLANNED]);
    assert_eq!(start_spread_ns(members(&outcome)), Some(0));
    let begun = world.nodes[0].begun.expect("a load");
    assert!(begun < 3 * SECOND, "begun at {begun}");
}

#[test]
fn clocks_that_a_slow_bus_hides_delay_the_begin() {
    // All are ready, with 64 probes, after 3 s.
    let mut world = World::new(1, 3, settings(3, OnLoss::Stop));
    world.bus.slow_until = 9 * SECOND;
    let outcome = world.run();
    assert_eq!(ends(&outcome), [PLANNED, PLANNED, PLANNED]);
    assert!(start_spread_ns(members(&outcome)).is_some_and(|spread| spread < 50 * MS));
    let mut world = World::new(1, 3, settings(3, OnLoss::Stop));
    world.bus.slow_until = u64::MAX;
    let reasons = reasons(&world.run());
    assert!(reasons.contains("gen-2 is known to ±"), "{reasons}");
    assert!(world.nodes.iter().all(|node| node.begun.is_none()));
}

#[test]
fn too_few_agents_start_nothing() {
    let mut world = World::new(1, 2, settings(3, OnLoss::Stop));
    assert_eq!(reasons(&world.run()), "2 of 3 agents are there (gen-1, gen-2)");
    assert_eq!(world.last_end(), None);
}

#[test]
fn more_agents_than_needed_stay_free() {
    let mut world = World::new(1, 5, settings(3, OnLoss::Stop));
    let outcome = world.run();
    let names: Vec<&str> = members(&outcome).iter().map(|member| &*member.agent).collect();
    assert_eq!(names, ["gen-1", "gen-2", "gen-3"]);
    assert!(world.nodes[3..].iter().all(|node| node.begun.is_none()));
}

#[test]
fn an_agent_that_refuses_is_named_with_its_reason() {
    let refusal = Some("ulimit -n is 64".to_owned());
    let (world, outcome) = with_fate(OnLoss::Stop, Fate { refusal, ..Fate::default() });
    assert_eq!(reasons(&outcome), "agent gen-2: ulimit -n is 64");
    assert_eq!(world.last_end(), None);
}

#[test]
fn an_agent_that_dies_before_the_load_starts_nothing() {
    let (world, outcome) =
        with_fate(OnLoss::Stop, Fate { dies: Some((2 * SECOND, None)), ..Fate::default() });
    assert!(reasons(&outcome).contains("agent gen-2"), "{outcome:?}");
    assert_eq!(world.last_end(), None);
}

#[test]
fn the_others_stop_or_go_on_when_an_agent_dies() {
    for (on_loss, others) in [(OnLoss::Stop, STOPPED), (OnLoss::Continue, PLANNED)] {
        let fate = Fate { dies: Some((WITHIN, None)), ..Fate::default() };
        let (world, outcome) = with_fate(on_loss, fate);
        let ends = ends(&outcome);
        assert_eq!((&ends[0], &ends[2]), (&others, &others));
        let MemberEnd::Lost { heard_ns } = ends[1] else { panic!("{ends:?}") };
        assert!(heard_ns.abs_diff(WITHIN) < SECOND, "heard at {heard_ns}");
        let last = world.last_end().expect("a load");
        let is_early = last < WITHIN + LEASE_NS + SECOND;
        assert!(is_early || on_loss == OnLoss::Continue, "the others ended at {last}");
    }
}

#[test]
fn an_agent_that_was_restarted_is_lost_before_its_lease_and_begins_nothing() {
    let restarts = WITHIN + SECOND;
    let fate = Fate { dies: Some((WITHIN, Some(restarts))), ..Fate::default() };
    let (world, outcome) = with_fate(OnLoss::Stop, fate);
    let ends = ends(&outcome);
    assert!(matches!(ends[1], MemberEnd::Restarted { .. }), "{ends:?}");
    assert!(world.last_end().expect("a load") < restarts + 2 * SECOND);
}

#[test]
fn two_agents_of_one_name_do_not_end_a_run() {
    for at in [SECOND, WITHIN] {
        let mut world = World::new(1, 3, settings(2, OnLoss::Stop));
        world.start_like(2, 0, at);
        let outcome = world.run();
        assert_eq!(ends(&outcome), [PLANNED, PLANNED], "started at {at}");
        assert_eq!(world.nodes[2].begun, None, "started at {at}");
    }
}

#[test]
fn an_agent_cut_off_within_its_lease_completes_and_the_gap_is_noted() {
    let fate = Fate { cut: Some((WITHIN, WITHIN + 6 * SECOND)), ..Fate::default() };
    let (_, outcome) = with_fate(OnLoss::Stop, fate);
    assert_eq!(ends(&outcome), [PLANNED, PLANNED, PLANNED]);
    let silences = &members(&outcome)[1].silences_ns;
    let [(from, to)] = silences[..] else { panic!("{silences:?}") };
    assert!(from.abs_diff(WITHIN) < SECOND && to.abs_diff(WITHIN + 6 * SECOND) < SECOND);
}

#[test]
fn an_agent_cut_off_for_longer_stops_by_itself() {
    let fate = Fate { cut: Some((WITHIN, WITHIN + 11 * SECOND)), ..Fate::default() };
    let (world, outcome) = with_fate(OnLoss::Continue, fate);
    let ends = ends(&outcome);
    assert!(matches!(ends[1], MemberEnd::Lost { .. }), "{ends:?}");
    let ended = world.nodes[1].ended.expect("it stopped");
    let latest = world.heard(1) + LEASE_NS + SECOND;
    assert!(ended <= latest && ended < world.nodes[0].ended.expect("it went on"), "{ended}");
}

#[test]
fn a_bus_that_restarts_costs_nothing() {
    let mut world = World::new(1, 3, settings(3, OnLoss::Stop));
    world.bus.away = Some((WITHIN, WITHIN + 8 * SECOND));
    let outcome = world.run();
    assert_eq!(ends(&outcome), [PLANNED, PLANNED, PLANNED]);
}

#[test]
fn agents_that_a_bus_is_away_from_for_longer_than_the_lease_stop_and_say_so() {
    let mut world = World::new(1, 3, settings(3, OnLoss::Stop));
    world.bus.away = Some((WITHIN, WITHIN + LEASE_NS + 3 * SECOND));
    let outcome = world.run();
    let expired = MemberEnd::Reported(Ending::LeaseExpired);
    assert_eq!(ends(&outcome), [expired.clone(), expired.clone(), expired]);
}

/// The order to prepare the only part of a run.
fn order_of(run: &str) -> ToAgent {
    let part = Part::new(1, 1).expect("it exists");
    let work = RunWork::default();
    ToAgent::Prepare(Order { run: run.to_owned(), part, http: None, work, signature: None })
}

#[test]
fn a_late_message_of_a_run_that_is_over_starts_nothing() {
    let mut agent = Agent::new("1.0", 2, "a");
    let run = || "run-1".to_owned();
    let prepare = || order_of("run-1");
    let actions = agent.receive(0, prepare());
    assert!(matches!(actions[..], [AgentAction::Prepare(_)]), "{actions:?}");
    agent.receive(1, ToAgent::Stop { run: run() });
    assert_eq!(agent.receive(2, ToAgent::Release { run: run() }), [AgentAction::Forget]);
    let again = agent.receive(3, prepare());
    assert!(matches!(again[..], [AgentAction::Send(FromAgent::Refused { .. })]), "{again:?}");
    assert_eq!(agent.receive(4, ToAgent::Commit { run: run() }), []);
}

#[test]
fn an_agent_in_a_run_refuses_another() {
    let mut agent = Agent::new("1.0", 2, "a");
    let prepare = order_of;
    let begun = agent.receive(SECOND, prepare("one"));
    assert!(matches!(&begun[..], [AgentAction::Prepare(_)]), "{begun:?}");
    let refused = agent.receive(2 * SECOND, prepare("two"));
    let [AgentAction::Send(FromAgent::Refused { run, .. })] = &refused[..] else {
        panic!("it does not refuse: {refused:?}")
    };
    assert_eq!(run, "two");
}

#[test]
fn an_agent_whose_coordinator_died_is_free_for_another() {
    let mut agent = Agent::new("1.0", 2, "a");
    let prepare = order_of;
    agent.receive(0, prepare("run-1"));
    agent.prepared(Ok(HttpChoice::Http11));
    let expired = agent.tick(LEASE_NS + 1);
    assert!(expired.contains(&AgentAction::Abandon), "{expired:?}");
    assert_eq!(agent.tick(2 * LEASE_NS + 1), [AgentAction::Forget]);
    let hello = agent.tick(3 * LEASE_NS);
    assert!(matches!(hello[..], [AgentAction::Send(FromAgent::Hello(_))]), "{hello:?}");
    let actions = agent.receive(3 * LEASE_NS, prepare("run-2"));
    assert!(matches!(actions[..], [AgentAction::Prepare(_)]), "{actions:?}");
    let over = agent.receive(3 * LEASE_NS, prepare("run-1"));
    assert!(matches!(over[..], [AgentAction::Send(FromAgent::Refused { .. })]), "{over:?}");
}

#[test]
fn no_load_outlives_its_coordinator_for_longer_than_the_lease() {
    let mut world = World::new(1, 3, settings(3, OnLoss::Stop));
    world.coordinator_dies = Some(WITHIN);
    assert!(matches!(world.run(), Outcome::Unknown));
    let last = world.last_end().expect("a load");
    assert!(last < WITHIN + LEASE_NS + SECOND, "{last}");
    const { assert!(LEASE_NS < LOAD_NS) };
}

#[test]
fn an_agent_that_never_ends_is_given_up() {
    let (_, outcome) = with_fate(OnLoss::Stop, Fate { hangs: true, ..Fate::default() });
    let ends = ends(&outcome);
    assert!(matches!(ends[1], MemberEnd::Lost { .. }), "{ends:?}");
    assert_eq!((&ends[0], &ends[2]), (&PLANNED, &PLANNED));
}

#[test]
fn a_signal_ends_an_agent_and_is_named() {
    let (_, outcome) = with_fate(OnLoss::Stop, Fate { signal: Some(WITHIN), ..Fate::default() });
    let signal = MemberEnd::Reported(Ending::Signal("SIGTERM".to_owned()));
    assert_eq!(ends(&outcome), [STOPPED, signal, STOPPED]);
}

#[test]
fn a_signal_to_the_coordinator_ends_the_run_in_order() {
    let mut world = World::new(1, 2, settings(2, OnLoss::Stop));
    world.interrupted = Some(WITHIN);
    let outcome = world.run();
    let stopped = MemberEnd::Reported(Ending::Stopped);
    assert_eq!(ends(&outcome), [stopped.clone(), stopped]);
    assert!(world.last_end().is_some_and(|end| end < WITHIN + SECOND), "it went on");
    let mut early = World::new(1, 2, settings(2, OnLoss::Stop));
    early.interrupted = Some(SECOND);
    assert!(reasons(&early.run()).contains("interrupted before the load"));
    assert_eq!(early.last_end(), None);
}

#[test]
fn another_version_is_refused_by_name() {
    let mut world =
        World::new(1, 1, Settings { version: "2.0".to_owned(), ..settings(1, OnLoss::Stop) });
    let text = reasons(&world.run());
    assert!(text.contains("agent gen-1 is weir 1.0"), "{text}");
}

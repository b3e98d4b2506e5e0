//! Buses that stay away, and agents that say what is false, at any time.

use weir_fleet::{
    Agent, AgentAction, Ending, FromAgent, LEASE_NS, LoadEnd, MemberEnd, OnLoss, Order, RunWork,
    ToAgent,
};
use weir_result::Part;
use weir_runner::HttpChoice;

use crate::world::{Fate, LOAD_NS, MS, Outcome, SECOND, World, settings};

/// A time within every load of these tests.
const WITHIN: u64 = 12 * SECOND;

const PLANNED: MemberEnd = MemberEnd::Reported(Ending::Planned);

fn ends(outcome: &Outcome) -> Vec<MemberEnd> {
    match outcome {
        Outcome::Finished(members) => members.iter().map(|member| member.end.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bus_that_stays_away_ends_the_run_with_what_was_heard() {
    let mut world = World::new(1, 2, settings(2, OnLoss::Stop));
    world.bus.away = Some((WITHIN, u64::MAX));
    let outcome = world.run();
    for end in ends(&outcome) {
        let MemberEnd::Lost { heard_ns } = end else { panic!("{end:?}") };
        assert!(heard_ns.abs_diff(WITHIN) < SECOND, "{heard_ns}");
    }
    let [warned] = world.warned_away[..] else { panic!("{:?}", world.warned_away) };
    assert!(warned.abs_diff(WITHIN + 3 * SECOND) < SECOND, "{warned}");
    assert!(world.over.is_some_and(|over| over < WITHIN + 2 * LEASE_NS + SECOND));
}

#[test]
fn a_signal_ends_the_wait_for_the_bus() {
    let mut world = World::new(1, 2, settings(2, OnLoss::Stop));
    world.bus.away = Some((WITHIN, u64::MAX));
    world.interrupted = Some(WITHIN + 6 * SECOND);
    assert_eq!(ends(&world.run()).len(), 2);
    assert!(world.over.is_some_and(|over| over < WITHIN + 7 * SECOND), "{:?}", world.over);
}

#[test]
fn a_bus_that_stays_away_before_the_load_starts_nothing() {
    for from in [SECOND / 2, 2 * SECOND] {
        let mut world = World::new(1, 2, settings(2, OnLoss::Stop));
        world.bus.away = Some((from, u64::MAX));
        let Outcome::NotStarted(reasons) = world.run() else { panic!("it has begun") };
        assert!(reasons[0].contains("the bus has not been reached for 1"), "{reasons:?}");
        assert!(world.over.is_some_and(|over| over < from + LEASE_NS + SECOND));
        assert_eq!(world.last_end(), None);
    }
}

/// Each message of an agent, with what is false in it.
fn messages() -> Vec<FromAgent> {
    let run = || "run-1".to_owned();
    vec![
        FromAgent::Claim,
        FromAgent::Ready { run: run(), http: HttpChoice::Http2 },
        FromAgent::Armed { run: run() },
        FromAgent::Working { run: run(), begun_ns: Some(5) },
        FromAgent::Working { run: run(), begun_ns: Some(u64::MAX) },
        FromAgent::Ended { run: run(), begun_ns: Some(5), ending: Ending::Planned },
        FromAgent::Ended { run: run(), begun_ns: None, ending: Ending::Failed("x".repeat(9_999)) },
        FromAgent::Refused { run: run(), reason: "x".repeat(9_999) },
        FromAgent::Clock { sent_ns: 0, received_ns: u64::MAX, replied_ns: u64::MAX },
        FromAgent::Clock { sent_ns: u64::MAX, received_ns: 0, replied_ns: 0 },
        FromAgent::Ready { run: "other".to_owned(), http: HttpChoice::Http11 },
    ]
}

#[test]
fn whatever_one_agent_says_at_any_time_the_others_are_reported_or_nothing_begins() {
    let times = [MS, SECOND / 2, SECOND, 3 * SECOND, 5 * SECOND, WITHIN, 22 * SECOND];
    for (number, message) in messages().into_iter().enumerate() {
        for at in times {
            let mut world = World::new(1, 3, settings(3, OnLoss::Continue));
            world.forged.push((at, 1, message.clone()));
            match world.run() {
                Outcome::Finished(members) => {
                    let others = [&members[0].end, &members[2].end];
                    assert_eq!(others, [&PLANNED; 2], "message {number} at {at}");
                }
                Outcome::NotStarted(reasons) => {
                    let names = |reason: &String| reason.contains("agent gen-2");
                    assert!(reasons.iter().all(names), "message {number} at {at}: {reasons:?}");
                    assert!(reasons.iter().all(|reason| reason.len() < 3_000));
                    assert_eq!(world.last_end(), None);
                }
                Outcome::Unknown => unreachable!("the coordinator lives"),
            }
            let latest = 10 * SECOND + LOAD_NS + 2 * LEASE_NS;
            assert!(world.over.is_some_and(|over| over < latest), "message {number} at {at}");
        }
    }
}

#[test]
fn an_early_confirmation_delays_no_run() {
    let mut world = World::new(1, 3, settings(3, OnLoss::Stop));
    world.forged.push((20 * MS, 1, FromAgent::Armed { run: "run-1".to_owned() }));
    assert_eq!(ends(&world.run()), [PLANNED; 3]);
}

#[test]
fn an_agent_that_does_not_stop_holds_a_signal_up_for_half_a_minute_at_most() {
    let mut world = World::new(1, 2, settings(2, OnLoss::Stop));
    world.nodes[1].fate = Fate { hangs: true, ..Fate::default() };
    world.interrupted = Some(WITHIN);
    let ends = ends(&world.run());
    assert!(matches!(ends[1], MemberEnd::Lost { .. }), "{ends:?}");
    assert!(world.over.is_some_and(|over| over < WITHIN + 32 * SECOND), "{:?}", world.over);
}

/// Returns an agent whose load of a run is under way since 2 s of its clock.
fn loading() -> Agent {
    let mut agent = Agent::new("1.0", 2, "a");
    let run = "run-1".to_owned();
    let part = Part::new(1, 1).expect("it exists");
    let order = Order { run, part, http: None, work: RunWork::default(), signature: None };
    agent.receive(0, ToAgent::Prepare(order));
    agent.prepared(Ok(HttpChoice::Http11));
    agent.receive(SECOND, ToAgent::Arm { run: "run-1".to_owned(), at_ns: 2 * SECOND });
    let begun = agent.receive(SECOND, ToAgent::Commit { run: "run-1".to_owned() });
    assert_eq!(begun, [AgentAction::Begin { at_ns: 2 * SECOND }]);
    agent.begun(2 * SECOND);
    agent
}

#[test]
fn messages_that_waited_for_a_frozen_agent_renew_no_lease() {
    let mut agent = loading();
    let alive = || ToAgent::Alive { run: "run-1".to_owned() };
    assert_eq!(agent.receive(5 * SECOND, alive()), []);
    assert_eq!(agent.lease_until_ns(), Some(15 * SECOND));
    // It was frozen from 6 s to 19 s, and the coordinator's messages have come meanwhile.
    assert_eq!(agent.receive(19 * SECOND, alive()), [AgentAction::StopLoad]);
    assert_eq!(agent.receive(19 * SECOND, alive()), []);
    assert_eq!(ending(agent.ended(LoadEnd::Cut)), Ending::LeaseExpired);
    assert_eq!(agent.lease_until_ns(), None);
}

#[test]
fn a_load_that_was_whole_before_its_lease_ended_is_as_planned() {
    let mut agent = loading();
    // Its document takes longer than the lease.
    assert!(agent.tick(13 * SECOND).contains(&AgentAction::StopLoad));
    assert_eq!(ending(agent.ended(LoadEnd::Whole)), Ending::Planned);
    let mut agent = loading();
    assert!(agent.tick(13 * SECOND).contains(&AgentAction::StopLoad));
    let failed = LoadEnd::Failed("no room".to_owned());
    assert_eq!(ending(agent.ended(failed)), Ending::LeaseExpired);
}

/// Returns the ending that an agent tells.
fn ending(actions: Vec<AgentAction>) -> Ending {
    match &actions[..] {
        [AgentAction::Send(FromAgent::Ended { ending, .. })] => ending.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_two_processes_of_one_name_one_ends_and_never_the_one_in_a_run() {
    let hello = |agent: &mut Agent, at| {
        let actions = agent.tick(at);
        let [AgentAction::Send(message)] = &actions[..] else { panic!("{actions:?}") };
        message.clone()
    };
    let mut first = Agent::new("1.0", 2, "a");
    assert_eq!(first.claim(0, 7), [AgentAction::Send(FromAgent::Claim)]);
    assert_eq!(first.tick(SECOND / 4), [], "another one may answer");
    let message = hello(&mut first, SECOND);
    // One that starts later is answered at once, and ends, whatever its number.
    for number in [3, 9] {
        let mut second = Agent::new("1.0", 2, "a");
        second.claim(2 * SECOND, number);
        let answer = first.met(number, &FromAgent::Claim);
        assert!(matches!(answer[..], [AgentAction::Send(FromAgent::Hello(_))]), "{answer:?}");
        assert_eq!(second.met(7, &message), [AgentAction::Yield]);
    }
    // Two that start together, and two that were cut off from each other.
    let mut second = Agent::new("1.0", 2, "a");
    second.claim(0, 9);
    assert_eq!(second.met(7, &FromAgent::Claim), [AgentAction::Yield]);
    let mut third = Agent::new("1.0", 2, "a");
    third.claim(0, 9);
    let late = hello(&mut third, SECOND);
    assert_eq!(first.met(9, &late), []);
    assert_eq!(third.met(7, &message), [AgentAction::Yield]);
    let working = FromAgent::Working { run: "run-1".to_owned(), begun_ns: None };
    assert_eq!(first.met(9, &working), [AgentAction::Yield]);
    assert_eq!(loading().met(0, &message), []);
}

//! Random worlds in which several things go wrong at once. `WEIR_SIM_SEEDS` and `WEIR_SIM_FROM` set
//! their number and the first.

use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_fleet::{Ending, LEASE_NS, MemberEnd, OnLoss, start_spread_ns};
use weir_sim::{Random, Seed};

use crate::world::{Fate, LOAD_NS, MS, Outcome, SECOND, World, settings};

/// Makes a wild world from a seed. Returns also whether anything can go wrong in it.
fn wild(seed: u64) -> (World, bool) {
    let mut random = Random::new(Seed(seed), 1);
    let agents = u32::try_from(random.between(1, 5)).expect("small");
    let on_loss = if random.chance(0.5) { OnLoss::Stop } else { OnLoss::Continue };
    let mut world = World::new(seed, agents, settings(agents, on_loss));
    world.bus.there_max_ns = random.between(MS / 10, 40 * MS);
    world.bus.back_max_ns = random.between(MS / 10, 40 * MS);
    world.bus.loss = if random.chance(0.5) { random.unit() * 0.3 } else { 0.0 };
    world.bus.doubles = random.unit() * 0.3;
    let mut is_harmless = world.bus.loss == 0.0;
    let when = |random: &mut Random| random.between(0, 30 * SECOND);
    if random.chance(0.15) {
        let from = when(&mut random);
        world.bus.away = Some((from, from + random.between(0, 15 * SECOND)));
        is_harmless = false;
    }
    if random.chance(0.15) {
        world.coordinator_dies = Some(when(&mut random));
        is_harmless = false;
    }
    for node in &mut world.nodes {
        let mut fate = Fate::default();
        if random.chance(0.1) {
            let dies = when(&mut random);
            let restarts = random.chance(0.5).then(|| dies + random.between(0, 5 * SECOND));
            fate.dies = Some((dies, restarts));
            is_harmless = false;
        }
        if random.chance(0.1) {
            let from = when(&mut random);
            fate.cut = Some((from, from + random.between(0, 20 * SECOND)));
            is_harmless = false;
        }
        if random.chance(0.05) {
            fate.signal = Some(when(&mut random));
            is_harmless = false;
        }
        node.fate = fate;
    }
    (world, is_harmless)
}

/// Checks what holds in every world. `World` itself checks that no agent begins twice, or before
/// all have confirmed.
fn check(seed: u64) -> (bool, bool) {
    let (mut world, is_harmless) = wild(seed);
    let outcome = world.run();
    for (index, node) in world.nodes.iter().enumerate() {
        let Some(ended) = node.ended else { continue };
        let latest = world.heard(index) + LEASE_NS + SECOND;
        let end_of_plan = node.begun.map_or(0, |begun| begun + LOAD_NS + SECOND);
        assert!(ended <= latest, "seed {seed}: {} outlived its lease", node.name());
        assert!(ended <= end_of_plan, "seed {seed}: {} outlived its plan", node.name());
    }
    let is_planned = |end: &MemberEnd| *end == MemberEnd::Reported(Ending::Planned);
    match &outcome {
        Outcome::NotStarted(reasons) => {
            assert!(!reasons.is_empty(), "seed {seed}: no reason");
            assert_eq!(world.last_end(), None, "seed {seed}: a load without a run");
            assert!(!is_harmless, "seed {seed}: {reasons:?}");
            (false, false)
        }
        Outcome::Finished(members) => {
            for (member, node) in members.iter().zip(&world.nodes) {
                assert_eq!(member.agent, node.name());
                if let (Some(span), Some(begun)) = (member.begun, node.begun) {
                    let holds = span.low_ns <= begun + 2 && begun <= span.high_ns + 2;
                    assert!(holds, "seed {seed}: {span:?} without {begun}");
                }
                let is_whole = node
                    .ended
                    .zip(node.begun)
                    .is_some_and(|(ended, begun)| ended >= begun + LOAD_NS);
                assert!(is_whole || !is_planned(&member.end), "seed {seed}: {member:?}");
            }
            let begins: Option<Vec<u64>> = world.nodes.iter().map(|node| node.begun).collect();
            if let (Some(bound), Some(begins)) = (start_spread_ns(members), begins) {
                let ends = begins.iter().max().zip(begins.iter().min());
                let spread = ends.map_or(0, |(last, first)| last - first);
                assert!(spread <= bound + 4, "seed {seed}: {spread} is more than {bound}");
            }
            let is_complete = members.iter().all(|member| is_planned(&member.end));
            assert!(is_complete || !is_harmless, "seed {seed}: {members:?}");
            (true, is_complete)
        }
        Outcome::Unknown => (false, false),
    }
}

/// The number in a variable of the environment.
fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn wild_worlds_keep_their_promises() {
    let seeds = setting("WEIR_SIM_SEEDS", 300);
    let from = setting("WEIR_SIM_FROM", 0);
    let mut ran = 0;
    let mut complete = 0;
    for seed in from..from + seeds {
        let result = catch_unwind(AssertUnwindSafe(|| check(seed)));
        let Ok((has_run, is_complete)) = result else {
            panic!("seed {seed} failed, for the reason above")
        };
        ran += u64::from(has_run);
        complete += u64::from(is_complete);
    }
    // A seed that is repeated says nothing about the mixture.
    let are_mixed = ran > seeds / 3 && complete > seeds / 10 && complete < ran;
    let are_mixed = are_mixed || seeds < 100;
    assert!(are_mixed, "of {seeds} worlds {ran} ran and {complete} were complete: they say little");
}

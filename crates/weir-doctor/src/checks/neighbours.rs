//! Other programs that use the CPUs now.

use weir_machine::Unreadable;
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

/// Share of the usable CPUs from which other programs delay requests now and then.
const WARNING_SHARE: f64 = 0.05;

/// Share from which a thread of weir often waits for a CPU.
const PROBLEM_SHARE: f64 = 0.25;

/// Share of one CPU from which a process is named.
const NAMED_SHARE: f64 = 0.05;

/// Maximum processes that are named.
const NAMED_MAX: usize = 3;

/// A process and its share of one CPU.
struct Neighbour<'a> {
    id: u32,
    name: &'a str,
    share: f64,
}

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let cpus = subject.usable_cpus()?;
    let (before, after) = (&subject.sample.before, &subject.sample.after);
    let (ticks_before, ticks_after) = subject.sample.cpu_ticks(cpus)?;
    let spent = ticks_after.since(ticks_before);
    if spent.total == 0 {
        return Err(Unreadable("/proc/stat did not advance".to_owned()));
    }
    let per_cpu = spent.total as f64 / cpus.len() as f64;
    let used = |id: &u32| {
        let earlier = before.processes.get(id).map_or(0, |process| process.ticks);
        let now = after.processes.get(id).map_or(0, |process| process.ticks);
        now.saturating_sub(earlier) as f64
    };
    let own = used(&subject.facts.process_id);
    let busy = (spent.total - spent.idle.min(spent.total)).saturating_sub(spent.stolen) as f64;
    let share = (busy - own).max(0.0) / spent.total as f64;
    let mut neighbours: Vec<Neighbour<'_>> = after
        .processes
        .iter()
        .filter(|(id, _)| **id != subject.facts.process_id)
        .map(|(id, process)| Neighbour { id: *id, name: &process.name, share: used(id) / per_cpu })
        .filter(|neighbour| neighbour.share >= NAMED_SHARE)
        .collect();
    neighbours.sort_by(|a, b| b.share.total_cmp(&a.share));
    neighbours.truncate(NAMED_MAX);
    Ok(Some(outcome(share, cpus.len(), &neighbours)))
}

fn outcome(share: f64, cpus: usize, neighbours: &[Neighbour<'_>]) -> Outcome {
    let used = format!("other programs use {:.1} of {cpus} CPUs", share * cpus as f64);
    if share < WARNING_SHARE {
        return Outcome::ok(used);
    }
    let effect = "requests wait for a CPU: stop them or lower their priority";
    let harm = |evidence: String| Outcome::harm(share >= PROBLEM_SHARE, evidence, effect);
    if neighbours.is_empty() {
        let evidence = format!("{used}; none is visible here, or none runs for long");
        return harm(evidence).advice("stop other containers and programs, or use another machine");
    }
    let names: Vec<String> = neighbours
        .iter()
        .map(|Neighbour { id, name, share }| {
            format!("{name} ({id}) {}", units::short_percent((share * 100.0).round() / 100.0))
        })
        .collect();
    let ids: Vec<String> = neighbours.iter().map(|neighbour| neighbour.id.to_string()).collect();
    harm(format!("{used}: {}", names.join(", ")))
        .command(format!("sudo renice -n 19 -p {}", ids.join(" ")))
}

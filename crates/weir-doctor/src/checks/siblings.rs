//! Usable CPUs that are hardware threads of one core.

use std::collections::BTreeSet;

use weir_machine::{Unreadable, cpu_list};

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

const CONTROL: &str = "sys/devices/system/cpu/smt/control";

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let usable = subject.usable_cpus()?;
    let mut cores = BTreeSet::new();
    for cpu in usable {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = cpu_list::parse(&subject.root.text(&path)?);
        let mut siblings = siblings.ok_or_else(|| Unreadable::form(&path))?;
        siblings.retain(|cpu| usable.contains(cpu));
        cores.insert(siblings);
    }
    let shared = cores.iter().filter(|core| core.len() > 1).count();
    let Some(core) = cores.iter().find(|core| core.len() > 1) else {
        return Ok(Some(Outcome::ok(format!("each of {} CPUs is a core", usable.len()))));
    };
    let evidence = match shared {
        1 => format!("{} share a core", cpu_list::named(core)),
        _ => format!("{shared} cores have several CPUs each: {} share one", cpu_list::named(core)),
    };
    let effect = "each slows down while the other is busy, so runs differ";
    let outcome = Outcome::warning(evidence, effect);
    if subject.root.text(CONTROL).is_ok_and(|control| control == "on") {
        return Ok(Some(outcome.command(format!("echo off | sudo tee /{CONTROL}"))));
    }
    let firsts: Vec<u32> = cores.iter().filter_map(|core| core.first().copied()).collect();
    let advice = format!("run one thread on each core: weir --pin={}", cpu_list::format(&firsts));
    Ok(Some(outcome.advice(advice)))
}

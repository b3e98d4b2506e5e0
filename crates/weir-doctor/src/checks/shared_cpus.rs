//! A server on this machine, which shares the CPUs with weir.

use weir_machine::{Unreadable, cpu_list, listeners};

use crate::check::{Examined, Outcome};
use crate::server;
use crate::subject::ExaminedSystem;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let Some(target) = subject.target else { return Ok(None) };
    match target.is_local {
        Some(false) => return Ok(Some(Outcome::ok("the server is on another machine"))),
        None => {
            let reason = "this machine accepts every address (ip_nonlocal_bind)";
            return Err(Unreadable(reason.to_owned()));
        }
        Some(true) => {}
    }
    let cpus = subject.usable_cpus()?;
    let listeners = listeners(subject.root, target.address).unwrap_or_default();
    let served = server::cpus(subject.root, &listeners);
    if !served.is_empty() && !served.iter().any(|cpu| cpus.contains(cpu)) {
        let (ours, theirs) = (cpu_list::named(cpus), cpu_list::named(&served));
        return Ok(Some(Outcome::ok(format!("weir on {ours}, the server on {theirs}"))));
    }
    let (theirs, ours) = cpus.split_at(cpus.len() / 2);
    let effect = "each slows the other: latencies are upper bounds";
    if theirs.is_empty() {
        let evidence = "the server is on this machine, which has one usable CPU";
        return Ok(Some(Outcome::problem(evidence, effect).advice("use another machine for weir")));
    }
    let evidence = format!("weir and the server are on this machine ({} CPUs)", cpus.len());
    let advice = format!(
        "use another machine, or taskset -c {} SERVER and taskset -c {} weir URL",
        cpu_list::format(theirs),
        cpu_list::format(ours),
    );
    Ok(Some(Outcome::warning(evidence, effect).advice(advice)))
}

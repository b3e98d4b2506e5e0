//! A restriction of this process to a part of the CPUs.

use weir_machine::{Unreadable, cpu_list};

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;

const ONLINE: &str = "sys/devices/system/cpu/online";

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let usable = subject.usable_cpus()?;
    let online = cpu_list::parse(&subject.root.text(ONLINE)?);
    let online = online.ok_or_else(|| Unreadable::form(ONLINE))?;
    if usable.len() >= online.len() {
        return Ok(Some(Outcome::ok(format!("all {} CPUs are usable", online.len()))));
    }
    let evidence = format!("{} of {} online", cpu_list::named(usable), online.len());
    // CPUs split between weir and a server here are advised; `shared-cpus` judges the split.
    if subject.serves() {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = "weir starts fewer threads; programs on these CPUs delay it";
    let command = format!("taskset -cp {} $$", cpu_list::format(&online));
    Ok(Some(Outcome::warning(evidence, effect).command(command)))
}

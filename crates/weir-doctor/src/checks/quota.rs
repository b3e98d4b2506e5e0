//! A limit on CPU time by control groups, and its effect now.

use weir_machine::{Group, Unreadable, groups, throttled_periods};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;
use crate::virtualisation::is_container;

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let groups = groups(subject.root);
    if groups.is_empty() {
        return Err(Unreadable("no control group with the cpu controller is visible".to_owned()));
    }
    let with_quota =
        groups.iter().filter_map(|group| Some((group, group.quota_cpus(subject.root)?)));
    let Some((group, quota)) = with_quota.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(Some(Outcome::ok("none")));
    };
    let cpus = subject.usable_cpus()?.len();
    let mut evidence = format!("{} of {cpus} usable CPUs", units::number(quota));
    let throttled = throttled(subject, group);
    if throttled > 0 {
        evidence += &format!("; throttled in {throttled} periods within the last second");
    }
    if quota >= cpus as f64 && throttled == 0 {
        return Ok(Some(Outcome::ok(evidence)));
    }
    let effect = "weir stops for up to 100 ms whenever the quota is used up";
    let outcome = Outcome::problem(evidence, effect);
    Ok(Some(match is_container(subject.root) {
        true => {
            outcome.advice("no CPU limit on the container (docker --cpus, Kubernetes limits.cpu)")
        }
        false => outcome.command(group.unlimited()),
    }))
}

/// Returns the periods of the sample in which the group was throttled.
fn throttled(subject: &ExaminedSystem<'_>, group: &Group) -> u64 {
    let periods = |groups: &std::collections::BTreeMap<String, String>| {
        groups.get(&group.directory).and_then(|stat| throttled_periods(stat)).unwrap_or(0)
    };
    periods(&subject.sample.after.groups).saturating_sub(periods(&subject.sample.before.groups))
}

//! Clock frequencies above the nominal one, which depend on temperature and on other cores.

use weir_machine::Unreadable;

use crate::check::{Examined, Outcome};
use crate::subject::ExaminedSystem;
use crate::virtualisation::is_virtual;

/// The switches of intel_pstate and of other drivers, and their texts for on and off.
const SWITCHES: [(&str, &str, &str); 2] = [
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"),
    ("sys/devices/system/cpu/cpufreq/boost", "1", "0"),
];

pub(super) fn examine(subject: &ExaminedSystem<'_>) -> Examined {
    let found = SWITCHES.into_iter().find(|(path, ..)| subject.root.has(path));
    let Some((path, on, off)) = found else {
        return Err(Unreadable(match is_virtual(subject.root) {
            Some(true) => "set by the host of this virtual machine, not visible here".to_owned(),
            _ => "the frequency driver has no switch for it".to_owned(),
        }));
    };
    let state = subject.root.text(path)?;
    match state.as_str() {
        _ if state == off => Ok(Some(Outcome::ok("off"))),
        _ if state == on => {
            let effect = "clocks depend on temperature and on other cores, so runs differ";
            let command = format!("echo {off} | sudo tee /{path}");
            Ok(Some(Outcome::warning("on", effect).command(command)))
        }
        _ => Err(Unreadable::form(path)),
    }
}

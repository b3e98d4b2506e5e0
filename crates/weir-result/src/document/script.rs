//! Usage of the script: its calls, time and memory while the load ran.

use super::ScriptSection;
use super::recorded::Recorded;

impl ScriptSection {
    pub(super) fn of(recorded: &Recorded) -> Option<ScriptSection> {
        let usage = recorded.measurements.script.as_ref()?;
        Some(ScriptSection {
            file: recorded.beside.script_file.clone(),
            ..ScriptSection::from(usage)
        })
    }
}

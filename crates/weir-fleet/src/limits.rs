//! Runs that several machines cannot carry out together.

use anyhow::{Result, bail};
use weir_runner::RunSpec;
use weir_text::setting::{
    ACCESS_LOG, AGENTS, CONNECTIONS_MAX, DURATION, IN_FLIGHT, PART, PROVE_CLIENT, SCRIPT, WARMUP,
};

/// The machines on which the server is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchPlace {
    /// The coordinator's: the readings are of the whole run.
    #[default]
    Coordinator,
    /// Each agent's: every part has readings of its own.
    Agents,
}

/// Checks that a run can be divided among agents.
///
/// # Errors
/// When something in it needs one machine; the message says what.
pub fn check_spec(spec: &RunSpec, watched_by: WatchPlace) -> Result<()> {
    let load = &spec.load;
    let alone = [
        (spec.part.is_some(), format!("{PART} divides a run by hand, and agents do without")),
        (spec.compat.is_some(), "wrk and wrk2 have no agents".to_owned()),
        (spec.script.is_some(), format!("{SCRIPT} runs on one machine")),
        (load.in_flight_max.is_some(), format!("{IN_FLIGHT} is a limit of one machine")),
        (
            load.connections.grows_to().is_some(),
            format!("{CONNECTIONS_MAX} A..B needs one machine"),
        ),
        (load.warmup.is_auto, format!("{WARMUP} auto depends on the numbers of one machine")),
        (load.is_until_signal(), format!("{DURATION} 0 ends by a signal to one machine")),
        (spec.checks.prove_client, format!("{PROVE_CLIENT} repeats the load of one machine")),
        (
            spec.watch.access_log.is_some() && watched_by == WatchPlace::Coordinator,
            format!("{ACCESS_LOG} counts each response where it is received"),
        ),
    ];
    match alone.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, why)) => bail!("{AGENTS}: {why}; run it without agents"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use weir_result::Part;

    use super::*;

    #[test]
    fn what_needs_one_machine_is_refused_by_name() {
        let mut spec = RunSpec::new("http://h/");
        spec.load.duration_ns = Some(1);
        let check = |spec: &RunSpec| check_spec(spec, WatchPlace::Coordinator);
        check(&spec).expect("any number of machines can");
        let refused = |change: &dyn Fn(&mut RunSpec)| {
            let mut spec = spec.clone();
            change(&mut spec);
            check(&spec).expect_err("one machine is needed").to_string()
        };
        let part = refused(&|spec| spec.part = Part::new(1, 2));
        assert!(part.contains("`part`"), "{part}");
        let endless = refused(&|spec| spec.load.duration_ns = None);
        assert!(endless.contains("ends by a signal"), "{endless}");
        let logged = |spec: &mut RunSpec| spec.watch.access_log = Some("log".into());
        assert!(refused(&logged).contains("`watch.access_log`"));
        logged(&mut spec);
        check_spec(&spec, WatchPlace::Agents).expect("each agent compares its own");
    }
}

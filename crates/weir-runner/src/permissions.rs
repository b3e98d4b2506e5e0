//! Permissions of runs that others specify: what they may use of this machine and its network, and
//! how large their load may be. Nothing in a specification widens them.

mod target;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use weir_io::Endpoint;
use weir_result::{Plan, Rate, Stage};
use weir_text::setting::{
    ACCESS_LOG, AGENT_ALLOW, AGENT_MAX_CONNECTIONS, AGENT_MAX_DURATION, AGENT_MAX_RATE,
    AGENT_PERMIT, CAPTURE, DURATION, GRPC_PROTO, RATE, REPLAY, WATCH_COMMAND,
};
use weir_text::units;

use crate::errors::shown;
use crate::spec::{GrpcSpec, RunSpec};

pub use target::{AllowedTarget, PermittedTargets};

/// Permissions of runs. By default a run may load loopback, without further limits, and reads,
/// watches and executes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Addresses to which its load may connect.
    pub targets: PermittedTargets,
    /// Greatest rate of its own part; none for no limit. With a limit there is no closed loop.
    pub rate_max: Option<Rate>,
    /// Greatest number of connections of its own part; none for no limit.
    pub connections_max: Option<u32>,
    /// Longest time of a load with its warm-up and its drain, in nanoseconds; none for no limit.
    pub duration_max_ns: Option<u64>,
    /// Environment variables that templates may have.
    pub variables: PermittedNames,
    /// Files that a run may read.
    pub files: PermittedNames,
    /// True if it may execute commands: those that watch a server, and those whose output is kept.
    pub commands: bool,
    /// True if it may watch a server: its pages, processes and access log.
    pub watching: bool,
}

/// Names of variables or files that a run may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermittedNames {
    /// These; by default none.
    Listed(Vec<String>),
    /// All.
    Any,
}

impl Default for PermittedNames {
    fn default() -> PermittedNames {
        PermittedNames::Listed(Vec::new())
    }
}

impl PermittedNames {
    fn has(&self, name: &str) -> bool {
        match self {
            PermittedNames::Any => true,
            PermittedNames::Listed(names) => names.iter().any(|listed| listed == name),
        }
    }
}

impl Permissions {
    /// Returns the permissions of a user of this machine: all.
    pub fn all() -> Permissions {
        Permissions {
            targets: PermittedTargets::Any,
            rate_max: None,
            connections_max: None,
            duration_max_ns: None,
            variables: PermittedNames::Any,
            files: PermittedNames::Any,
            commands: true,
            watching: true,
        }
    }

    /// Checks a specification, and the plan of its largest part, as far as no name of a host has to
    /// be resolved.
    ///
    /// # Errors
    /// When an agent with these permissions would refuse it for certain.
    pub fn check(&self, spec: &RunSpec, plan: &Plan) -> Result<()> {
        self.check_spec(spec)?;
        self.check_plan(plan)?;
        for (host, port) in spec.hosts()? {
            ensure!(
                self.targets.may_have(&host, port),
                "{host}:{port} is not among the permitted targets ({}): {AGENT_ALLOW} \
                 ADDRESS:{port}",
                self.targets
            );
        }
        Ok(())
    }

    /// Checks all of a specification that can be checked before a name is resolved.
    ///
    /// # Errors
    /// When it executes, watches or reads more than is permitted.
    pub(crate) fn check_spec(&self, spec: &RunSpec) -> Result<()> {
        let watch = &spec.watch;
        let commands = [(WATCH_COMMAND, &watch.commands), (CAPTURE, &watch.captures)];
        for (setting, commands) in commands {
            ensure!(
                self.commands || commands.is_empty(),
                "{setting} executes a command, and this is not permitted: {AGENT_PERMIT} commands"
            );
        }
        let log = watch.access_log.as_deref();
        let has_pages = watch.urls().next().is_some();
        ensure!(
            self.watching || (log.is_none() && !has_pages && watch.processes.is_empty()),
            "watching a server, as with {ACCESS_LOG}, is not permitted: {AGENT_PERMIT} watch"
        );
        let imports = spec.grpc.as_ref().is_some_and(GrpcSpec::reads_imports);
        ensure!(
            self.files == PermittedNames::Any || !imports,
            "{GRPC_PROTO}: reading what a schema imports is not permitted: keep its content in the \
             specification"
        );
        spec.unread_files().iter().try_for_each(|path| self.check_file(path))
    }

    /// Keeps the addresses of a host to which a load may connect.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn permitted(&self, all: Vec<Endpoint>) -> Result<Vec<Endpoint>> {
        let (kept, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|endpoint| self.targets.has(endpoint));
        match (kept.is_empty(), others.first()) {
            (true, Some(other)) => Err(self.refusal(other)),
            _ => Ok(kept),
        }
    }

    /// Checks the addresses of a load.
    ///
    /// # Errors
    /// When one is not permitted.
    pub(crate) fn check_endpoints<'e>(
        &self,
        mut all: impl Iterator<Item = &'e Endpoint>,
    ) -> Result<()> {
        match all.find(|endpoint| !self.targets.has(endpoint)) {
            Some(other) => Err(self.refusal(other)),
            None => Ok(()),
        }
    }

    fn refusal(&self, endpoint: &Endpoint) -> anyhow::Error {
        let permitted = &self.targets;
        match endpoint {
            Endpoint::Tcp(address) => anyhow::anyhow!(
                "{address} is not among the permitted targets ({permitted}): {AGENT_ALLOW} \
                 {address}"
            ),
            Endpoint::Unix(path) => anyhow::anyhow!(
                "the socket {} is not among the permitted targets ({permitted}): {AGENT_ALLOW} any",
                shown(path)
            ),
        }
    }

    /// Checks that the value of an environment variable may be used.
    ///
    /// # Errors
    /// When it may not.
    pub fn check_variable(&self, name: &str) -> Result<()> {
        ensure!(
            self.variables.has(name),
            "the variable {name} is not permitted: {AGENT_PERMIT} env:{name}"
        );
        Ok(())
    }

    /// Checks that a file may be read.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn check_file(&self, path: &Path) -> Result<()> {
        let is_permitted = match path.to_str() {
            Some(text) => self.files.has(text),
            None => self.files == PermittedNames::Any,
        };
        let path = shown(path);
        ensure!(is_permitted, "the file {path} is not permitted: {AGENT_PERMIT} file:{path}");
        Ok(())
    }

    /// Checks the size of a planned load.
    ///
    /// # Errors
    /// When the own part is larger than is permitted.
    pub(crate) fn check_plan(&self, plan: &Plan) -> Result<()> {
        let own = plan.own_connections_max();
        if let Some(most) = self.connections_max.filter(|most| own > *most) {
            bail!("{own} connections are more than {most}: {AGENT_MAX_CONNECTIONS} {own}");
        }
        if let Some(most) = self.rate_max {
            let own = own_rate(plan)?;
            // Rounded to a millionth, as a share of a rate may have no short form.
            ensure!(
                own <= most.rps() * (1.0 + 1e-6),
                "{}/s are more than {most}: {AGENT_MAX_RATE}",
                units::count(own.ceil() as u64)
            );
        }
        if let Some(most_ns) = self.duration_max_ns {
            let own_ns = longest_ns(plan)?;
            ensure!(
                own_ns <= most_ns,
                "the load takes up to {} with its warm-up and drain, and {} are permitted: \
                 {AGENT_MAX_DURATION}",
                units::duration(own_ns),
                units::duration(most_ns)
            );
        }
        Ok(())
    }
}

/// Returns the greatest rate of the own part of a load, in requests per second: slots are dealt
/// like connections (METHOD 1.3).
fn own_rate(plan: &Plan) -> Result<f64> {
    ensure!(
        plan.load.log().is_none(),
        "{REPLAY} has the rates of its log, which have no known limit: {AGENT_MAX_RATE} excludes it"
    );
    let Some(rate) = plan.load.rate() else {
        bail!("a closed loop has no limit of its rate, and {AGENT_MAX_RATE} sets one: give {RATE}");
    };
    let rates = plan.load.stages().iter().flat_map(Stage::ends_rps);
    let greatest = rates.fold(rate.rps(), f64::max);
    let all = plan.load.connections.most().max(1);
    Ok(greatest * f64::from(plan.own_connections_max()) / f64::from(all))
}

/// Returns the longest time of a load with its warm-up and its drain, in nanoseconds.
fn longest_ns(plan: &Plan) -> Result<u64> {
    let Some(window_ns) = plan.load.length_ns() else {
        bail!("the load has no longest time, and {AGENT_MAX_DURATION} sets one: give {DURATION}");
    };
    Ok(plan.load.warmup.span_ns.saturating_add(window_ns).saturating_add(plan.drain_limit_ns()))
}

#[cfg(test)]
mod tests {
    use weir_result::{Arrivals, DueTimes, Part, parse_stages};

    use super::*;
    use crate::spec::{BodySpec, InputFile};

    fn open_loop(rate: &str) -> Plan {
        let rate = rate.parse().expect(rate);
        Plan { threads: 2, ..Plan::default() }.with_load(|load| {
            load.due = Some(DueTimes::constant(rate, Arrivals::Uniform));
            load.drain_ns = Some(1_000_000_000);
        })
    }

    #[track_caller]
    fn refused(result: Result<()>, part: &str) {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn a_part_has_its_share_of_the_limits() {
        let permissions = Permissions {
            rate_max: Some("500".parse().expect("a rate")),
            connections_max: Some(5),
            ..Permissions::default()
        };
        let whole = open_loop("1k");
        refused(permissions.check_plan(&whole), "10 connections are more than 5");
        let half = Plan { part: Part::new(1, 2), ..whole.clone() };
        permissions.check_plan(&half).expect("half of it");
        let faster = Plan { load: open_loop("1001").load, ..half.clone() };
        refused(permissions.check_plan(&faster), "501/s are more than 500/s");
        let endless = half.clone().with_load(|load| load.due = None);
        refused(permissions.check_plan(&endless), "a closed loop has no limit");
        let stages = parse_stages("1s@100..1200").expect("stages");
        let due = Some(DueTimes::in_stages(stages, Arrivals::Uniform));
        let staged = half.with_load(|load| load.due = due);
        refused(permissions.check_plan(&staged), "600/s are more than 500/s");
    }

    #[test]
    fn a_load_without_a_longest_time_is_refused() {
        let most = |seconds: u64| Permissions {
            duration_max_ns: Some(seconds * 1_000_000_000),
            ..Permissions::default()
        };
        most(11).check_plan(&open_loop("1")).expect("10 s and a drain of 1 s");
        refused(most(10).check_plan(&open_loop("1")), "takes up to 11.00 s");
        let counted = open_loop("1").with_load(|load| {
            load.duration_ns = None;
            load.requests = Some(1);
        });
        refused(most(10).check_plan(&counted), "no longest time");
    }

    #[test]
    fn nothing_of_the_machine_is_used_without_a_permission() {
        let none = Permissions::default();
        let mut spec = RunSpec::new("http://h/");
        none.check_spec(&spec).expect("it uses nothing");
        spec.request.body = Some(BodySpec::File(InputFile::at("/etc/shadow")));
        refused(none.check_spec(&spec), "/etc/shadow is not permitted");
        let files = PermittedNames::Listed(vec!["/etc/shadow".to_owned()]);
        Permissions { files, ..none.clone() }.check_spec(&spec).expect("it is named");
        let content = Some(Vec::new());
        let sent = InputFile { content, ..InputFile::at("/etc/shadow") };
        spec.request.body = Some(BodySpec::File(sent));
        none.check_spec(&spec).expect("it came with the specification");
        spec.watch.captures.push("id".to_owned());
        refused(none.check_spec(&spec), "executes a command");
        spec.watch.captures.clear();
        spec.watch.processes.push("nginx".to_owned());
        refused(none.check_spec(&spec), "watching a server");
        Permissions::all().check_spec(&spec).expect("all is permitted");
        refused(none.check_variable("HOME"), "env:HOME");
    }
}

//! `weir fleet manifest`: the Kubernetes objects of one run on a fleet.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use weir_fleet::{
    FleetFiles, FleetPlan, IDENTITY_PLACE, ManifestSettings, PodChoices, PodUser, PodWord,
    SeccompChoice, Toleration, WatchPlace, bus_host, check_spec, manifest as objects,
};
use weir_result::{Part, Plan};
use weir_runner::credentials::split_userinfo;
use weir_runner::{
    BodySpec, FormValue, LocalRunner, Permissions, PermittedTargets, RunSpec, TargetSpec,
};
use weir_text::units;

use crate::args::fleet::PlaceChoice;
use crate::args::manifest::{
    AgentPermissionArgs, ClusterArgs, FleetManifestArgs, SpreadChoice, TolerationChoice, UserChoice,
};
use crate::args::{Cli, Command, RunArgs};
use crate::output::Outputs;
use crate::terminal;

/// Time for which pods wait for the bus and for each other: nodes may start, and load images.
const WAIT: &str = "15m";

/// Time for which new identities are valid after the deadline.
const VALID_AFTER: Duration = Duration::from_hours(7 * 24);

/// Most bytes of a secret that `kubectl apply` keeps as an annotation, with room for its fields.
const APPLIED_MAX: usize = 200 << 10;

/// Port of a bus whose address has none.
const BUS_PORT: u16 = 4222;

/// Prints the objects.
///
/// # Errors
/// When a flag is wrong, or a word of the run.
pub(crate) fn manifest(args: &FleetManifestArgs) -> Result<ExitCode> {
    ensure!(
        !args.permissions.allow.is_empty(),
        "--allow is missing, and without it agents connect to no target: give addresses and ports \
         of the server, as in --allow 10.0.0.0/8:443, or --allow any"
    );
    let other_bus = args.objects.bus.as_deref().map(host_and_port).transpose()?;
    let (host, port) =
        other_bus.clone().unwrap_or_else(|| (bus_host(&args.objects.name), BUS_PORT));
    let mut settings = settings(args, other_bus)?;
    settings.check()?;
    let files = files(args, &host)?;
    let bus = format!("tls://{host}:{port}");
    let words = coordinator_words(args, files.agents(), &bus);
    let cli = Cli::of_words(std::iter::once("weir").chain(words.iter().map(String::as_str)));
    let cli = match cli {
        Err(error) => return Ok(terminal::print_parse_result(&error)),
        Ok(cli) => cli,
    };
    ensure!(
        cli.command.is_none(),
        "the words after -- are those of a run, options and URL: a manifest has one run and no \
         study; apply a manifest for each run"
    );
    let spec = cli.run.spec([]);
    check_run(&cli.run, &spec, args.objects.results_claim.is_some())?;
    let words_of_agent = agent_words(args, &bus);
    let argv = std::iter::once("weir").chain(words_of_agent.iter().map(String::as_str));
    match Cli::of_words(argv) {
        Err(error) => return Ok(terminal::print_parse_result(&error)),
        Ok(Cli { command: Some(Command::Agent(agent)), .. }) => {
            let permissions = agent.permissions.permissions();
            check_part(args, &spec, &permissions, files.agents())?;
            settings.allowed = permissions.targets;
        }
        Ok(_) => bail!("the words of the agents are none of weir agent"),
    }
    settings.agent = words_of_agent.into_iter().map(PodWord::Plain).collect();
    settings.pods.metrics_port = check_reach(args, &cli.run, &spec, &settings)?;
    settings.coordinator = hidden(words, &spec);
    if args.objects.results_claim.is_some()
        && cli.run.result.output.files.documents().next().is_none()
    {
        let file = format!("{}.json", args.objects.name);
        settings.coordinator.insert(0, PodWord::Plain(format!("--output={file}")));
    }
    if terminal::is_stdout_terminal() {
        terminal::warn("the manifest has private keys: pass it to kubectl apply -f -");
    }
    if files.users_bytes() > APPLIED_MAX {
        terminal::warn(
            "the users of the bus are more than kubectl apply keeps: pass the manifest to kubectl \
             apply --server-side -f -",
        );
    }
    let text = objects(&settings, &files);
    terminal::print(|out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the settings without the words of the pods.
fn settings(
    args: &FleetManifestArgs,
    other_bus: Option<(String, u16)>,
) -> Result<ManifestSettings> {
    let FleetManifestArgs { objects, pods, cluster, .. } = args;
    Ok(ManifestSettings {
        name: objects.name.clone(),
        namespace: objects.namespace.clone(),
        image: objects.image.clone(),
        other_bus,
        agent: Vec::new(),
        coordinator: Vec::new(),
        allowed: PermittedTargets::default(),
        cpus: pods.cpus,
        memory: pods.memory.clone(),
        seccomp: seccomp(&pods.seccomp_profile)?,
        is_spread_required: pods.spread == SpreadChoice::Required,
        deadline: Duration::from_nanos(pods.deadline),
        kept: Duration::from_nanos(pods.keep),
        results_claim: objects.results_claim.clone(),
        pods: pod_choices(cluster),
    })
}

/// Reads the name of a seccomp profile.
fn seccomp(profile: &str) -> Result<SeccompChoice> {
    match profile {
        "RuntimeDefault" => Ok(SeccompChoice::RuntimeDefault),
        "Unconfined" => Ok(SeccompChoice::Unconfined),
        path if path.ends_with(".json") && !path.starts_with('/') && !path.contains("..") => {
            Ok(SeccompChoice::Localhost(path.to_owned()))
        }
        other => bail!(
            "--seccomp-profile {other}: give RuntimeDefault, Unconfined, or the relative path of \
             a .json file"
        ),
    }
}

/// Returns the demands of the cluster.
fn pod_choices(args: &ClusterArgs) -> PodChoices {
    let toleration = |choice: &TolerationChoice| {
        let TolerationChoice { key, value, effect } = choice.clone();
        Toleration { key, value, effect }
    };
    PodChoices {
        pull_secrets: args.pull_secret.clone(),
        node_selector: args.node_selector.iter().cloned().collect(),
        tolerations: args.toleration.iter().map(toleration).collect(),
        service_account: args.service_account.clone(),
        labels: args.label.iter().cloned().collect(),
        env_from: args.env_from.clone(),
        user: match args.user_id {
            UserChoice::Id(id) => PodUser::Id(id),
            UserChoice::Platform => PodUser::Platform,
        },
        egress: args.egress.clone(),
        metrics_port: None,
    }
}

/// Returns host and port of a bus that is there already.
fn host_and_port(address: &str) -> Result<(String, u16)> {
    let (shown, userinfo) = split_userinfo(address);
    ensure!(
        userinfo.is_none(),
        "--bus {shown}: a password would be in the arguments of the jobs; the bus is to know the \
         identities of --fleet"
    );
    let host = address.strip_prefix("tls://");
    let host = host.with_context(|| format!("--bus {address}: give tls://HOST[:PORT]"))?;
    let host = host.trim_end_matches('/');
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().with_context(|| format!("--bus {address}: {port} is no port"))?)
        }
        _ => (host, BUS_PORT),
    };
    ensure!(!host.is_empty(), "--bus {address}: it has no host");
    Ok((host.to_owned(), port))
}

/// Returns the identities: those of a directory, or new ones.
fn files(args: &FleetManifestArgs, host: &str) -> Result<FleetFiles> {
    let FleetManifestArgs { agents, objects, pods, .. } = args;
    if let Some(directory) = &objects.fleet {
        let files = FleetFiles::read(directory, *agents).context("--fleet")?;
        ensure!(
            objects.bus.is_some() || files.is_server(host),
            "--fleet {0}: the certificate of its server is not valid for {host}; make a new one: \
             weir fleet init {0} --host {host} …",
            terminal::shown(directory)
        );
        return Ok(files);
    }
    let agents = (0..agents.unwrap_or(1)).map(|index| format!("{}-{index}", objects.name));
    let valid = Duration::from_nanos(pods.deadline) + VALID_AFTER;
    let hosts = vec![host.to_owned()];
    FleetFiles::fresh(&FleetPlan { agents: agents.collect(), hosts, valid })
}

/// Returns the words of the coordinator, with those of the user.
fn coordinator_words(args: &FleetManifestArgs, agents: u32, bus: &str) -> Vec<String> {
    let mut words = vec![
        format!("--agents={agents}"),
        format!("--bus={bus}"),
        format!("--bus-within={WAIT}"),
        format!("--identity={IDENTITY_PLACE}"),
    ];
    if !args.words.iter().any(|word| word.starts_with("--agents-within")) {
        words.push(format!("--agents-within={WAIT}"));
    }
    words.extend(args.words.iter().cloned());
    words
}

/// Returns the words of each agent.
fn agent_words(args: &FleetManifestArgs, bus: &str) -> Vec<String> {
    let mut words = vec![
        "agent".to_owned(),
        "--once".to_owned(),
        format!("--bus={bus}"),
        format!("--bus-within={WAIT}"),
        format!("--identity={IDENTITY_PLACE}"),
    ];
    words.extend(permission_words(&args.permissions));
    words
}

/// Returns the words of `weir agent` that give these permissions.
fn permission_words(permissions: &AgentPermissionArgs) -> impl Iterator<Item = String> {
    let allowed = permissions.allow.iter().map(|allowed| ("--allow", allowed));
    let single = [
        ("--max-rate", &permissions.max_rate),
        ("--max-connections", &permissions.max_connections),
        ("--max-duration", &permissions.max_duration),
        ("--permit", &permissions.permit),
    ];
    let given = single.into_iter().filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
    allowed.chain(given).map(|(flag, value)| format!("{flag}={value}"))
}

/// Checks that a fleet can carry out a run, with nothing but what the pods have.
///
/// # Errors
/// When it needs one machine, or a file of this one.
fn check_run(run: &RunArgs, spec: &RunSpec, has_volume: bool) -> Result<()> {
    let RunArgs { fleet, result, .. } = run;
    let watched_by = match fleet.on {
        PlaceChoice::Coordinator => WatchPlace::Coordinator,
        PlaceChoice::Agents => WatchPlace::Agents,
    };
    let has_target = run.spec.target.url().is_some() || run.spec.list.from.is_some();
    ensure!(has_target || run.spec_file.is_some(), "the words after -- have no URL");
    check_spec(spec, watched_by)?;
    if let Some(flag) = read_file(run, spec) {
        bail!("{flag} names a file, and the pods have none of this machine's: give its content");
    }
    if let Some((flag, _)) = result.rows() {
        bail!("{flag}: each agent writes rows of its own, which end with its pod; leave it out");
    }
    let files = &result.output;
    let has_files = files.files.documents().next().is_some() || !result.exports().is_empty();
    ensure!(
        has_volume || !has_files,
        "--output, --export and --junit: files end with the coordinator's pod; give a volume, \
         --results-claim CLAIM, or -o - for the document in the log"
    );
    ensure!(files.saved.save.is_none(), "--save: the history would end with the pod; leave it out");
    Ok(())
}

/// Checks that the agents would not refuse their parts, and that the load ends before its pods.
///
/// # Errors
/// When they would, for certain.
fn check_part(
    args: &FleetManifestArgs,
    spec: &RunSpec,
    permissions: &Permissions,
    agents: u32,
) -> Result<()> {
    let plan = LocalRunner::dry_run(spec)?;
    let window_ns = plan.load.length_ns();
    let around_ns = plan.load.warmup.span_ns + plan.drain_limit_ns();
    let longest_ns = window_ns.map(|ns| ns.saturating_add(around_ns));
    if let Some(ns) = longest_ns.filter(|ns| *ns > args.pods.deadline) {
        bail!(
            "the load takes up to {} with its warm-up and drain, and the pods end after {}: give a \
             longer --deadline",
            units::duration(ns),
            units::duration(args.pods.deadline)
        );
    }
    for name in variables(&args.words) {
        permissions.check_variable(&name)?;
        ensure!(
            !args.cluster.env_from.is_empty(),
            "{{{{env:{name}}}}}: the pods have no such variable; give the secret that has it as a \
             key, --env-from SECRET"
        );
    }
    ensure!(
        !args.words.iter().any(|word| word.contains("{{file:")),
        "{{{{file:PATH}}}}: the pods have no such file; give its content as a variable, \
         {{{{env:NAME}}}} with --env-from SECRET"
    );
    ensure!(
        plan.load.connections.count() >= agents,
        "-c {} for {agents} agents: each needs a connection; use -c {agents}",
        plan.load.connections.count()
    );
    // Whole turns of threads, as a fleet has them; the first share is the greatest.
    let threads = plan.threads.max(1).next_multiple_of(agents);
    permissions.check(spec, &Plan { part: Part::new(1, agents), threads, ..plan })
}

/// Returns the names of the variables in templates.
fn variables(words: &[String]) -> Vec<String> {
    let texts = words.iter().flat_map(|word| word.split("{{env:").skip(1));
    texts.filter_map(|text| Some(text.split_once("}}")?.0.to_owned())).collect()
}

/// Checks that the coordinator reaches what it is to push to and to read, and returns the port of
/// its metrics.
///
/// # Errors
/// When a policy of the manifest would shut it off.
fn check_reach(
    args: &FleetManifestArgs,
    run: &RunArgs,
    spec: &RunSpec,
    settings: &ManifestSettings,
) -> Result<Option<u16>> {
    let further = PermittedTargets::Listed(args.cluster.egress.clone());
    let live = &run.result.live;
    let pages = [
        ("--otlp", live.otlp.as_ref()),
        ("--watch-nginx", spec.watch.nginx.as_ref()),
        ("--watch-prometheus", spec.watch.prometheus.as_ref()),
    ];
    for (flag, url) in pages {
        let Some((host, port)) = url.and_then(|url| TargetSpec::of(url).host_and_port()) else {
            continue;
        };
        ensure!(
            settings.allowed.may_have(&host, port) || further.may_have(&host, port),
            "{flag}: the coordinator may not connect to {host}:{port}; give its address, --egress \
             ADDRESS:{port}"
        );
    }
    let Some(listen) = &live.listen else { return Ok(None) };
    match listen.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 && !address.ip().is_loopback() => {
            Ok(Some(address.port()))
        }
        _ => bail!(
            "--listen {listen}: no other pod reaches that; give an address of all interfaces and a \
             port, --listen 0.0.0.0:9464"
        ),
    }
}

/// Returns the flag that names a file to read.
fn read_file(run: &RunArgs, spec: &RunSpec) -> Option<&'static str> {
    let body = match &spec.request.body {
        Some(BodySpec::File(_)) => Some("--body"),
        Some(BodySpec::Form(fields)) => {
            let is_file = fields.iter().any(|field| matches!(field.value, FormValue::File(_)));
            is_file.then_some("--form-field")
        }
        _ => None,
    };
    let files = [
        (run.spec_file.is_some(), "--spec"),
        (run.spec.list.from.is_some(), "--from"),
        (spec.replay.is_some(), "--replay"),
        (spec.tls.ca_file.is_some(), "--cacert"),
        (spec.tls.cert.is_some(), "--cert"),
        (spec.tls.key.is_some(), "--key"),
    ];
    body.or_else(|| files.into_iter().find_map(|(is_read, flag)| is_read.then_some(flag)))
}

/// Returns the words, those with credentials marked.
fn hidden(words: Vec<String>, spec: &RunSpec) -> Vec<PodWord> {
    let mut spec = spec.clone();
    spec.redaction.off = false;
    let mark = |word: String| {
        let mut shown = spec.clone();
        shown.set_command([word.clone().into()]);
        match shown.command {
            Some(shown) if shown == [word.clone()] => PodWord::Plain(word),
            _ => PodWord::Secret(word),
        }
    };
    words.into_iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bus_of_others_is_an_address_without_password() {
        let read = |address| host_and_port(address).ok();
        assert_eq!(read("tls://lab0"), Some(("lab0".to_owned(), 4222)));
        assert_eq!(read("tls://lab0:5222/"), Some(("lab0".to_owned(), 5222)));
        assert_eq!(read("tls://[fd00::1]"), Some(("[fd00::1]".to_owned(), 4222)));
        assert_eq!(read("tls://[fd00::1]:1"), Some(("[fd00::1]".to_owned(), 1)));
        for wrong in ["nats://lab0", "tls://me:pw@lab0", "tls://lab0:x", "tls://", "lab0"] {
            assert!(host_and_port(wrong).is_err(), "{wrong}");
        }
    }
}

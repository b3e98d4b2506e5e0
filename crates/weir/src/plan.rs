//! Conversion of flags to a plan, and of the plan to a job: parsed once, complete, ready to print.

use std::hash::{BuildHasher, Hasher, RandomState};

use anyhow::{Context, Result, anyhow, bail};
use weir_engine::{Extras, Job};
use weir_http::{BodyBudget, Prepared, RequestError};
use weir_io::{Endpoint, Engine};
use weir_result::{
    Arrivals, Header, IoEngine, Load, Note, Pacing, Part, Plan, RequestPlan, StampChoice,
    SuccessRule, Target, Wait,
};
use weir_tls::{TlsConfig, TlsOptions};

use crate::args::pin::{self, Pin};
use crate::args::{
    ArrivalsChoice, CloseChoice, IoChoice, PacingChoice, RunArgs, TimestampsChoice, WaitChoice,
};
use crate::body::{Body, REQUEST_MAX_BYTES};
use crate::redaction::Redaction;
use crate::script::Scripts;
use crate::server_wait::ServerWait;
use crate::target::Url;
use crate::{connections, credentials};

const SECOND_NS: u64 = 1_000_000_000;

/// A job, and notes on its planning.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The job.
    pub(crate) job: Job,
    /// Scripts of the job, if any: set up, and not yet given to the workers.
    pub(crate) scripts: Option<Scripts>,
    /// Remarks for the report.
    pub(crate) notes: Vec<Note>,
    /// Credentials, which the job's plan no longer contains.
    pub(crate) redaction: Redaction,
}

/// Builds the job from the flags.
///
/// # Errors
/// When the flags cannot be carried out; the message names the flag and the remedy.
pub(crate) fn plan(args: &RunArgs) -> Result<Planned> {
    let url = Url::parse(args.url())?;
    let wait = ServerWait::new(args);
    let mut note = None;
    let mut planned = plan_at(args, &url, |url| {
        let found = wait.retry(|| url.resolve(args.unix.as_deref()));
        let mut addresses = found.map_err(|failure| wait.give_up(failure, "check the name"))?;
        note = connections::other_addresses(url, &addresses);
        Ok(addresses.swap_remove(0))
    })?;
    planned.notes.extend(note);
    planned.job.needs_connection = true;
    Ok(planned)
}

/// Builds the job from the flags, with the server address that `resolve` returns.
///
/// # Errors
/// As [`plan`], or when there is no address.
pub(crate) fn plan_at(
    args: &RunArgs,
    url: &Url,
    resolve: impl FnOnce(&Url) -> Result<Endpoint>,
) -> Result<Planned> {
    let mut notes = Vec::new();
    let headers = headers(args)?;
    let redaction = Redaction::of(args);
    let body = args.body.as_deref().map(Body::of).transpose()?;
    let tls = tls(args, url)?;
    let pinned = pinned_cpus(args.pin.as_ref())?;
    let cpus = match args.pin {
        Some(Pin::Cpus(_)) => pinned.len(),
        _ => usable_cpus().len(),
    };
    let (threads, own_threads) = threads(args, cpus, &mut notes);
    let mut scripts = Scripts::load(args, url, &headers, own_threads)?;
    let destinations = connections::destinations(args, url)?;
    let endpoint = match (destinations.first(), &mut scripts) {
        (Some(first), _) => first.clone(),
        (None, Some(scripts)) if args.unix.is_none() => scripts.resolve()?,
        _ => resolve(url)?,
    };
    let (method, request) = match &mut scripts {
        Some(scripts) => scripts.set_up(own_threads)?,
        None => request(args, url, &headers, body.as_ref())?,
    };
    let is_crowded = own_threads as usize > cpus;
    let io = engine(args.io, own_threads, &mut notes)?;
    let plan = Plan {
        url: redaction.url(args.url()),
        target: Target { path: redaction.path(&url.path), ..url.target(&endpoint) },
        request: redaction.request(RequestPlan {
            method,
            headers: headers.into_iter().map(|(name, value)| Header { name, value }).collect(),
            body_bytes: body.as_ref().map_or(0, |body| body.len() as u64),
            wire_bytes: request.bytes().len() as u64,
        }),
        load: load(args),
        connections: args.connections,
        threads,
        pipeline: args.pipeline,
        warmup_ns: args.warmup.map_or_else(|| default_warmup(args), |warmup| warmup.span_ns),
        duration_ns: args.duration.or_else(|| args.requests.is_none().then_some(10 * SECOND_NS)),
        requests: args.requests,
        timeout_ns: args.timeout,
        connect_timeout_ns: args.connect_timeout.unwrap_or(args.timeout),
        drain_ns: args.drain,
        pacing: pacing(args.pacing, is_crowded),
        wait: wait(args.wait),
        tick_ns: args.tick,
        io,
        warmup_is_auto: args.warmup.is_some_and(|warmup| warmup.is_auto),
        stamps: stamps(args.timestamps),
        connection: connections::plan(args, &destinations),
        success: SuccessRule::default(),
        part: args.part,
    };
    check(&plan, scripts.as_ref())?;
    let thread_rates = scripts.as_ref().is_some_and(Scripts::has_done);
    let job = Job {
        destinations,
        cpus: pinned,
        tls,
        extras: Extras { thread_rates, ..Extras::default() },
        body_budget: BodyBudget::new(usize::try_from(args.script_memory).unwrap_or(usize::MAX)),
        ..Job::new(plan, endpoint, request)
    };
    Ok(Planned { job, scripts, notes, redaction })
}

/// Checks that the plan can be carried out.
fn check(plan: &Plan, scripts: Option<&Scripts>) -> Result<()> {
    if is_sparse(plan) && weir_engine::planned_slots(plan) == Some(0) {
        bail!("--rate and --duration plan no request: lengthen -d or raise -R");
    }
    if plan.pipeline > 1 && scripts.is_some_and(Scripts::sets_the_pace) {
        bail!(
            "--pipeline does not go with a script that has request() or delay(): return several \
             requests in one string instead"
        );
    }
    Ok(())
}

fn stamps(choice: TimestampsChoice) -> StampChoice {
    match choice {
        TimestampsChoice::None => StampChoice::None,
        TimestampsChoice::Sample => StampChoice::Sample,
        TimestampsChoice::All => StampChoice::All,
    }
}

/// The TLS configuration; `None` for an http URL.
fn tls(args: &RunArgs, url: &Url) -> Result<Option<TlsConfig>> {
    if !url.is_secure {
        if args.cacert.is_some() {
            bail!("--cacert says whom to trust over https, and the URL is http: write https://");
        }
        return Ok(None);
    }
    let options = TlsOptions {
        server_name: url.host.clone(),
        verify: !args.insecure,
        ca_file: args.cacert.clone(),
        alpn: vec![b"http/1.1".to_vec()],
    };
    let config = TlsConfig::new(&options).map_err(|error| anyhow!("--cacert: {error}"))?;
    Ok(Some(config))
}

/// The headers of `--header`, `--user`, the URL and `--close`.
fn headers(args: &RunArgs) -> Result<Vec<(String, String)>> {
    let mut headers = args.headers.iter().map(|line| header(line)).collect::<Result<Vec<_>>>()?;
    let has = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let (is_authorized, is_said) = (has("authorization"), has("connection"));
    let of_url = args.userinfo.as_deref().map(credentials::decoded);
    if let Some(user) = args.user.last().or(of_url.as_ref()).filter(|_| !is_authorized) {
        headers.push(("Authorization".to_owned(), credentials::basic(user)));
    }
    if args.close == Some(CloseChoice::Server) && !is_said {
        headers.push(("Connection".to_owned(), "close".to_owned()));
    }
    Ok(headers)
}

fn header(line: &str) -> Result<(String, String)> {
    let (name, value) = line
        .split_once(':')
        .with_context(|| format!("--header {line:?} is no header: write \"Name: value\""))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn request(
    args: &RunArgs,
    url: &Url,
    headers: &[(String, String)],
    body: Option<&Body>,
) -> Result<(String, Prepared)> {
    let method = match (&args.method, body) {
        (Some(method), _) => method.clone(),
        (None, Some(_)) => "POST".to_owned(),
        (None, None) => "GET".to_owned(),
    };
    let (host, body_bytes) = (url.authority(), body.map(Body::len));
    let mut filled = Ok(());
    let fill = |room: &mut [u8]| filled = body.map_or(Ok(()), |body| body.fill(room));
    let request = Prepared::http1_filled(&method, &url.path, &host, headers, body_bytes, fill)
        .map_err(|error| anyhow!("{}: {error}", flag_of(&error)))?;
    filled?;
    if request.bytes().len() as u64 > REQUEST_MAX_BYTES {
        bail!("the request is larger than 1 GiB: send a smaller --body");
    }
    Ok((method, request))
}

/// The part of the command line that makes a request impossible.
fn flag_of(error: &RequestError) -> &'static str {
    match error {
        RequestError::BadMethod(_) | RequestError::Connect => "--method",
        RequestError::BadTarget(_) | RequestError::BadHost(_) => "the URL",
        RequestError::BadHeaderName(_)
        | RequestError::BadHeaderValue(_)
        | RequestError::RepeatedHeader(_)
        | RequestError::WrongContentLength { .. }
        | RequestError::BadTransferEncoding(_) => "--header",
    }
}

/// True if the plan is so small that it may contain no request.
fn is_sparse(plan: &Plan) -> bool {
    match (plan.load, plan.duration_ns) {
        (Load::OpenLoop { rate, .. }, Some(span_ns)) => rate.rps() * (span_ns as f64 / 1e9) < 10.0,
        _ => false,
    }
}

/// The CPUs to run on: those of the affinity mask, at most as many as the cgroup's quota grants.
pub(crate) fn usable_cpus() -> Vec<u32> {
    let mut cpus = weir_io::system::usable_cpus().unwrap_or_default();
    if let Some(quota) = weir_io::system::cpu_quota() {
        cpus.truncate((quota.ceil() as usize).max(1));
    }
    cpus
}

/// The CPUs to which workers are pinned, in turn: none without `--pin`.
fn pinned_cpus(pin: Option<&Pin>) -> Result<Vec<u32>> {
    let Some(pin) = pin else { return Ok(Vec::new()) };
    let usable = weir_io::system::usable_cpus().context("--pin: the usable CPUs are unknown")?;
    let Pin::Cpus(cpus) = pin else { return Ok(usable) };
    match cpus.iter().find(|cpu| !usable.contains(cpu)) {
        Some(cpu) => bail!(
            "--pin: CPU {cpu} is not usable by this process: usable are {}",
            pin::list(&usable)
        ),
        None => Ok(cpus.clone()),
    }
}

/// Number of worker threads, at most one per connection: a thread without a connection would be
/// idle. Returns that of all parts, and that of this one.
fn threads(args: &RunArgs, cpus: usize, notes: &mut Vec<Note>) -> (u32, u32) {
    let usable = u32::try_from(cpus.max(1)).unwrap_or(u32::MAX);
    let asked = args.threads.unwrap_or(usable);
    if args.threads.is_some_and(|asked| asked > args.connections) {
        notes.push(Note::new(
            "fewer_threads",
            format!(
                "{asked} threads were asked for {} connections: each thread needs one, so {} run",
                args.connections, args.connections
            ),
        ));
    }
    let threads = asked.min(args.connections);
    let own = args.part.map_or(threads, |part| part.share_of(threads));
    if own > usable {
        // -t counts the threads of all parts.
        let enough = usable.saturating_mul(args.part.map_or(1, Part::count));
        notes.push(Note::new(
            "more_threads_than_cpus",
            format!(
                "{own} threads share {usable} CPUs: they delay each other, and send times \
                 suffer; -t{enough} is enough for any number of connections"
            ),
        ));
    }
    (threads, own)
}

/// Default warm-up in nanoseconds: `clamp(10% of -d, 2 s, 10 s)`, or 0 if only a number of requests
/// is given.
fn default_warmup(args: &RunArgs) -> u64 {
    match (args.duration, args.requests) {
        (None, Some(_)) => 0,
        (duration, _) => {
            (duration.unwrap_or(10 * SECOND_NS) / 10).clamp(2 * SECOND_NS, 10 * SECOND_NS)
        }
    }
}

fn load(args: &RunArgs) -> Load {
    let Some(rate) = args.rate else { return Load::ClosedLoop };
    let arrivals = match args.arrivals {
        ArrivalsChoice::Uniform => Arrivals::Uniform,
        ArrivalsChoice::Poisson => Arrivals::Poisson { seed: args.seed.unwrap_or_else(draw_seed) },
    };
    Load::OpenLoop { rate, arrivals }
}

/// Draws a seed that is short enough to type again.
fn draw_seed() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

fn pacing(choice: Option<PacingChoice>, is_crowded: bool) -> Pacing {
    match choice {
        Some(PacingChoice::Sleep) => Pacing::Sleep,
        Some(PacingChoice::Hybrid) => Pacing::Hybrid,
        Some(PacingChoice::Spin) => Pacing::Spin,
        // Threads that spin on a shared CPU take it from each other.
        None if is_crowded => Pacing::Sleep,
        None => Pacing::Hybrid,
    }
}

fn wait(choice: WaitChoice) -> Wait {
    match choice {
        WaitChoice::Auto => Wait::Auto,
        WaitChoice::Latency => Wait::Latency,
        WaitChoice::Throughput => Wait::Throughput,
        WaitChoice::Spin => Wait::Spin,
    }
}

/// Maximum threads for which `auto` uses io_uring. Setting up 5,000 rings took 3.2 s, as many epoll
/// descriptors 0.7 s, and both carried the load equally well (two CPUs, Linux 6.18).
const RINGS_MAX: u32 = 1_024;

fn engine(choice: IoChoice, threads: u32, notes: &mut Vec<Note>) -> Result<IoEngine> {
    match choice {
        IoChoice::Epoll => Ok(IoEngine::Epoll),
        IoChoice::Uring => match Engine::Uring.probe() {
            Ok(()) => Ok(IoEngine::IoUring),
            Err(error) => bail!("--io uring does not work here: {error}; use --io epoll"),
        },
        IoChoice::Auto if std::env::var_os("LD_PRELOAD").is_some_and(|value| !value.is_empty()) => {
            notes.push(Note::new(
                "epoll_for_preload",
                "LD_PRELOAD is set: epoll runs, since preloaded libraries do not see io_uring; \
                 --io uring forces it",
            ));
            Ok(IoEngine::Epoll)
        }
        IoChoice::Auto if threads > RINGS_MAX => {
            let text = format!(
                "epoll runs, as {threads} threads start sooner with it; --io uring forces io_uring"
            );
            notes.push(Note::new("epoll_for_threads", text));
            Ok(IoEngine::Epoll)
        }
        IoChoice::Auto => Ok(match Engine::Uring.probe() {
            Ok(()) => IoEngine::IoUring,
            Err(error) => {
                notes.push(Note::new("epoll_fallback", format!("epoll runs: {error}")));
                IoEngine::Epoll
            }
        }),
    }
}

//! `--selfcheck`: the noise floor. The same threads on the same engine load a server within weir
//! that responds at once, so slowly that no request waits for another (METHOD 1.17).

use anyhow::{Context, Result, anyhow};
use weir_engine::Job;
use weir_http::Prepared;
use weir_io::{Endpoint, Engine, EngineChoice};
use weir_result::document::SelfcheckSection;
use weir_result::{
    Arrivals, ConnectionPlan, DueTimes, HttpPlan, IoEngine, Plan, Rate, RequestPlan, Warmup,
};
use weir_serve::ServeOptions;
use weir_text::setting::SELFCHECK;
use weir_text::units;

use crate::interrupts::Interrupts;
use crate::run::trial::carry_out;
use crate::spec::url::Url;

/// Rate of the load: low, so that each request is measured alone, and enough for a p99 in a second.
const RATE: Rate = Rate { numerator: 1_000, denominator: 1 };

/// Maximum connections: at this rate, more of them would change nothing.
const CONNECTIONS_MAX: u32 = 100;

const WARMUP_NS: u64 = 200_000_000;
const WINDOW_NS: u64 = 1_000_000_000;

/// Multiple of the noise floor from which a time describes the server more than the client.
const MARGIN: u64 = 10;

/// A noise floor, measured without a target.
#[derive(Clone, Debug)]
pub struct NoiseFloor {
    /// The floor.
    pub section: SelfcheckSection,
    /// I/O engine that it was measured on.
    pub io: IoEngine,
    /// The times that it leaves undisturbed, in words.
    pub advice: String,
}

/// Measures the noise floor of the client of `plan`, whose workers are pinned to `cpus`; returns
/// `None` if a signal arrived.
///
/// # Errors
/// When the server cannot be started, or the run fails.
pub(crate) fn measure(
    plan: &Plan,
    cpus: &[u32],
    interrupts: &Interrupts,
) -> Result<Option<SelfcheckSection>> {
    let options = ServeOptions {
        connections: CONNECTIONS_MAX as usize,
        engine: EngineChoice::Only(Engine::named(plan.io.name()).unwrap_or(Engine::Epoll)),
        ..ServeOptions::default()
    };
    let server = weir_serve::spawn(options)
        .with_context(|| format!("{SELFCHECK} needs a server of its own"))?;
    let job = job_against(server.endpoint(), plan, cpus)?;
    let plan = job.plan.clone();
    let Some(outcome) = carry_out(job, interrupts)? else { return Ok(None) };
    let floor = SelfcheckSection::of(&plan, RATE, &outcome.parts.measurements);
    Ok(Some(floor.with_context(|| format!("{SELFCHECK}: weir's own server did not respond"))?))
}

/// The client of `plan` with a load on the server at `endpoint`.
fn job_against(endpoint: &Endpoint, plan: &Plan, cpus: &[u32]) -> Result<Job> {
    let url = Url::parse(&format!("http://{endpoint}/"))?;
    let request = Prepared::http1("GET", &url.path, &url.authority(), &[], None)
        .map_err(|error| anyhow!("{error}"))?;
    let connections = plan.own_connections().min(CONNECTIONS_MAX);
    let plan = Plan {
        url: format!("http://{endpoint}/"),
        target: url.target(endpoint),
        request: RequestPlan { wire_bytes: request.bytes().len() as u64, ..RequestPlan::default() },
        threads: plan.own_threads().min(connections),
        http: Some(HttpPlan::Http11),
        matched_by: None,
        // The server is on this machine, and the floor is for connections that are kept open.
        connection: ConnectionPlan::default(),
        part: None,
        list: None,
        ..plan.clone()
    }
    .with_load(|load| {
        load.connections = connections.into();
        load.in_flight_max = None;
        load.pipeline = 1;
        load.warmup = Warmup { span_ns: WARMUP_NS, is_auto: false };
        load.duration_ns = Some(WINDOW_NS);
        load.requests = None;
        load.due = Some(DueTimes::constant(RATE, Arrivals::Uniform));
    });
    let mut job = Job::new(plan, endpoint.clone(), request);
    job.workers.cpus = cpus.to_vec();
    Ok(job)
}

/// The noise floor in one sentence, for a report.
pub(crate) fn describe(floor: &SelfcheckSection) -> String {
    format!(
        "noise floor, of a server within weir: service p50 {}, p99 {}; send lag p50 {}, p99 {}; {}",
        units::duration(floor.service_time.p50_ns),
        units::duration(floor.service_time.p99_ns),
        units::duration(floor.send_lag.p50_ns),
        units::duration(floor.send_lag.p99_ns),
        trust(floor),
    )
}

/// The times that the floor leaves undisturbed.
pub(crate) fn trust(floor: &SelfcheckSection) -> String {
    let least_ns = floor.service_time.p50_ns.saturating_mul(MARGIN);
    format!("times above about {} are mostly the server's", units::duration(least_ns))
}

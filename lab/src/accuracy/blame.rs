//! V13: the report of a client that was stopped, throttled or short of CPU time attributes that to
//! the client. If the server was stopped, the report does not.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, process, thread};

use anyhow::{Context, Result};
use weir_machine::{Hierarchy, Root};
use weir_result::Document;
use weir_result::document::{Grade, LimitedBy, Metric, RuleOutcome, Subject};
use weir_result::quantile::Bound;

use super::distribution::{Distribution, quantile};
use crate::rig::{Fixture, Pressure, Section, freeze, seconds};

const WARMUP_S: f64 = 0.5;

/// A client that busy-waits, so that any loss of CPU time delays its sends.
const LOAD: &str = "-t1 -c10 -R2000 --warmup 500ms --pacing spin --timestamps all";

const STOP: Duration = Duration::from_millis(500);

/// Disturbance of the client or the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    ClientStopped,
    ClientThrottled,
    ClientRobbed,
    ServerStopped,
}

const HARMS: [(Harm, &str); 4] = [
    (Harm::ClientStopped, "client stopped for 500 ms"),
    (Harm::ClientThrottled, "client held to half a CPU"),
    (Harm::ClientRobbed, "a spinner on the client's CPU"),
    (Harm::ServerStopped, "server stopped for 500 ms"),
];

impl Harm {
    fn is_to_client(self) -> bool {
        self != Harm::ServerStopped
    }
}

/// Evidence from one run.
struct StopEvidence {
    /// True if the grade is bounded or void and a rule about the client or its machine gives the
    /// reason, or if the limit is the client's CPU.
    is_attributed: bool,
    /// True if a rule about the client or its machine exceeds its second limit, if the limit is the
    /// client's CPU, or if p99, which a stop affects, is attributed to the client.
    is_against_client: bool,
    /// Rules about the client and its machine that fired.
    rules: Vec<String>,
    response_max_s: f64,
    sched_lag_max_s: f64,
    /// Longest time in server and network, without the client's user space; none without kernel
    /// time stamps.
    wire_max_s: Option<f64>,
}

/// Returns the length of a run's window, in seconds.
fn window_s(fixture: &Fixture) -> f64 {
    fixture.span(10.0, 2.0)
}

/// Runs case V13 of METHOD 2.1.
pub(super) fn blame(fixture: &Fixture) -> Result<Section> {
    let runs = fixture.runs(20, 3);
    let mut section = Section::new(
        "stops of client and server",
        "Is a stop of the client told from a stop of the server?",
        format!(
            "All of {runs} runs (of a spinner, {}) whose client was harmed are bounded or void by \
             a rule about the client or its machine; where it was stopped or throttled no request \
             was on the wire, as the kernel's stamps tell, for half of the longest response time; \
             in none of {runs} runs whose server was stopped is such a rule beyond its second \
             limit, the limit client CPU or p99 inflated, and there it is the wire that takes \
             long. {LOAD} -d{}s",
            runs.div_ceil(5),
            window_s(fixture)
        ),
    );
    section.begin_table("Medians over the runs:");
    for (harm, name) in HARMS {
        // Disturbances caused on purpose do not make the machine busy.
        fixture.take_waited();
        let half = match harm {
            Harm::ClientThrottled => HalfCpu::new(),
            _ => None,
        };
        if harm == Harm::ClientThrottled && half.is_none() {
            section
                .note("No control group with a quota can be made here: no client was throttled.");
            continue;
        }
        // The effect of a spinner varies little, so fewer runs suffice.
        let runs = if harm == Harm::ClientRobbed { runs.div_ceil(5) } else { runs };
        let (reported, spoilt) = repeat(fixture, harm, half.as_ref(), runs)?;
        if !spoilt.is_empty() {
            let against = spoilt.iter().filter(|reported| reported.is_against_client).count();
            section.note(format!(
                "{}: {} more runs, in which the hypervisor took more than 1% of the CPU time, do \
                 not count; {against} of them are attributed to the client.",
                name,
                spoilt.len()
            ));
        }
        judge(&mut section, harm, name, &reported);
    }
    section.verdict("Medians:");
    section.show_columns(&["", "runs", "attributed to the client", "sched lag max", "wire max"]);
    Ok(section)
}

/// Makes `runs` runs. If the client must be undisturbed, runs with CPU steal are repeated, up to
/// `runs` times. Returns the good runs and the spoilt ones.
fn repeat(
    fixture: &Fixture,
    harm: Harm,
    half: Option<&HalfCpu>,
    runs: usize,
) -> Result<(Vec<StopEvidence>, Vec<StopEvidence>)> {
    let mut reported = Vec::new();
    let mut spoilt = Vec::new();
    while reported.len() < runs {
        let pressure = Pressure::now();
        let one = run(fixture, harm, half)?;
        let is_spoilt = !harm.is_to_client() && !pressure.taken().has_no_steal();
        if is_spoilt && spoilt.len() < runs {
            spoilt.push(one);
        } else {
            reported.push(one);
        }
    }
    Ok((reported, spoilt))
}

/// Makes one run with the disturbance.
fn run(fixture: &Fixture, harm: Harm, half: Option<&HalfCpu>) -> Result<StopEvidence> {
    let server = fixture.serve("--log-max 1")?;
    let hog = match harm {
        Harm::ClientRobbed => Some(fixture.spin(1.0)?),
        _ => None,
    };
    let by = half.map(HalfCpu::words).unwrap_or_default();
    let window_s = window_s(fixture);
    let client = fixture.start_weir_by(by, &format!("{LOAD} -d{window_s}s"), &server.url)?;
    let to_stop = match harm {
        Harm::ClientStopped => Some(client.pid()),
        Harm::ServerStopped => Some(server.pid()),
        Harm::ClientThrottled | Harm::ClientRobbed => None,
    };
    if let Some(pid) = to_stop {
        thread::sleep(Duration::from_secs_f64(WARMUP_S + window_s * 0.4));
        freeze(pid, STOP)?;
    }
    let document = client.finish()?;
    drop(hog);
    StopEvidence::of(&document)
}

impl StopEvidence {
    fn of(document: &Document) -> Result<StopEvidence> {
        let max_s = |time: &Metric| -> Result<f64> { Ok(Distribution::of(time)?.max_ns() / 1e9) };
        let verdict = &document.verdict;
        let is_ours = |subject| [Subject::Client, Subject::Machine].contains(&subject);
        let ours = verdict.rules.iter().filter(|rule| is_ours(rule.subject) && rule.has_fired());
        let is_beyond = ours.clone().any(|rule| rule.outcome >= RuleOutcome::Bound);
        let rules: Vec<String> = ours.map(|rule| rule.id.clone()).collect();
        let is_bounded = [Grade::Bounded, Grade::Void].contains(&verdict.grade);
        // If `client-overhead` fired, the client is the cause of the latencies' bounds.
        let is_inflated = rules.iter().any(|id| id == "client-overhead");
        let is_limit = verdict.limit.by == LimitedBy::ClientCpu;
        let is_attributed = is_bounded && (is_beyond || is_inflated) || is_limit;
        let p99 = document.results.response_time.ok.percentile(99.0);
        let is_stop_ours = p99.is_some_and(|value| value.bound == Bound::Upper);
        eprintln!("accuracy: {}: {}", verdict.grade.in_words(), verdict.reason);
        let wire_time = document.stamps.as_ref().map(|stamps| &stamps.wire_time);
        let wire_time = wire_time.filter(|time| !time.ok.percentiles.is_empty());
        Ok(StopEvidence {
            is_attributed,
            is_against_client: is_beyond || is_limit || is_stop_ours,
            rules,
            response_max_s: max_s(&document.results.response_time)?,
            sched_lag_max_s: max_s(&document.latency.sched_lag)?,
            wire_max_s: wire_time.map(max_s).transpose()?,
        })
    }
}

fn judge(section: &mut Section, harm: Harm, name: &str, reported: &[StopEvidence]) {
    let is_attributed_to_client = |reported: &&StopEvidence| {
        if harm.is_to_client() { reported.is_attributed } else { reported.is_against_client }
    };
    let attributed = reported.iter().filter(is_attributed_to_client).count();
    let median = |of: &dyn Fn(&StopEvidence) -> f64| {
        let mut values: Vec<f64> = reported.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    let wires: Vec<f64> = reported.iter().filter_map(|reported| reported.wire_max_s).collect();
    let wire_s = (wires.len() == reported.len())
        .then(|| median(&|reported| reported.wire_max_s.unwrap_or(0.0)));
    let mut rules: Vec<&str> =
        reported.iter().flat_map(|reported| reported.rules.iter().map(String::as_str)).collect();
    rules.sort_unstable();
    rules.dedup();
    let response_s = median(&|reported| reported.response_max_s);
    section.row(&[
        ("", &name),
        ("runs", &reported.len()),
        ("attributed to the client", &attributed),
        ("response max", &seconds(response_s)),
        ("sched lag max", &seconds(median(&|reported| reported.sched_lag_max_s))),
        ("wire max", &wire_s.map_or_else(|| "not told".to_owned(), seconds)),
        ("rules", &rules.join(" ")),
    ]);
    let what = || format!("{name}: {attributed} runs are attributed to the client");
    if harm.is_to_client() {
        section.must(attributed == reported.len(), what);
    } else {
        // Other processes may have taken CPU time from the client.
        section.must_if_quiet(attributed == 0, what);
    }
    // On loopback the wire uses the client's CPU too, and a spinner takes that time as well.
    if let Some(wire_s) = wire_s.filter(|_| harm != Harm::ClientRobbed) {
        let is_long = wire_s > response_s / 2.0;
        let what = || format!("{name}: {} on the wire of {}", seconds(wire_s), seconds(response_s));
        if harm.is_to_client() {
            // A server that loses CPU time to others is slow independently of the client.
            section.must_if_quiet(!is_long, what);
        } else {
            section.must(is_long, what);
        }
    }
}

/// Length of a period of the quota, and the usable part of it.
const PERIOD_US: u32 = 100_000;
const QUOTA_US: u32 = PERIOD_US / 2;

/// Enters the group named first and execs the rest.
const ENTER: &str = r#"echo $$ >"$1" && shift && exec "$@""#;

/// A control group limited to half a CPU.
struct HalfCpu {
    group: PathBuf,
}

impl HalfCpu {
    /// Makes the group; `None` if this user may not, or if no hierarchy has the controller.
    fn new() -> Option<HalfCpu> {
        Hierarchy::mounted(&Root::machine()).into_iter().find_map(
            |Hierarchy { place, is_v2, .. }| {
                let half =
                    HalfCpu { group: place.join(format!("weir-accuracy-{}", process::id())) };
                fs::create_dir(&half.group).ok()?;
                half.limit(is_v2).ok()?;
                Some(half)
            },
        )
    }

    /// Sets the quota. The weight is the maximum, so that only the quota limits the group.
    fn limit(&self, is_v2: bool) -> Result<()> {
        let set = |file: &str, value: String| {
            fs::write(self.group.join(file), value).with_context(|| format!("failed to set {file}"))
        };
        if is_v2 {
            set("cpu.weight", "10000".to_owned())?;
            return set("cpu.max", format!("{QUOTA_US} {PERIOD_US}"));
        }
        set("cpu.shares", "262144".to_owned())?;
        set("cpu.cfs_period_us", PERIOD_US.to_string())?;
        set("cpu.cfs_quota_us", QUOTA_US.to_string())
    }

    /// Returns the words that start a program inside the group from its first instruction on,
    /// because weir reads its groups when it starts.
    fn words(&self) -> Vec<OsString> {
        let procs = self.group.join("cgroup.procs");
        vec!["sh".into(), "-c".into(), ENTER.into(), "enter".into(), procs.into()]
    }
}

impl Drop for HalfCpu {
    fn drop(&mut self) {
        // The group is empty: its processes have ended.
        fs::remove_dir(&self.group).ok();
    }
}

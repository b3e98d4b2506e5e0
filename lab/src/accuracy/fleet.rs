//! V37: one load from three machines, which are network namespaces whose monotonic clocks differ by
//! hours, beside the server's log; complete, and with one machine cut off.

mod merge;
pub(super) mod processes;

pub(super) mod machines;

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_result::document::{AgentEnd, FleetSection};

use crate::rig::{Fixture, Section, monotonic_ns, thousands};
use machines::{AGENTS, Machines, NETWORKS};
use merge::{Collector, Compared};
use processes::{AHEAD_S, DOCUMENT, FleetAgent, FleetBus, FleetLoad, FleetTarget, bus_address};

/// Planned rate, and connections over all agents.
const RATE_RPS: f64 = 30_000.0;
const CONNECTIONS: u32 = 300;

/// Time from the begin of the load to the moment at which a machine is cut off, and from there to
/// the end of its agent's lease with a second to spare, in seconds.
const CUT_AFTER_S: u64 = 4;
const LEASE_S: u64 = 11;

/// Runs case V37 of METHOD 2.1.
pub(super) fn fleet(fixture: &Fixture) -> Result<Section> {
    let whole_s = fixture.span(20, 3);
    let cut_s = fixture.span(20, 18);
    let mut section = Section::new(
        "one load from three machines",
        "Do three machines whose clocks differ by hours carry out one plan, and is the loss of one \
         reported?",
        format!(
            "Three agents and a coordinator in network namespaces; the monotonic clocks of the \
             agents are 1 to 216 hours ahead. 30,000/s over {CONNECTIONS} connections for \
             {whole_s} s: every slot is in the server's log once, and the true distance of two \
             begins is at most the printed one. Each bucket of the merged times has as many \
             requests as the agents' together, which HdrHistogram's Python package adds. Then one \
             machine is cut off for good: the others go on with two thirds of the rate, the report \
             names the agent, and its load has ended {LEASE_S} s after the cut."
        ),
    );
    let machines = Machines::make(&AGENTS)?;
    let _bus = FleetBus::start(&fixture.directory)?;
    let _agents = FleetAgent::start_all(fixture)?;
    let compared = whole(fixture, whole_s, &mut section)?;
    cut(fixture, &machines, cut_s, &mut section)?;
    section.begin_table("The merged document beside the sum of the agents' by HdrHistogram:");
    for of in &compared {
        section.row(&[
            ("histogram", &of.name),
            ("requests", &thousands(of.requests)),
            ("buckets", &thousands(of.buckets)),
            ("different", &thousands(of.different)),
        ]);
        section.must(of.different == 0, || format!("{} buckets differ: {}", of.different, of.name));
    }
    section.verdict("All slots of the plan were at the server, and the loss was reported.");
    Ok(section)
}

/// Starts a load of this many seconds.
fn start_load(fixture: &Fixture, seconds: u32, url: &str) -> Result<FleetLoad> {
    let flags = format!(
        "--agents 3 --bus {} --insecure-bus --on-loss continue -R 30k -c {CONNECTIONS} \
         -d {seconds}s",
        bus_address()
    );
    FleetLoad::start(fixture, &flags, url)
}

/// A complete run, whose document is compared with another merge of its parts.
fn whole(fixture: &Fixture, seconds: u32, section: &mut Section) -> Result<Vec<Compared>> {
    let collector = Collector::start(&fixture.directory)?;
    let target = FleetTarget::start(fixture)?;
    let end = start_load(fixture, seconds, &target.url)?.finish()?;
    let code = end.code;
    let document = end.document.context("weir has written no document")?;
    let planned = document.results.planned;
    let mut slots: Vec<u64> = target.finish()?.iter().filter_map(|record| record.slot).collect();
    slots.sort_unstable();
    let measured = slots.iter().filter(|slot| **slot < planned).count() as u64;
    let doubled = slots.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let fleet = document.fleet.as_ref().context("the document has no fleet")?;
    let printed_ns = fleet.start_spread_ns.context("a begin is unknown")?;
    let true_ns = true_spread_ns(fleet)?;
    section.row(&[
        ("run", &"complete"),
        ("planned", &thousands(planned)),
        ("ok", &thousands(document.results.outcomes.ok)),
        ("slots in the log", &thousands(measured)),
        ("twice", &doubled),
        ("begins apart, at most", &format!("{:.0} µs", printed_ns as f64 / 1e3)),
        ("true", &format!("{:.1} µs", true_ns as f64 / 1e3)),
        ("rate after a cut", &"–"),
        ("exit code", &code.unwrap_or(-1)),
    ]);
    section.must(code == Some(0), || format!("the exit code is {code:?}"));
    section.must(planned as f64 == RATE_RPS * f64::from(seconds), || {
        format!("{planned} requests were planned")
    });
    section.must(
        document.results.outcomes.ok == planned && measured == planned && doubled == 0,
        || {
            format!(
                "{} ok, {measured} of {planned} in the log, {doubled} twice",
                document.results.outcomes.ok
            )
        },
    );
    section.must(true_ns <= printed_ns, || format!("{true_ns} ns apart, {printed_ns} printed"));
    let compared = collector.compare(&fixture.directory.join(DOCUMENT))?;
    let times = ["response time ok", "service time ok"];
    let whole = times.iter().all(|name| {
        compared.iter().any(|of| of.name == *name && of.requests == document.results.outcomes.ok)
    });
    section.must(whole, || format!("not all requests were compared: {compared:?}"));
    Ok(compared)
}

/// Returns the distance of the first begin from the last one, by the known differences of the
/// clocks.
fn true_spread_ns(fleet: &FleetSection) -> Result<u64> {
    let mut begins = Vec::new();
    for agent in &fleet.agents {
        let index = AGENTS.iter().position(|place| **place == agent.name);
        let ahead_s = AHEAD_S[index.context("an agent of another name")?];
        let begun_ns = agent.begun_monotonic_ns.context("a begin is unknown")?;
        begins.push(begun_ns - ahead_s * 1_000_000_000);
    }
    let first = begins.iter().min();
    let last = begins.iter().max();
    let (first, last) = first.zip(last).context("no agent has begun")?;
    Ok(last - first)
}

/// A run of which one machine is cut off.
fn cut(fixture: &Fixture, machines: &Machines, seconds: u32, section: &mut Section) -> Result<()> {
    let target = FleetTarget::start(fixture)?;
    let load = start_load(fixture, seconds, &target.url)?;
    target.await_load()?;
    thread::sleep(Duration::from_secs(CUT_AFTER_S));
    machines.cut_off(AGENTS[2], &NETWORKS)?;
    let cut_ns = monotonic_ns()?;
    let end = load.finish()?;
    let code = end.code;
    let document = end.document.context("weir has written no document")?;
    let log = target.finish()?;
    let rate_rps = |from_s: f64, to_s: f64| {
        let within = |ns: u64| {
            let after_s = (ns as f64 - cut_ns as f64) / 1e9;
            after_s >= from_s && after_s < to_s
        };
        log.iter().filter(|record| within(record.received_ns)).count() as f64 / (to_s - from_s)
    };
    let before = rate_rps(-1.5, -0.5);
    let after = rate_rps(2.0, LEASE_S as f64);
    let fleet = document.fleet.as_ref().context("the document has no fleet")?;
    let lost: Vec<_> = fleet.lost().map(|agent| (agent.name.as_str(), agent.end)).collect();
    section.row(&[
        ("run", &"one cut off"),
        ("planned", &thousands(document.results.planned)),
        ("ok", &thousands(document.results.outcomes.ok)),
        ("slots in the log", &"–"),
        ("twice", &"–"),
        ("begins apart, at most", &"–"),
        ("true", &"–"),
        ("rate after a cut", &format!("{:.1} %", 100.0 * after / before)),
        ("exit code", &code.unwrap_or(-1)),
    ]);
    section.must(code == Some(4), || format!("the exit code is {code:?}"));
    section.must(lost == [(AGENTS[2], AgentEnd::Lost)], || format!("lost: {lost:?}"));
    section.must(document.missing_parts().eq([3]), || "another part is missing".to_owned());
    let share = after / before;
    section.must((0.65..0.69).contains(&share), || format!("{share:.3} of the rate after the cut"));
    Ok(())
}

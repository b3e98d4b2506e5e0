//! Users of scenarios: a hundred thousand of them in one process, and what their steps cost beside
//! the same requests of a list.

use anyhow::{Context, Result};

use super::paired::Paired;
use crate::rig::{Fixture, Section, Server, clients, table};

/// The scenarios and the list, from the root of the repository.
const SHOP: &str = "lab/src/bench/users/shop.toml";
const STEPS: &str = "lab/src/bench/users/steps.toml";
const LIST: &str = "lab/src/bench/users/list.txt";

/// Users who are there at once, and those who arrive in a second: each stays for five seconds.
const USERS: u64 = 100_000;
const ARRIVALS_RPS: u64 = 20_000;

/// Steps of a user, and users of a connection.
const USER_STEPS: u64 = 5;
const STREAMS: u64 = 128;

/// Time until as many users leave as arrive, in seconds.
const WARMUP_S: u32 = 11;

/// Largest resident memory, and the largest p99 of the time from a request's due time to its send.
const RESIDENT_MAX_MIB: f64 = 600.0;
const LAG_MAX_MS: f64 = 5.0;

/// Least ratio of requests per CPU-second, of users to a list.
const EFFICIENCY_MIN: f64 = 0.6;

pub(super) fn users(fixture: &Fixture) -> Result<Section> {
    let question = "Does one process hold 100,000 users who think, and what do their steps cost?";
    let mut section = Section::new("Users", question, "Scenarios of five steps.");
    many(fixture, &mut section)?;
    beside_list(fixture, &mut section)?;
    Ok(section)
}

/// A hundred thousand users on the shop, who send a request each second.
fn many(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let seconds = fixture.span(60, 12);
    let server = Server::weir(&fixture.weir, fixture.placement.server, "--threads 1 --shop")?;
    let flags = format!(
        "-t1 -R {ARRIVALS_RPS} -c {USERS} --http 2 --streams {STREAMS} -d{seconds}s \
         --warmup {WARMUP_S}s --scenario {SHOP}"
    );
    let (_, document) = fixture.timed_weir(&flags, &server.url)?;
    let lag = document.latency.send_lag.headline();
    let lag_ms = |p: f64| lag.percentile(p).map_or(f64::NAN, |value| value.ns as f64 / 1e6);
    let [lag_p50_ms, lag_p99_ms] = [50.0, 99.0].map(lag_ms);
    let resident_mib = clients::resident_mib(&document);
    let sent_rps = document.throughput.sent_rps;
    let scenario = document.names.iter().find(|name| name.is_of_users());
    let of_users = &scenario.context("the document has no scenario")?.results.outcomes;
    let failed = clients::failures(&document);
    section.begin_table(&format!(
        "A user takes a token from `weir serve --shop` and reads four pages with it, and thinks \
         for a second after each: `{flags}`. Each has a stream of one of {} connections. At most \
         {RESIDENT_MAX_MIB} MiB may be resident, no request fail, and 99% leave within \
         {LAG_MAX_MS} ms.",
        table::thousands(USERS.div_ceil(STREAMS))
    ));
    section.row(&[
        ("users at a time", &table::thousands(USERS)),
        ("arrived", &table::thousands(scenario.map_or(0, |name| name.results.planned))),
        ("completed", &table::thousands(of_users.ok)),
        ("requests/s", &table::rate(sent_rps)),
        ("failed", &table::thousands(failed)),
        ("lag p50, ms", &format!("{lag_p50_ms:.2}")),
        ("lag p99, ms", &format!("{lag_p99_ms:.2}")),
        ("resident MiB", &format!("{resident_mib:.1}")),
    ]);
    section.must(failed == 0, || format!("{failed} requests failed"));
    section.must(resident_mib <= RESIDENT_MAX_MIB, || format!("{resident_mib:.1} MiB resident"));
    let wanted_rps = 0.99 * (ARRIVALS_RPS * USER_STEPS) as f64;
    section.must_if_quiet(sent_rps >= wanted_rps, || format!("{sent_rps:.0} requests/s"));
    section.must_if_quiet(lag_p99_ms <= LAG_MAX_MS, || format!("lag of {lag_p99_ms:.2} ms at p99"));
    section.show_columns(&["users at a time", "requests/s", "lag p99, ms", "resident MiB"]);
    section.verdict(format!(
        "{} users sent {} requests/s from one thread, in {resident_mib:.0} MiB.",
        table::thousands(USERS),
        table::rate(sent_rps)
    ));
    Ok(())
}

/// Users with steps and a captured value against a list of the same requests.
fn beside_list(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.weir_serve()?;
    let load = format!("-t1 -c50 -d{}s --warmup 0 --no-preflight", fixture.options.seconds);
    let sides = [format!("--from {LIST}"), format!("--scenario {STEPS}")];
    let names = ["a list", "users"].map(str::to_owned);
    let paired = Paired::run("users", fixture.options.rounds, &names, |at| {
        Ok(fixture.timed_weir(&format!("{load} {}", sides[at]), &server.url)?.0)
    })?;
    section.begin_table(&format!(
        "Requests per CPU-second of users without pauses, who send a captured value, divided by \
         those of a list of the same paths: a closed loop, `{load}`, on `weir serve`, {} rounds. \
         At least {EFFICIENCY_MIN} is aimed at.",
        paired.rounds()
    ));
    for (at, name) in names.iter().enumerate() {
        section.row(&[
            ("requests of", name),
            ("requests per CPU-second, ratio", &paired.efficiency_cell(at)),
            ("µs CPU per request", &format!("{:.2}", paired.cost_us(at))),
        ]);
    }
    let efficiency = paired.efficiency(1);
    section.must(efficiency.median >= EFFICIENCY_MIN, || {
        format!("{} of a list's requests per CPU-second", table::estimate(&efficiency))
    });
    section.verdict(format!(
        "Their steps have {} of a list's requests per CPU-second.",
        table::estimate(&efficiency)
    ));
    Ok(())
}

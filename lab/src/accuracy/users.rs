//! V43: users of scenarios on a shop in Python. For each user the shop has a cookie jar of Python's
//! own library, a session and a token; its log has the requests by step, and those that broke a
//! rule.

mod shop_counts;
mod shop_load;

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use weir_result::Document;

use crate::accuracy::interop::server::ServerLog;
use crate::rig::{Fixture, Section, thousands, write_certificate};
use shop_counts::{BrokenRule, logged, reported};
use shop_load::{LoadProcesses, RATE_RPS, ShopLoad};

/// The scenario, from the root of the repository.
const SCENARIO: &str = "lab/src/accuracy/users/shop.toml";

/// Users of a load, those of a quick run, and those of a planted fault.
const USERS: u64 = 10_000;
const USERS_QUICK: u64 = 500;
const USERS_PLANTED: u64 = 50;

const PLAIN: ShopLoad =
    ShopLoad { is_http2: false, is_tls: false, is_open_loop: false, processes: LoadProcesses::One };

/// Returns each protocol by each of the processes, and an open loop.
fn loads() -> Vec<ShopLoad> {
    let mut loads = vec![ShopLoad { is_open_loop: true, ..PLAIN }];
    for processes in [LoadProcesses::One, LoadProcesses::Parts, LoadProcesses::Agents] {
        for (is_tls, is_http2) in [(false, false), (false, true), (true, false), (true, true)] {
            loads.push(ShopLoad { is_http2, is_tls, processes, ..PLAIN });
        }
    }
    loads
}

/// A change of the scenario, and the rules that its users break.
struct PlantedFault {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    rules: &'static [&'static str],
}

const PLANTS: [PlantedFault; 3] = [
    PlantedFault {
        name: "requests in the names of other users",
        from: "X-User = \"{{seq}}\"",
        to: "X-User = \"{{rand:1:9}}\"",
        rules: &["cookies", "foreign session", "foreign token"],
    },
    PlantedFault {
        name: "CSRF tokens with a character more",
        from: "{{user.csrf}}",
        to: "{{user.csrf}}x",
        rules: &["csrf"],
    },
    PlantedFault {
        name: "captured texts with a character more",
        from: "{{user.note}}",
        to: "{{user.note}}x",
        rules: &["escapes"],
    },
];

/// Runs case V43 of METHOD 2.1.
pub(super) fn users(fixture: &Fixture) -> Result<Section> {
    let users = fixture.span(USERS, USERS_QUICK);
    let mut section = Section::new(
        "users on a shop in Python",
        "Does each user send its own cookies and tokens, and do counts agree?",
        format!(
            "{} users of each load log in, take a token and make three calls. The shop has an \
             `http.cookiejar` for each user, and each `Cookie` field equals the one that this jar \
             would send. No request has another user's session or token, a wrong CSRF token, or a \
             wrong body. Users, requests by step, and those with a good response equal the shop's \
             log; the latter only in a closed loop, since a step due after the window of an open \
             one ({RATE_RPS} users per second) has no result. The shop notices each fault that is \
             planted into the scenario.",
            thousands(users)
        ),
    );
    write_certificate(&fixture.directory)?;
    let mut versions = BTreeSet::new();
    for load in &loads() {
        versions.insert(compare(fixture, load, users, &mut section)?);
    }
    section.verdict(format!(
        "{} users, {} requests: {} broken rules.",
        thousands(section.sum("users")),
        thousands(section.sum("requests")),
        thousands(section.sum("broken rules")),
    ));
    for plant in &PLANTS {
        notice(fixture, plant, &mut section)?;
    }
    let versions: Vec<String> = versions.into_iter().collect();
    section.note(format!("Servers: {}.", versions.join("; ")));
    Ok(section)
}

/// Adds the row of a load. Returns the versions of the shop's libraries.
fn compare(
    fixture: &Fixture,
    load: &ShopLoad,
    users: u64,
    section: &mut Section,
) -> Result<String> {
    let flags = load.flags(users);
    let begun = Instant::now();
    let RanLoad { document, log } = run(fixture, load, &flags, SCENARIO)?;
    let seconds = begun.elapsed().as_secs_f64();
    let reported = reported(&document)?;
    let logged = logged(&log, load.is_open_loop)?;
    let broken = BrokenRule::all(&log)?;
    let differences = reported.differences(&logged);
    let differs = if differences.is_empty() { "–".to_owned() } else { differences.join("; ") };
    let of = |name: &str| thousands(logged.of(name));
    let name = load.describe();
    section.row(&[
        ("load", &name),
        ("flags", &format!("`{flags}`")),
        ("users", &of("users")),
        ("requests", &of("requests")),
        ("page", &of("page, reached")),
        ("login", &of("login, reached")),
        ("token", &of("token, reached")),
        ("products", &of("products, reached")),
        ("order", &of("order, reached")),
        ("broken rules", &thousands(broken.iter().map(|rule| rule.requests).sum())),
        ("disagreements", &differs),
        ("seconds", &format!("{seconds:.0}")),
    ]);
    let completed = reported.of("users");
    section.must(completed == users, || format!("{name}: {completed} users completed"));
    section.fail(broken.iter().map(|rule| format!("{name}: {}", rule.describe())));
    section.fail(differences.iter().map(|difference| format!("{name}: {difference}")));
    Ok(log.versions)
}

/// Plants a fault, and adds a note of the rules that the shop found broken.
fn notice(fixture: &Fixture, plant: &PlantedFault, section: &mut Section) -> Result<()> {
    let PlantedFault { name, from, to, rules } = plant;
    let scenario = fs::read_to_string(SCENARIO).context("failed to read the scenario")?;
    ensure!(scenario.contains(from), "the scenario has no {from}");
    let file = fixture.directory.join("planted.toml");
    fs::write(&file, scenario.replace(from, to)).context("failed to write a scenario")?;
    let load = &PLAIN;
    let flags = load.flags(USERS_PLANTED);
    let RanLoad { log, .. } = run(fixture, load, &flags, &file.display().to_string())?;
    let broken = BrokenRule::all(&log)?;
    for rule in *rules {
        let is_noticed = broken.iter().any(|broken| broken.name == *rule);
        section.must(is_noticed, || format!("planted, and not noticed: {name}: {rule}"));
    }
    let broken: Vec<String> =
        broken.iter().map(|rule| format!("{} {}", rule.name, rule.requests)).collect();
    section.note(format!("Planted: {name}. Broken rules: {}.", broken.join(", ")));
    Ok(())
}

/// A load that has ended.
struct RanLoad {
    document: Document,
    /// The log of the shop.
    log: ServerLog,
}

/// Runs a load with these flags and this file of scenarios on a fresh shop.
fn run(fixture: &Fixture, load: &ShopLoad, flags: &str, scenario: &str) -> Result<RanLoad> {
    let shop = load.shop(fixture).start(fixture)?;
    let url = format!("{}/", shop.url);
    let document = load.run(fixture, &format!("{flags} --scenario {scenario}"), &url);
    let log = shop.finish()?;
    Ok(RanLoad { document: document?, log })
}

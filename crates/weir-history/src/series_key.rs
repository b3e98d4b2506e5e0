//! Key of a series: runs are comparable over time only with the same load on the same machine.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};
use weir_result::{Document, Environment, Plan};

/// The load and the machine of a run, as far as runs of one series share them (METHOD 1.16). Lists
/// have the machine alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesKey {
    /// The plan, without the seed of random arrivals, the address that the host's name resolved to
    /// and the length of the request, which depends on its secrets: all may be new in each run.
    #[serde(skip)]
    pub plan: Value,
    /// Fingerprint of the environment: host, system, kernel, CPU, CPUs online and usable, governor,
    /// version of weir. Null for facts that the machine does not provide.
    pub machine: Value,
}

impl SeriesKey {
    /// Returns the key of a run.
    pub fn of(document: &Document) -> SeriesKey {
        SeriesKey { plan: load(&document.plan), machine: machine(&document.environment) }
    }

    /// Returns the fields in which another key differs: name, value here, value there.
    pub fn differences(&self, other: &SeriesKey) -> Vec<(String, Value, Value)> {
        let mut found = Vec::new();
        differ("plan", &self.plan, &other.plan, &mut found);
        differ("", &self.machine, &other.machine, &mut found);
        without_content(found)
    }
}

fn load(plan: &Plan) -> Value {
    // The path of a Unix socket is nowhere else in the plan.
    let is_path = plan.target.address.starts_with("unix:");
    let address = (!is_path).then_some(("/target", "address"));
    let mut plan = plan.clone();
    plan.load.seed_mut().into_iter().for_each(|seed| *seed = 0);
    let mut plan = serde_json::to_value(plan).unwrap_or_default();
    let left_out = [
        ("/list/order", "seed"),
        ("/list/templates", "seed"),
        ("/load/due/log", "name"),
        ("/request", "wire_bytes"),
    ];
    for (place, field) in left_out.into_iter().chain(address) {
        plan.pointer_mut(place).and_then(Value::as_object_mut).map(|of| of.remove(field));
    }
    plan
}

fn machine(environment: &Environment) -> Value {
    json!({
        "host": environment.hostname,
        "system": environment.os,
        "kernel": environment.kernel,
        "cpu": environment.cpu_model,
        "cpus online": environment.cpus_online,
        "cpus usable": environment.cpus_usable,
        "governor": environment.cpu_governor,
        "weir": environment.weir_version,
    })
}

/// Leaves out what follows from another list of requests: the digests say that the lists differ.
fn without_content(mut found: Vec<(String, Value, Value)>) -> Vec<(String, Value, Value)> {
    const DIGEST: &str = "plan.list.sha256";
    // One of both runs has no list.
    if let Some((place, here, there)) = found.iter_mut().find(|(place, ..)| place == "plan.list") {
        let digest = |list: &mut Value| list.get_mut("sha256").map(Value::take).unwrap_or_default();
        (*place, *here, *there) = (DIGEST.to_owned(), digest(here), digest(there));
    }
    if found.iter().any(|(place, ..)| place == DIGEST) {
        let follows = |place: &str| {
            let is_of_log =
                place.starts_with("plan.load.due.log.") && place != "plan.load.due.log.speed";
            is_of_log || (place.starts_with("plan.list.") && place != DIGEST)
        };
        found.retain(|(place, ..)| !follows(place));
    }
    found
}

/// Appends the fields below `place` that differ.
fn differ(place: &str, here: &Value, there: &Value, found: &mut Vec<(String, Value, Value)>) {
    let (Value::Object(mine), Value::Object(theirs)) = (here, there) else {
        if here != there {
            found.push((place.to_owned(), here.clone(), there.clone()));
        }
        return;
    };
    let names: BTreeSet<_> = mine.keys().chain(theirs.keys()).collect();
    let field = |fields: &Map<String, Value>, name: &str| fields.get(name).cloned();
    for name in names {
        let inner = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        let mine = field(mine, name);
        let theirs = field(theirs, name);
        differ(&inner, &mine.unwrap_or_default(), &theirs.unwrap_or_default(), found);
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{Arrivals, DueTimes, IoEngine, ListOrder, ListPlan, Load, Rate, Target};

    use super::*;

    fn poisson(seed: u64, address: &str) -> Plan {
        let rate = Rate { numerator: 100, denominator: 1 };
        Plan {
            load: Load {
                due: Some(DueTimes::constant(rate, Arrivals::Poisson { seed })),
                ..Plan::default().load
            },
            target: Target { address: address.to_owned(), ..Target::default() },
            ..Plan::default()
        }
    }

    #[test]
    fn a_plan_has_neither_seed_nor_resolved_address() {
        assert_eq!(load(&poisson(1, "10.0.0.1:80")), load(&poisson(2, "10.0.0.2:80")));
        assert_ne!(load(&poisson(1, "unix:/a")), load(&poisson(1, "unix:/b")));
        let mut token = poisson(1, "10.0.0.1:80");
        token.request.wire_bytes += 7;
        assert_eq!(load(&poisson(1, "10.0.0.1:80")), load(&token), "of another length");
        let more = poisson(1, "10.0.0.1:80").with_load(|load| load.connections = 11.into());
        assert_ne!(load(&poisson(1, "10.0.0.1:80")), load(&more));
    }

    /// The name of a log's file is no part of the load; another log is one difference.
    #[test]
    fn a_log_is_known_by_its_digest() {
        let key = |sha256: &str, name: &str, lines| {
            let replay = weir_result::ReplayPlan {
                name: name.to_owned(),
                sha256: sha256.to_owned(),
                lines,
                ..weir_result::ReplayPlan::default()
            };
            let list = ListPlan { sha256: sha256.to_owned(), ..ListPlan::default() };
            let plan = Plan {
                list: Some(list),
                load: Load { due: Some(DueTimes::Log(replay)), ..Plan::default().load },
                ..Plan::default()
            };
            SeriesKey { plan: load(&plan), machine: Value::Null }
        };
        assert_eq!(key("ab", "a.log", 1), key("ab", "b.log", 1));
        let found = key("ab", "a.log", 1).differences(&key("cd", "a.log", 2));
        assert_eq!(found, [("plan.list.sha256".to_owned(), json!("ab"), json!("cd"))]);
    }

    fn listed(sha256: &str, order: ListOrder, names: &[&str]) -> Plan {
        let names = names.iter().copied().map(str::to_owned).collect();
        let list = ListPlan { sha256: sha256.to_owned(), order, names, ..ListPlan::default() };
        Plan { list: Some(list), ..Plan::default() }
    }

    #[test]
    fn another_list_is_one_difference_and_another_seed_none() {
        let key = |plan: &Plan| SeriesKey { plan: load(plan), machine: Value::Null };
        let random = |seed| listed("ab", ListOrder::Random { seed }, &["GET /a"]);
        assert_eq!(key(&random(1)), key(&random(2)));
        let other = listed("cd", ListOrder::Random { seed: 1 }, &["GET /b", "GET /c"]);
        assert_ne!(key(&random(1)), key(&other));
        let digest = "plan.list.sha256".to_owned();
        let expected = [(digest.clone(), json!("ab"), json!("cd"))];
        assert_eq!(key(&random(1)).differences(&key(&other)), expected);
        let expected = [(digest, Value::Null, json!("cd"))];
        assert_eq!(key(&Plan::default()).differences(&key(&other)), expected);
        let grouped = listed("ab", ListOrder::Random { seed: 1 }, &["/*"]);
        let names = ("plan.list.names".to_owned(), json!(["GET /a"]), json!(["/*"]));
        assert_eq!(key(&random(1)).differences(&key(&grouped)), [names]);
    }

    #[test]
    fn differences_are_named() {
        let mut environment = Environment::unknown("0.1.0", IoEngine::Epoll);
        let key = |plan: Plan, environment: &Environment| SeriesKey {
            plan: load(&plan),
            machine: machine(environment),
        };
        let before = key(Plan::default(), &environment);
        assert_eq!(before.differences(&before), []);
        environment.kernel = Some("6.1".to_owned());
        let after = key(
            Plan {
                load: Load { connections: 20.into(), ..Plan::default().load },
                ..Plan::default()
            },
            &environment,
        );
        let expected = [
            ("plan.load.connections".to_owned(), json!(10), json!(20)),
            ("kernel".to_owned(), Value::Null, json!("6.1")),
        ];
        assert_eq!(before.differences(&after), expected);
    }
}

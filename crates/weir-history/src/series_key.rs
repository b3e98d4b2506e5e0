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
        found
    }
}

fn load(plan: &Plan) -> Value {
    // The path of a Unix socket is nowhere else in the plan.
    let is_path = plan.target.address.starts_with("unix:");
    let address = (!is_path).then_some(("/target", "address"));
    let mut plan = serde_json::to_value(plan).unwrap_or_default();
    let left_out =
        [("/load/arrivals", "seed"), ("/list/order", "seed"), ("/request", "wire_bytes")];
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
        let (mine, theirs) = (field(mine, name), field(theirs, name));
        differ(&inner, &mine.unwrap_or_default(), &theirs.unwrap_or_default(), found);
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{Arrivals, IoEngine, Load, Rate, Target};

    use super::*;

    fn poisson(seed: u64, address: &str) -> Plan {
        let rate = Rate { numerator: 100, denominator: 1 };
        Plan {
            load: Load::OpenLoop { rate, arrivals: Arrivals::Poisson { seed } },
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
        let more = Plan { connections: 11, ..poisson(1, "10.0.0.1:80") };
        assert_ne!(load(&poisson(1, "10.0.0.1:80")), load(&more));
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
        let after = key(Plan { connections: 20, ..Plan::default() }, &environment);
        let expected = [
            ("plan.connections".to_owned(), json!(10), json!(20)),
            ("kernel".to_owned(), Value::Null, json!("6.1")),
        ];
        assert_eq!(before.differences(&after), expected);
    }
}

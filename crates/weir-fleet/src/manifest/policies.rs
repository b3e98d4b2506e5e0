//! The network policies: pods of the fleet reach the bus, names and the targets; the bus is reached
//! by them alone.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use serde_json::{Value, json};
use weir_runner::{AllowedTarget, PermittedTargets};

use super::objects::{BUS, BUS_PORT, COORDINATOR, ManifestKind, labels, members, object};
use super::settings::ManifestSettings;

const POLICY: ManifestKind =
    ManifestKind { version: "networking.k8s.io/v1", kind: "NetworkPolicy" };

/// Returns the policies.
pub(super) fn policies(settings: &ManifestSettings) -> Vec<Value> {
    let mut policies = Vec::new();
    let port = |port: u16| json!([{ "port": port, "protocol": "TCP" }]);
    let bus = match &settings.other_bus {
        None => {
            let from = json!([{ "podSelector": members(settings) }]);
            let mut policy = object(settings, POLICY, &format!("{}-nats", settings.name), BUS);
            policy["spec"] = json!({
                "egress": [],
                "ingress": [{ "from": from, "ports": port(BUS_PORT) }],
                "podSelector": { "matchLabels": labels(settings, BUS) },
                "policyTypes": ["Egress", "Ingress"],
            });
            policies.push(policy);
            let selector = json!({ "matchLabels": labels(settings, BUS) });
            json!({ "to": [{ "podSelector": selector }], "ports": port(BUS_PORT) })
        }
        Some((host, number)) => match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => {
                let cidr = format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 });
                json!({ "to": [{ "ipBlock": { "cidr": cidr } }], "ports": port(*number) })
            }
            // A policy knows addresses, and no names.
            Err(_) => json!({ "ports": port(*number) }),
        },
    };
    // Without `to`: resolvers on nodes have addresses outside the cluster's networks.
    let names = json!({
        "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }],
    });
    let targets = match &settings.allowed {
        PermittedTargets::Any => vec![json!({})],
        PermittedTargets::Loopback => Vec::new(),
        PermittedTargets::Listed(listed) => listed.iter().map(egress).collect(),
    };
    let egress: Vec<Value> = [bus, names].into_iter().chain(targets).collect();
    let mut policy = object(settings, POLICY, &format!("{}-load", settings.name), "load");
    policy["spec"] = json!({
        "egress": egress,
        "ingress": [],
        "podSelector": members(settings),
        "policyTypes": ["Egress", "Ingress"],
    });
    policies.push(policy);
    policies.extend(coordinator(settings));
    policies
}

/// Returns the policy of what the coordinator alone may do: push its metrics, and have them read.
fn coordinator(settings: &ManifestSettings) -> Option<Value> {
    let further = &settings.pods.egress;
    let metrics_port = settings.pods.metrics_port;
    if further.is_empty() && metrics_port.is_none() {
        return None;
    }
    let name = format!("{}-coordinator", settings.name);
    let mut policy = object(settings, POLICY, &name, COORDINATOR);
    let ingress = metrics_port.map(|port| json!({ "ports": [ports(&(port..=port))] }));
    policy["spec"] = json!({
        "egress": further.iter().map(egress).collect::<Vec<_>>(),
        "ingress": ingress.into_iter().collect::<Vec<_>>(),
        "podSelector": { "matchLabels": labels(settings, COORDINATOR) },
        "policyTypes": ["Egress", "Ingress"],
    });
    Some(policy)
}

/// Returns the rule that allows connections to a target.
fn egress(target: &AllowedTarget) -> Value {
    let (network, prefix) = target.network();
    let mut rule = json!({ "to": [{ "ipBlock": { "cidr": format!("{network}/{prefix}") } }] });
    if !target.ports().is_empty() {
        rule["ports"] = target.ports().iter().map(ports).collect();
    }
    rule
}

fn ports(range: &RangeInclusive<u16>) -> Value {
    match range.start() == range.end() {
        true => json!({ "port": range.start(), "protocol": "TCP" }),
        false => json!({ "endPort": range.end(), "port": range.start(), "protocol": "TCP" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::settings::tests::settings;

    #[test]
    fn the_bus_is_reached_by_the_fleet_alone() {
        let policies = policies(&settings());
        let ingress = &policies[0]["spec"]["ingress"];
        assert_eq!(ingress.as_array().map(Vec::len), Some(1));
        assert_eq!(ingress[0]["ports"], json!([{ "port": 4222, "protocol": "TCP" }]));
        let values = &ingress[0]["from"][0]["podSelector"]["matchExpressions"][0]["values"];
        assert_eq!(*values, json!(["agent", "coordinator"]));
        assert_eq!(policies[0]["spec"]["egress"], json!([]));
    }

    #[test]
    fn agents_reach_the_bus_names_and_targets() {
        let mut settings = settings();
        settings.allowed =
            PermittedTargets::Listed(vec!["10.0.0.0/8:443".parse().expect("a block")]);
        let egress = policies(&settings)[1]["spec"]["egress"].clone();
        assert_eq!(egress.as_array().map(Vec::len), Some(3));
        assert_eq!(egress[2]["to"][0]["ipBlock"]["cidr"], "10.0.0.0/8");
        settings.other_bus = Some(("192.0.2.1".to_owned(), 5222));
        let policies = policies(&settings);
        assert_eq!(policies.len(), 1);
        let bus = &policies[0]["spec"]["egress"][0];
        assert_eq!(bus["to"][0]["ipBlock"]["cidr"], "192.0.2.1/32");
        assert_eq!(bus["ports"][0]["port"], 5222);
    }

    #[test]
    fn the_coordinator_alone_pushes_and_serves_metrics() {
        let mut settings = settings();
        assert_eq!(policies(&settings).len(), 2);
        settings.pods.egress = vec!["10.0.0.9:4318".parse().expect("an address")];
        settings.pods.metrics_port = Some(9_464);
        let spec = &policies(&settings)[2]["spec"];
        assert_eq!(spec["egress"][0]["to"][0]["ipBlock"]["cidr"], "10.0.0.9/32");
        assert_eq!(spec["ingress"][0]["ports"][0]["port"], 9_464);
        let component = &spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"];
        assert_eq!(*component, "coordinator");
    }

    #[test]
    fn targets_become_rules() {
        let rule = |text: &str| egress(&text.parse().expect(text));
        let all_ports = json!({ "to": [{ "ipBlock": { "cidr": "10.1.2.3/32" } }] });
        assert_eq!(rule("10.1.2.3"), all_ports);
        let range = json!({ "port": 8000, "endPort": 8010, "protocol": "TCP" });
        let ports = json!([{ "port": 80, "protocol": "TCP" }, range]);
        let to = json!([{ "ipBlock": { "cidr": "fd00::/8" } }]);
        assert_eq!(rule("[fd00::/8]:80,8000-8010"), json!({ "to": to, "ports": ports }));
    }
}

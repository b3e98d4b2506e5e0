//! Counts of users and of their requests by step, in weir's document and in the log of the shop.

use anyhow::{Context, Result};
use serde_json::Value;
use weir_result::Document;

use crate::accuracy::interop::counts::Counts;
use crate::accuracy::interop::server::{ServerLog, number};

/// Steps of the scenario, each with the request that the shop counts.
const STEPS: [(&str, &str); 5] = [
    ("page", "GET /login"),
    ("login", "POST /login"),
    ("token", "POST /token"),
    ("products", "GET /api/products"),
    ("order", "POST /api/orders"),
];

/// A rule that requests broke.
pub(super) struct BrokenRule {
    pub(super) name: String,
    pub(super) requests: u64,
    example: String,
}

/// Returns weir's counts. An open loop has steps that were due after the window, which are reached
/// and have no result, so good responses are counted in a closed one alone.
pub(super) fn reported(document: &Document) -> Result<Counts> {
    let mut counts = Counts::default();
    let scenario = document.names.iter().find(|name| name.is_of_users());
    let scenario = scenario.context("the document has no scenario")?;
    let sent = &document.accounting.sent;
    counts.add("requests", sent.total - sent.returned);
    counts.add("users", scenario.results.outcomes.ok);
    for (step, _) in STEPS {
        let results = document.names.iter().find(|name| name.name == step);
        let turns = scenario.steps.iter().find(|turns| turns.name == step);
        let (results, turns) = results.zip(turns).with_context(|| format!("no step {step}"))?;
        if !document.plan.load.is_open_loop() {
            counts.add(&format!("{step}, ok"), results.results.outcomes.ok);
        }
        counts.add(&format!("{step}, reached"), turns.counts.reached);
    }
    Ok(counts)
}

/// Returns the counts of the shop under the same names.
pub(super) fn logged(log: &ServerLog, is_open_loop: bool) -> Result<Counts> {
    let mut counts = Counts::default();
    let requests = log.counters["requests"].as_object().context("the log has no requests")?;
    counts.add("requests", requests.values().filter_map(Value::as_u64).sum());
    counts.add("users", number(&log.counters, "users")?);
    for (step, request) in STEPS {
        let received = requests.get(request).and_then(Value::as_u64).unwrap_or(0);
        if !is_open_loop {
            counts.add(&format!("{step}, ok"), received);
        }
        counts.add(&format!("{step}, reached"), received);
    }
    Ok(counts)
}

impl BrokenRule {
    /// Returns the rules that requests broke.
    pub(super) fn all(log: &ServerLog) -> Result<Vec<BrokenRule>> {
        let broken = log.counters["broken"].as_object().context("the log has no rules")?;
        let rule = |name: &String| {
            let requests = number(&log.counters["broken"], name)?;
            let example = log.counters["examples"][name].as_str().unwrap_or("");
            Ok(BrokenRule { name: name.clone(), requests, example: example.to_owned() })
        };
        broken.keys().map(rule).collect()
    }

    /// Describes the rule with the first request that broke it.
    pub(super) fn describe(&self) -> String {
        format!("{} broke the rule of {}: {}", self.requests, self.name, self.example)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_log_of_the_shop_is_read() {
        let counters = json!({
            "requests": {"GET /login": 2, "GET /api/products": 4, "GET /other": 1},
            "broken": {"cookies": 3},
            "examples": {"cookies": "/: sent '', expected 'a=1'"},
            "users": 2,
        });
        let log = ServerLog { versions: String::new(), counters, lines: Vec::new() };
        let counts = logged(&log, false).expect("a log");
        let of = ["requests", "users", "page, ok", "products, reached", "order, ok"];
        assert_eq!(of.map(|name| counts.of(name)), [7, 2, 2, 4, 0]);
        assert_eq!(logged(&log, true).expect("a log").len() + 5, counts.len());
        let [rule] = &BrokenRule::all(&log).expect("a log")[..] else { panic!("one rule") };
        let expected = "3 broke the rule of cookies: /: sent '', expected 'a=1'";
        assert_eq!((rule.requests, rule.describe().as_str()), (3, expected));
    }
}

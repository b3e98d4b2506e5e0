//! The rules of the verdict (METHOD 1.9): about the client, its machine, the arrivals, the
//! statistics, the parts, echoes, and about the server. A rule that lacks its data is `unknown`: it
//! counts neither way.

mod arrivals;
mod client;
mod echoes;
mod machine;
mod measure;
mod parts;
mod server;
mod statistics;

use weir_result::Document;
use weir_result::document::{Rule, RuleOutcome};

pub(crate) use machine::stopped_at_s;
pub(crate) use parts::worst as worst_of_parts;
pub(crate) use server::judge as add_of_server;

/// Judges the rules about the client, its machine, the arrivals, the statistics, the parts and
/// echoes.
pub(crate) fn of(document: &Document) -> Vec<Rule> {
    let mut rules = Vec::new();
    client::judge(document, &mut rules);
    machine::judge(document, &mut rules);
    arrivals::judge(document, &mut rules);
    statistics::judge(document, &mut rules);
    parts::judge(document, &mut rules);
    echoes::judge(document, &mut rules);
    rules
}

/// True if the client was short of CPU time, or queued requests: a percentile of unknown overhead
/// is an upper bound then.
pub(crate) fn is_contended(document: &Document) -> bool {
    let ids = ["cpu-contention", "cpu-steal", "cpu-quota"];
    let mut rules = of(document).into_iter();
    rules.any(|rule| match rule.id.as_str() {
        id if ids.contains(&id) => rule.has_fired(),
        "probe-thread" => rule.outcome >= RuleOutcome::Bound,
        _ => false,
    })
}

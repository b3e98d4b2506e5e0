//! The verdict (METHOD 1.9, 1.10, 1.17): the state of the target, the delivery of the load, the
//! limit of the throughput, and the printed numbers that are bounds.
//!
//! It is derived from the document alone, so that a loaded or merged one is graded like a fresh
//! one. A rule that lacks its data is `unknown`: it counts neither way.

mod arrivals;
mod client;
mod delayed;
mod findings;
mod grade;
mod limit;
mod load;
mod machine;
mod measure;
mod overhead;
mod parts;
mod server;
mod statistics;
mod stops;
mod target;
mod thresholds;
mod watched;

use serde::{Deserialize, Serialize};

use super::Document;

pub(super) use delayed::Delayed;
pub use grade::Grade;
pub use limit::{Limit, LimitedBy};
pub use load::{Delivery, LoadLine};
pub use measure::{Direction, Rule, RuleOutcome, Subject};
pub use overhead::ClientOverhead;
pub use target::{TargetLine, TargetState};

/// The grade of a document, and the lines that explain it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Grade: the worst that applies of void, failed, bounded and clean.
    pub grade: Grade,
    /// Reason why the grade is not `clean`, in one line; empty if it is.
    pub reason: String,
    /// Line `Target`: the state of the target.
    pub target: TargetLine,
    /// Line `Load`: the delivery of the planned load.
    pub load: LoadLine,
    /// Line `Limit`: the limit of the throughput.
    pub limit: Limit,
    /// Ids of the rules that fired, ordered by their estimated effect on the printed numbers,
    /// greatest first.
    pub findings: Vec<String>,
    /// All rules that apply to a run of this kind.
    pub rules: Vec<Rule>,
    /// Client overhead of p50, p90, p99 and p99.9 of the response time of `ok` requests, as far as
    /// it is known.
    pub client_overhead: Vec<ClientOverhead>,
}

impl Verdict {
    /// Derives the verdict on this document, ignoring any verdict that it holds.
    pub fn of(document: &Document) -> Verdict {
        let mut rules = rules_of(document);
        let limit = Limit::of(document, &rules);
        server::judge(document, &limit, &mut rules);
        watched::judge(document, &mut rules);
        let target = TargetLine::of(document);
        let load = LoadLine::of(document, &limit);
        let own = grade::of(document, &target, &limit, &rules);
        let (grade, reason) = parts::worst(document, own);
        Verdict {
            grade,
            reason,
            target,
            load,
            limit,
            findings: findings::ordered(&rules),
            client_overhead: ClientOverhead::of_all(document),
            rules,
        }
    }

    /// The rules with this outcome.
    pub fn with(&self, outcome: RuleOutcome) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.outcome == outcome)
    }

    /// The rules that fired, ordered by their estimated effect on the printed numbers, greatest
    /// first.
    pub fn fired(&self) -> impl Iterator<Item = &Rule> {
        self.findings.iter().filter_map(|id| self.rules.iter().find(|rule| rule.id == *id))
    }

    /// Ids of rules about the client that matter and could not be judged: `cpu-contention`,
    /// `cpu-steal`, `client-stopped`.
    pub fn not_judged(&self) -> Vec<&str> {
        let important = ["cpu-contention", "cpu-steal", "client-stopped"];
        let unknown = self.with(RuleOutcome::Unknown).map(|rule| rule.id.as_str());
        unknown.filter(|id| important.contains(id)).collect()
    }
}

/// The rules about the client, its machine, the arrivals, the statistics and the parts.
fn rules_of(document: &Document) -> Vec<Rule> {
    let mut rules = Vec::new();
    client::judge(document, &mut rules);
    machine::judge(document, &mut rules);
    arrivals::judge(document, &mut rules);
    statistics::judge(document, &mut rules);
    parts::judge(document, &mut rules);
    rules
}

/// True if the client was short of CPU time, or queued requests: a percentile of unknown overhead
/// is an upper bound then.
pub(super) fn is_contended(document: &Document) -> bool {
    let ids = ["cpu-contention", "cpu-steal", "cpu-quota"];
    let mut rules = rules_of(document).into_iter();
    rules.any(|rule| match rule.id.as_str() {
        id if ids.contains(&id) => rule.has_fired(),
        "probe-thread" => rule.outcome >= RuleOutcome::Bound,
        _ => false,
    })
}

/// Returns the limit of the throughput, and true if the client was stopped for long. Requires no
/// bounds.
pub(super) fn limit_of(document: &Document) -> (Limit, bool) {
    let rules = rules_of(document);
    let is_stopped =
        rules.iter().any(|rule| rule.id == "client-stopped" && rule.outcome >= RuleOutcome::Bound);
    (Limit::of(document, &rules), is_stopped)
}

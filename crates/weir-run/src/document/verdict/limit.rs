//! What kept the throughput from being higher: "why not double?"

use serde::{Deserialize, Serialize};

use super::super::Document;
use super::{Rule, RuleOutcome, Subject};
use crate::plan::Load;
use crate::units;

/// What kept the throughput from being higher.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// In one word.
    pub who: LimitedBy,
    /// In a sentence; empty where it is not known.
    pub text: String,
}

/// What may keep the throughput from being higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The server, or the network to it.
    Server,
    /// This program, or its machine.
    Client,
    /// Too few connections for the rate.
    Connections,
    /// Nothing: the plan was met, and asked for no more.
    Plan,
    /// Nobody knows.
    #[default]
    Unknown,
}

impl Rule {
    /// Whether it says that the numbers are the client's, not the server's.
    pub(super) fn is_client_invalid(&self) -> bool {
        let is_ours = matches!(self.subject, Subject::Client | Subject::Machine);
        is_ours && self.outcome == RuleOutcome::Invalid
    }
}

impl Limit {
    pub(super) fn of(document: &Document, rules: &[Rule]) -> Limit {
        let named = |name| rules.iter().find(move |rule: &&Rule| rule.name == name);
        let is_invalid = |rule: &&Rule| rule.outcome == RuleOutcome::Invalid;
        if document.answered() == 0 {
            return Limit::default();
        }
        if named("busy").is_some_and(|rule| is_invalid(&rule)) {
            let share = named("busy").map_or_else(String::new, Rule::figure);
            return limit(LimitedBy::Client, format!("weir itself, busy {share} of the time"));
        }
        if let Some(rule) = rules.iter().find(|rule| rule.is_client_invalid()) {
            return limit(LimitedBy::Client, format!("weir or its machine, see {}", rule.id));
        }
        match document.plan.load {
            Load::ClosedLoop => closed_loop(document, named("busy"), named("client_gap")),
            Load::OpenLoop { .. } => {
                open_loop(document, named("backlog_growth"), named("connection_waits"))
            }
        }
    }
}

fn limit(who: LimitedBy, text: String) -> Limit {
    Limit { who, text }
}

/// In a closed loop somebody always is.
fn closed_loop(document: &Document, busy: Option<&Rule>, gap: Option<&Rule>) -> Limit {
    let Some(busy) = busy.filter(|busy| busy.value.is_some()) else {
        return Limit::default();
    };
    let connections = document.plan.connections;
    let noun = if connections == 1 { "connection" } else { "connections" };
    let through = format!("through {} {noun}", units::count(connections.into()));
    let busiest = busy.figure();
    match gap.and_then(|gap| gap.value) {
        Some(gap) => {
            let waited = units::percent(1.0 - gap);
            let text = format!("the server {through}: they waited for it {waited} of the time");
            limit(LimitedBy::Server, text)
        }
        None => limit(LimitedBy::Server, format!("the server {through}; weir was busy {busiest}")),
    }
}

/// In an open loop the plan is, until something keeps it from being met.
fn open_loop(document: &Document, growth: Option<&Rule>, waits: Option<&Rule>) -> Limit {
    let throughput = &document.throughput;
    let offered = offered(document);
    let fired = |rule: Option<&Rule>| rule.is_some_and(|rule| rule.outcome == RuleOutcome::Caveat);
    let completed = units::rate(throughput.completed_rps);
    if fired(growth) {
        let text = format!("the server: {completed} of {offered} offered");
        return limit(LimitedBy::Server, text);
    }
    if fired(waits) {
        let share = waits.map_or_else(String::new, Rule::figure);
        let connections = units::count(document.plan.connections.into());
        let text = format!("the {connections} connections: {share} of requests waited for one");
        return limit(LimitedBy::Connections, text);
    }
    // One request more or less is the edge of the window.
    let edge = document.accounting.planned as f64 * 0.001 + 1.0;
    let is_met = throughput.completed as f64 + edge >= document.accounting.planned as f64;
    match is_met {
        true => limit(LimitedBy::Plan, format!("the plan: all of {offered} was met")),
        false => Limit::default(),
    }
}

/// The planned rate, as it was asked for.
pub(super) fn offered(document: &Document) -> String {
    match document.plan.load {
        Load::OpenLoop { rate, .. } => units::exact_rate(rate),
        Load::ClosedLoop => String::new(),
    }
}

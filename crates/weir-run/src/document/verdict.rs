//! The verdict: may these numbers be believed, who was the limit, and how much of them is the
//! client's own (METHOD 1.9, 1.10, 1.17).
//!
//! It is drawn from the document alone, so that a loaded or merged one is judged like a fresh one.
//! A rule that lacks its data is `unknown`: it neither passes nor fails.

mod arrivals;
mod attribution;
mod client;
mod limit;
mod machine;
mod server;
mod statistics;
mod thresholds;

use serde::{Deserialize, Serialize};

use self::thresholds::SHARES_WINDOW_LEAST_S;
use super::Document;
use crate::units;

pub use attribution::Attribution;
pub use limit::{Limit, LimitedBy};

/// What a document is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// In one word, over the rules that could be judged.
    pub grade: Grade,
    /// Every rule that applies to a run of this kind.
    pub rules: Vec<Rule>,
    /// What kept the throughput from being higher.
    pub limit: Limit,
    /// How much of the response time is the client's own, at p50, p99 and p99.9, as far as known.
    pub attribution: Vec<Attribution>,
}

/// A verdict in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// No rule that could be judged has anything against it.
    #[default]
    Valid,
    /// True with what the caveats say.
    ValidWithCaveats,
    /// These numbers are not the server's.
    Invalid,
}

/// One rule and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// As METHOD has it: `C2`, `UNSTABLE`. Rules of several figures have several entries.
    pub id: String,
    /// The figure that is judged, for programs: `cpu_wait`.
    pub name: String,
    /// What came of it.
    pub outcome: RuleOutcome,
    /// Whom it is about.
    pub subject: Subject,
    /// The figure; null where it is not known.
    pub value: Option<f64>,
    /// Its unit: `share` (1 is all), `ratio`, `ns`, `count` or `rps`.
    pub unit: String,
    /// Beyond this it is a caveat; null where it never is.
    pub caveat_at: Option<f64>,
    /// Beyond this the run is invalid; null where it never is.
    pub invalid_at: Option<f64>,
    /// In words, with what to do about it where there is something.
    pub text: String,
}

/// What came of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// Nothing to be said.
    Pass,
    /// True, but a reader must know this.
    Caveat,
    /// The numbers are not to be used.
    Invalid,
    /// Good to know, whatever it is.
    Note,
    /// The document does not have what it takes to judge.
    Unknown,
}

/// Whom a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// This program.
    Client,
    /// The server.
    Server,
    /// What was asked of both.
    Workload,
    /// The client's machine and the network at it.
    Machine,
    /// What so many requests can show.
    Statistics,
}

impl Verdict {
    /// The verdict on this document, whatever verdict it has.
    pub fn of(document: &Document) -> Verdict {
        let mut rules = Vec::new();
        let attribution = Attribution::of_all(document);
        client::judge(document, &mut rules);
        machine::judge(document, &mut rules);
        soften_in_short_windows(document, &mut rules);
        arrivals::judge(document, &mut rules);
        statistics::judge(document, &mut rules);
        // What is said of the server depends on whether the client was well.
        server::judge(document, &mut rules);
        Verdict { grade: Grade::of(&rules), limit: Limit::of(document, &rules), rules, attribution }
    }

    /// The rules with this outcome.
    pub fn with(&self, outcome: RuleOutcome) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.outcome == outcome)
    }

    /// Rules on the client that matter and could not be judged: `C2`, `C3`, `C13`. Each is there
    /// only when none of its figures is known.
    pub fn not_judged(&self) -> Vec<&str> {
        let of_id = |id| self.rules.iter().filter(move |rule| rule.id == id);
        ["C2", "C3", "C13"]
            .into_iter()
            .filter(|id| of_id(*id).all(|rule| rule.outcome == RuleOutcome::Unknown))
            .collect()
    }
}

/// What a window shorter than a second shows of CPUs is the luck of a few scheduler ticks: a
/// caveat, and no more. What they did to the times shows in C1 and C6 however short it is.
fn soften_in_short_windows(document: &Document, rules: &mut [Rule]) {
    if document.throughput.window_s >= SHARES_WINDOW_LEAST_S {
        return;
    }
    let of_cpus = rules.iter_mut().filter(|rule| ["C2", "C3", "C4"].contains(&rule.id.as_str()));
    for rule in of_cpus.filter(|rule| rule.outcome == RuleOutcome::Invalid) {
        rule.outcome = RuleOutcome::Caveat;
    }
}

impl Grade {
    fn of(rules: &[Rule]) -> Grade {
        let has = |outcome| rules.iter().any(|rule| rule.outcome == outcome);
        match (has(RuleOutcome::Invalid), has(RuleOutcome::Caveat)) {
            (true, _) => Grade::Invalid,
            (false, true) => Grade::ValidWithCaveats,
            (false, false) => Grade::Valid,
        }
    }
}

/// A rule about to be judged.
#[derive(Clone, Copy, Debug)]
struct Measure {
    id: &'static str,
    name: &'static str,
    subject: Subject,
    unit: Unit,
    caveat_at: Option<f64>,
    invalid_at: Option<f64>,
}

/// The unit of a rule's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Share,
    Ratio,
    Ns,
    Count,
    Rps,
}

impl Measure {
    fn new(id: &'static str, name: &'static str, subject: Subject, unit: Unit) -> Measure {
        Measure { id, name, subject, unit, caveat_at: None, invalid_at: None }
    }

    fn caveat_at(self, caveat_at: f64) -> Measure {
        Measure { caveat_at: Some(caveat_at), ..self }
    }

    fn invalid_at(self, invalid_at: f64) -> Measure {
        Measure { invalid_at: Some(invalid_at), ..self }
    }

    /// A figure beyond which limit it may be; the text of a rule that fires has the limit and what
    /// to do.
    fn judge(self, value: f64, fact: &str, remedy: &str) -> Rule {
        let is_beyond = |limit: Option<f64>| limit.is_some_and(|limit| value > limit);
        let (outcome, limit) = match (is_beyond(self.invalid_at), is_beyond(self.caveat_at)) {
            (true, _) => (RuleOutcome::Invalid, self.invalid_at),
            (false, true) => (RuleOutcome::Caveat, self.caveat_at),
            (false, false) => (RuleOutcome::Pass, None),
        };
        let text = match limit {
            Some(limit) => format!("{fact} (limit {}): {remedy}", self.unit.print(limit)),
            None => fact.to_owned(),
        };
        self.rule(outcome, Some(value), text)
    }

    /// A fact that is worth knowing and judges nothing.
    fn note(self, value: Option<f64>, text: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Note, value, text.into())
    }

    /// A rule without its data.
    fn unknown(self, why: &str) -> Rule {
        self.rule(RuleOutcome::Unknown, None, format!("not judged: {why}"))
    }

    fn rule(self, outcome: RuleOutcome, value: Option<f64>, text: String) -> Rule {
        Rule {
            id: self.id.to_owned(),
            name: self.name.to_owned(),
            outcome,
            subject: self.subject,
            value: value.filter(|value| value.is_finite()),
            unit: self.unit.name().to_owned(),
            caveat_at: self.caveat_at,
            invalid_at: self.invalid_at,
            text,
        }
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Share => "share",
            Unit::Ratio => "ratio",
            Unit::Ns => "ns",
            Unit::Count => "count",
            Unit::Rps => "rps",
        }
    }

    fn print(self, value: f64) -> String {
        match self {
            Unit::Share => units::percent(value),
            Unit::Ratio => format!("{value:.2}"),
            Unit::Ns => units::duration(value.round() as u64),
            Unit::Count => units::count(value.round() as u64),
            Unit::Rps => units::rate(value),
        }
    }
}

impl Rule {
    /// Its limits as people read them: `caveat 0.50%, invalid 5.00%`; empty where it has none.
    pub fn limits(&self) -> String {
        let limits = [("caveat", self.caveat_at), ("invalid", self.invalid_at)];
        let known = limits
            .into_iter()
            .filter_map(|(name, limit)| Some(format!("{name} {}", self.unit()?.print(limit?))));
        known.collect::<Vec<_>>().join(", ")
    }

    /// Its figure as people read it; empty where there is none.
    pub fn figure(&self) -> String {
        self.value.zip(self.unit()).map_or_else(String::new, |(value, unit)| unit.print(value))
    }

    fn unit(&self) -> Option<Unit> {
        let units = [Unit::Share, Unit::Ratio, Unit::Ns, Unit::Count, Unit::Rps];
        units.into_iter().find(|unit| unit.name() == self.unit)
    }
}

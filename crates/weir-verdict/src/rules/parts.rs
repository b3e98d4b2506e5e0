//! The parts of a merged document: rules about one client or its machine are judged by the worst
//! part, and the grade is no better than the worst part's (METHOD 1.9).
//!
//! A client that spoils a third of the requests is diluted in the sum of three parts: its p99 of
//! lateness lies at p97 there.

use crate::rules::measure::Measure;
use crate::thresholds::{CLOCK_DRIFT_FINDING, PARTS_TOGETHER_FINDING, START_SPREAD_FINDING_NS};
use weir_result::document::{
    Document, Grade, PartSection, Rule, RuleOutcome, RuleUnit, SendMethod, Subject,
};
use weir_text::setting::{IO, START_AT};
use weir_text::units;

/// Replaces rules about the client and its machine that are worse in a part, and judges if the
/// parts ran together.
pub(crate) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    for section in &document.parts {
        let is_of_client =
            |rule: &&Rule| matches!(rule.subject, Subject::Client | Subject::Machine);
        let fired = section.verdict.rules.iter().filter(|rule| rule.has_fired());
        for worse in fired.filter(is_of_client) {
            let theirs = of_part(worse, &document.part_in_words(section.part.index()));
            match rules.iter_mut().find(|rule| rule.id == worse.id) {
                Some(rule) if rank(rule) <= rank(worse) => *rule = theirs,
                Some(_) => {}
                None => rules.push(theirs),
            }
        }
    }
    rules.extend(apart(document));
    rules.extend(spread(document));
    rules.extend(drift(document));
    rules.extend(alike(document));
}

/// Order of severity of a rule; of rules alike in it a part's own stands, which names the remedy on
/// its machine.
fn rank(rule: &Rule) -> (RuleOutcome, u64) {
    // Weights lie between 0 and 1, where bits and numbers have the same order.
    (rule.outcome, rule.weight.to_bits())
}

/// Returns a part's rule with the part in its sentence: `late sends in part 2: …`.
fn of_part(rule: &Rule, part: &str) -> Rule {
    let text = match rule.text.split_once(": ") {
        Some((what, rest)) => format!("{what} in {part}: {rest}"),
        None => format!("{part}: {}", rule.text),
    };
    Rule { text, ..rule.clone() }
}

/// Judges the share of the window in which all parts ran; `None` if fewer than two are known.
fn apart(document: &Document) -> Option<Rule> {
    let (last, first, share) = document.parts_overlap()?;
    let measure =
        Measure::new("parts-apart", "parts not together", Subject::Workload, RuleUnit::Share)
            .fires_below()
            .finding_at(PARTS_TOGETHER_FINDING)
            .weight(1.0 - share);
    let together = format!("all parts ran in {} of the window", units::percent(share));
    let evidence = match share < PARTS_TOGETHER_FINDING {
        true => {
            let [first, last] = [first, last].map(|window| document.part_in_words(window.part));
            format!("{together}: {first} ended first, {last} began last")
        }
        false => together,
    };
    let remedy = format!("start all together ({START_AT}), set the clocks");
    Some(measure.judge(share, &evidence, &remedy))
}

/// Judges the longest time that can lie between the begins of two agents; `None` without agents, or
/// if one begin is unknown.
fn spread(document: &Document) -> Option<Rule> {
    let spread_ns = document.fleet.as_ref()?.start_spread_ns?;
    let measure = Measure::new(
        "start-spread",
        "agents that did not begin together",
        Subject::Workload,
        RuleUnit::Ns,
    );
    let evidence = format!("up to {} lie between two starts", units::duration(spread_ns));
    let remedy = "use a bus that all agents reach faster, or agents with one clock";
    Some(measure.finding_at(START_SPREAD_FINDING_NS).judge(spread_ns as f64, &evidence, remedy))
}

/// Judges the agent whose clock runs at the most different rate; `None` if none is known.
fn drift(document: &Document) -> Option<Rule> {
    let agents = document.fleet.iter().flat_map(|fleet| &fleet.agents);
    let known = agents.filter_map(|agent| Some((agent.drift_least()?, &agent.name)));
    let (least, name) = known.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let measure = Measure::new(
        "clock-drift",
        "an agent's clock of another rate",
        Subject::Workload,
        RuleUnit::Share,
    );
    let evidence = format!("the clock of agent {name} runs at least {:.0} ppm off", least * 1e6);
    let remedy = "synchronise the machines' clocks (NTP), or leave that machine out";
    Some(measure.finding_at(CLOCK_DRIFT_FINDING).judge(least, &evidence, remedy))
}

/// Judges if all parts send in the same way; `None` unless it is known of two.
fn alike(document: &Document) -> Option<Rule> {
    let known = |section: &PartSection| Some((section.part.index(), section.sends_by?));
    let methods: Vec<(u32, SendMethod)> = document.parts.iter().filter_map(known).collect();
    let ((first, own), others) = methods.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let differ: Vec<&(u32, SendMethod)> =
        others.iter().filter(|(_, method)| method != own).collect();
    let words = |method: &SendMethod| format!("{}, {}", method.io.name(), method.pacing.name());
    let evidence = match differ.first() {
        None => format!("all by {}", words(own)),
        Some((part, other)) => {
            let [first, part] = [*first, *part].map(|index| document.part_in_words(index));
            format!("{first} by {}; {part} by {}", words(own), words(other))
        }
    };
    let measure = Measure::new(
        "parts-alike",
        "parts that send in other ways",
        Subject::Workload,
        RuleUnit::Count,
    );
    let remedy = format!("use machines that are alike, or an engine that all have ({IO})");
    Some(measure.finding_at(0.0).judge(differ.len() as f64, &evidence, &remedy))
}

/// Returns the grade and its reason, or the worst part's if that part is worse.
pub(crate) fn worst(document: &Document, grade: Grade, reason: String) -> (Grade, String) {
    // The first of those that are equally bad.
    let worst = document.parts.iter().rev().max_by_key(|section| section.verdict.grade);
    match worst.filter(|section| section.verdict.grade > grade) {
        Some(section) => {
            let PartSection { part, verdict, .. } = section;
            let part = document.part_in_words(part.index());
            (verdict.grade, format!("{part}: {}", verdict.reason))
        }
        None => (grade, reason),
    }
}

//! The lines `Target`, `Load` and `Limit`, then the grade if it is not clean, and the findings that
//! move the printed numbers most.

use weir_result::document::{
    AgentSection, Delivery, FleetSection, Grade, LimitedBy, Rule, RuleOutcome, TargetState, Verdict,
};
use weir_result::{AssertionOutcome, AssertionResult, Document};
use weir_text::setting::VERBOSE;
use weir_text::units;

use super::{Block, Detail, Fact, Form, Line, Row, Table, TableKind, Tone};

/// Findings printed without `verbose`; one screen must have room for the numbers.
const FINDINGS_MAX: usize = 3;

/// Missing parts that are named; more are counted.
const PARTS_NAMED: usize = 8;

pub(super) fn blocks(document: &Document, detail: &Detail) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(parts(document).map(|parts| Block::sentence("Parts", parts)));
    blocks.push(Block::sentence("Target", target(document)));
    blocks.push(Block::sentence("Load", load(document)));
    // Nothing limits what is not sent.
    if !document.plan.is_idle() {
        blocks.push(Block::sentence("Limit", limit(document)));
    }
    if detail.verdict {
        blocks.extend(grade(document).map(|grade| Block::sentence("Grade", grade)));
        blocks.extend(findings(document, detail.verbose));
    }
    blocks
}

/// Formats `2 of 3: part 3 is missing; the figures cover 66.7% of the load`, or of a fleet `2 of 3
/// agents delivered; the figures cover 66.7% of the load; agent b was not heard any more after 2.10
/// s`; `None` if all parts are complete.
fn parts(document: &Document) -> Option<Fact> {
    let lost: Vec<String> =
        document.fleet.iter().flat_map(FleetSection::lost).take(PARTS_NAMED).map(loss).collect();
    let missing = missing_parts(document);
    let text = match (lost.is_empty(), missing) {
        (true, missing) => missing?,
        (false, Some(missing)) => format!("{missing}; {}", lost.join("; ")),
        (false, None) => lost.join("; "),
    };
    Some(Fact::text(text).toned(Tone::Caution))
}

/// Describes the loss of an agent, and what it left.
fn loss(agent: &AgentSection) -> String {
    let left = agent.left_in_words().map_or_else(String::new, |left| format!(" ({left})"));
    agent.end_in_words() + &left
}

fn missing_parts(document: &Document) -> Option<String> {
    let first: Vec<String> =
        document.missing_parts().take(PARTS_NAMED).map(|part| part.to_string()).collect();
    let (last, others) = first.split_last()?;
    let (present, all) = (document.parts.len(), document.parts.first()?.part.count());
    let more = (all as usize).saturating_sub(present + first.len());
    let share = units::short_percent(document.share());
    if document.fleet.is_some() {
        // The lost ones are named behind it.
        return Some(format!(
            "{present} of {all} agents delivered; the figures cover {share} of the load"
        ));
    }
    let missing = match (others, more) {
        ([], _) => format!("part {last} is missing"),
        (others, 0) => format!("parts {} and {last} are missing", others.join(", ")),
        _ => format!("parts {} and {more} more are missing", first.join(", ")),
    };
    Some(format!("{present} of {all}: {missing}; the figures cover {share} of the load"))
}

/// Formats `OK`, `DEGRADED: 3.1% timed out`, `FAILED: 100% of responses were 404`.
fn target(document: &Document) -> Fact {
    let target = &document.verdict.target;
    let (word, tone) = match target.state {
        TargetState::Ok => ("OK", Tone::Good),
        TargetState::Degraded => ("DEGRADED", Tone::Caution),
        TargetState::Failed => ("FAILED", Tone::Bad),
    };
    let accounting = &document.accounting;
    let is_unsent = accounting.planned == accounting.never_sent && !document.plan.is_idle();
    if target.state == TargetState::Ok && is_unsent && document.throughput.completed == 0 {
        return Fact::text("unknown: no measured request was sent");
    }
    match target.text.is_empty() {
        true => Fact::text(word).toned(tone),
        false => Fact::text(format!("{word}: {}", target.text)).toned(tone),
    }
}

fn load(document: &Document) -> Fact {
    let load = &document.verdict.load;
    match load.delivery {
        Delivery::AsPlanned if document.accounting.planned == 0 && !document.plan.is_idle() => {
            Fact::text("unknown: nothing was measured")
        }
        Delivery::AsPlanned => Fact::text(&load.text),
        Delivery::Late | Delivery::Incomplete => Fact::text(&load.text).toned(Tone::Caution),
    }
}

/// Formats `client CPU: worker 0 needed a CPU 98.0% of the time`.
fn limit(document: &Document) -> Fact {
    let limit = &document.verdict.limit;
    let by = limit.by.in_words();
    let text = if limit.text.is_empty() { by.to_owned() } else { format!("{by}: {}", limit.text) };
    let is_client = limit.by == LimitedBy::ClientCpu;
    Fact::text(text).toned(if is_client { Tone::Caution } else { Tone::Plain })
}

/// Returns the grade if it is not clean. A reason that is already in the line `Target` is not
/// repeated.
fn grade(document: &Document) -> Option<Fact> {
    let verdict = &document.verdict;
    let tone = match verdict.grade {
        Grade::Clean => return None,
        Grade::Bounded => Tone::Caution,
        Grade::Failed | Grade::Void => Tone::Bad,
    };
    let word = verdict.grade.in_words();
    let text = match verdict.reason.is_empty() || verdict.reason == verdict.target.text {
        true => word.to_owned(),
        false => format!("{word}: {}", verdict.reason),
    };
    Some(Fact::text(text).toned(tone))
}

fn findings(document: &Document, verbose: bool) -> Option<Block> {
    let verdict = &document.verdict;
    // The grade may already contain the sentence.
    let fired = verdict.fired().filter(|rule| !verdict.reason.contains(&rule.text));
    let fired: Vec<&Rule> = fired.collect();
    let shown = if verbose { fired.len() } else { fired.len().min(FINDINGS_MAX) };
    let mut lines: Vec<Line> =
        fired[..shown].iter().map(|rule| Line::item(Fact::text(&rule.text))).collect();
    if shown < fired.len() {
        let more = Fact::counted((fired.len() - shown) as u64, "more finding");
        let fact = more.then(&format!(": {VERBOSE} shows all")).toned(Tone::Aside);
        lines.push(Line { form: Form::Remark, facts: vec![fact] });
    }
    (!lines.is_empty()).then(|| Block::entry("Findings", lines))
}

/// Every rule of the verdict with its figure and its limits, for any outcome.
pub(super) fn rules(verdict: &Verdict) -> Vec<Block> {
    let (columns, rows) = (["rule", "figure", "evidence"], verdict.rules.iter().map(rule_row));
    vec![Block::Table(Table::new(TableKind::Rules, "Rules", columns, rows))]
}

fn rule_row(rule: &Rule) -> Row {
    let (outcome, tone) = match rule.outcome {
        RuleOutcome::Pass => ("pass", Tone::Plain),
        RuleOutcome::Unknown => ("unknown", Tone::Aside),
        RuleOutcome::Note => ("note", Tone::Plain),
        RuleOutcome::Finding => ("finding", Tone::Main),
        RuleOutcome::Bound => ("bound", Tone::Caution),
        RuleOutcome::Void => ("void", Tone::Bad),
    };
    let limits = rule.limits();
    let limits = if limits.is_empty() { limits } else { format!(" [{limits}]") };
    let text = format!("{}{limits}", rule.text);
    Row { tone, ..Row::new(outcome, [rule.id.to_string(), rule.figure(), text]) }
}

/// Assertions and their outcomes. In text they are last, since the end of a log is read first; on a
/// page failed ones are first.
pub(super) fn assertions(document: &Document) -> Vec<Block> {
    if document.assertions.is_empty() {
        return Vec::new();
    }
    let (columns, rows) =
        (["assertion", "measured"], document.assertions.iter().map(assertion_row));
    vec![Block::Table(Table::new(TableKind::Assertions, "", columns, rows))]
}

fn assertion_row(result: &AssertionResult) -> Row {
    let tone = match result.outcome {
        AssertionOutcome::Pass => Tone::Plain,
        AssertionOutcome::Fail => Tone::Bad,
    };
    // The reason of a failure if the value does not show it.
    let reason = result.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let cells = [result.assertion.clone(), result.measured.clone() + &reason];
    Row { tone, ..Row::new(result.outcome.to_string(), cells) }
}

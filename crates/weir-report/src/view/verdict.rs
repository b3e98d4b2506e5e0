//! The lines `Target`, `Load`, `Limit` and `Knee`; and, below the results that they explain, the
//! grade if it is not clean, and the findings. One that does not change a number by a factor is
//! folded.

use weir_result::document::{
    AgentSection, Delivery, FleetSection, Grade, LimitedBy, Rule, RuleOutcome, Subject,
    TargetState, Verdict,
};
use weir_result::{AssertionOutcome, AssertionResult, Document};
use weir_text::setting::VERBOSE;
use weir_text::units;

use super::{Block, Detail, Entry, Fact, Form, Line, Row, Table, TableKind, Tone, knee};

/// Findings that are not folded; one screen must have room for the numbers.
const FINDINGS_MAX: usize = 3;

/// Share of a printed number from which a finding changed it by a factor.
const FACTOR: f64 = 0.5;

/// Missing parts that are named; more are counted.
const PARTS_NAMED: usize = 8;

pub(super) fn blocks(document: &Document, detail: &Detail) -> Vec<Block> {
    let mut blocks = Vec::new();
    // Numbers that are useless have no reader.
    let is_void = detail.verdict && document.verdict.grade == Grade::Void;
    blocks.extend(grade(document).filter(|_| is_void).map(|of| Block::sentence("Grade", of)));
    blocks.extend(parts(document).map(|parts| Block::sentence("Parts", parts)));
    blocks.push(Block::sentence("Target", target(document)));
    blocks.push(Block::sentence("Load", load(document)));
    // Nothing limits what is not sent.
    if !document.plan.is_idle() {
        blocks.push(Block::sentence("Limit", limit(document)));
    }
    blocks.extend(knee::blocks(document, detail));
    blocks
}

/// The grade if it is not clean, nor reported above the numbers, and the findings.
pub(super) fn reasons(document: &Document, detail: &Detail) -> Vec<Block> {
    let is_void = document.verdict.grade == Grade::Void;
    let grade = grade(document).filter(|_| !is_void);
    let grade = grade.map(|grade| Block::sentence("Grade", grade));
    grade.into_iter().chain(findings(document, detail)).collect()
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
    let present = document.parts.len();
    let all = document.parts.first()?.part.count();
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
    let results = &document.results;
    let is_unsent = results.planned == results.outcomes.never_sent && !document.plan.is_idle();
    if target.state == TargetState::Ok && is_unsent && document.results.completed == 0 {
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
        Delivery::AsPlanned if document.results.planned == 0 && !document.plan.is_idle() => {
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

/// Returns the findings. Those that change a number by a factor are shown, one of each subject; the
/// others stand behind them if the report is verbose, and are folded on a page.
fn findings(document: &Document, detail: &Detail) -> Vec<Block> {
    let verdict = &document.verdict;
    // The grade may already contain the sentence.
    let fired: Vec<&Rule> =
        verdict.fired().filter(|rule| !verdict.reason.contains(&rule.text)).collect();
    let shown = striking(document, &fired);
    let is_shown = |rule: &&&Rule| shown.iter().any(|other| other.id == rule.id);
    let folded: Vec<&Rule> = fired.iter().filter(|rule| !is_shown(rule)).copied().collect();
    let item = |rule: &&Rule| Line::item(Fact::text(&rule.text));
    let mut lines: Vec<Line> = shown.iter().map(item).collect();
    let noun = if shown.is_empty() { "finding" } else { "more finding" };
    let count = Fact::counted(folded.len() as u64, noun);
    if detail.plots {
        let open = (!lines.is_empty()).then(|| Block::entry("Findings", lines));
        let lines: Vec<Line> = folded.iter().map(item).collect();
        let is_closed = !lines.is_empty();
        let closed = is_closed.then_some(Block::Folded(Entry { label: count.text, lines }));
        return open.into_iter().chain(closed).collect();
    }
    match detail.verbose {
        true => lines.extend(folded.iter().map(item)),
        false if !folded.is_empty() => {
            let lists = if folded.len() == 1 { "shows it" } else { "lists them" };
            let fact = count.then(&format!(": {VERBOSE} {lists}")).toned(Tone::Aside);
            let form = if lines.is_empty() { Form::Sentence } else { Form::Remark };
            lines.push(Line { form, facts: vec![fact] });
        }
        false => {}
    }
    (!lines.is_empty()).then(|| Block::entry("Findings", lines)).into_iter().collect()
}

/// Returns the findings that void a run or change a number by a factor, the first of each subject:
/// several about the client have one cause, and one remedy.
fn striking<'r>(document: &Document, fired: &[&'r Rule]) -> Vec<&'r Rule> {
    let is_late = document.verdict.load.delivery == Delivery::Late;
    let mut shown: Vec<&Rule> = Vec::new();
    for &rule in fired {
        let is_striking = rule.outcome == RuleOutcome::Void || rule.weight >= FACTOR;
        // The line `Load` says it.
        let is_reported = is_late && rule.id == "late-sends";
        let is_first = shown.iter().all(|other| !is_of_one_side(other, rule));
        if is_striking && !is_reported && is_first && shown.len() < FINDINGS_MAX {
            shown.push(rule);
        }
    }
    shown
}

/// True if both rules are about the client with its machine, or about one other subject.
fn is_of_one_side(one: &Rule, other: &Rule) -> bool {
    let is_ours = |rule: &Rule| matches!(rule.subject, Subject::Client | Subject::Machine);
    one.subject == other.subject || is_ours(one) && is_ours(other)
}

/// Every rule of the verdict with its figure and its limits, for any outcome.
pub(super) fn rules(verdict: &Verdict) -> Vec<Block> {
    let columns = ["rule", "figure", "evidence"];
    let rows = verdict.rules.iter().map(rule_row);
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
    let columns = ["assertion", "measured"];
    let rows = document.assertions.iter().map(assertion_row);
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

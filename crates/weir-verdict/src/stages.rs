//! The verdict on each stage of a load (METHOD 1.24): the lines `Target`, `Load` and `Limit`, and
//! the grade. The classes, the lags and the rates are those of the stage. What is measured for the
//! whole window alone, such as CPU time, counts in each stage; a stop of the client in the one
//! where it was.

use weir_result::document::{
    Delivery, Document, Grade, Limit, LimitedBy, LoadLine, Rule, RuleOutcome, SliceEntry,
    StageSection, StageVerdict, TargetLine, TargetState,
};
use weir_text::units;

use crate::thresholds::{LATE_NS, LATE_SHARE, NEVER_SENT_SHARE};
use crate::{grade, limit, rules, target};

/// Least ratio of two rates that are different steps.
const DIFFERENT_RATE: f64 = 1.01;

/// Returns the verdict on each stage of a document that has its bounds and its own verdict; `None`
/// for one in which no request was due.
pub(crate) fn verdicts(document: &Document) -> Vec<Option<StageVerdict>> {
    let stages = document.stages.iter().enumerate();
    stages
        .map(|(index, stage)| (stage.results.planned > 0).then(|| of(document, index, stage)))
        .collect()
}

fn of(document: &Document, index: usize, stage: &StageSection) -> StageVerdict {
    let slices = slices(document, stage);
    let target = target_of(document, stage, &slices);
    let load = load_of(document, stage);
    let limit = limit_of(document, index, stage);
    let (grade, reason) = grade_of(document, stage, &target, &limit);
    StageVerdict { grade, reason, target, load, limit }
}

/// Returns the slices of a stage.
pub(crate) fn slices<'d>(document: &'d Document, stage: &StageSection) -> Vec<&'d SliceEntry> {
    let begin = document.slices.partition_point(|slice| slice.start_s < stage.start_s);
    let end = document.slices.partition_point(|slice| slice.start_s < stage.end_s);
    document.slices[begin..end.max(begin)].iter().collect()
}

/// Derives the line `Target`. Statuses and kinds of errors are not counted by stage.
fn target_of(document: &Document, stage: &StageSection, slices: &[&SliceEntry]) -> TargetLine {
    let sent = stage.results.planned.saturating_sub(stage.results.outcomes.never_sent);
    if sent == 0 {
        return TargetLine::default();
    }
    let share = |count: u64| count as f64 / sent as f64;
    let good = stage.results.not_failed();
    let failed_share = share(sent.saturating_sub(good));
    let length_s = stage.end_s - stage.start_s;
    let silent_share = target::silent_s(document, slices, 0.0) / length_s.max(f64::MIN_POSITIVE);
    let of_requests = target::state_of(failed_share, good > 0);
    let of_time = target::state_of(silent_share, good > 0);
    let percent = |count: u64| units::short_percent(share(count));
    let text = match of_requests.max(of_time) {
        TargetState::Ok => String::new(),
        _ if of_time > of_requests => {
            format!("no response for {} of the stage", units::short_percent(silent_share))
        }
        _ => {
            let classes = [
                (stage.results.outcomes.timed_out, "timed out"),
                (
                    stage
                        .results
                        .outcomes
                        .in_flight_at_end
                        .saturating_sub(stage.results.open_streams()),
                    "got no response by the end",
                ),
                (stage.results.outcomes.transport_error, "ended without a response"),
                (stage.results.outcomes.bad_response, "got a response that is no success"),
            ];
            let worst = classes.into_iter().max_by_key(|(count, _)| *count);
            worst.map_or_else(String::new, |(count, how)| format!("{} {how}", percent(count)))
        }
    };
    TargetLine { state: of_requests.max(of_time), failed_share, text }
}

/// Derives the line `Load` from the lags of the requests due in the stage.
fn load_of(document: &Document, stage: &StageSection) -> LoadLine {
    let in_time = format!(
        "{} were due in the stage and {} sent in it",
        units::count(stage.results.planned),
        units::count(stage.sent)
    );
    let share = stage.results.outcomes.never_sent as f64 / stage.results.planned.max(1) as f64;
    // One request at the edge of the window is not a missed plan.
    if stage.results.outcomes.never_sent > 1 && share >= NEVER_SENT_SHARE {
        let why = if document.run.interrupted { "the run was stopped" } else { &in_time };
        let missing = units::count(stage.results.outcomes.never_sent);
        let text =
            format!("{} never sent ({missing} requests): {why}", units::short_percent(share));
        return LoadLine { delivery: Delivery::Incomplete, text };
    }
    if let Some(text) = late(stage) {
        return LoadLine { delivery: Delivery::Late, text: format!("{text}; {in_time}") };
    }
    LoadLine { delivery: Delivery::AsPlanned, text: format!("as planned: {}", stage.load) }
}

/// Reports the lateness of sends, and its cause. The service time is not measured by stage: the
/// median response time stands for it.
fn late(stage: &StageSection) -> Option<String> {
    let lag_ns = stage.send_lag.as_ref()?.ok.percentile(99.0)?.ns;
    let p50_ns = stage.results.response_time.ok.percentile(50.0).map_or(0, |value| value.ns);
    if lag_ns as f64 <= LATE_NS.max(LATE_SHARE * p50_ns as f64) {
        return None;
    }
    let of_client = stage.sched_lag.as_ref().and_then(|lag| lag.ok.max_ns).unwrap_or(0);
    let why = match of_client >= lag_ns / 2 {
        true => "the client was late",
        false => "they waited for a free connection",
    };
    let lag = units::duration(lag_ns);
    Some(format!("late: 1% of requests were sent {lag} or more after they were due: {why}"))
}

/// Derives the line `Limit`. Only the plan is met or missed by stage; all other evidence is of the
/// whole window.
fn limit_of(document: &Document, index: usize, stage: &StageSection) -> Limit {
    let whole = &document.verdict.limit;
    if stage.results.completed == 0
        && stage.results.outcomes.ok + stage.results.outcomes.bad_response == 0
    {
        return Limit::default();
    }
    let of_whole = |limit: Limit| Limit { text: format!("over the run: {}", limit.text), ..limit };
    // A closed loop has no plan that a stage could meet.
    if whole.by == LimitedBy::ClientCpu || !document.plan.load.is_open_loop() {
        return of_whole(whole.clone());
    }
    if has_met_rate(stage) && backlog_before(document, index) <= edge(stage) {
        let text = format!("all of {} was met", units::round_rate(stage.planned_rps));
        return Limit { by: LimitedBy::Rate, text };
    }
    let missed = limit::of_missed_rate(document, &document.verdict.rules, stage.planned_rps);
    missed.map(of_whole).unwrap_or_default()
}

/// True if the responses in a stage are as many as were due in it, with none left at its end.
fn has_met_rate(stage: &StageSection) -> bool {
    let edge = edge(stage);
    stage.results.completed + edge >= stage.results.planned
        && stage.results.outcomes.never_sent <= 1
        && stage.backlog <= edge
}

/// Number of requests that the edges of a stage can move into it or out of it.
fn edge(stage: &StageSection) -> u64 {
    stage.results.planned / 1_000 + 1
}

/// Number of requests that were due before a stage and unsent at its start.
fn backlog_before(document: &Document, index: usize) -> u64 {
    index.checked_sub(1).map_or(0, |last| document.stages[last].backlog)
}

/// The rates of steps between which a target stopped to keep up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSteps {
    /// Greatest rate below `missed_rps` that was met by successful responses, per second.
    pub met_rps: Option<f64>,
    /// Least rate that was not, per second.
    pub missed_rps: Option<f64>,
    /// Index of the stage with that rate.
    pub missed_in: Option<usize>,
    /// True if the rate was answered there, but not by successful responses.
    pub has_failed: bool,
}

/// Returns the rates between which the target stopped to keep up; `None` with fewer than two stages
/// of different constant rates. A stage that inherits a backlog shows nothing about its own rate.
pub fn steps(document: &Document) -> Option<RateSteps> {
    let planned = document.plan.load.stages().iter();
    let all = planned.zip(&document.stages).enumerate();
    let constant = all.filter(|(_, (planned, _))| planned.from.rps() == planned.to.rps());
    let found = constant.map(|(index, (_, stage))| RateStep {
        index,
        rps: stage.planned_rps,
        has_met: has_met_rate(stage),
        is_ok: stage.verdict.as_ref().is_some_and(|of| of.target.state == TargetState::Ok),
        inherits: backlog_before(document, index) > edge(stage),
    });
    let mut steps: Vec<RateStep> = found.filter(|step| step.rps > 0.0).collect();
    steps.sort_by(|a, b| a.rps.total_cmp(&b.rps));
    if steps.last()?.rps < DIFFERENT_RATE * steps.first()?.rps {
        return None;
    }
    let missed = steps.iter().find(|step| !(step.inherits || step.has_met && step.is_ok));
    let limit_rps = missed.map_or(f64::INFINITY, |step| step.rps);
    let below = steps.iter().rev().filter(|step| step.rps < limit_rps);
    let met = { below }.find(|step| step.has_met && step.is_ok);
    Some(RateSteps {
        met_rps: met.map(|step| step.rps),
        missed_rps: missed.map(|step| step.rps),
        missed_in: missed.map(|step| step.index),
        has_failed: missed.is_some_and(|step| step.has_met),
    })
}

/// A stage with a constant rate.
struct RateStep {
    index: usize,
    /// Planned rate per second.
    rps: f64,
    /// True if it got a response to each request.
    has_met: bool,
    /// True if those were successful.
    is_ok: bool,
    /// True if an earlier stage left it a backlog.
    inherits: bool,
}

/// Returns the grade, and the reason why it is not `clean`.
fn grade_of(
    document: &Document,
    stage: &StageSection,
    target: &TargetLine,
    limit: &Limit,
) -> (Grade, String) {
    let rules = &document.verdict.rules;
    if let Some(rule) = rules.iter().find(|rule| rule.outcome == RuleOutcome::Void) {
        return (Grade::Void, rule.text.clone());
    }
    if target.state == TargetState::Failed {
        return (Grade::Failed, target.text.clone());
    }
    let mut reasons = Vec::new();
    if target.state == TargetState::Degraded {
        reasons.push("target degraded".to_owned());
    }
    let mut bounds = grade::bounds_of(stage.results.response_time.headline());
    if matches!(limit.by, LimitedBy::ClientCpu | LimitedBy::Connections) {
        bounds.push("throughput".to_owned());
    }
    if !bounds.is_empty() {
        let are = if bounds.len() == 1 { "is a bound" } else { "are bounds" };
        reasons.push(format!("{} {are}", grade::listed(&bounds)));
    }
    let is_stop = |rule: &&Rule| rule.id == "client-stopped" && rule.outcome == RuleOutcome::Bound;
    let stopped_at_s = rules::stopped_at_s(document).unwrap_or(f64::INFINITY);
    let is_here = (stage.start_s..stage.end_s).contains(&stopped_at_s);
    let is_stop = |rule: &&Rule| is_here && is_stop(rule);
    reasons.extend(rules.iter().find(is_stop).map(|rule| rule.text.clone()));
    match reasons.is_empty() {
        true => (Grade::Clean, String::new()),
        false => (Grade::Bounded, reasons.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_result::document::Results;
    use weir_result::{Arrivals, DueTimes, Outcomes, Plan};

    /// A stage of `planned` requests with these outcomes.
    fn stage(planned: u64, outcomes: Outcomes) -> StageSection {
        let results = Results { planned, outcomes, ..Results::default() };
        StageSection { results, ..StageSection::default() }
    }

    fn ok(ok: u64) -> Outcomes {
        Outcomes { ok, ..Outcomes::default() }
    }

    /// A document with one stage of 10 s, and slices of a second with these responses.
    fn document(stage: StageSection, completed: [u64; 10]) -> Document {
        let slice = |(k, completed): (u32, u64)| SliceEntry {
            start_s: k.into(),
            end_s: (k + 1).into(),
            completed,
            backlog: 1,
            ..SliceEntry::default()
        };
        let slices = (0..).zip(completed).map(slice).collect();
        let stages = vec![StageSection { end_s: 10.0, ..stage }];
        let mut document = Document { slices, stages, ..Document::default() };
        document.results.outcomes.timed_out = 1;
        document.throughput.window_s = 10.0;
        document
    }

    #[test]
    fn the_target_of_a_stage_follows_from_its_classes() {
        let good = || stage(1_000, ok(1_000));
        let check = |stage: StageSection, completed, state, grade, text: &str| {
            let verdict = verdicts(&document(stage, completed)).remove(0).expect("requests");
            let TargetLine { state: found, text: why, .. } = &verdict.target;
            assert_eq!((*found, verdict.grade, why.as_str()), (state, grade, text));
        };
        let fine = TargetState::Ok;
        let degraded = TargetState::Degraded;
        let failed = TargetState::Failed;
        check(good(), [100; 10], fine, Grade::Clean, "");
        let late = Outcomes { timed_out: 20, bad_response: 10, ..ok(970) };
        check(stage(1_000, late), [100; 10], degraded, Grade::Bounded, "2% timed out");
        let refused = Outcomes { transport_error: 600, ..ok(400) };
        check(
            stage(1_000, refused),
            [100; 10],
            failed,
            Grade::Failed,
            "60% ended without a response",
        );
        let silent = [200, 200, 200, 200, 0, 0, 0, 0, 0, 200];
        check(good(), silent, failed, Grade::Failed, "no response for 50% of the stage");
    }

    /// Steps of 100, 200, 300 and 400/s for a second each, of which the server can do 250.
    #[test]
    fn steps_name_the_rates_between_which_the_target_fell_behind() {
        let step = |rps: u64, completed: u64, backlog: u64| {
            let results = Results { completed, ..stage(rps, ok(rps)).results };
            let planned_rps = rps as f64;
            StageSection { results, planned_rps, backlog, ..StageSection::default() }
        };
        let judged = |stages: Vec<StageSection>| {
            let text = stages.iter().map(|of| format!("1s@{}", of.planned_rps));
            let text = text.collect::<Vec<_>>().join(",");
            let stages_of_load = weir_result::parse_stages(&text).expect("stages");
            let due = DueTimes::in_stages(stages_of_load, Arrivals::Uniform);
            let plan = Plan::default().with_load(|load| load.due = Some(due));
            let mut document = Document { plan, stages, ..Document::default() };
            let verdicts = verdicts(&document);
            document.stages.iter_mut().zip(verdicts).for_each(|(of, it)| of.verdict = it);
            steps(&document)
        };
        let broken =
            [step(100, 100, 0), step(200, 200, 0), step(300, 250, 50), step(400, 250, 200)];
        let found = RateSteps {
            met_rps: Some(200.0),
            missed_rps: Some(300.0),
            missed_in: Some(2),
            has_failed: false,
        };
        assert_eq!(judged(broken.to_vec()), Some(found));
        // The stage behind an overload has its backlog, and shows nothing.
        let after = [step(200, 200, 0), step(300, 250, 50), step(100, 100, 50)];
        assert_eq!(judged(after.to_vec()), Some(RateSteps { missed_in: Some(1), ..found }));
        let all = judged(vec![step(100, 100, 0), step(200, 200, 0)]);
        assert_eq!(all, Some(RateSteps { met_rps: Some(200.0), ..RateSteps::default() }));
        let mut refused = step(200, 200, 0);
        refused.results.outcomes = Outcomes { bad_response: 190, ..ok(10) };
        let found = judged(vec![step(100, 100, 0), refused]).expect("two steps");
        assert_eq!((found.met_rps, found.has_failed), (Some(100.0), true));
        assert_eq!(judged(vec![step(100, 100, 0), step(100, 100, 0)]), None);
    }

    #[test]
    fn a_stage_meets_its_rate_if_no_backlog_entered_or_left_it() {
        let with = |backlog: u64, completed: u64| {
            let results = Results { completed, ..stage(1_000, ok(1_000)).results };
            StageSection { results, backlog, ..StageSection::default() }
        };
        let limit = |before: u64, backlog: u64, completed: u64| {
            let first = with(before, 1_000);
            let second = with(backlog, completed);
            let mut document = Document { stages: vec![first, second], ..Document::default() };
            let one = "1".parse().expect("a rate");
            document.plan.load.due = Some(DueTimes::constant(one, Arrivals::Uniform));
            verdicts(&document).remove(1).expect("requests").limit.by
        };
        assert_eq!(limit(2, 2, 998), LimitedBy::Rate);
        for (before, backlog, completed) in [(3, 0, 1_003), (0, 3, 1_000), (0, 0, 997)] {
            assert_eq!(limit(before, backlog, completed), LimitedBy::Unknown);
        }
    }

    #[test]
    fn a_stage_of_connections_has_the_limit_of_the_run() {
        let results = Results { completed: 10, ..stage(10, ok(10)).results };
        let stages = vec![StageSection { results, ..StageSection::default() }];
        let mut document = Document { stages, ..Document::default() };
        document.verdict.limit = Limit { by: LimitedBy::Server, text: "why".to_owned() };
        let limit = verdicts(&document).remove(0).expect("requests").limit;
        assert_eq!((limit.by, limit.text.as_str()), (LimitedBy::Server, "over the run: why"));
    }
}

//! The report of a search: the interval with its evidence, and every trial.

use weir_result::study::{
    BacklogGrowth, SearchBound, SearchClaim, SearchEnd, SearchResult, SearchTrial, TrialUse,
};
use weir_text::setting::{CONNECTIONS, DURATION, MAX_RATE, PRECISE};
use weir_text::units;
use weir_verdict::ShareClaim;

use super::super::{Block, Fact, Line, Row, Section, Table, TableKind, Tone};
use crate::view::plots::study as plots;

/// Independent requests beyond the objective below which trials are too short (METHOD 1.11).
const SUPPORT: f64 = 10.0;

pub(super) fn sections(found: &SearchResult) -> Vec<Section> {
    let (text, tone) = headline(found);
    let mut results = vec![Block::sentence("Highest rate", Fact::text(text).toned(tone))];
    let evidence: Vec<Line> = [(&found.lower, true), (&found.upper, false)]
        .into_iter()
        .filter_map(|(bound, is_lower)| Some(evidence(found, bound.as_ref()?, is_lower)))
        .map(|text| Line::sentence(Fact::text(text)))
        .collect();
    if !evidence.is_empty() {
        results.push(Block::entry("Evidence", evidence));
    }
    results.extend(limit(found).map(|text| Block::sentence("Limit", Fact::text(text))));
    results.extend(remarks(found).into_iter().map(Block::Note));
    results.extend(plots::path(found).map(Block::Plot));
    vec![
        Section { title: "Results", blocks: results },
        Section { title: "Trials", blocks: vec![Block::Table(table(found))] },
    ]
}

/// Returns the interval as a sentence.
pub(crate) fn interval(found: &SearchResult) -> String {
    headline(found).0
}

/// Returns the interval in words.
fn headline(found: &SearchResult) -> (String, Tone) {
    let objective: Vec<&str> = found.claims.iter().map(|claim| claim.text.as_str()).collect();
    let objective = objective.join(" and ");
    let rate = |bound: &SearchBound| units::round_rate(bound.rate_rps);
    match (&found.lower, &found.upper) {
        (Some(lower), Some(upper)) => {
            (format!("between {} and {} with {objective}", rate(lower), rate(upper)), Tone::Main)
        }
        (Some(lower), None) => (format!("≥ {} with {objective}", rate(lower)), Tone::Main),
        (None, Some(upper)) => (format!("below {} with {objective}", rate(upper)), Tone::Caution),
        (None, None) => (format!("no rate is known to meet {objective}"), Tone::Caution),
    }
}

/// Formats `41,200/s: 3 of 3 trials good; 0.42% of 618,000 requests took more than 10 ms or failed
/// [0.31%, 0.57%], limit 1%`.
///
/// Trials at other rates count if fewer requests do no harm, and are named; a backlog that grows
/// within the limits is told in the place of the share.
fn evidence(found: &SearchResult, bound: &SearchBound, is_lower: bool) -> String {
    let trials = bound.good + bound.bad;
    let (of, word) = if is_lower { (bound.good, "good") } else { (bound.bad, "bad") };
    let reach = bound.reach_rps.map_or_else(String::new, |reach_rps| {
        let (to, others) = if is_lower { ("up", "higher") } else { ("down", "lower") };
        format!(" at this rate and {others} ones, {to} to {}", units::round_rate(reach_rps))
    });
    let trials =
        format!("{}: {of} of {trials} trials {word}{reach}", units::round_rate(bound.rate_rps));
    let claim = found.claims.get(bound.claim as usize);
    let is_missed = claim.is_some_and(|claim| bound.share_low > claim.share_max);
    if let Some(growth) = bound.growth.filter(|_| !is_missed) {
        return format!("{trials}; the backlog grew: {}", rise(&growth));
    }
    format!(
        "{trials}; {} of {} requests{} {} [{}, {}], limit {}",
        units::fine_percent(bound.share),
        units::count(bound.requests),
        claim.and_then(of_name).unwrap_or_default(),
        claim.map_or_else(String::new, violation),
        units::fine_percent(bound.share_low),
        units::fine_percent(bound.share_high),
        claim.map_or_else(String::new, |claim| units::short_percent(claim.share_max)),
    )
}

/// Formats `responses took 8.5 ms longer with each second [8.1 ms, 8.9 ms]`.
fn rise(growth: &BacklogGrowth) -> String {
    let time = |per_second: f64| units::short_duration((per_second.max(0.0) * 1e9) as u64);
    format!(
        "responses took {} longer with each second [{}, {}]",
        time(growth.rise),
        time(growth.low),
        time(growth.high)
    )
}

/// Formats `took more than 10 ms or failed`.
fn violation(claim: &SearchClaim) -> String {
    let parsed: Option<ShareClaim> = claim.text.parse().ok();
    let of_time = parsed.as_ref().map_or("", ShareClaim::of_time);
    match claim.slow_ns {
        Some(ns) => format!("took more than {}{of_time} or failed", units::short_duration(ns)),
        None if parsed.is_some_and(|claim| claim.is_of_goodput()) => {
            "failed or missed the goodput".to_owned()
        }
        None => "failed".to_owned(),
    }
}

/// Formats ` with the name 'checkout'`; `None` if the claim is about the whole run.
fn of_name(claim: &SearchClaim) -> Option<String> {
    let claim: ShareClaim = claim.text.parse().ok()?;
    Some(format!(" with the name '{}'", claim.name()?))
}

/// Formats `violations are requests that took more than 10 ms or failed; that failed`.
fn caption(claims: &[SearchClaim]) -> String {
    let of_run = match claims.iter().any(|claim| of_name(claim).is_some()) {
        true => " of the whole run that ",
        false => " that ",
    };
    let of = |claim: &SearchClaim| {
        of_name(claim).map_or_else(|| of_run.to_owned(), |name| format!("{name} that "))
    };
    let violations = claims.iter().map(|claim| of(claim) + &violation(claim));
    format!("violations are requests{}", violations.collect::<Vec<_>>().join(";"))
}

/// Returns the reason why nothing is known above the interval.
pub(crate) fn limit(found: &SearchResult) -> Option<String> {
    match &found.end {
        SearchEnd::LimitedByClient { rate_rps, text } => {
            let rate = units::round_rate(*rate_rps);
            Some(format!("limited by the client at {rate}: {text}; give weir more CPU time"))
        }
        SearchEnd::LimitedByConnections { rate_rps, connections, waits } => {
            let rate = units::round_rate(*rate_rps);
            let waits = units::fine_percent(*waits);
            let connections = units::count((*connections).into());
            Some(format!(
                "limited by {CONNECTIONS} at {rate}: {waits} of requests waited for one of \
                 {connections} connections, which are as many as possible"
            ))
        }
        SearchEnd::AboveRange => Some(format!("the highest rate of {MAX_RATE} meets it")),
        SearchEnd::BelowRange => {
            let lowest = found.trials.iter().filter_map(|trial| trial.rate_rps);
            let lowest_rps = lowest.min_by(f64::total_cmp);
            let is_bad = found.upper.is_some_and(|upper| Some(upper.rate_rps) == lowest_rps);
            let lowest = lowest_rps.map(units::round_rate).unwrap_or_default();
            let meets = match is_bad {
                true => format!("not even {lowest} meets it"),
                false => format!("no rate down to {lowest} is shown to meet it"),
            };
            let trial_s = units::short_duration((found.effort.final_s * 1e9) as u64);
            Some(format!("{meets}, and trials of {trial_s} cannot judge lower rates"))
        }
        SearchEnd::WithinGoal
        | SearchEnd::Indistinct
        | SearchEnd::OutOfTrials
        | SearchEnd::Unfinished => None,
    }
}

/// Returns the reasons why the interval is wide or uncertain, with the remedies.
fn remarks(found: &SearchResult) -> Vec<String> {
    let trial_s = units::short_duration((found.effort.final_s * 1e9) as u64);
    let mut remarks = Vec::new();
    if found.end == SearchEnd::OutOfTrials {
        remarks.push(format!(
            "the interval is wider than {}: the search ended after {} trials",
            units::short_percent(found.effort.width),
            found.trials.len(),
        ));
    }
    let undecided: Vec<String> =
        found.undecided_rps.iter().map(|rate| units::round_rate(*rate)).collect();
    if !undecided.is_empty() {
        remarks.push(format!(
            "trials of {trial_s} cannot decide {}; longer ones may ({PRECISE}, or {DURATION})",
            undecided.join(", ")
        ));
    }
    let claim = found.lower.and_then(|lower| found.claims.get(lower.claim as usize));
    if let Some((support, claim)) = found.support.filter(|it| *it < SUPPORT).zip(claim) {
        remarks.push(format!(
            "trials of {trial_s} are short for '{}': at its limit they hold the equivalent of \
             {:.1} independent requests beyond it, fewer than {SUPPORT:.0}, so the interval is \
             less certain; use {PRECISE} or a longer {DURATION}",
            claim.text, support,
        ));
    }
    remarks
}

fn table(found: &SearchResult) -> Table {
    let row = |(number, trial): (usize, &SearchTrial)| {
        let shares: Vec<String> =
            trial.shares.iter().map(|share| units::fine_percent(*share)).collect();
        let rate = trial.rate_rps.map_or("closed loop".to_owned(), units::round_rate);
        let outcome = match trial.used {
            TrialUse::Guess => String::new(),
            TrialUse::Bad if trial.growth.is_some() => "bad: backlog grew".to_owned(),
            used => used.in_words().to_owned(),
        };
        let connections = units::count(trial.connections.into());
        let completed = units::round_rate(trial.completed_rps);
        Row::new(number.to_string(), [rate, connections, completed, shares.join(", "), outcome])
    };
    let columns = ["Rate", "Connections", "Completed", "Violations", "Result"];
    let rows = (1..).zip(&found.trials).map(row);
    Table {
        caption: caption(&found.claims),
        ..Table::new(TableKind::Metrics, "Trial", columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use weir_result::study::SearchEffort;

    use super::*;

    fn bound(rate_rps: f64, good: u32, bad: u32) -> SearchBound {
        SearchBound {
            rate_rps,
            good,
            bad,
            requests: 618_000,
            claim: 0,
            share: 0.0042,
            share_low: 0.0031,
            share_high: 0.0057,
            reach_rps: None,
            growth: None,
        }
    }

    fn found(
        lower: Option<SearchBound>,
        upper: Option<SearchBound>,
        end: SearchEnd,
    ) -> SearchResult {
        let claim = |text: &str, share_max, slow_ns| SearchClaim {
            text: text.to_owned(),
            share_max,
            slow_ns,
        };
        SearchResult {
            claims: vec![
                claim("p99 < 10ms", 0.01, Some(10_000_000)),
                claim("errors < 0.1%", 0.001, None),
            ],
            effort: SearchEffort {
                initial_s: 5.0,
                final_s: 5.0,
                sum_s: 15.0,
                violations_min: 20.0,
                width: 0.1,
                warmup_s: 1.0,
                narrow_trials: 20,
                trials_max: 40,
            },
            lower,
            upper,
            undecided_rps: Vec::new(),
            end,
            support: Some(40.0),
            trials: Vec::new(),
        }
    }

    #[test]
    fn the_result_is_an_interval_with_its_evidence() {
        let lower = bound(41_200.0, 3, 0);
        let upper = bound(42_000.0, 1, 2);
        let found = found(Some(lower), Some(upper), SearchEnd::WithinGoal);
        let expected = "between 41,200/s and 42,000/s with p99 < 10ms and errors < 0.1%";
        assert_eq!(headline(&found).0, expected);
        let expected = "41,200/s: 3 of 3 trials good; 0.42% of 618,000 requests took more than \
                        10 ms or failed [0.31%, 0.57%], limit 1%";
        assert_eq!(evidence(&found, &lower, true), expected);
        assert!(evidence(&found, &upper, false).starts_with("42,000/s: 2 of 3 trials bad; "));
        assert_eq!((limit(&found), remarks(&found)), (None, Vec::new()));
    }

    #[test]
    fn violations_name_the_time_of_the_claim() {
        for (text, slow_ns, expected) in [
            ("tpot.p99 < 10ms", Some(10_000_000), "took more than 10 ms per token or failed"),
            ("under 10ms > 99%", Some(10_000_000), "took more than 10 ms or failed"),
            ("goodput > 99%", None, "failed or missed the goodput"),
        ] {
            let claim = SearchClaim { text: text.to_owned(), share_max: 0.01, slow_ns };
            assert_eq!(violation(&claim), expected, "{text}");
        }
    }

    #[test]
    fn a_claim_about_a_name_is_one_about_its_requests() {
        let lower = bound(41_200.0, 3, 0);
        let mut found = found(Some(lower), None, SearchEnd::AboveRange);
        assert_eq!(
            caption(&found.claims),
            "violations are requests that took more than 10 ms or failed; that failed"
        );
        found.claims[0].text = "GET /a: b: p99 < 10ms".to_owned();
        assert_eq!(headline(&found).0, "≥ 41,200/s with GET /a: b: p99 < 10ms and errors < 0.1%");
        let expected = " of 618,000 requests with the name 'GET /a: b' took more than 10 ms or ";
        assert!(evidence(&found, &lower, true).contains(expected));
        assert_eq!(
            caption(&found.claims),
            "violations are requests with the name 'GET /a: b' that took more than 10 ms or \
             failed; of the whole run that failed"
        );
    }

    #[test]
    fn trials_at_other_rates_and_a_growing_backlog_are_reported() {
        let lower = SearchBound { reach_rps: Some(41_600.0), ..bound(41_200.0, 3, 0) };
        let growth = BacklogGrowth { rise: 0.0085, low: 0.0081, high: 0.00891 };
        let upper = SearchBound {
            reach_rps: Some(41_900.0),
            growth: Some(growth),
            ..bound(42_000.0, 0, 2)
        };
        let found = found(Some(lower), Some(upper), SearchEnd::WithinGoal);
        let expected = "41,200/s: 3 of 3 trials good at this rate and higher ones, up to 41,600/s; \
                        0.42% of 618,000 requests ";
        assert!(evidence(&found, &lower, true).starts_with(expected));
        let expected = "42,000/s: 2 of 2 trials bad at this rate and lower ones, down to 41,900/s; \
                        the backlog grew: responses took 8.5 ms longer with each second \
                        [8.1 ms, 8.91 ms]";
        assert_eq!(evidence(&found, &upper, false), expected);
        let missed = SearchBound { share_low: 0.02, ..upper };
        assert!(evidence(&found, &missed, false).contains("; 0.42% of 618,000 requests "));
    }

    #[test]
    fn a_limit_outside_the_server_is_named() {
        let text = "worker 0 needed a CPU 97% of the time".to_owned();
        let end = SearchEnd::LimitedByClient { rate_rps: 88_000.0, text };
        let client = found(Some(bound(80_000.0, 3, 0)), None, end);
        assert_eq!(headline(&client).0, "≥ 80,000/s with p99 < 10ms and errors < 0.1%");
        let expected = "limited by the client at 88,000/s: worker 0 needed a CPU 97% of the time; \
                        give weir more CPU time";
        assert_eq!(limit(&client).as_deref(), Some(expected));
        let end =
            SearchEnd::LimitedByConnections { rate_rps: 900.0, connections: 10_000, waits: 0.02 };
        let connections = limit(&found(None, None, end)).expect("a limit");
        assert!(
            connections
                .starts_with("limited by `load.connections` at 900.0/s: 2.00% of requests waited")
        );
    }

    #[test]
    fn a_wide_interval_names_its_reason() {
        let lower = bound(41_200.0, 3, 0);
        let upper = bound(52_000.0, 0, 2);
        let mut found = found(Some(lower), Some(upper), SearchEnd::Indistinct);
        found.undecided_rps = vec![45_000.0];
        found.support = Some(2.04);
        let [undecided, short] = &remarks(&found)[..] else { panic!("{:?}", remarks(&found)) };
        assert!(undecided.starts_with("trials of 5 s cannot decide 45,000/s"), "{undecided}");
        assert!(short.contains("'p99 < 10ms'") && short.contains(" 2.0 independent"), "{short}");
    }
}

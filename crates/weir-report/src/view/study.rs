//! The report of a study: its design and state, its result, and trials that failed.

mod comparison;
mod repeat;
pub(crate) mod search;
mod sweep;

use weir_result::study::{Cell, Comparison, Design, StudyResult, StudyState, Trial, TrialOutcome};
use weir_result::{Document, Study};
use weir_text::setting::OUTPUT;

use super::plots::study as plots;
use super::{Block, Fact, Line, Report, Section, Tone, head};

impl Report {
    /// Builds the report of a study.
    pub fn of_study(study: &Study) -> Report {
        let title = format!("{} {}", study.tool.name, study.tool.version);
        let about = vec![Fact::text(subject(study))];
        let mut sections = vec![Section { title: "Study", blocks: design(study) }];
        match &study.result {
            Some(StudyResult::Repeat(repetition)) => {
                let mut blocks = repeat::blocks(repetition);
                let first = repetition.metrics.first();
                let plot = first.and_then(|first| plots::runs(study, &first.metric));
                blocks.extend(plot.map(Block::Plot));
                sections.push(Section { title: "Results", blocks });
            }
            Some(StudyResult::Comparison(comparison)) => {
                let primary = comparison.primary();
                let runs = primary.and_then(|primary| plots::runs(study, &primary.metric));
                sections.extend(comparison::sections(comparison, runs));
            }
            Some(StudyResult::Sweep(sweep)) => {
                sections.extend(sweep::sections(study, sweep));
            }
            Some(StudyResult::Search(found)) => sections.extend(search::sections(found)),
            None => {}
        }
        sections.push(Section { title: "Notes", blocks: notes(study) });
        Report { title, about, highlights: Vec::new(), sections }
    }

    /// Builds the report of a comparison that is no study; `runs` are a run of each side, if known.
    pub fn of_comparison(found: &Comparison, runs: Option<[&Document; 2]>) -> Report {
        let of = |runs| loads(runs, [found.base.runs, found.new.runs]);
        let loads = runs.map(|runs| Section { title: "Runs", blocks: of(runs) });
        Report {
            title: "Comparison".to_owned(),
            about: vec![Fact::text(format!("A {}, B {}", found.base.name, found.new.name))],
            highlights: Vec::new(),
            sections: loads.into_iter().chain(comparison::sections(found, None)).collect(),
        }
    }
}

/// The target and the load of the first run of each side, and when, where and how it was made.
fn loads(runs: [&Document; 2], counts: [u32; 2]) -> Vec<Block> {
    let load = |(side, (run, count)): (&str, (&Document, u32))| {
        let mut facts = vec![Fact::text(&run.plan.url)];
        facts.extend(head::load(&run.plan));
        let mut started = head::started(&run.run.epoch, Some(&run.environment));
        started.extend((count > 1).then(|| Fact::text(format!("the first of {count} runs"))));
        let lines = [Line::facts(facts), Line::facts(started)].into_iter();
        Block::entry(side, lines.chain(head::command(run)).collect())
    };
    ["A", "B"].into_iter().zip(runs.into_iter().zip(counts)).map(load).collect()
}

/// Formats `A/B comparison of http://a/`, `sweep of http://a/ and 2 other targets`; without a run
/// the kind of the study alone.
fn subject(study: &Study) -> String {
    let kind = match study.design {
        Design::Repeat { .. } => "repeated runs",
        Design::Ab { .. } => "A/B comparison",
        Design::Sweep { .. } => "sweep",
        Design::Search { .. } => "search for the highest rate",
    };
    // In the order of the cells: trials are in a random one.
    let mut targets: Vec<&str> = Vec::new();
    for document in (0..).zip(&study.cells).flat_map(|(cell, _)| study.documents_of(cell)) {
        if !targets.contains(&document.plan.url.as_str()) {
            targets.push(&document.plan.url);
        }
    }
    match targets[..] {
        [] => kind.to_owned(),
        [one] => format!("{kind} of {one}"),
        [one, other] => {
            let [one, other] = distinguished(one, other);
            format!("{kind} of {one} and {other}")
        }
        [one, ref others @ ..] => format!("{kind} of {one} and {} other targets", others.len()),
    }
}

/// Greatest length of a URL that is not shortened, and least length of a common part that is.
const URL_MAX: usize = 32;
const COMMON_MIN: usize = 6;

/// Shortens two long URLs where they are equal: at the start of their paths, and at their ends. The
/// parts that differ stay.
fn distinguished(one: &str, other: &str) -> [String; 2] {
    if one.len().max(other.len()) <= URL_MAX {
        return [one.to_owned(), other.to_owned()];
    }
    let alike = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(a, b)| a == b).map(|(c, _)| c).collect::<Vec<char>>()
    };
    let is_border = |c: &char| "/?&=.,;-_".contains(*c);
    let begin = alike(&mut one.chars(), &mut other.chars());
    let begin = begin.iter().rposition(is_border).map_or(0, |at| at + 1);
    let host = one.find("://").map_or(0, |at| at + 3);
    let host = one[host..].find('/').map_or(one.len(), |at| host + at + 1);
    let host = one[..host].chars().count();
    let rest = |text: &str| text.chars().count() - begin;
    let end = alike(&mut one.chars().rev(), &mut other.chars().rev());
    let end = end.len().min(rest(one)).min(rest(other));
    [one, other].map(|text| {
        let chars: Vec<char> = text.chars().collect();
        let differs = chars.len() - end;
        let mut short: String = match begin.checked_sub(host) {
            Some(common) if common >= COMMON_MIN => {
                chars[..host].iter().chain(&['…']).chain(&chars[begin..differs]).collect()
            }
            _ => chars[..differs].iter().collect(),
        };
        if end >= COMMON_MIN {
            short.push('…')
        } else {
            short.extend(&chars[differs..])
        }
        short
    })
}

/// The runs of the study, and its state if it is not complete.
fn design(study: &Study) -> Vec<Block> {
    let measured = study.measured().count() as u64;
    let runs = match &study.design {
        Design::Repeat { runs, .. } => {
            Fact::counted(measured, "run").then(&of(measured, u64::from(*runs)))
        }
        Design::Ab { .. } => Fact::counted(measured / 2, "interleaved pair"),
        Design::Sweep { repetitions, .. } => {
            let all = study.cells.len() as u64 * u64::from(*repetitions);
            Fact::counted(measured, "run").then(&of(measured, all))
        }
        Design::Search { .. } => Fact::counted(measured, "trial"),
    };
    let machine = study.measured().next().map(|(_, document)| &document.environment);
    let mut blocks = vec![
        Block::Line(Line::facts(vec![runs.toned(Tone::Main)])),
        Block::facts("Started", head::started(&study.started, machine)),
    ];
    match study.design {
        // The command line of the study contains both.
        Design::Ab { .. } => blocks.extend(variants(&study.cells)),
        _ => blocks.push(Block::entry("Command", vec![head::command_line(&study.command)])),
    }
    blocks.extend(state(study).map(|text| Block::sentence("State", text)));
    blocks
}

/// The command line of each variant, after its title in the tables, and its name.
fn variants(cells: &[Cell]) -> Vec<Block> {
    let [a, b] = cells else { return Vec::new() };
    let titles = comparison::heads([&a.name, &b.name]);
    let command = |(title, cell): (&str, &Cell)| {
        let label = match title == cell.name {
            true => title.to_owned(),
            false => format!("{title} {}", cell.name),
        };
        Block::entry(&label, vec![head::command_line(&cell.words)])
    };
    titles.into_iter().zip([a, b]).map(command).collect()
}

fn of(measured: u64, planned: u64) -> String {
    if measured == planned { String::new() } else { format!(" of {planned}") }
}

/// A report does not know if its study is in a file.
fn resume() -> String {
    format!("weir resume FILE continues it, if {OUTPUT} FILE kept the study")
}

fn state(study: &Study) -> Option<Fact> {
    let text = match &study.state {
        StudyState::Complete => return None,
        StudyState::Running => format!("incomplete; {}", resume()),
        StudyState::Interrupted => format!("interrupted; {}", resume()),
        StudyState::Stopped { reason } => format!("stopped at {reason}"),
    };
    Some(Fact::text(text).toned(Tone::Bad))
}

/// Trials that did not count, and the notes of the study.
fn notes(study: &Study) -> Vec<Block> {
    let unsettled = study
        .trials
        .iter()
        .filter(|trial| trial.settling.is_some_and(|it| it.is_incomplete))
        .count();
    let mut notes: Vec<String> = study.trials.iter().filter_map(failed).collect();
    if unsettled > 0 {
        notes.push(format!(
            "{unsettled} of {} trials began before the target was idle as before the first one",
            study.trials.len()
        ));
    }
    notes.extend(with_failures(study));
    notes.extend(study.notes.iter().map(|note| note.text.clone()));
    notes.into_iter().map(Block::Note).collect()
}

/// Names the runs with failed requests or connections: a server may have died within one. In a
/// search they are its results.
fn with_failures(study: &Study) -> Option<String> {
    if matches!(study.design, Design::Search { .. }) {
        return None;
    }
    let has_failures =
        |run: &Document| run.results.failed() > 0 || !run.connections.failures.is_empty();
    let found = study.measured().filter(|(_, run)| has_failures(run));
    let numbers: Vec<String> = found.map(|(trial, _)| trial.number.to_string()).collect();
    let shown = numbers.iter().take(TRIALS_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = match numbers.len().saturating_sub(TRIALS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let trials = if numbers.len() == 1 { "trial" } else { "trials" };
    (!numbers.is_empty()).then(|| {
        format!("requests or connections failed in {trials} {shown}{more}; counted like all others")
    })
}

/// Number of trials that a note names.
const TRIALS_MAX: usize = 10;

fn failed(trial: &Trial) -> Option<String> {
    match &trial.outcome {
        TrialOutcome::Failed { reason, .. } => {
            Some(format!("trial {} is in no result: {reason}", trial.number))
        }
        TrialOutcome::Measured(_) if trial.is_superseded => Some(format!(
            "trial {} is in no result: its pair was begun again when the study was resumed",
            trial.number
        )),
        TrialOutcome::Measured(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_cut_where_they_are_equal() {
        let check = |one: &str, other: &str, expected: [&str; 2]| {
            assert_eq!(distinguished(one, other), expected);
        };
        check("http://h/a", "http://h/b", ["http://h/a", "http://h/b"]);
        check(
            "http://127.0.0.1:8080/api/v3/items?sort=up",
            "http://127.0.0.1:8080/api/v3/items?sort=down",
            ["http://127.0.0.1:8080/…up", "http://127.0.0.1:8080/…down"],
        );
        check(
            "http://one.example/a/long/path/index.html",
            "http://two.example/a/long/path/index.html",
            ["http://one…", "http://two…"],
        );
        check(
            "http://127.0.0.1:8080/api/v3/items/list",
            "http://127.0.0.1:8080/api/v3/items/",
            ["http://127.0.0.1:8080/…list", "http://127.0.0.1:8080/…"],
        );
    }
}

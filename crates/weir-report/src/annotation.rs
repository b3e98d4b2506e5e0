//! Annotations of GitHub Actions: failed checks and findings as workflow commands, which GitHub
//! shows beside the job.
//!
//! An error is a cause of an exit status other than 0. GitHub's page "Workflow commands for GitHub
//! Actions" defines the format and its escapes.

use std::fmt::{self, Display, Formatter};

use weir_result::document::Grade;
use weir_result::study::{
    Answer, Comparison, Gate, SearchEnd, SearchResult, StudyResult, StudyState,
};
use weir_result::{AssertionOutcome, Document, Study};
use weir_text::is_unprintable;
use weir_text::setting::ABORT;

use crate::view::study::search;

/// A message that GitHub shows beside the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Importance.
    pub level: AnnotationLevel,
    /// Heading.
    pub title: String,
    /// One sentence.
    pub message: String,
}

/// Importance of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationLevel {
    /// A cause of an exit status other than 0.
    Error,
    /// A finding on the numbers, a slower system that no flag refuses, or an open verdict.
    Warning,
    /// A result.
    Notice,
}

impl Annotation {
    /// Creates an annotation.
    pub fn new(
        level: AnnotationLevel,
        title: impl Into<String>,
        message: impl Into<String>,
    ) -> Annotation {
        Annotation { level, title: title.into(), message: message.into() }
    }

    /// Returns the annotations of a run: missing parts, an early end, failed assertions, the grade
    /// unless it is clean, and the findings. Grade and findings are left out without a `verdict`,
    /// unless the grade `is_refused`.
    pub fn of_run(document: &Document, verdict: bool, is_refused: bool) -> Vec<Annotation> {
        let mut found = Vec::new();
        let missing = document.missing_parts().count();
        if missing > 0 {
            let message = format!("{missing} of the run's parts missing: name their documents too");
            found.push(Annotation::new(AnnotationLevel::Error, "weir: incomplete", message));
        }
        found.extend(document.run.aborted.as_ref().map(|aborted| {
            let message = format!("{ABORT} '{}': {}", aborted.condition, aborted.measured);
            Annotation::new(AnnotationLevel::Error, "weir: aborted", message)
        }));
        found.extend(failed_assertions(document));
        let is_dead = document.results.outcomes.ok == 0 && document.results.good == 0;
        if verdict || is_refused || is_dead {
            found.extend(grade(document, is_refused || is_dead));
        }
        if verdict {
            found.extend(findings(document));
        }
        found
    }

    /// Returns the verdict of a comparison: an error if `--fail-on` names it, a warning if it
    /// leaves open what `--fail-on` asks.
    pub fn of_comparison(found: &Comparison, gate: Gate) -> Annotation {
        let answer = found.primary().map_or(Answer::None, |primary| primary.verdict.answer);
        let level = match (gate, answer) {
            (Gate::Failed, _) => AnnotationLevel::Error,
            (Gate::Open, _) | (_, Answer::Worse) => AnnotationLevel::Warning,
            _ if !found.not_comparable.is_empty() => AnnotationLevel::Warning,
            _ => AnnotationLevel::Notice,
        };
        Annotation::new(level, "weir: verdict", found.sentence())
    }

    /// Returns the result of a search: the interval, and the reason why nothing is known above it.
    pub fn of_search(found: &SearchResult) -> Vec<Annotation> {
        let level =
            if found.lower.is_some() { AnnotationLevel::Notice } else { AnnotationLevel::Warning };
        let interval = Annotation::new(level, "weir: highest rate", search::interval(found));
        let is_of_weir = matches!(
            found.end,
            SearchEnd::LimitedByClient { .. } | SearchEnd::LimitedByConnections { .. }
        );
        let level = if is_of_weir { AnnotationLevel::Warning } else { AnnotationLevel::Notice };
        let limit = search::limit(found);
        let limit = limit.map(|text| Annotation::new(level, "weir: limit", text));
        std::iter::once(interval).chain(limit).collect()
    }

    /// Returns the annotations of a study: the reason why it stopped, the verdict of its
    /// comparison by what `--fail-on` makes of it, and the result of its search.
    pub fn of_study(study: &Study, gate: Gate) -> Vec<Annotation> {
        let stopped = match &study.state {
            StudyState::Stopped { reason } => {
                let message = format!("stopped at {reason}");
                Some(Annotation::new(AnnotationLevel::Error, "weir: incomplete study", message))
            }
            _ => None,
        };
        let result = match &study.result {
            Some(StudyResult::Comparison(found)) => vec![Annotation::of_comparison(found, gate)],
            Some(StudyResult::Search(found)) => Annotation::of_search(found),
            _ => Vec::new(),
        };
        stopped.into_iter().chain(result).collect()
    }
}

fn failed_assertions(document: &Document) -> impl Iterator<Item = Annotation> {
    let failed =
        document.assertions.iter().filter(|result| result.outcome == AssertionOutcome::Fail);
    failed.map(|result| {
        let title = format!("weir: assertion failed: {}", result.assertion);
        let reason = result.reason.as_ref().map(|reason| format!(": {reason}"));
        // Without a value the text is the reason why there is none.
        let measured = if result.value.is_some() { "measured " } else { "" };
        let message = format!("{measured}{}{}", result.measured, reason.unwrap_or_default());
        Annotation::new(AnnotationLevel::Error, title, message)
    })
}

fn grade(document: &Document, is_error: bool) -> Option<Annotation> {
    let verdict = &document.verdict;
    let level = if is_error { AnnotationLevel::Error } else { AnnotationLevel::Warning };
    let is_dead = document.results.outcomes.ok == 0 && document.results.good == 0;
    let cause = &verdict.target.text;
    let message = match verdict.reason.is_empty() || is_dead {
        true if cause.is_empty() => "no successful response".to_owned(),
        true => format!("no successful response: {cause}"),
        false => verdict.reason.clone(),
    };
    let title = format!("weir: grade {}", verdict.grade.in_words());
    (verdict.grade != Grade::Clean || is_error).then(|| Annotation::new(level, title, message))
}

/// Findings that the grade's sentence does not contain.
fn findings(document: &Document) -> impl Iterator<Item = Annotation> {
    let verdict = &document.verdict;
    let fired = verdict.fired().filter(|rule| !verdict.reason.contains(&rule.text));
    fired.map(|rule| {
        Annotation::new(AnnotationLevel::Warning, format!("weir: finding {}", rule.id), &rule.text)
    })
}

impl Display for Annotation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let command = match self.level {
            AnnotationLevel::Error => "error",
            AnnotationLevel::Warning => "warning",
            AnnotationLevel::Notice => "notice",
        };
        let message: String = self.message.chars().map(escaped).collect();
        write!(f, "::{command} title={}::{message}", property(&self.title))
    }
}

/// Escapes a property of a command.
fn property(text: &str) -> String {
    let of = |c| match c {
        ':' => "%3A".to_owned(),
        ',' => "%2C".to_owned(),
        c => escaped(c),
    };
    text.chars().map(of).collect()
}

fn escaped(c: char) -> String {
    match c {
        '%' => "%25".to_owned(),
        '\r' => "%0D".to_owned(),
        '\n' => "%0A".to_owned(),
        c if is_unprintable(c) => "?".to_owned(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_command() {
        let hostile = "a:b,c\r\n::error::50%\u{1b}\u{202e}";
        let annotation = Annotation::new(AnnotationLevel::Warning, hostile, hostile);
        assert_eq!(
            annotation.to_string(),
            "::warning title=a%3Ab%2Cc%0D%0A%3A%3Aerror%3A%3A50%25??::a:b,c%0D%0A::error::50%25??"
        );
    }
}

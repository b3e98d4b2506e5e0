//! Files of scenarios made from recorded or written requests: HAR files, Postman collections,
//! `.http` files and curl commands. Text goes in and comes out; no file is opened.

mod curl;
mod har;
mod http_file;
mod postman;

mod http_reference;
mod http_requests;
mod variables;

mod captures;
mod cookies;
mod secrets;
mod seen;
mod step_names;
mod writer;

mod found;
mod recorded;

mod encoded;
mod format;
mod html;
mod json_text;
mod multipart_text;
mod origin;
mod template_text;
mod thing;
mod toml_text;
mod words;

pub use format::ImportFormat;

use std::collections::{BTreeMap, HashSet};

use weir_text::setting::{ALLOW_LOCAL, IMPORT_FORMAT, IMPORT_RESOURCES, SCENARIO};

use crate::list::{NAMES_MAX, Position, RowError};
use crate::scenario::ScenarioFile;
use crate::scenario::import::origin::{UrlParts, WebOrigin};
use crate::scenario::import::recorded::{RecordedEntry, RecordedFile, RecordedStep};

/// Least pause that becomes a think time, in nanoseconds.
const THINK_MIN_NS: u64 = 100_000_000;

/// Greatest think time, in nanoseconds.
const THINK_MAX_NS: u64 = 60_000_000_000;

/// Unit of think times, in nanoseconds.
const THINK_UNIT_NS: u64 = 10_000_000;

/// Choices of an import.
#[derive(Clone, Copy, Debug)]
pub struct ImportRules<'a> {
    /// Format; `None` for the one that the text is in.
    pub format: Option<ImportFormat>,
    /// Name of the file, for the comment at the beginning.
    pub file: &'a str,
    /// Name of the scenario.
    pub name: &'a str,
    /// URL whose origin requests have; `None` for that of the first request.
    pub origin: Option<&'a str>,
    /// True if resources of pages are kept.
    pub has_resources: bool,
    /// Returns true for the name and the value of a secret, which becomes a variable of the
    /// environment; `None` if secrets are written as they are.
    pub is_secret: Option<fn(&str, &str) -> bool>,
}

/// A file of one scenario, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedScenario {
    /// The file. [`ScenarioFile::parse`] reads it.
    pub text: String,
    /// Remarks for its user, in order: what was left out, and what the file lacks.
    pub notes: Vec<String>,
}

impl ImportedScenario {
    /// Makes a scenario of a text.
    ///
    /// # Errors
    /// If the text is in no known format, has a request that cannot be read, or has none of the
    /// origin. The position is that of the request.
    pub fn of(text: &str, rules: ImportRules<'_>) -> Result<ImportedScenario, RowError> {
        let failed = |text: &str| RowError::new(Position::Whole, text);
        let text = text.trim_start_matches('\u{feff}');
        let format = rules.format.or_else(|| ImportFormat::of(text)).ok_or_else(|| {
            failed(&format!(
                "it is no HAR file, no Postman collection, no .http file and no curl command, as \
                 far as its beginning tells; {IMPORT_FORMAT} names its format"
            ))
        })?;
        let file = match format {
            ImportFormat::Har => har::read(text),
            ImportFormat::Postman => postman::read(text, rules.origin),
            ImportFormat::Http => http_file::read(text, rules.origin),
            ImportFormat::Curl => curl::read(text),
        }?;
        let all = file.entries.len() as u64;
        let mut kept = KeptEntries::of(file, rules)?;
        let mut steps = kept.steps()?;
        let names = steps.len() + 1;
        if names > NAMES_MAX {
            let text = format!(
                "{} become steps, and a file has at most {}: record a shorter session",
                words::requests(steps.len() as u64),
                NAMES_MAX - 1
            );
            return Err(failed(&text));
        }
        step_names::give(&mut steps);
        kept.notes.extend(variables::note(&mut steps));
        replace_missing(&mut steps);
        captures::find(&mut steps, &kept.origin);
        if let Some(is_secret) = rules.is_secret {
            secrets::replace(&mut steps, is_secret);
        }
        cookies::remark(&mut steps);
        let made = format!(
            "Made by weir scenario from the {} {}: {} of {}, to {}.",
            format.words(),
            rules.file,
            steps.len(),
            words::requests(all),
            kept.origin
        );
        let run = format!("Run it with: weir {SCENARIO} FILE {}/", kept.origin);
        let name = match step_names::fitting(rules.name) {
            name if name.is_empty() => "scenario".to_owned(),
            name => name,
        };
        let text = writer::file(&[made, run], &name, &steps);
        // The writer's own test: a file that cannot be read is of no use.
        ScenarioFile::parse(&text)
            .map_err(|error| failed(&format!("its scenario cannot be read: {error}")))?;
        let mut notes = kept.notes;
        for step in &steps {
            notes.extend(step.remarks.iter().map(|it| format!("step {:?}: {it}", step.name)));
        }
        Ok(ImportedScenario { text, notes })
    }
}

/// The requests of a file that become steps.
struct KeptEntries {
    entries: Vec<(RecordedEntry, UrlParts)>,
    origin: WebOrigin,
    notes: Vec<String>,
}

impl KeptEntries {
    /// Returns the requests of one origin, without resources of pages.
    fn of(file: RecordedFile, rules: ImportRules<'_>) -> Result<KeptEntries, RowError> {
        let failed = |text: String| RowError::new(Position::Whole, text);
        let mut notes = file.notes;
        let mut others: BTreeMap<String, u64> = BTreeMap::new();
        let mut all = Vec::new();
        for entry in file.entries {
            match UrlParts::of(&entry.url) {
                Some(url) => all.push((entry, url)),
                None => {
                    let scheme = entry.url.split([':', '/', '?']).next().unwrap_or_default();
                    *others.entry(weir_text::brief(scheme)).or_default() += 1;
                }
            }
        }
        let of_first = all.first().map(|(_, url)| url.origin.clone());
        let origin = match rules.origin {
            None => {
                of_first.ok_or_else(|| failed("it has no request to a web server".to_owned()))?
            }
            Some(text) => UrlParts::of(text).map(|url| url.origin).ok_or_else(|| {
                failed(format!("the origin {:?} is no URL", weir_text::brief(text)))
            })?,
        };
        let mut resources = 0;
        let mut entries = Vec::new();
        for (entry, url) in all {
            if url.origin != origin {
                *others.entry(url.origin.to_string()).or_default() += 1;
            } else if entry.is_resource && !rules.has_resources {
                resources += 1;
            } else {
                entries.push((entry, url));
            }
        }
        if !others.is_empty() {
            let shown = others.iter().map(|(name, count)| format!("{name} ({count})"));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let count = words::requests(others.values().sum());
            notes.push(format!("left out {count} to other origins than {origin}: {shown}"));
        }
        if resources > 0 {
            notes.push(format!(
                "left out {} for images, styles, scripts and the like; {IMPORT_RESOURCES} keeps \
                 them",
                words::requests(resources)
            ));
        }
        match entries.is_empty() {
            true => {
                let left_out = notes.iter().map(|note| format!("; {note}")).collect::<String>();
                Err(failed(format!("it has no request to {origin}{left_out}")))
            }
            false => Ok(KeptEntries { entries, origin, notes }),
        }
    }

    /// Returns the steps, with the pauses between them.
    fn steps(&mut self) -> Result<Vec<RecordedStep>, RowError> {
        let entries = std::mem::take(&mut self.entries);
        let times: Vec<_> = entries.iter().map(|(entry, _)| entry.times_ns).collect();
        let mut steps = Vec::new();
        for (index, (entry, url)) in entries.into_iter().enumerate() {
            let mut step = RecordedStep::of(entry, url)?;
            let next = times.get(index + 1).copied().flatten();
            if let (Some((_, ended)), Some((began, _))) = (times[index], next) {
                step.think_ns = think_ns(began.saturating_sub(ended));
            }
            steps.push(step);
        }
        Ok(steps)
    }
}

/// Returns the think time for a pause.
fn think_ns(pause_ns: u64) -> u64 {
    match pause_ns {
        0..THINK_MIN_NS => 0,
        pause_ns => {
            let units = (pause_ns + THINK_UNIT_NS / 2) / THINK_UNIT_NS;
            units.saturating_mul(THINK_UNIT_NS).min(THINK_MAX_NS)
        }
    }
}

/// Replaces values that no step before captures, as its request was left out, by variables of the
/// environment.
fn replace_missing(steps: &mut [RecordedStep]) {
    let mut known: HashSet<String> = HashSet::new();
    for step in steps {
        let mut missing: Vec<String> = Vec::new();
        for text in step.texts_mut() {
            let fields = text.split("{{user.").skip(1);
            let names: Vec<String> = fields
                .filter_map(|rest| Some(rest.split_once("}}")?.0.to_owned()))
                .filter(|name| !known.contains(name))
                .collect();
            for name in names {
                *text =
                    text.replace(&format!("{{{{user.{name}}}}}"), &format!("{{{{env:{name}}}}}"));
                missing.push(name);
            }
        }
        missing.dedup();
        for name in missing {
            step.remarks.push(format!(
                "the request whose response has {name} was left out: set {name} in the environment \
                 and give {ALLOW_LOCAL}"
            ));
        }
        known.extend(step.captures.iter().map(|capture| capture.name.clone()));
    }
}

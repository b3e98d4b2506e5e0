//! Reading of lists: from files, from the command line, from logs, and from streams.

use std::io::{BufRead, BufReader};

use anyhow::{Context, Result, anyhow, bail};
use weir_requests::list::{ListFormat, Row, RowReader};
use weir_requests::scenario::{ScenarioFile, Scenarios};
use weir_result::ListOrder;
use weir_result::document::{Input, InputRole};
use weir_text::setting::{LIST, LIST_FORMAT, SCENARIO};
use weir_text::similar;

use super::long::{self, Indexed};
use super::replay::{self, ReplayedLog};
use super::rows::{self, reader, rows};
use super::stream::{self, StreamInput, UnreadRows};
use super::{List, UnpreparedRows};
use crate::access::MachineAccess;
use crate::digest::sha256;
use crate::input::{SETTINGS_MAX_BYTES, WHOLE_MAX_BYTES, open_input};
use crate::prepare::planned::Planned;
use crate::prepare::redaction::Redaction;
use crate::spec::{BodySpec, InputFile, ListSource, ListSpec, ReplaySpec, RunSpec};

/// Greatest number of rows that are prepared before the load.
const ROWS_MAX: usize = 4_096;

/// Greatest number of turns of sessions.
const TURNS_MAX: usize = 65_536;

impl List {
    /// Reads the list of a specification; a log and a single request with fields are one too.
    /// `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read, or a row is no request; the message has the line.
    pub(crate) fn of(spec: &RunSpec, access: &MachineAccess) -> Result<Planned<Option<List>>> {
        let Some(list) = List::read_of(spec)? else { return Ok(Planned::of(None)) };
        let secrets = Redaction::of(spec).secrets_of_rows(&list.rows);
        let list = List { access: access.clone(), ..list };
        Ok(Planned { secrets, ..Planned::of(Some(list)) })
    }

    /// Reads it, with full access.
    fn read_of(spec: &RunSpec) -> Result<Option<List>> {
        if let Some(replay) = &spec.replay {
            return List::of_log(replay).map(Some);
        }
        if let Some(list) = &spec.list {
            return List::read(list.clone()).map(Some);
        }
        let makes_others = spec.script.is_some() || spec.compat.is_some();
        let body = match &spec.request.body {
            Some(BodySpec::Text(text)) => text.as_str(),
            _ => "",
        };
        let headers = spec.request.headers.iter().map(|header| header.value.as_str());
        let mut texts = headers.chain([spec.target.url.as_str(), body]);
        let has_fields = spec.templates.rows.is_some() || texts.any(|it| it.contains("{{"));
        if makes_others || !(has_fields || spec.request.redirects > 0) {
            return Ok(None);
        }
        let source = ListSource::Urls(vec![spec.target.url.clone()]);
        List::read(ListSpec { source, ..ListSpec::default() }).map(Some)
    }

    /// Reads a list: all rows, or the first of a long one.
    ///
    /// # Errors
    /// When it cannot be read, or a row is no request; the message has the line.
    fn read(spec: ListSpec) -> Result<List> {
        let format = spec.format.as_deref().map(format_named).transpose()?;
        let list = match &spec.source {
            ListSource::File(file) => List::of_file(file, format)?,
            ListSource::Urls(urls) => {
                List::of_bytes(String::new(), urls.join("\n").as_bytes(), format)?
            }
            ListSource::Scenario(file) => List::of_scenarios(file)?,
        };
        match spec.has_scenarios() {
            true => Ok(List { spec, ..list }),
            false => List { spec, ..list }.with_sessions(),
        }
    }

    fn of_file(file: &InputFile, format: Option<ListFormat>) -> Result<List> {
        let place = format!("{LIST} {}: ", stream::name(&file.path));
        let is_any = file.content.is_none() && file.bytes.is_none() && file.sha256.is_none();
        if is_any && !long::is_regular(&file.path) {
            return List::of_stream(file, place, format);
        }
        if file.content.is_none() && long::is_regular(&file.path) {
            let opened = open_input(LIST, &file.path)?;
            let mut reader = reader(&place, BufReader::new(opened), format)?;
            let indexed = Indexed::of(file, &place, reader.format())?;
            if let Some(Indexed { index, input }) = indexed
                && index.rows() > ROWS_MAX as u64
            {
                let rows = rows(&place, &mut reader, ROWS_MAX)?;
                if !has_turns(&rows) {
                    return Ok(List {
                        format: Some(reader.format()),
                        long: Some(UnpreparedRows::Indexed(file.path.clone(), index)),
                        ..List::of_rows(rows, place, input)
                    });
                }
            }
        }
        let bytes = file.read(LIST, WHOLE_MAX_BYTES)?;
        let input = file.verify(InputRole::List, &bytes)?;
        Ok(List { input: Some(input), ..List::of_bytes(place, &bytes, format)? })
    }

    fn of_bytes(place: String, bytes: &[u8], format: Option<ListFormat>) -> Result<List> {
        let mut reader = reader(&place, bytes, format)?;
        let mut rows = rows(&place, &mut reader, ROWS_MAX + 1)?;
        match rows.get(ROWS_MAX) {
            Some(_) if has_turns(&rows) => read_turns(&place, &mut reader, &mut rows)?,
            Some(row) => return Err(too_many(&place, row, reader.format())),
            None => {}
        }
        let format = Some(reader.format());
        Ok(List { rows, format, sha256: sha256(bytes), place, ..List::default() })
    }

    /// Returns a list with these rows of a file.
    fn of_rows(rows: Vec<Row>, place: String, input: Input) -> List {
        let sha256 = input.sha256.clone();
        List { rows, place, sha256, input: Some(input), ..List::default() }
    }

    /// Reads a log: its different requests are the rows, or the most frequent ones.
    fn of_log(spec: &ReplaySpec) -> Result<List> {
        let ReplayedLog { replay, requests, input, place } = replay::read(spec)?;
        let first = requests.iter().take(ROWS_MAX);
        let first = first.map(|request| Row { weight: request.count, ..request.row() });
        let first = first.collect();
        Ok(List {
            spec: ListSpec {
                source: ListSource::File(spec.file.clone()),
                order: ListOrder::Once,
                groups: spec.groups.clone(),
                ..ListSpec::default()
            },
            long: (requests.len() > ROWS_MAX).then(|| UnpreparedRows::Recorded(requests)),
            replay: Some(replay),
            ..List::of_rows(first, place, input)
        })
    }

    /// Reads a list from where it can be read once: all rows, or the first of a long one.
    fn of_stream(file: &InputFile, place: String, format: Option<ListFormat>) -> Result<List> {
        let input = StreamInput::open(&file.path, LIST)?;
        let facts = input.facts();
        let mut reader = reader(&place, input, format)?;
        let mut rows = rows(&place, &mut reader, ROWS_MAX + 1)?;
        let format = reader.format();
        if has_turns(&rows) {
            read_turns(&place, &mut reader, &mut rows)?;
        } else if let Some(row) = rows.get(ROWS_MAX) {
            if format == ListFormat::Har {
                return Err(too_many(&place, row, format));
            }
            let unread = UnreadRows::new(reader, facts);
            let long = Some(UnpreparedRows::Streamed(file.path.clone(), unread));
            return Ok(List { rows, format: Some(format), place, long, ..List::default() });
        }
        Ok(List { format: Some(format), ..List::of_rows(rows, place, facts.input()) })
    }

    /// Returns the list, whose rows are the turns of sessions if they say so.
    ///
    /// # Errors
    /// When a row is no turn of a session, as others are.
    fn with_sessions(mut self) -> Result<List> {
        let sessions = Scenarios::of_sessions(&mut self.rows);
        let sessions = sessions.map_err(|error| rows::in_list(&self.place, &error))?;
        Ok(List { scenarios: sessions, ..self })
    }

    /// Reads a file of scenarios.
    fn of_scenarios(file: &InputFile) -> Result<List> {
        let place = format!("{SCENARIO} {}: ", stream::name(&file.path));
        let bytes = file.read(SCENARIO, SETTINGS_MAX_BYTES)?;
        let input = file.verify(InputRole::List, &bytes)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| anyhow!("{place}it is not UTF-8"))?;
        let read = ScenarioFile::parse(text).map_err(|error| rows::in_list(&place, &error))?;
        let scenarios = Some(read.scenarios);
        let setup = read.setup;
        Ok(List { scenarios, setup, ..List::of_rows(read.rows, place, input) })
    }
}

/// True if rows are the turns of sessions, which are all prepared before the load.
fn has_turns(rows: &[Row]) -> bool {
    rows.first().is_some_and(|row| row.turn.is_some())
}

/// Reads the rest of a list of sessions.
///
/// # Errors
/// When a row is none, or there are too many.
fn read_turns<R: BufRead>(
    place: &str,
    reader: &mut RowReader<R>,
    read: &mut Vec<Row>,
) -> Result<()> {
    read.extend(rows(place, reader, TURNS_MAX + 1 - read.len())?);
    match read.get(TURNS_MAX) {
        None => Ok(()),
        Some(row) => {
            let row = rows::at(place, row.position);
            bail!("{row}: these are more than {TURNS_MAX} turns of sessions; shorten the list")
        }
    }
}

/// Returns the error of a list that has more rows than are prepared.
fn too_many(place: &str, row: &Row, format: ListFormat) -> anyhow::Error {
    let remedy = match format {
        ListFormat::Har => "a HAR file is one JSON value: write its requests as JSON lines",
        _ => "write them to a file, which can be read while the load runs",
    };
    let row = rows::at(place, row.position);
    anyhow!("{row}: these are more than {ROWS_MAX} requests; {remedy}")
}

fn format_named(name: &str) -> Result<ListFormat> {
    let all: Vec<&str> = ListFormat::all().map(ListFormat::name).collect();
    ListFormat::named(name).with_context(|| {
        let hint = similar(name, all.iter().copied());
        let hint = hint.map(|near| format!(": did you mean {near}?")).unwrap_or_default();
        format!("{LIST_FORMAT} {name:?} is none of {}{hint}", all.join(", "))
    })
}

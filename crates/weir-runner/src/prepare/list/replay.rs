//! A replayed log as a list: its different requests are the rows, and each slot has its own time.

use std::fmt::{self, Debug};
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use weir_engine::{ListedRequest, RowCursor, RowSource};
use weir_http::is_safe_method;
use weir_requests::list::{
    RecordedRequest, Recording, RecordingError, RecordingFormat, ReplayRules, RowError,
};
use weir_result::document::{Input, InputRole};
use weir_result::{Note, ReplayPlan};
use weir_text::setting::{REPLAY, REPLAY_FORMAT, REPLAY_UNSAFE, SPEED};
use weir_text::units;

use super::long::RowPreparer;
use super::rows;
use super::stream::{self, StreamInput};
use crate::errors::shown;
use crate::input::WHOLE_MAX_BYTES;
use crate::spec::ReplaySpec;

/// Longest replay.
const WINDOW_MAX_NS: u64 = 30 * 86_400 * 1_000_000_000;

/// The times and the plan of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) plan: ReplayPlan,
    /// Due times of the requests in nanoseconds from the start of the window.
    pub(crate) times: Arc<[u64]>,
    /// Row of each request.
    pub(super) rows: Box<[u32]>,
    /// True if requests with unsafe methods are among them.
    has_unsafe: bool,
}

/// A log that was read.
pub(super) struct ReplayedLog {
    pub(super) replay: Replay,
    /// Its different requests, the most frequent ones first.
    pub(super) requests: Arc<[RecordedRequest]>,
    pub(super) input: Input,
    /// Place of a line in messages, before its number.
    pub(super) place: String,
}

/// Reads a log.
///
/// # Errors
/// When it cannot be read, a line is in no known format, or nothing can be sent.
pub(super) fn read(spec: &ReplaySpec) -> Result<ReplayedLog> {
    if !spec.speed.is_valid() {
        bail!("{SPEED}: numerator and denominator are from 1 to 1,000,000");
    }
    let name = stream::name(&spec.file.path);
    let (recording, input) = recording(spec, &name)?;
    check(spec, &recording, &name)?;
    let Recording { plan, requests, rows, times_ns } = recording;
    let is_unsafe = |method: &str| !is_safe_method(method);
    let has_unsafe = requests.iter().any(|request| is_unsafe(request.method()));
    let file_name = Path::new(&name).file_name().unwrap_or(name.as_ref());
    let plan = ReplayPlan { name: shown(file_name), sha256: input.sha256.clone(), ..plan };
    let times = times_ns.into();
    let rows = rows.into();
    let replay = Replay { plan, times, rows, has_unsafe };
    Ok(ReplayedLog { replay, requests: requests.into(), input, place: place(&name) })
}

/// Place of a line in messages, before its number.
fn place(name: &str) -> String {
    format!("{REPLAY} {name}: ")
}

/// Reads the lines of a log.
fn recording(spec: &ReplaySpec, name: &str) -> Result<(Recording, Input)> {
    let format = spec.format.as_deref().map(RecordingFormat::parse).transpose();
    let format = format.map_err(|why| anyhow!("{REPLAY_FORMAT}: {why}"))?;
    let is_known = format.is_some();
    let rules = ReplayRules {
        speed: spec.speed,
        is_sent: if spec.sends_unsafe { |_| true } else { is_safe_method },
    };
    let failed = |RecordingError { error: RowError { position, text }, is_of_format }| {
        let at = rows::at(&place(name), position);
        match is_of_format && !is_known {
            true => anyhow!("{at}: {text}: name the format of its lines with {REPLAY_FORMAT}"),
            false => anyhow!("{at}: {text}"),
        }
    };
    let role = InputRole::Replay;
    if spec.file.content.is_some() {
        let bytes = spec.file.read(REPLAY, WHOLE_MAX_BYTES)?;
        let input = spec.file.verify(role, &bytes)?;
        let read = Recording::read(BufReader::new(Cursor::new(bytes)), format, rules);
        return Ok((read.map_err(failed)?, input));
    }
    let input = StreamInput::open(&spec.file.path, REPLAY)?;
    let facts = input.facts();
    let recording = Recording::read(input, format, rules).map_err(failed)?;
    let read = facts.input();
    Ok((recording, spec.file.verify_digest(role, read.bytes, read.sha256)?))
}

/// Checks that there are requests, and that they do not take too long.
fn check(spec: &ReplaySpec, recording: &Recording, name: &str) -> Result<()> {
    if recording.rows.is_empty() {
        let methods: Vec<&str> = recording.plan.left_out.keys().map(String::as_str).collect();
        match methods.is_empty() {
            true => bail!("{REPLAY} {name} has no request that can be sent"),
            false => bail!(
                "{REPLAY} {name} has no request with a safe method, but {}: {REPLAY_UNSAFE} sends \
                 them, without a body",
                methods.join(", ")
            ),
        }
    }
    if recording.plan.window_ns > WINDOW_MAX_NS {
        bail!(
            "{REPLAY} {name} takes {} at {}, which is more than 30 days: raise {SPEED}",
            units::plain_duration(recording.plan.window_ns),
            spec.speed
        );
    }
    Ok(())
}

impl Replay {
    /// Returns notes on what differs from the log.
    pub(super) fn notes(&self) -> impl Iterator<Item = Note> {
        let plan = &self.plan;
        let seconds = "the log has times in whole seconds: its requests are spread evenly within \
                       each second";
        let bodies = "requests with unsafe methods are sent without a body, which a log does not \
                      have";
        let cut = "the last line of the log was cut, and is left out";
        [
            (plan.has_whole_seconds, "replay_whole_seconds", seconds),
            (self.has_unsafe, "replay_without_bodies", bodies),
            (plan.is_cut, "replay_cut_line", cut),
        ]
        .into_iter()
        .filter(|(is_so, ..)| *is_so)
        .map(|(_, id, text)| Note::new(id, text))
    }
}

/// The different requests of a log that are more than are prepared.
pub(super) struct RecordedRows {
    pub(super) requests: Arc<[RecordedRequest]>,
    pub(super) preparer: RowPreparer,
    pub(super) place: String,
}

impl Debug for RecordedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedRows")
            .field("requests", &self.requests.len())
            .finish_non_exhaustive()
    }
}

impl RowSource for RecordedRows {
    fn open(&self) -> Result<Box<dyn RowCursor + '_>, String> {
        Ok(Box::new(RecordedCursor(self)))
    }
}

/// A reader of the rows.
struct RecordedCursor<'a>(&'a RecordedRows);

impl RowCursor for RecordedCursor<'_> {
    fn read(&mut self, row: u64) -> Result<ListedRequest, String> {
        let RecordedRows { requests, preparer, place } = self.0;
        let row = requests[row as usize].row();
        preparer
            .request(&row)
            .map_err(|error| format!("{}: {error:#}", rows::at(place, row.position)))
    }
}

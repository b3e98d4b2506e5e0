//! The list of a run: its rows are read, checked and prepared before anything is sent.

mod long;
mod preview;
mod replay;
mod request;
mod rows;
mod stream;
mod templates;
mod users;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use weir_engine::{ListRows, ListedRequest, RequestList, RowStream};
use weir_http::{Prepared, is_safe_method};
use weir_requests::list::{
    Group, ListFormat, NAMES_MAX, Names, Order, RecordedRequest, Row, RowIndex, Sequence, TableRows,
};
use weir_requests::scenario::{ScenarioFile, Scenarios};
use weir_result::document::{Input, InputRole};
use weir_result::{ListOrder, ListPlan, Note};
use weir_text::setting::{GROUP, LIST, LIST_FORMAT, LIST_ORDER, PART, ROWS, SCENARIO};
use weir_text::{brief, similar};

use crate::access::MachineAccess;
use crate::digest::sha256;
use crate::input::{SETTINGS_MAX_BYTES, WHOLE_MAX_BYTES, open_input};
use crate::prepare::body::REQUEST_MAX_BYTES;
use crate::prepare::expect::{ExpectationParser, PreparedChecks};
use crate::prepare::grpc::GrpcCalls;
use crate::prepare::planned::Planned;
use crate::prepare::redaction::Redaction;
use crate::spec::url::Url;
use crate::spec::{BodySpec, InputFile, ListSource, ListSpec, ReplaySpec, RunSpec};
use long::{Indexed, LongList, RowPreparer};
pub(crate) use preview::first_lines;
pub(crate) use replay::Replay;
use replay::{RecordedRows, ReplayedLog};
use request::{Common, RowPlace, RowRequest};
use rows::{reader, rows};
pub(crate) use stream::StreamFacts;
use stream::{StreamInput, UnreadRows};
use templates::Templates;
pub(crate) use users::on_streams;

/// Greatest number of rows that are prepared before the load.
const ROWS_MAX: usize = 4_096;

/// Greatest number of names with slices, and so with intervals.
const WITH_INTERVALS_MAX: usize = 16;

/// The rows of a list, read and not yet prepared.
#[derive(Debug)]
pub(crate) struct List {
    /// All rows, or the first of a long list.
    pub(crate) rows: Vec<Row>,
    /// `None` for a log, whose format the replay has.
    format: Option<ListFormat>,
    sha256: String,
    input: Option<Input>,
    /// Place of a row in messages, before its number.
    place: String,
    /// Its specification.
    spec: ListSpec,
    /// Access of its templates to this machine.
    access: MachineAccess,
    /// The rows of a long list; `None` if all are in `rows`.
    long: Option<UnpreparedRows>,
    /// Times of the requests, if it is a log.
    replay: Option<Replay>,
    /// Scenarios, whose steps the rows are.
    scenarios: Option<Scenarios>,
}

/// The rows of a long list, which are read during the load.
#[derive(Debug)]
enum UnpreparedRows {
    /// Those of a file, with their index.
    Indexed(PathBuf, Arc<RowIndex>),
    /// Those of a stream, which can be read once.
    Streamed(PathBuf, UnreadRows),
    /// Those of a log, in memory.
    Recorded(Arc<[RecordedRequest]>),
}

/// A list, prepared.
#[derive(Debug)]
pub(crate) struct PreparedList {
    pub(crate) list: Arc<RequestList>,
    pub(crate) plan: ListPlan,
    /// Method and request of the first row whose method is safe, for preflight and probe; else of
    /// the first row.
    pub(crate) first: (String, Prepared),
    /// Expectations of its responses, with those of the command line; `None` if there are none.
    pub(crate) checks: Option<PreparedChecks>,
    /// The list's file, and those of bodies and values.
    pub(crate) inputs: Vec<Input>,
    /// Values that were read from this machine, which are not written.
    pub(crate) secrets: Vec<String>,
    /// The part of a stream that was read, which is complete after the load.
    pub(crate) stream: Option<Arc<StreamFacts>>,
    /// Times of the requests, if it is a log.
    pub(crate) replay: Option<Replay>,
}

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
        if makes_others || (spec.templates.rows.is_none() && !texts.any(|it| it.contains("{{"))) {
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
        Ok(List { spec, ..list })
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
                return Ok(List {
                    rows: rows(&place, &mut reader, ROWS_MAX)?,
                    format: Some(reader.format()),
                    sha256: input.sha256.clone(),
                    input: Some(input),
                    place,
                    spec: ListSpec::default(),
                    access: MachineAccess::Full,
                    long: Some(UnpreparedRows::Indexed(file.path.clone(), index)),
                    replay: None,
                    scenarios: None,
                });
            }
        }
        let bytes = file.read(LIST, WHOLE_MAX_BYTES)?;
        let input = file.verify(InputRole::List, &bytes)?;
        Ok(List { input: Some(input), ..List::of_bytes(place, &bytes, format)? })
    }

    fn of_bytes(place: String, bytes: &[u8], format: Option<ListFormat>) -> Result<List> {
        let mut reader = reader(&place, bytes, format)?;
        let rows = rows(&place, &mut reader, ROWS_MAX + 1)?;
        if let Some(row) = rows.get(ROWS_MAX) {
            return Err(too_many(&place, row, reader.format()));
        }
        let format = Some(reader.format());
        let sha256 = sha256(bytes);
        let spec = ListSpec::default();
        let access = MachineAccess::Full;
        let input = None;
        let long = None;
        let replay = None;
        let scenarios = None;
        Ok(List { rows, format, sha256, input, place, spec, access, long, replay, scenarios })
    }

    /// Reads a log: its different requests are the rows, or the most frequent ones.
    fn of_log(spec: &ReplaySpec) -> Result<List> {
        let ReplayedLog { replay, requests, input, place } = replay::read(spec)?;
        let first = requests.iter().take(ROWS_MAX);
        let first = first.map(|request| Row { weight: request.count, ..request.row() });
        Ok(List {
            rows: first.collect(),
            format: None,
            sha256: input.sha256.clone(),
            input: Some(input),
            place,
            spec: ListSpec {
                source: ListSource::File(spec.file.clone()),
                order: ListOrder::Once,
                groups: spec.groups.clone(),
                ..ListSpec::default()
            },
            access: MachineAccess::Full,
            long: (requests.len() > ROWS_MAX).then(|| UnpreparedRows::Recorded(requests)),
            replay: Some(replay),
            scenarios: None,
        })
    }

    /// Reads a list from where it can be read once: all rows, or the first of a long one.
    fn of_stream(file: &InputFile, place: String, format: Option<ListFormat>) -> Result<List> {
        let input = StreamInput::open(&file.path, LIST)?;
        let facts = input.facts();
        let mut reader = reader(&place, input, format)?;
        let rows = rows(&place, &mut reader, ROWS_MAX + 1)?;
        let format = reader.format();
        let spec = ListSpec::default();
        let access = MachineAccess::Full;
        if let Some(row) = rows.get(ROWS_MAX) {
            if format == ListFormat::Har {
                return Err(too_many(&place, row, format));
            }
            let unread = UnreadRows::new(reader, facts);
            let long = Some(UnpreparedRows::Streamed(file.path.clone(), unread));
            return Ok(List {
                rows,
                format: Some(format),
                sha256: String::new(),
                input: None,
                place,
                spec,
                access,
                long,
                replay: None,
                scenarios: None,
            });
        }
        let input = facts.input();
        let sha256 = input.sha256.clone();
        let input = Some(input);
        let format = Some(format);
        let long = None;
        let replay = None;
        let scenarios = None;
        Ok(List { rows, format, sha256, input, place, spec, access, long, replay, scenarios })
    }

    /// Reads a file of scenarios.
    fn of_scenarios(file: &InputFile) -> Result<List> {
        let place = format!("{SCENARIO} {}: ", stream::name(&file.path));
        let bytes = file.read(SCENARIO, SETTINGS_MAX_BYTES)?;
        let input = file.verify(InputRole::List, &bytes)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| anyhow!("{place}it is not UTF-8"))?;
        let read = ScenarioFile::parse(text).map_err(|error| rows::in_list(&place, &error))?;
        Ok(List {
            rows: read.rows,
            format: None,
            sha256: input.sha256.clone(),
            input: Some(input),
            place,
            spec: ListSpec::default(),
            access: MachineAccess::Full,
            long: None,
            replay: None,
            scenarios: Some(read.scenarios),
        })
    }

    /// Returns the URL of the first row, which gives the origin of a run without a URL.
    ///
    /// # Errors
    /// When it is a path alone.
    pub(crate) fn first_url(&self) -> Result<&str> {
        let first = self.rows.first().context("a list has rows")?;
        if first.target.starts_with('/') {
            let error = anyhow!("{} is a path: give the URL of the server too", first.target);
            return Err(self.at(first, &error));
        }
        Ok(&first.target)
    }

    /// Returns the error of a row.
    fn at(&self, row: &Row, error: &anyhow::Error) -> anyhow::Error {
        anyhow!("{}: {error:#}", rows::at(&self.place, row.position))
    }

    /// Prepares the requests of the rows for the server of `url`. `headers` are those of all, which
    /// are `calls` of gRPC if those are given, and `body` that of rows without one; `expectations`
    /// are those of all.
    ///
    /// # Errors
    /// When a row is of another origin, or is no request that can be sent.
    pub(crate) fn prepare(
        &self,
        spec: &RunSpec,
        url: &Url,
        headers: &[(String, String)],
        calls: Option<&GrpcCalls>,
        body: Option<&[u8]>,
        mut expectations: ExpectationParser,
    ) -> Result<PreparedList> {
        let list = &self.spec;
        let common = Common {
            templates: Templates::of(
                spec,
                list,
                self.format,
                self.scenarios.as_ref().map(|scenarios| &*scenarios.values),
                &self.access,
            )?,
            spec: spec.clone(),
            list: list.clone(),
            url: url.clone(),
            headers: headers.to_vec(),
            calls: calls.cloned(),
            body: body.map(<[u8]>::to_vec),
        };
        let mut names = Names::new(groups(list)?);
        let prepared = self.prepare_rows(&common, &mut names, &mut expectations)?;
        let Some((method, request, index)) = prepared.first else {
            bail!("no request of the list is of the origin {}", url.origin());
        };
        let requests = prepared.requests;
        let name = requests[usize::from(index)].name;
        let (sequence, list_order) = self.sequence(spec, &prepared.weights)?;
        // The rows of a stream are counted while they are read.
        let turns = if sequence.pass() == u64::MAX { 0 } else { sequence.pass() };
        if self.long.is_some() {
            names.add_other();
        }
        let mut all = names.all().to_vec();
        let with_slices = match &self.scenarios {
            None => heaviest(&requests, &prepared.weights, all.len(), WITH_INTERVALS_MAX),
            Some(scenarios) => {
                expectations.expect_always();
                users::add_names(scenarios, &requests, &mut all)
            }
        };
        let plan = ListPlan {
            format: self.format_name().to_owned(),
            sha256: self.sha256.clone(),
            rows: match self.long.is_some() || self.replay.is_some() {
                true => turns,
                false => requests.len() as u64,
            },
            order: list_order,
            turns,
            names: all.clone(),
            with_intervals: with_slices.clone(),
            probed: Some(name).filter(|_| {
                self.long.is_none()
                    && self.scenarios.is_none()
                    && is_safe_method(&method)
                    && is_alone(&requests, name)
            }),
            templates: common.templates.plan(spec, &requests),
            users: self.scenarios.as_ref().map(|scenarios| users::plan(spec, scenarios)),
            other_origins: prepared.other_origins,
        };
        if plan.templates.is_some() && spec.part.is_some() && spec.is_seed_drawn {
            bail!("{PART} needs a seed with templates: the same on each machine");
        }
        let columns = common.templates.clone();
        let seed = spec.templates.seed;
        let table = columns.table.clone();
        let (rows, stream) = self.rows(requests, RowPreparer { names, common }, turns);
        let names = u16::try_from(all.len()).expect("names are limited");
        let checks = expectations.finish(Some(names), index);
        let users = self.scenarios.as_ref().map(|it| Arc::new(users::of(spec, url, it.clone())));
        let list = RequestList { rows, sequence, names, with_slices, seed, table, users };
        let list = Arc::new(list);
        let first = (method, request);
        let mut secrets = prepared.secrets;
        let redaction = Redaction::of(spec);
        secrets.extend(columns.secrets(|name| redaction.is_secret(name)));
        let inputs = prepared.inputs;
        let mut replay = self.replay.clone();
        replay.iter_mut().for_each(|it| it.plan.name = redaction.text(&it.plan.name));
        Ok(PreparedList { list, plan, first, checks, inputs, secrets, stream, replay })
    }

    /// Returns the name of the format.
    fn format_name(&self) -> &str {
        match (&self.replay, self.format) {
            _ if self.scenarios.is_some() => "scenario",
            (Some(replay), _) => &replay.plan.format,
            (None, format) => format.map_or("", ListFormat::name),
        }
    }

    /// Returns the order of the rows with these weights, in the engine's form and the plan's.
    ///
    /// # Errors
    /// When they have none, or a stream would be read twice.
    fn sequence(&self, spec: &RunSpec, weights: &[u32]) -> Result<(Sequence, ListOrder)> {
        let own = self.spec.order;
        if let Some(scenarios) = &self.scenarios {
            return Ok((users::sequence(scenarios)?, own));
        }
        if let Some(replay) = &self.replay {
            return Ok((Sequence::listed(replay.rows.clone()), own));
        }
        match &self.long {
            Some(UnpreparedRows::Indexed(_, index)) => {
                Ok((Sequence::plain(order(own), index.rows()), own))
            }
            Some(UnpreparedRows::Streamed(path, _)) => {
                let turns = stream::requests(spec, own, path)?.unwrap_or(u64::MAX);
                Ok((Sequence::plain(Order::Once, turns), ListOrder::Once))
            }
            Some(UnpreparedRows::Recorded(_)) | None => {
                let sequence = Sequence::weighted(order(own), weights);
                Ok((sequence.map_err(|error| anyhow!("{LIST_ORDER}: {error}"))?, own))
            }
        }
    }

    /// Returns the rows for the load: the prepared `requests`, or what reads and prepares those of
    /// a long list. `turns` is their number, 0 if a stream decides it.
    fn rows(
        &self,
        requests: Vec<ListedRequest>,
        preparer: RowPreparer,
        turns: u64,
    ) -> (ListRows, Option<Arc<StreamFacts>>) {
        match &self.long {
            None => (ListRows::Prepared(requests), None),
            Some(UnpreparedRows::Indexed(path, index)) => {
                let path = path.clone();
                let index = Arc::clone(index);
                (ListRows::Read(Arc::new(LongList { path, index, preparer })), None)
            }
            Some(UnpreparedRows::Recorded(requests)) => {
                let requests = Arc::clone(requests);
                let place = self.place.clone();
                (ListRows::Read(Arc::new(RecordedRows { requests, preparer, place })), None)
            }
            Some(UnpreparedRows::Streamed(_, unread)) => {
                let first = self.rows.clone();
                let place = self.place.clone();
                let requests = (turns > 0).then_some(turns);
                let next = unread.take_next(first, preparer, place, requests);
                (ListRows::Streamed(Arc::new(RowStream::new(next))), Some(unread.facts()))
            }
        }
    }

    /// Prepares the requests of the rows, and adds their names to `names`.
    fn prepare_rows(
        &self,
        common: &Common,
        names: &mut Names,
        expectations: &mut ExpectationParser,
    ) -> Result<PreparedRows> {
        let inputs = self.input.iter().chain(&common.templates.input).cloned().collect();
        let mut prepared = PreparedRows { inputs, ..PreparedRows::default() };
        let mut bytes = 0;
        for row in &self.rows {
            let at = |error: anyhow::Error| self.at(row, &error);
            let marked = common.mark(row).map_err(at)?;
            if self.long.is_some() && !marked.marks.fields.is_empty() {
                return Err(at(anyhow!("a list of this length has no templates: shorten it")));
            }
            let path = match common.place(&marked).map_err(at)? {
                RowPlace::Here(path) => path,
                RowPlace::Elsewhere(origin)
                    if common.list.skip_other_origins && self.long.is_none() =>
                {
                    *prepared.other_origins.entry(origin).or_default() += 1;
                    continue;
                }
                RowPlace::Elsewhere(origin) => return Err(at(common.elsewhere(&origin))),
            };
            let of_row = common.request(marked, &path).map_err(at)?;
            match &self.long {
                None => expectations.add_row(&row.expect).map_err(at)?,
                Some(_) if row.expect.is_empty() => {}
                Some(_) => return Err(at(long::no_expectations())),
            }
            bytes += of_row.request.bytes().len() as u64;
            if bytes > REQUEST_MAX_BYTES {
                return Err(at(anyhow!("the requests up to this one are larger than 1 GiB")));
            }
            let name = names.number(row.name.as_deref(), &of_row.method, &of_row.path);
            prepared.add(of_row, name, row.weight);
        }
        prepared.inputs.sort_by(|a, b| (a.role, &a.path).cmp(&(b.role, &b.path)));
        prepared.inputs.dedup();
        self.check_used(common, names, &prepared.requests)?;
        Ok(prepared)
    }

    /// Checks that each group has a request, as far as all are known, and that a request has a
    /// value of the table.
    fn check_used(&self, common: &Common, names: &Names, requests: &[ListedRequest]) -> Result<()> {
        let are_known = self.long.is_none() && names.all().len() < NAMES_MAX;
        if let Some(group) = names.unused_group().filter(|_| are_known && !requests.is_empty()) {
            let all = names.all().join(", ");
            bail!(
                "{GROUP} '{group}' matches no request ({}): correct it, or leave it out",
                brief(&all)
            );
        }
        let has_column = |request: &ListedRequest| {
            request.template.as_ref().is_some_and(|template| template.has_column())
        };
        match &common.templates.table {
            Some(TableRows { table, .. }) if !requests.iter().any(has_column) => bail!(
                "{ROWS} has no effect: no request has {{{{csv:COLUMN}}}} with one of its columns, \
                 {}; add one, or leave it out",
                table.columns().join(", ")
            ),
            _ => Ok(()),
        }
    }
}

/// The prepared rows of a list.
#[derive(Default)]
struct PreparedRows {
    requests: Vec<ListedRequest>,
    weights: Vec<u32>,
    /// Method, request and index of the first row whose method is safe, else of the first row.
    first: Option<(String, Prepared, u16)>,
    inputs: Vec<Input>,
    /// Values that were read from this machine.
    secrets: Vec<String>,
    /// Rows that are left out, by origin.
    other_origins: BTreeMap<String, u64>,
}

impl PreparedRows {
    fn add(&mut self, row: RowRequest, name: u16, weight: u32) {
        // A request with a value that a user captures cannot be sent before.
        let is_alone = row.template.as_ref().is_none_or(|template| !template.has_captured());
        let is_safe = is_alone && is_safe_method(&row.method);
        let is_better = |known: &str| !is_safe_method(known) && is_safe;
        if self.first.as_ref().is_none_or(|(known, ..)| is_better(known)) {
            let index = self.requests.len() as u16; // There are fewer rows than 2^16.
            self.first = Some((row.method, row.request.clone(), index));
        }
        let RowRequest { request, template, encoder, .. } = row;
        self.requests.push(ListedRequest { request, name, template, encoder });
        self.secrets.extend(row.secrets);
        self.weights.push(weight);
        self.inputs.extend(row.inputs);
    }
}

impl PreparedList {
    /// Returns the due times of the requests, if it is a log.
    pub(crate) fn times(&self) -> Option<Arc<[u64]>> {
        self.replay.as_ref().map(|replay| Arc::clone(&replay.times))
    }

    /// Returns notes on the requests: what differs from a log, and that no request may be sent
    /// before the load.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> {
        let of_replay = self.replay.as_ref().map(Replay::notes);
        of_replay.into_iter().flatten().chain(self.unprobed())
    }

    /// Returns a note if no request may be sent before the load.
    fn unprobed(&self) -> Option<Note> {
        let text = "no request of the list has a safe method (GET, HEAD, OPTIONS, TRACE): the \
                    checks before the load, preflight and probe, sent none";
        (!is_safe_method(&self.first.0)).then(|| Note::new("no_safe_request", text))
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

fn groups(list: &ListSpec) -> Result<Vec<Group>> {
    let groups = list.groups.iter().map(|text| Group::parse(text));
    groups.collect::<Result<_, String>>().map_err(|text| anyhow!("{GROUP} {text}"))
}

fn order(order: ListOrder) -> Order {
    match order {
        ListOrder::Sequential => Order::Sequential,
        ListOrder::Random { seed } => Order::Random { seed },
        ListOrder::Once => Order::Once,
    }
}

/// True if all requests with this name are the same.
fn is_alone(requests: &[ListedRequest], name: u16) -> bool {
    let mut with = requests.iter().filter(|request| request.name == name);
    let first = with.next();
    with.all(|other| first.is_some_and(|first| first.request.bytes() == other.request.bytes()))
}

/// Returns the names with the greatest weights, `most` at most, in file order.
fn heaviest(requests: &[ListedRequest], weights: &[u32], names: usize, most: usize) -> Vec<u16> {
    let mut sums = vec![0_u64; names];
    for (request, weight) in requests.iter().zip(weights) {
        sums[usize::from(request.name)] += u64::from(*weight);
    }
    let mut by_weight: Vec<u16> = (0..).take(names).collect();
    by_weight.sort_by_key(|name| std::cmp::Reverse(sums[usize::from(*name)]));
    by_weight.truncate(most);
    by_weight.sort_unstable();
    by_weight
}

//! The list of a run: its rows are read, checked and prepared before anything is sent.

mod long;
mod preview;
mod reading;
mod replay;
mod request;
mod rows;
mod setup;
mod stream;
mod templates;
mod users;
mod weights;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use weir_engine::{ListRows, ListedRequest, RequestList, RowStream, UserPlan};
use weir_http::{Prepared, is_safe_method};
use weir_requests::list::{
    Group, ListFormat, NAMES_MAX, Names, Order, RecordedRequest, Row, RowIndex, Sequence, TableRows,
};
use weir_requests::scenario::{Scenarios, Setup};
use weir_result::document::Input;
use weir_result::{ListOrder, ListPlan, Note};
use weir_text::brief;
use weir_text::setting::{GROUP, LIST_ORDER, PART, REDIRECTS, ROWS};

use crate::access::MachineAccess;
use crate::prepare::body::REQUEST_MAX_BYTES;
use crate::prepare::expect::{ExpectationParser, PreparedChecks};
use crate::prepare::grpc::GrpcCalls;
use crate::prepare::redaction::Redaction;
use crate::spec::url::Url;
use crate::spec::{ListSpec, RunSpec};
use long::{LongList, RowPreparer};
pub(crate) use preview::first_lines;
use replay::RecordedRows;
pub(crate) use replay::Replay;
use request::{Common, RowPlace, RowRequest};
pub(crate) use setup::{PreparedSetup, SETUP_BODY_MAX_BYTES};
pub(crate) use stream::StreamFacts;
use stream::UnreadRows;
use templates::Templates;
pub(crate) use users::on_streams;

/// The rows of a list, read and not yet prepared.
#[derive(Debug, Default)]
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
    /// Scenarios, whose steps the rows are, or sessions, whose turns they are.
    scenarios: Option<Scenarios>,
    /// Requests before the load of scenarios.
    setup: Setup,
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

/// The row whose request is sent before the load: the first that may be, else the first.
#[derive(Clone, Debug)]
pub(crate) struct FirstRow {
    pub(crate) method: String,
    pub(crate) request: Prepared,
    /// Its index among the rows.
    index: u16,
    /// True if it may be sent: its method is safe, and it needs no value that a user captures.
    pub(crate) is_alone: bool,
}

/// A list, prepared.
#[derive(Debug)]
pub(crate) struct PreparedList {
    pub(crate) list: Arc<RequestList>,
    pub(crate) plan: ListPlan,
    /// The row whose request preflight and probe send, if they may.
    pub(crate) first: FirstRow,
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
    /// Requests before the load, if scenarios have a setup.
    pub(crate) setup: Option<Arc<PreparedSetup>>,
}

impl List {
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

    /// True if users send the requests, as steps of scenarios or as turns of sessions.
    pub(crate) fn has_users(&self) -> bool {
        self.scenarios.is_some()
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
        let captured = self.scenarios.as_ref().map(|scenarios| &*scenarios.values);
        let common = Common {
            templates: Templates::of(spec, &self.spec, self.format, captured, &self.access)?,
            spec: spec.clone(),
            list: self.spec.clone(),
            url: url.clone(),
            headers: headers.to_vec(),
            calls: calls.cloned(),
            body: body.map(<[u8]>::to_vec),
        };
        let mut names = Names::new(groups(&self.spec)?);
        let prepared = self.prepare_rows(&common, &mut names, &mut expectations)?;
        let Some(first) = prepared.first else {
            bail!("no request of the list is of the origin {}", url.origin());
        };
        let requests = prepared.requests;
        let (sequence, list_order) = self.sequence(spec, &prepared.weights)?;
        // The rows of a stream are counted while they are read.
        let turns = if sequence.pass() == u64::MAX { 0 } else { sequence.pass() };
        if self.long.is_some() {
            names.add_other();
        }
        let mut all = names.all().to_vec();
        let scenarios = self.scenarios.as_ref();
        let with_slices =
            users::add_names(scenarios, spec, &requests, &prepared.weights, &mut all)?;
        let users = self.users(spec, url, requests.len())?;
        users.iter().for_each(|_| expectations.expect_always());
        let setup = setup::prepare(&self.setup, &self.place, &common, &expectations, &users)?;
        let plan = ListPlan {
            order: list_order,
            turns,
            names: all.clone(),
            with_intervals: with_slices.clone(),
            probed: self.probed(&requests, &first),
            templates: common.templates.plan(spec, &requests),
            users: self.scenarios.as_ref().map(|scenarios| users::plan(spec, scenarios)),
            redirects: spec.request.redirects,
            other_origins: prepared.other_origins,
            ..self.plan_of_file(requests.len(), turns)
        };
        if plan.templates.is_some() && spec.part.is_some() && spec.is_seed_drawn {
            bail!("{PART} needs a seed with templates: the same on each machine");
        }
        let columns = common.templates.clone();
        let table = columns.table.clone();
        let (rows, stream) = self.rows(requests, RowPreparer { names, common }, turns);
        let names = u16::try_from(all.len()).expect("names are limited");
        let checks = expectations.finish(Some(names), first.index);
        let seed = spec.templates.seed;
        let list = Arc::new(RequestList { rows, sequence, names, with_slices, seed, table, users });
        let mut secrets = prepared.secrets;
        let redaction = Redaction::of(spec);
        secrets.extend(columns.secrets(|name| redaction.is_secret(name)));
        let mut replay = self.replay.clone();
        replay.iter_mut().for_each(|it| it.plan.name = redaction.text(&it.plan.name));
        let inputs = prepared.inputs;
        Ok(PreparedList { list, plan, first, checks, inputs, secrets, stream, replay, setup })
    }

    /// Returns the users who send the requests, of which this number is prepared; `None` if each
    /// slot has one request.
    ///
    /// # Errors
    /// When the requests of a long list would be redirected.
    fn users(&self, spec: &RunSpec, url: &Url, requests: usize) -> Result<Option<Arc<UserPlan>>> {
        let scenarios = match &self.scenarios {
            Some(scenarios) => scenarios.clone(),
            None if spec.request.redirects == 0 => return Ok(None),
            None if self.long.is_some() => {
                bail!("{REDIRECTS}: a list of this length is read during the load: shorten it")
            }
            None => users::of_rows(requests),
        };
        let has_scenarios = self.scenarios.is_some();
        Ok(Some(Arc::new(users::of(spec, url, scenarios, has_scenarios))))
    }

    /// Returns the plan of a list with so many prepared rows and turns in a pass, as far as its
    /// file decides it.
    fn plan_of_file(&self, rows: usize, turns: u64) -> ListPlan {
        ListPlan {
            format: self.format_name().to_owned(),
            sha256: self.sha256.clone(),
            rows: match self.long.is_some() || self.replay.is_some() {
                true => turns,
                false => rows as u64,
            },
            ..ListPlan::default()
        }
    }

    /// Returns the number of the name of the first request if the probe repeats it.
    fn probed(&self, requests: &[ListedRequest], first: &FirstRow) -> Option<u16> {
        let name = requests[usize::from(first.index)].name;
        let is_whole = self.long.is_none() && self.scenarios.is_none();
        (is_whole && first.is_alone && is_alone(requests, name)).then_some(name)
    }

    /// Returns the name of the format.
    fn format_name(&self) -> &str {
        match (&self.replay, self.format) {
            _ if self.spec.has_scenarios() => ListPlan::SCENARIOS,
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
            return Ok((users::sequence(scenarios, order(own))?, own));
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
        let skips_others =
            common.list.skip_other_origins && self.long.is_none() && !self.has_users();
        for row in &self.rows {
            let at = |error: anyhow::Error| self.at(row, &error);
            let marked = common.mark(row).map_err(at)?;
            if self.long.is_some() && !marked.marks.fields.is_empty() {
                return Err(at(anyhow!("a list of this length has no templates: shorten it")));
            }
            let path = match common.place(&marked).map_err(at)? {
                RowPlace::Here(path) => path,
                RowPlace::Elsewhere(origin) if skips_others => {
                    *prepared.other_origins.entry(origin).or_default() += 1;
                    continue;
                }
                RowPlace::Elsewhere(origin) => {
                    return Err(at(common.elsewhere(&origin)));
                }
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
            let templates = request.template.iter().chain(&request.message);
            templates.into_iter().any(|template| template.has_column())
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
    first: Option<FirstRow>,
    inputs: Vec<Input>,
    /// Values that were read from this machine.
    secrets: Vec<String>,
    /// Rows that are left out, by origin.
    other_origins: BTreeMap<String, u64>,
}

impl PreparedRows {
    fn add(&mut self, row: RowRequest, name: u16, weight: u32) {
        let has_captured = row.template.as_ref().is_some_and(|template| template.has_captured());
        let is_alone = is_safe_method(&row.method) && !has_captured;
        if self.first.as_ref().is_none_or(|known| is_alone && !known.is_alone) {
            let index = self.requests.len() as u16; // There are fewer rows than 2^16.
            let method = row.method;
            self.first = Some(FirstRow { method, request: row.request.clone(), index, is_alone });
        }
        let RowRequest { request, template, encoder, message, .. } = row;
        self.requests.push(ListedRequest { request, name, template, encoder, message });
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
        let reason = match self.plan.users {
            Some(_) => "each step has an unsafe method, such as POST, or a captured value",
            None => "no request of the list has a safe method (GET, HEAD, OPTIONS, TRACE)",
        };
        let text = format!("{reason}: the checks before the load, preflight and probe, sent none");
        (!self.first.is_alone).then(|| Note::new("no_safe_request", text))
    }
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

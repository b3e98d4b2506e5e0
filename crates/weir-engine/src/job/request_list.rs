//! The requests of a list, prepared or read during the load, and their names.

use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, PoisonError};

use weir_http::Prepared;
use weir_requests::list::{Sequence, TableRows, Template};
use weir_requests::scenario::{Scenarios, SiteOrigin, UserDraws};

use super::shared_values::SharedValues;
use super::turns::ListTurn;

/// Requests that are sent in an order.
#[derive(Clone, Debug)]
pub struct RequestList {
    /// The requests.
    pub rows: ListRows,
    /// The order in which they are sent.
    pub sequence: Sequence,
    /// Number of names, at least 1.
    pub names: u16,
    /// Names whose times are kept by slice too, so that they have intervals.
    pub with_slices: Vec<u16>,
    /// Seed of the random values of templates.
    pub seed: u64,
    /// Rows with values of templates.
    pub table: Option<TableRows>,
    /// Users who send the requests as steps; `None` if each slot has one of them. `sequence` is
    /// that of their scenarios then, whose names are the last of `names`.
    pub users: Option<Arc<UserPlan>>,
}

/// The users who send the requests of a list, step by step.
#[derive(Clone, Debug)]
pub struct UserPlan {
    /// Their scenarios, whose steps have the requests in order.
    pub scenarios: Scenarios,
    /// Users at a time, over all connections of the run; at least as many as these.
    pub users: u32,
    /// Origin of their cookies and redirects.
    pub origin: SiteOrigin,
    /// Values that all users share, the first of those that the scenarios name.
    pub shared: Arc<SharedValues>,
    /// Redirects that a request follows at most; each request that is redirected counts under the
    /// name behind those of the rows, in their order.
    pub redirects: u8,
    /// True if they are users with scenarios, which have names, and cookies. False if each sends
    /// one request of a list, and the redirects that follow it.
    pub has_scenarios: bool,
}

/// The requests of a list.
#[derive(Clone, Debug)]
pub enum ListRows {
    /// All of them, in file order.
    Prepared(Vec<ListedRequest>),
    /// They are read during the load, ahead of their slots.
    Read(Arc<dyn RowSource>),
    /// They are read during the load too, from where they can be read once. Their order is
    /// [`Order::Once`](weir_requests::list::Order::Once). The plan has no number of requests if the
    /// stream decides it.
    Streamed(Arc<RowStream>),
}

/// A request of a list.
#[derive(Clone, Debug)]
pub struct ListedRequest {
    /// The request to send.
    pub request: Prepared,
    /// Number of the name under which it is counted.
    pub name: u16,
    /// Template of the request, if it has fields; `request` has other values then.
    pub template: Option<Arc<Template>>,
    /// Encoder of the body that the template makes; `None` if that is sent as it is.
    pub encoder: Option<BodyEncoder>,
    /// Template of the messages that a user adds to its conversation with it, if it adds some.
    pub message: Option<Arc<Template>>,
}

/// A function that encodes the body of a request with fields once these have values, for a protocol
/// with streams.
#[derive(Clone)]
pub struct BodyEncoder(Arc<EncodeBody>);

type EncodeBody = dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync;

impl BodyEncoder {
    /// Returns the encoder that `encode` makes; the text of its error says what is wrong with the
    /// body.
    pub fn new(
        encode: impl Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> BodyEncoder {
        BodyEncoder(Arc::new(encode))
    }

    /// Returns a body encoded.
    ///
    /// # Errors
    /// If it cannot be; the text is the reason.
    pub fn encode(&self, body: &[u8]) -> Result<Vec<u8>, String> {
        (self.0)(body)
    }
}

impl Debug for BodyEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodyEncoder")
    }
}

impl RequestList {
    /// Returns the number of names of requests. Those that follow are of scenarios.
    pub(crate) fn request_names(&self) -> u16 {
        let users = self.users.as_ref().filter(|users| users.has_scenarios);
        self.names - users.map_or(0, |users| users.scenarios.counted()) as u16
    }

    /// Returns the number of the name of redirected requests whose row has this name.
    pub(crate) fn redirected_name(&self, name: u16) -> u16 {
        self.request_names() / 2 + name
    }

    /// Returns the number of the name of a prepared row.
    ///
    /// # Panics
    /// If the rows are read during the load.
    pub(crate) fn name_of(&self, row: u16) -> u16 {
        let ListRows::Prepared(requests) = &self.rows else { panic!("the row is prepared") };
        requests[usize::from(row)].name
    }

    /// Returns the number of names with slices that are of requests.
    pub(crate) fn request_places(&self) -> usize {
        let names = self.request_names();
        self.with_slices.iter().filter(|name| **name < names).count()
    }

    /// Returns the index of the row, or of the scenario, whose turn it is; `None` behind the end of
    /// a list that is sent once.
    #[inline]
    pub(crate) fn row_at(&self, turn: ListTurn) -> Option<u64> {
        match turn {
            ListTurn::Slot(index) => self.sequence.row(index),
            ListTurn::Nth { nth, worker, workers } => {
                Some(self.sequence.row_of(nth, worker, workers))
            }
        }
    }
}

/// A list's rows, which several threads read at the same time.
pub trait RowSource: Debug + Send + Sync {
    /// Opens the rows for one reader.
    ///
    /// # Errors
    /// If they cannot be read; the text names the list.
    fn open(&self) -> Result<Box<dyn RowCursor + '_>, String>;
}

/// One reader of a list's rows.
pub trait RowCursor {
    /// Reads the row with this index. Rows in ascending order are read fastest.
    ///
    /// # Errors
    /// If it cannot be read or sent; the text names the list and the line.
    fn read(&mut self, row: u64) -> Result<ListedRequest, String>;
}

/// Reads the next row of a stream; `None` at its end. An error names the list and the line.
pub type NextRow = Box<dyn FnMut() -> Result<Option<ListedRequest>, String> + Send>;

/// A list's rows, which one thread reads once.
pub struct RowStream(Mutex<Option<NextRow>>);

impl RowStream {
    /// Returns the stream that `next` reads.
    pub fn new(next: NextRow) -> RowStream {
        RowStream(Mutex::new(Some(next)))
    }

    /// Takes what reads the rows; `None` if it is taken.
    pub(crate) fn take(&self) -> Option<NextRow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}

/// The names of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnNames {
    /// Number of the name of its request, or of its first one.
    pub(crate) request: u16,
    /// Number of the name of its user's scenario, if it has one.
    pub(crate) scenario: Option<u16>,
}

/// The names of a list's rows, by turn.
pub(crate) struct RowNames<'a> {
    list: &'a RequestList,
    /// Reader of a list that is not in memory.
    reader: Option<Box<dyn RowCursor + 'a>>,
}

impl RowNames<'_> {
    /// Returns the names of the rows of `list`.
    pub(crate) fn new(list: &RequestList) -> RowNames<'_> {
        RowNames { list, reader: None }
    }

    /// Returns the names of the slot whose turn it is; `None` behind the end of a list that is sent
    /// once.
    pub(crate) fn at(&mut self, turn: ListTurn) -> Option<TurnNames> {
        let row = self.list.row_at(turn)?;
        match self.list.users.as_deref() {
            Some(users) => Some(self.of_user(users, row, turn)),
            None => self.of_row(row).map(|request| TurnNames { request, scenario: None }),
        }
    }

    /// Returns the names of a user who never began: of the scenario and of the first step.
    fn of_user(&self, users: &UserPlan, scenario: u64, turn: ListTurn) -> TurnNames {
        let draws = UserDraws { seed: self.list.seed, user: turn.index() };
        let scenario = scenario as u16; // There are fewer than 2^16.
        let of = &users.scenarios.all[usize::from(scenario)];
        let first = of.next(None, draws, &[], |_| {}).expect("each has a step that all take");
        let row = of.steps[usize::from(first.step)].row;
        TurnNames {
            request: self.list.name_of(row),
            scenario: users
                .has_scenarios
                .then(|| self.list.request_names() + users.scenarios.counted_as(scenario)),
        }
    }

    /// Returns the name of a row. One that can no longer be read, as one of a stream, has the last
    /// name, that of all without their own.
    fn of_row(&mut self, row: u64) -> Option<u16> {
        let source = match &self.list.rows {
            ListRows::Prepared(requests) => return Some(requests[row as usize].name),
            ListRows::Read(source) => source,
            ListRows::Streamed(_) => return Some(self.list.names - 1),
        };
        if self.reader.is_none() {
            self.reader = source.open().ok();
        }
        let read = self.reader.as_mut().and_then(|reader| reader.read(row).ok());
        Some(read.map_or(self.list.names - 1, |row| row.name))
    }
}

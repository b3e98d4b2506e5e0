//! The requests of a list in the form that a worker's lane sends, and the order of their turns.

use std::sync::Arc;

use weir_http::{RawRequest, Request, RequestTraits};
use weir_io::{Backend, Nanos};
use weir_requests::list::{Places, TableRows, Template, Values, Walk};
use weir_requests::scenario::path_of;
use weir_text::setting::ROWS;

use super::batch::Batch;
use super::form::RequestForm;
use super::numbered::Numbered;
use crate::job::{BodyEncoder, Job, ListTurn, ListedRequest, RequestList};
use crate::users::{UserStep, Users};

/// Longest request whose last form is kept, so that only its fields are written again. A list of
/// long ones would be held once more by each worker.
const KEPT_MAX_BYTES: usize = 16 * 1024;

/// Greatest number of forms of a request: that of the digits of a number.
const FORMS_MAX: usize = 20;

/// The requests of a list.
#[derive(Debug)]
pub(crate) struct Listed<R> {
    list: Arc<RequestList>,
    walk: Walk,
    /// In file order.
    requests: Vec<ListedRow<R>>,
    /// Scheme of the requests, if they are sent as fields.
    scheme: Option<&'static str>,
    /// The last rendered request that was too long to be kept, or is a step of a user.
    long: Rendered,
    /// Value of the `Cookie` field of the last step.
    cookies: Vec<u8>,
    /// Bytes of the last request that followed a redirect.
    hop: Vec<u8>,
}

/// A request of a list.
#[derive(Debug)]
struct ListedRow<R> {
    request: R,
    name: u16,
    /// The request of a user without cookies, if it is the step of a scenario.
    step: Option<Box<Batch>>,
    /// Its template, if it has fields.
    fields: Option<Box<ListedFields>>,
    /// Template of the messages that a user adds to its conversation with it.
    message: Option<Arc<Template>>,
}

/// A request with fields.
#[derive(Debug)]
struct ListedFields {
    template: Arc<Template>,
    encoder: Option<BodyEncoder>,
    traits: RequestTraits,
    /// How it was rendered last; `None` if it is too long to be kept.
    last: Option<Rendered>,
    /// Its forms, if its only field is a number.
    numbered: Option<Numbered>,
}

/// A rendered request.
#[derive(Debug, Default)]
struct Rendered {
    batch: Batch,
    places: Places,
}

impl<R: RequestForm> Listed<R> {
    /// Prepares the `requests` of `list` for a lane.
    pub(crate) fn new(
        list: &Arc<RequestList>,
        requests: &[ListedRequest],
        job: &Job,
        backend: &mut impl Backend,
    ) -> Listed<R> {
        assert!(requests.len() <= 1 << 16, "an exchange has 16 bits for the index");
        let prepare = |one: &ListedRequest| ListedRow {
            request: R::prepare(&one.request, job, backend),
            name: one.name,
            message: one.message.clone(),
            step: list.users.as_ref().map(|_| {
                let mut batch = Batch { bytes: one.request.bytes().to_vec(), ..Batch::default() };
                let scheme = R::STREAMS.then(|| job.scheme());
                let completed = complete(&mut batch, scheme, one.request.traits(), None);
                completed.expect("nothing is encoded");
                Box::new(batch)
            }),
            fields: one.template.clone().map(|template| {
                let length = one.request.bytes().len();
                let has_forms = !R::STREAMS && length * FORMS_MAX <= KEPT_MAX_BYTES;
                Box::new(ListedFields {
                    numbered: Numbered::new(&template).filter(|_| has_forms),
                    last: (length <= KEPT_MAX_BYTES).then(Rendered::default),
                    traits: one.request.traits(),
                    encoder: one.encoder.clone(),
                    template,
                })
            }),
        };
        Listed {
            list: Arc::clone(list),
            walk: Walk::default(),
            requests: requests.iter().map(prepare).collect(),
            scheme: R::STREAMS.then(|| job.scheme()),
            long: Rendered::default(),
            cookies: Vec::new(),
            hop: Vec::new(),
        }
    }

    /// Returns the index of the scenario of the user whose turn it is.
    pub(crate) fn scenario_at(&mut self, turn: ListTurn) -> Option<u16> {
        self.place_at(turn).map(|scenario| scenario as u16)
    }

    /// Returns the number of the name of the request with this index.
    pub(crate) fn name_of(&self, row: u16) -> u16 {
        self.requests[usize::from(row)].name
    }

    /// Returns the index of the request whose turn it is, and the number of its name; `None` behind
    /// the end of a list that is sent once.
    #[inline]
    pub(crate) fn at(&mut self, turn: ListTurn) -> Option<(u16, u16)> {
        let row = self.place_at(turn)?;
        // A prepared list has at most 2^16 requests.
        Some((row as u16, self.requests[row as usize].name))
    }

    /// Returns the place in the sequence whose turn it is.
    #[inline(always)]
    fn place_at(&mut self, turn: ListTurn) -> Option<u64> {
        let sequence = &self.list.sequence;
        match turn {
            ListTurn::Slot(index) => sequence.row(index),
            ListTurn::Nth { nth, worker, workers } => {
                Some(sequence.next_row_of(&mut self.walk, nth, worker, workers))
            }
        }
    }

    /// Returns the request of a user's step, sent `now` on a `connection` of the run.
    ///
    /// # Errors
    /// If its body cannot be encoded.
    pub(crate) fn step_request(
        &mut self,
        step: &UserStep,
        users: &mut Users,
        connection: u32,
        now: Nanos,
    ) -> Result<&Batch, String> {
        let Listed { list, requests, scheme, long, cookies, hop: followed, .. } = self;
        let ListedRow { step: as_it_is, fields, message, .. } = &requests[usize::from(step.row)];
        let user = users.user(step.user);
        let fields = fields.as_ref().expect("each step has a template");
        let template = &fields.template;
        if user.memory.jar.is_empty() && template.is_constant() && users.hop(step.user).is_none() {
            return Ok(as_it_is.as_deref().expect("it is a step"));
        }
        let draws = user.draws;
        let table = list.table.as_ref();
        let row = table.map_or(&[][..], |it| it.row(list.seed, draws.user, connection.into()));
        let seed = users.seed_of(step.user);
        let values = Values { seed, index: draws.user, row, user: None };
        if let Some(message) = message {
            users.add_message(step.user, message, values);
        }
        let user = users.user(step.user);
        let hop = users.hop(step.user);
        let texts = user.texts(&[]);
        let values = Values { user: Some(&texts), ..values };
        let batch = &mut long.batch;
        long.places.clear();
        template.render_again(values, &mut batch.bytes, &mut long.places);
        cookies.clear();
        if !user.memory.jar.is_empty() {
            let path = match hop {
                Some(hop) => hop.path(),
                None => path_of(&batch.bytes),
            };
            users.write_cookies(step.user, path, now, cookies);
        }
        if let Some(hop) = hop {
            hop.write(&batch.bytes, cookies, followed);
            std::mem::swap(&mut batch.bytes, followed);
        } else if !cookies.is_empty() {
            long.places.clear();
            let texts = user.texts(cookies);
            let values = Values { user: Some(&texts), ..values };
            template.render_again(values, &mut batch.bytes, &mut long.places);
        }
        complete(batch, *scheme, fields.traits, fields.encoder.as_ref())?;
        Ok(batch)
    }

    /// Returns the request with this index.
    #[inline]
    pub(crate) fn request(&self, row: u16) -> &R {
        &self.requests[usize::from(row)].request
    }

    /// Renders the request with this index for a turn and a `connection` of the run; `None` if it
    /// has no fields.
    ///
    /// # Errors
    /// If its body cannot be encoded; the text names the row of the table.
    #[inline]
    pub(crate) fn render(
        &mut self,
        row: u16,
        turn: ListTurn,
        connection: impl Fn() -> u32,
    ) -> Result<Option<&Batch>, String> {
        let Some(fields) = self.requests[usize::from(row)].fields.as_mut() else {
            return Ok(None);
        };
        let seed = self.list.seed;
        let index = turn.index();
        if let Some(numbered) = &mut fields.numbered {
            return Ok(Some(numbered.render(seed, index, &fields.template, fields.traits)));
        }
        let table = self.list.table.as_ref();
        let row = table.map_or(&[][..], |table| table.row(seed, index, connection().into()));
        let rendered = match &mut fields.last {
            Some(last) => last,
            None => {
                self.long.places.clear();
                &mut self.long
            }
        };
        let values = Values { seed, index, row, ..Values::default() };
        let batch = &mut rendered.batch;
        let is_as_long =
            fields.template.render_again(values, &mut batch.bytes, &mut rendered.places);
        if is_as_long && self.scheme.is_none() {
            return Ok(Some(batch));
        }
        complete(batch, self.scheme, fields.traits, fields.encoder.as_ref()).map_err(|text| {
            let number = |table: &TableRows| table.number(seed, index, connection().into());
            unencoded(&text, index, self.list.table.as_ref().map(number))
        })?;
        Ok(Some(batch))
    }

    /// Returns the first request.
    pub(crate) fn first(&self) -> Option<&R> {
        self.requests.first().map(|row| &row.request)
    }
}

/// Completes a batch whose bytes were rendered: the length of its only request, and its fields if
/// it is sent as those.
fn complete(
    batch: &mut Batch,
    scheme: Option<&'static str>,
    traits: RequestTraits,
    encoder: Option<&BodyEncoder>,
) -> Result<(), String> {
    let bytes = u32::try_from(batch.bytes.len()).expect("values are limited when planned");
    batch.requests.clear();
    batch.requests.push(RawRequest { bytes, traits });
    let Some(scheme) = scheme else { return Ok(()) };
    let request = Request::parse(&batch.bytes, scheme);
    let mut request = request.expect("values are checked when planned");
    if let Some(encoder) = encoder {
        let body = encoder.encode(request.body())?;
        request = request.with_body(body);
    }
    batch.fields.clear();
    batch.fields.push(Arc::new(request));
    Ok(())
}

/// Describes the body of the request with this index that cannot be encoded, and the row of the
/// table whose values it has.
#[cold]
fn unencoded(text: &str, index: u64, row: Option<u64>) -> String {
    match row {
        Some(row) => format!("{ROWS}: with row {} (request {index}): {text}", row + 1),
        None => format!("request {index}: {text}"),
    }
}

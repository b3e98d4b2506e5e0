//! The request of a row: what the row gives, and what it leaves to the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use weir_engine::BodyEncoder;
use weir_http::Prepared;
use weir_requests::list::{
    FormPart, History, PartContent, Row, RowBody, TableRows, Template, TextForm, UserTexts, Values,
    multipart_body,
};
use weir_requests::scenario::UserDraws;
use weir_result::document::{Input, InputRole};
use weir_text::setting::{ALLOW_LOCAL, GRPC, HTTP, ROWS, SKIP_OTHER_ORIGINS};

use super::templates::{Marks, Templates};
use crate::digest::sha256;
use crate::errors::shown;
use crate::input::{WHOLE_MAX_BYTES, read_input};
use crate::prepare::grpc::{self, GrpcCalls};
use crate::prepare::{form, websocket};
use crate::spec::url::Url;
use crate::spec::{
    BodySpec, FormField, FormValue, HttpChoice, ListSource, ListSpec, RunSpec, credentials,
};

/// Rows of the table, and indexes of requests, that bodies are encoded with before the load.
const ROWS_CHECKED: u64 = 100_000;
const INDEXES_CHECKED: u64 = 64;

/// Greatest index that is checked: the last one of the longest open loop.
const INDEX_MAX: u64 = 1_000_000_000 - 1;

/// The parts that the requests of all rows share.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) spec: RunSpec,
    pub(super) list: ListSpec,
    /// The server.
    pub(super) url: Url,
    /// Header fields of the command line. A row's own replace those with the same name.
    pub(super) headers: Vec<(String, String)>,
    /// Body of the command line, of rows without one.
    pub(super) body: Option<Vec<u8>>,
    /// Method of gRPC that all call.
    pub(super) calls: Option<GrpcCalls>,
    /// Templates of both.
    pub(super) templates: Templates,
}

/// A row with marks in the place of its fields, and with the parts that it has in common.
pub(super) struct MarkedRow {
    target: String,
    method: Option<String>,
    headers: Vec<(String, String)>,
    body: MarkedBody,
    /// Template of the messages that it adds to a conversation.
    message: Option<Arc<Template>>,
    /// Fields, and secrets of this machine.
    pub(super) marks: Marks,
}

/// A body with marks in the place of its fields.
struct MarkedBody {
    content: Option<Vec<u8>>,
    /// Encoder of a content with fields, once these have values.
    encoder: Option<BodyEncoder>,
    /// Files that it was read from.
    inputs: Vec<Input>,
}

/// A row that can be sent.
pub(super) struct RowRequest {
    pub(super) method: String,
    /// Path with the query, as it was written.
    pub(super) path: String,
    pub(super) request: Prepared,
    /// Template of the request, if it has fields.
    pub(super) template: Option<Arc<Template>>,
    /// Encoder of the body that the template makes.
    pub(super) encoder: Option<BodyEncoder>,
    /// Template of the messages that it adds to a conversation.
    pub(super) message: Option<Arc<Template>>,
    /// Values that were read from this machine.
    pub(super) secrets: Vec<String>,
    /// Files that the body was read from.
    pub(super) inputs: Vec<Input>,
}

/// The place of a row's URL.
pub(super) enum RowPlace {
    /// This path, with its query, of the run's server.
    Here(String),
    /// Another origin.
    Elsewhere(String),
}

impl Common {
    /// Returns a row with marks in the place of its fields.
    ///
    /// # Errors
    /// When a field is unknown or has no value, or the body is a file that cannot be read.
    pub(super) fn mark(&self, row: &Row) -> Result<MarkedRow> {
        if self.url.is_websocket && (row.method.is_some() || !row.headers.is_empty()) {
            bail!("a message of WebSocket has neither a method nor header fields");
        }
        let templates = &self.templates;
        let mut marks = Marks::default();
        let target = match row.target.is_empty() {
            true => templates.mark_own(&self.spec.target.url, &mut marks)?,
            false => templates.mark_row(&row.target, TextForm::Target, &mut marks)?,
        };
        let mut headers = Vec::new();
        for (name, value, is_own) in self.headers_of(row) {
            let value = match is_own {
                true => templates.mark_row(&value, TextForm::Plain, &mut marks)?,
                false => templates.mark_own(&value, &mut marks)?,
            };
            headers.push((name, value));
        }
        let body = match &self.calls {
            None => {
                let (content, inputs) = self.body(row, &mut marks)?;
                MarkedBody { content, encoder: None, inputs }
            }
            Some(calls) => self.call_body(calls, row, &mut marks)?,
        };
        let message =
            row.message.as_ref().map(|text| self.message(text, &mut marks)).transpose()?;
        Ok(MarkedRow { target, method: row.method.clone(), headers, body, message, marks })
    }

    /// Returns the template of the messages that a row adds to a conversation.
    fn message(&self, text: &str, marks: &mut Marks) -> Result<Arc<Template>> {
        let mut own = Marks::default();
        let marked = self.templates.mark_message(text, &mut own)?;
        marks.secrets.append(&mut own.secrets);
        Ok(Arc::new(own.fields.template(marked.as_bytes())))
    }

    /// Returns the place of a row's URL.
    ///
    /// # Errors
    /// When it is no URL and no path.
    pub(super) fn place(&self, row: &MarkedRow) -> Result<RowPlace> {
        let url = &self.url;
        if row.target.starts_with('/') {
            let own = Url::parse(&format!("{}{}", url.origin(), row.target))?;
            return Ok(RowPlace::Here(grpc::url_on(&self.spec, own)?.path));
        }
        let own = Url::parse(&credentials::split_userinfo(&row.target).0)?;
        let is_same = own.scheme() == url.scheme()
            && own.host.eq_ignore_ascii_case(&url.host)
            && own.port() == url.port();
        let own = grpc::url_on(&self.spec, own)?;
        Ok(match is_same {
            true => RowPlace::Here(own.path),
            false => RowPlace::Elsewhere(row.marks.fields.unmark(&own.origin())),
        })
    }

    /// Returns the error of a row of another origin. Steps of users cannot be left out.
    pub(super) fn elsewhere(&self, origin: &str) -> anyhow::Error {
        let own = self.url.origin();
        let remedy = match self.templates.are_of_users() {
            true => "a user stays within one; write a path, or take the step out".to_owned(),
            false => format!("a run has one; {SKIP_OTHER_ORIGINS} leaves out the others"),
        };
        anyhow!("its origin is {origin}, and the run's is {own}: {remedy}")
    }

    /// Returns the request of a row with this path.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub(super) fn request(&self, row: MarkedRow, path: &str) -> Result<RowRequest> {
        let MarkedRow { method, headers, body, message, marks, .. } = row;
        let MarkedBody { content, encoder, inputs } = body;
        let body = content.as_deref();
        let method = method.as_ref().or(self.spec.request.method.as_ref());
        let has_post = body.is_some() && !self.url.is_websocket;
        let method = method.map_or(if has_post { "POST" } else { "GET" }, String::as_str);
        let request = Prepared::http1(method, path, &self.url.authority(), &headers, body)?;
        let request = match self.spec.http.version {
            HttpChoice::Http10 => request.http10().with_context(|| format!("{HTTP} 1.0"))?,
            _ => request,
        };
        if self.url.is_websocket {
            self.check_message(path, body, &marks)?;
        }
        let method = method.to_owned();
        let path = marks.fields.unmark(path);
        let has_users = self.templates.has_users;
        if marks.fields.is_empty() && !has_users {
            let secrets = marks.secrets;
            let template = None;
            let encoder = None;
            return Ok(RowRequest {
                method,
                path,
                request,
                template,
                encoder,
                message,
                secrets,
                inputs,
            });
        }
        let template = marks.fields.template(request.bytes());
        if message.is_some() && !template.has_history() {
            bail!(
                "its message is sent nowhere: put {{{{history}}}} into its body, as in \
                 {{\"messages\": {{{{history}}}}}}"
            );
        }
        let template = if has_users { template.with_cookies() } else { template };
        self.check_values(&template)?;
        if let Some(encoder) = &encoder {
            self.check_encoding(&template, encoder)?;
        }
        let request = self.first(&template, message.as_deref(), encoder.as_ref())?;
        let template = Some(Arc::new(template));
        let secrets = marks.secrets;
        Ok(RowRequest { method, path, request, template, encoder, message, secrets, inputs })
    }

    /// Checks that a row is a message.
    fn check_message(&self, path: &str, body: Option<&[u8]>, marks: &Marks) -> Result<()> {
        if path != self.url.path {
            bail!("all messages go to {}: connections of WebSocket have one path", self.url.path);
        }
        // The values of fields are not known yet.
        match marks.fields.is_empty() {
            true => websocket::check_message(&self.spec.websocket, body.unwrap_or_default()),
            false => Ok(()),
        }
    }

    /// Returns the first request of a template: that of slot 0, or of the first user, whose
    /// conversation begins with it.
    fn first(
        &self,
        template: &Template,
        message: Option<&Template>,
        encoder: Option<&BodyEncoder>,
    ) -> Result<Prepared> {
        let seed = self.spec.templates.seed;
        let row = self.templates.table.as_ref().map_or(&[][..], |rows| rows.row(seed, 0, 0));
        let values = Values { seed, row, ..Values::default() };
        let mut history = History::default();
        message.iter().for_each(|message| message.render(values, history.turn_mut()));
        let session = UserDraws { seed, user: 0 }.session();
        let texts = UserTexts { history: Some(&history), session, ..UserTexts::default() };
        let first = rendered(template, Values { user: Some(&texts), ..values })?;
        let Some(encoder) = encoder else { return Ok(first) };
        Ok(first.with_body(encode(encoder, &first)?)?)
    }

    /// Checks that bodies can be encoded: with each row of the table, and with the values of
    /// several indexes. One that is found in the load ends it.
    fn check_encoding(&self, template: &Template, encoder: &BodyEncoder) -> Result<()> {
        let seed = self.spec.templates.seed;
        let check = |index: u64, row: &[Box<[u8]>]| -> Result<()> {
            let values = Values { seed, index, row, ..Values::default() };
            let request = rendered(template, values)?;
            encode(encoder, &request).map(drop)
        };
        let Some(TableRows { table, .. }) = &self.templates.table else {
            return (0..INDEXES_CHECKED).chain([INDEX_MAX]).try_for_each(|index| check(index, &[]));
        };
        for row in 0..table.rows().min(ROWS_CHECKED) {
            let checked = check(row, table.row(row));
            checked.with_context(|| format!("{ROWS}: with row {}", row + 1))?;
        }
        check(INDEX_MAX, table.row(0))
    }

    /// Checks that the values of a table can stand where a template has them.
    fn check_values(&self, template: &Template) -> Result<()> {
        let Some(TableRows { table, .. }) = &self.templates.table else { return Ok(()) };
        for (column, is_in_first_line) in template.columns_of_head() {
            let is_wrong = |byte: &u8| match is_in_first_line {
                true => !byte.is_ascii_graphic(),
                false => byte.is_ascii_control() && *byte != b'\t',
            };
            let wrong = (0..table.rows()).find(|row| table.row(*row)[column].iter().any(is_wrong));
            if let Some(row) = wrong {
                bail!(
                    "{ROWS}: the value of `{}` in row {} cannot stand in {}",
                    table.columns()[column],
                    row + 1,
                    if is_in_first_line { "a URL: encode it" } else { "a header" }
                );
            }
        }
        Ok(())
    }

    /// Returns the header fields of a row's request, and true for those of the row itself.
    fn headers_of(&self, row: &Row) -> Vec<(String, String, bool)> {
        let of_url = || credentials::split_userinfo(&row.target).1.map(credentials::decoded);
        let user = row.basic_auth.clone().or_else(of_url);
        let is_authorization = |name: &str| name.eq_ignore_ascii_case("authorization");
        let is_own = |name: &str| row.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let common = self.headers.iter().filter(|(name, _)| !is_own(name));
        let common = common.map(|(name, value)| (name.clone(), value.clone(), false));
        let own = row.headers.iter().map(|(name, value)| (name.clone(), value.clone(), true));
        let mut headers: Vec<(String, String, bool)> = common.chain(own).collect();
        if let Some(user) = &user {
            headers.retain(|(name, ..)| !is_authorization(name));
            headers.push(("Authorization".to_owned(), credentials::basic(user), true));
        }
        let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        if let Some(media_type) = row.media_type
            && !headers.iter().any(|(name, ..)| is_type(name))
        {
            headers.push(("Content-Type".to_owned(), media_type.to_owned(), true));
        }
        headers
    }

    /// Returns the body of a row that is a call of gRPC.
    fn call_body(&self, calls: &GrpcCalls, row: &Row, marks: &mut Marks) -> Result<MarkedBody> {
        if row.method.as_ref().is_some_and(|method| method != "POST") {
            bail!("{GRPC} is POST: leave out its method");
        }
        let before = marks.fields.len();
        let (content, inputs) = self.body(row, marks)?;
        if marks.fields.len() == before {
            let content = Some(calls.body(content.as_deref())?);
            return Ok(MarkedBody { content, encoder: None, inputs });
        }
        let calls = calls.clone();
        let encoder = BodyEncoder::new(move |body| {
            calls.body(Some(body)).map_err(|error| format!("{error:#}"))
        });
        Ok(MarkedBody { content, encoder: Some(encoder), inputs })
    }

    /// Returns the body of a row, and the files that it was read from.
    fn body(&self, row: &Row, marks: &mut Marks) -> Result<(Option<Vec<u8>>, Vec<Input>)> {
        let (path, is_joined) = match &row.body {
            None => return Ok((self.common_body(row, marks)?, Vec::new())),
            Some(RowBody::Bytes(bytes)) => {
                let marked = match std::str::from_utf8(bytes) {
                    Ok(text) => {
                        // Lists have bodies as they are written.
                        let has_users = self.templates.captured.is_some();
                        let form =
                            if has_users { self.form_of_body(row, text) } else { TextForm::Plain };
                        self.templates.mark_row(text, form, marks)?.into_bytes()
                    }
                    Err(_) => bytes.clone(),
                };
                return Ok((Some(marked), Vec::new()));
            }
            Some(RowBody::Encoded(text)) => {
                let marked = self.templates.mark_row(text, TextForm::Encoded, marks)?;
                return Ok((Some(marked.into_bytes()), Vec::new()));
            }
            Some(RowBody::Form(boundary, parts)) => return self.form(boundary, parts),
            Some(RowBody::File(path)) => (PathBuf::from(path), false),
            Some(RowBody::FileBeside(path)) => (self.directory().join(path), false),
            Some(RowBody::JoinedFile(path)) => (PathBuf::from(path), true),
        };
        let (mut body, input) = self.file(&path)?;
        if is_joined {
            body.retain(|byte| !matches!(byte, b'\r' | b'\n'));
        }
        Ok((Some(body), vec![input]))
    }

    /// Returns the form of a `body` of a row, by its media type, and without one by its start.
    fn form_of_body(&self, row: &Row, body: &str) -> TextForm {
        let headers = self.headers_of(row);
        let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        let media_type = headers.iter().find(|(name, ..)| is_type(name));
        let media_type = media_type.map_or(String::new(), |(_, value, _)| value.to_lowercase());
        match &*media_type {
            text if text.contains("json") => TextForm::Json,
            text if text.contains("urlencoded") => TextForm::Encoded,
            "" if is_like_json(body) => TextForm::Json,
            _ => TextForm::Plain,
        }
    }

    /// Returns the body of a form, and the files of its parts.
    fn form(&self, boundary: &str, parts: &[FormPart]) -> Result<(Option<Vec<u8>>, Vec<Input>)> {
        let mut contents = Vec::new();
        let mut inputs = Vec::new();
        for part in parts {
            contents.push(match &part.content {
                PartContent::Bytes(bytes) => bytes.clone(),
                PartContent::File(path) => {
                    let (bytes, input) = self.file(Path::new(path))?;
                    inputs.push(input);
                    bytes
                }
            });
        }
        let parts = parts.iter().zip(contents.iter().map(Vec::as_slice));
        let body = multipart_body(boundary, parts).map_err(|text| anyhow!("{text}"))?;
        Ok((Some(body), inputs))
    }

    /// Reads a file that the list names.
    fn file(&self, path: &Path) -> Result<(Vec<u8>, Input)> {
        if !self.list.allow_local {
            bail!(
                "its body is the file {} of this machine: give {ALLOW_LOCAL} if you trust the list",
                shown(path)
            );
        }
        self.templates.access.check_file(path)?;
        let bytes = read_input("its body", path, WHOLE_MAX_BYTES)?;
        let input = Input {
            role: InputRole::Body,
            path: path.to_string_lossy().into_owned(),
            bytes: bytes.len() as u64,
            sha256: sha256(&bytes),
        };
        Ok((bytes, input))
    }

    /// Returns the directory of the list.
    fn directory(&self) -> &Path {
        let parent = match &self.list.source {
            ListSource::File(file) | ListSource::Scenario(file) => file.path.parent(),
            ListSource::Urls(_) => None,
        };
        parent.unwrap_or(Path::new(""))
    }

    /// Returns the body of the command line. A file has no fields.
    fn common_body(&self, row: &Row, marks: &mut Marks) -> Result<Option<Vec<u8>>> {
        match &self.spec.request.body {
            Some(BodySpec::Form(fields)) => {
                let is_encoded = !form::is_multipart(fields);
                let mark = |field: &FormField| -> Result<FormField> {
                    let FormValue::Text(text) = &field.value else { return Ok(field.clone()) };
                    let text = self.templates.mark_form(text, is_encoded, marks)?;
                    Ok(FormField { name: field.name.clone(), value: FormValue::Text(text) })
                };
                let marked = fields.iter().map(mark).collect::<Result<Vec<FormField>>>()?;
                Ok(Some(form::body(&marked)?.0))
            }
            Some(BodySpec::Text(text)) => {
                let has_users = self.templates.captured.is_some();
                let form = if has_users { self.form_of_body(row, text) } else { TextForm::Plain };
                Ok(Some(self.templates.mark_body(text, form, marks)?.into_bytes()))
            }
            _ => Ok(self.body.clone()),
        }
    }
}

/// True if a body without a media type begins as JSON does. Two braces are a field, which can be
/// anything; but a conversation is JSON.
fn is_like_json(body: &str) -> bool {
    let body = body.trim_start();
    let is_field = body.starts_with("{{") && !body.starts_with("{{history}}");
    body.starts_with(['{', '[']) && !is_field
}

/// Returns the request of a template with these values.
fn rendered(template: &Template, values: Values<'_>) -> Result<Prepared> {
    let mut bytes = Vec::new();
    template.render(values, &mut bytes);
    Ok(Prepared::raw(&bytes)?)
}

/// Returns the body of a request encoded.
fn encode(encoder: &BodyEncoder, request: &Prepared) -> Result<Vec<u8>> {
    let request = request.request("http");
    encoder.encode(request.body()).map_err(|text| anyhow!("{text}"))
}

//! Requests of a file on their way to steps: as a reader of one format leaves them, and with the
//! parts that captures and secrets look at.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_text::setting::ALLOW_LOCAL;

use crate::list::{NOT_SENT, Row, RowBody, RowError};
use crate::scenario::import::encoded::{form_decoded, percent_decoded};
use crate::scenario::import::json_text::{JsonLeaf, JsonNode};
use crate::scenario::import::multipart_text::{self, PartField};
use crate::scenario::import::origin::UrlParts;
use crate::scenario::import::template_text::{
    BRACES, between_fields, has_braces, has_field, literal,
};

/// Header fields that the connection sets, beside those of [`NOT_SENT`].
const OF_CONNECTION: [&str; 2] = ["http2-settings", "upgrade"];

/// Media type of urlencoded forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// A request as a reader leaves it.
#[derive(Debug)]
pub(super) struct RecordedEntry {
    /// Name that the file gives it.
    pub(super) name: Option<String>,
    /// URL, whose host has no fields.
    pub(super) url: String,
    /// The request, whose texts may have fields.
    pub(super) row: Result<Row, RowError>,
    /// Response; `None` if the file has none.
    pub(super) response: Option<RecordedResponse>,
    /// Times of its start and its end, in nanoseconds since 1970.
    pub(super) times_ns: Option<(u64, u64)>,
    /// True for an image, a font, a style sheet or a script of a page.
    pub(super) is_resource: bool,
    /// Values that the file itself takes from its response.
    pub(super) captures: Vec<StepCapture>,
    /// Values that are secrets, whatever their names.
    pub(super) secrets: Vec<String>,
    /// Remarks for its user.
    pub(super) remarks: Vec<String>,
}

impl RecordedEntry {
    /// Returns a request that was written, not recorded: it has no response and no times.
    pub(super) fn written(name: Option<String>, row: Row) -> RecordedEntry {
        RecordedEntry {
            name,
            url: row.target.clone(),
            row: Ok(row),
            response: None,
            times_ns: None,
            is_resource: false,
            captures: Vec::new(),
            secrets: Vec::new(),
            remarks: Vec::new(),
        }
    }
}

/// A file that has been read.
#[derive(Debug, Default)]
pub(super) struct RecordedFile {
    /// Its requests, in order.
    pub(super) entries: Vec<RecordedEntry>,
    /// Remarks on the whole file.
    pub(super) notes: Vec<String>,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedResponse {
    /// Status code.
    pub(super) status: u16,
    /// Header fields in order, without those that set cookies.
    pub(super) headers: Vec<(String, String)>,
    /// Cookies that it sets, by name.
    pub(super) cookies: Vec<(String, String)>,
    /// Body without content coding; empty if the file has none, or it is no text.
    pub(super) body: String,
    /// Media type of the body, in lower case.
    pub(super) media_type: String,
}

/// A value that a step captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepCapture {
    /// Name.
    pub(super) name: String,
    /// Where it stands, as scenario files have it.
    pub(super) source: String,
}

/// A step that is being made. Its texts may have fields.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedStep {
    pub(super) name: String,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: StepBody,
    /// Names of the cookies that were sent.
    pub(super) cookies: Vec<String>,
    pub(super) response: Option<RecordedResponse>,
    /// Pause after its response, in nanoseconds.
    pub(super) think_ns: u64,
    pub(super) captures: Vec<StepCapture>,
    /// Values that are secrets, whatever their names.
    pub(super) secrets: Vec<String>,
    /// Remarks for the user, in the order in which they were made.
    pub(super) remarks: Vec<String>,
}

/// Body of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum StepBody {
    #[default]
    None,
    /// Fields of a urlencoded form, decoded.
    Form(Vec<(String, String)>),
    /// JSON.
    Json(String),
    /// A form of several parts, with the boundary between them.
    Multipart(String, String),
    /// Other text.
    Text(String),
    /// Other bytes.
    Bytes(Vec<u8>),
    /// Path of a file.
    File(String),
}

/// Part of a request that a value stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePlace {
    /// The begin of the path.
    Url,
    Path,
    Query,
    Header,
    Form,
    Json,
    /// A number of JSON.
    Number,
}

/// A value that a step sends: decoded, without fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentValue<'a> {
    pub(super) place: ValuePlace,
    /// Name of its field, or the segment of the path before it; empty if it has none.
    pub(super) name: &'a str,
    /// JSON pointer of its place in a body of JSON; empty elsewhere.
    pub(super) pointer: &'a str,
    pub(super) text: &'a str,
}

impl JsonLeaf {
    /// Returns the value as it is sent.
    fn sent(&self, place: ValuePlace) -> SentValue<'_> {
        let JsonLeaf { pointer, name, value, .. } = self;
        SentValue { place, name, pointer, text: value }
    }
}

impl<'a> SentValue<'a> {
    /// Returns the name of its field; none in a path.
    pub(super) fn field(&self) -> &'a str {
        if self.place == ValuePlace::Path { "" } else { self.name }
    }

    /// Returns its place in words, for a remark.
    pub(super) fn shown(&self) -> String {
        let name = self.name;
        match self.place {
            ValuePlace::Url | ValuePlace::Path => "the path".to_owned(),
            ValuePlace::Query => format!("the query parameter {name}"),
            ValuePlace::Header => format!("the header {name}"),
            ValuePlace::Form => format!("the form field {name}"),
            ValuePlace::Json | ValuePlace::Number => format!("the JSON member {name}"),
        }
    }
}

/// Returns a row whose texts were sent as they are.
pub(super) fn literal_row(row: Row) -> Row {
    let body = match row.body {
        Some(RowBody::Bytes(bytes)) => Some(match String::from_utf8(bytes) {
            Ok(text) => RowBody::Bytes(literal(&text).into_bytes()),
            Err(error) => RowBody::Bytes(error.into_bytes()),
        }),
        body => body,
    };
    let header = |(name, value): (String, String)| (literal(&name), literal(&value));
    Row {
        target: literal(&row.target),
        headers: row.headers.into_iter().map(header).collect(),
        body,
        ..row
    }
}

impl RecordedStep {
    /// Returns the step of a request with this path and query. Its name is that of the file, or
    /// empty.
    pub(super) fn of(entry: RecordedEntry, url: UrlParts) -> Result<RecordedStep, RowError> {
        let row = entry.row?;
        let mut step = RecordedStep {
            name: entry.name.unwrap_or_default(),
            target: url.target.replace(BRACES, "%7B%7B"),
            response: entry.response,
            captures: entry.captures,
            secrets: entry.secrets,
            remarks: entry.remarks,
            ..RecordedStep::default()
        };
        for (name, value) in row.headers {
            if name.eq_ignore_ascii_case("host") && !url.origin.is_of(&value) {
                step.remarks.push(format!(
                    "the header Host, which is {value}, was left out: give it to all by -H"
                ));
            }
            step.add_header(name, value);
        }
        let user = row.basic_auth.or(url.user.and_then(|user| percent_decoded(&user)));
        if let Some(user) = user.filter(|_| step.header("authorization").is_none()) {
            step.headers.push(("Authorization".to_owned(), basic(&user)));
        }
        if let Some(body) = row.body {
            step.add_body(body);
            if step.body == StepBody::None {
                step.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            }
        }
        let has_body = step.body != StepBody::None;
        step.method =
            row.method.unwrap_or_else(|| if has_body { "POST" } else { "GET" }.to_owned());
        Ok(step)
    }

    /// Returns the value of the first header field with this name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn add_header(&mut self, name: String, value: String) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("cookie") {
            let names = value.split(';').filter_map(|pair| Some(pair.split_once('=')?.0.trim()));
            self.cookies.extend(names.map(str::to_owned));
            return;
        }
        let is_left_out = NOT_SENT.iter().chain(&OF_CONNECTION).any(|known| is(known));
        if name.is_empty() || name.starts_with(':') || is_left_out {
            return;
        }
        if has_braces(&value) || has_braces(&name) || has_field(&name) {
            let name = name.replace(BRACES, "{{");
            self.remarks.push(format!(
                "the header {name} has {{{{, which begins a field in scenarios; it was left out"
            ));
        } else {
            self.headers.push((name, value));
        }
    }

    fn add_body(&mut self, body: RowBody) {
        let media_type = self.header("content-type").unwrap_or_default().to_owned();
        let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        self.body = match body {
            RowBody::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => self.text_body(text, &media_type, &kind),
                Err(error) => StepBody::Bytes(error.into_bytes()),
            },
            RowBody::Encoded(text) => self.text_body(text, &media_type, FORM),
            RowBody::File(path) | RowBody::FileBeside(path) => self.file(path),
            RowBody::JoinedFile(path) => {
                self.remarks.push(format!("curl drops the line ends of the body in {path}"));
                self.file(path)
            }
            RowBody::Form(..) => {
                let text = "its body is a form with files, which scenarios do not have; it was \
                            left out";
                self.remarks.push(text.to_owned());
                StepBody::None
            }
        };
    }

    fn file(&mut self, path: String) -> StepBody {
        self.remarks.push(format!(
            "its body is the file {path}, from the directory of the scenario: give {ALLOW_LOCAL}"
        ));
        StepBody::File(path)
    }

    fn text_body(&mut self, text: String, media_type: &str, kind: &str) -> StepBody {
        // Browsers send JSON as plain text too, and curl as a form.
        let is_compound = text.trim_start().starts_with(['{', '[']);
        if is_compound && JsonNode::parse(&text).is_some() {
            return StepBody::Json(text);
        }
        if kind == FORM {
            let text = text.replace(BRACES, "%7B%7B");
            return match form_fields(&text) {
                Some(fields) => StepBody::Form(fields),
                None => StepBody::Text(text),
            };
        }
        if has_braces(&text) {
            let text = "its body has {{, which begins a field in scenarios; it was left out: write \
                        it into a file, and give body_file";
            self.remarks.push(text.to_owned());
            return StepBody::None;
        }
        match multipart_text::boundary(media_type).filter(|_| kind == "multipart/form-data") {
            Some(boundary) => StepBody::Multipart(text, boundary),
            None => StepBody::Text(text),
        }
    }

    /// Replaces the values that the step sends, but those with fields: `replace` returns the text
    /// for one that changes.
    pub(super) fn replace_values(
        &mut self,
        replace: &mut dyn FnMut(SentValue<'_>) -> Option<String>,
    ) {
        self.target = replaced_target(&self.target, replace);
        for (name, value) in self.headers.iter_mut().filter(|(_, value)| !has_field(value)) {
            let sent = SentValue { place: ValuePlace::Header, name, pointer: "", text: value };
            if let Some(text) = replace(sent) {
                *value = text;
            }
        }
        match &mut self.body {
            StepBody::Form(fields) => {
                for (name, value) in fields.iter_mut().filter(|(_, value)| !has_field(value)) {
                    let sent =
                        SentValue { place: ValuePlace::Form, name, pointer: "", text: value };
                    if let Some(text) = replace(sent) {
                        *value = text;
                    }
                }
            }
            StepBody::Json(text) => {
                let strings = JsonNode::parse(text).map(|node| node.strings()).unwrap_or_default();
                let strings = strings.into_iter().filter(|found| !has_field(&found.value));
                let changes = strings.filter_map(|leaf| {
                    let field = replace(leaf.sent(ValuePlace::Json))?;
                    Some((leaf.place, format!("\"{field}\"")))
                });
                replace_ranges(text, changes.collect());
            }
            StepBody::Multipart(text, boundary) => {
                let fields = multipart_text::fields(text, boundary).into_iter();
                let changes = fields.filter_map(|PartField { name, place }| {
                    let value = text.get(place.clone()).filter(|value| !has_field(value))?;
                    let place_of = ValuePlace::Form;
                    let sent = SentValue { place: place_of, name: &name, pointer: "", text: value };
                    Some((place, replace(sent)?))
                });
                let changes = changes.collect();
                replace_ranges(text, changes);
            }
            StepBody::None | StepBody::Text(_) | StepBody::Bytes(_) | StepBody::File(_) => {}
        }
    }

    /// Replaces the numbers in a body of JSON: `replace` returns the text for one that changes.
    pub(super) fn replace_numbers(
        &mut self,
        replace: &mut dyn FnMut(SentValue<'_>) -> Option<String>,
    ) {
        let StepBody::Json(text) = &mut self.body else { return };
        let numbers = JsonNode::parse(text).map(|node| node.numbers()).unwrap_or_default();
        let changes = numbers.into_iter().filter_map(|leaf| {
            let field = replace(leaf.sent(ValuePlace::Number))?;
            Some((leaf.place, field))
        });
        let changes = changes.collect();
        replace_ranges(text, changes);
    }

    /// Returns all texts that may have fields.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let of_body: Vec<&mut String> = match &mut self.body {
            StepBody::Form(fields) => fields.iter_mut().flat_map(|(a, b)| [a, b]).collect(),
            StepBody::Json(text) | StepBody::Multipart(text, _) | StepBody::Text(text) => {
                vec![text]
            }
            StepBody::None | StepBody::Bytes(_) | StepBody::File(_) => Vec::new(),
        };
        let headers = self.headers.iter_mut().map(|(_, value)| value);
        [&mut self.target].into_iter().chain(headers).chain(of_body)
    }
}

/// Returns the value of an `Authorization` field for `USER:PASS` (RFC 7617).
fn basic(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(user))
}

/// Returns the fields of a urlencoded form; `None` if it is none that is written again as it is.
fn form_fields(text: &str) -> Option<Vec<(String, String)>> {
    let decoded =
        |text: &str| between_fields(text, |text| form_decoded(text).map(|it| literal(&it)));
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decoded(name)?, decoded(value)?))
    };
    let fields: Vec<(String, String)> = text.split('&').map(pair).collect::<Option<_>>()?;
    // TOML has all values of a name together.
    let is_apart = |(at, (name, _)): (usize, &(String, String))| {
        let before = fields[..at].iter().rposition(|(known, _)| known == name);
        before.is_some_and(|before| before + 1 != at)
    };
    let is_other = fields.iter().any(|(name, value)| has_braces(name) || has_braces(value));
    (!is_other && !fields.iter().enumerate().any(is_apart)).then_some(fields)
}

/// Replaces places of a text, which are in its order.
fn replace_ranges(text: &mut String, changes: Vec<(Range<usize>, String)>) {
    for (place, value) in changes.into_iter().rev() {
        text.replace_range(place, &value);
    }
}

/// Returns a path and a query in which values are replaced.
fn replaced_target(
    target: &str,
    replace: &mut dyn FnMut(SentValue<'_>) -> Option<String>,
) -> String {
    let mut changed = |place: ValuePlace, name: &str, written: &str| {
        let decoded = match place {
            ValuePlace::Path => percent_decoded(written),
            _ => form_decoded(written),
        };
        let decoded = decoded.filter(|text| !has_field(text) && !has_field(written));
        decoded.and_then(|text| replace(SentValue { place, name, pointer: "", text: &text }))
    };
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let mut before = "";
    let segments = path.split('/').map(|segment| {
        let before = std::mem::replace(&mut before, segment);
        changed(ValuePlace::Path, before, segment).unwrap_or_else(|| segment.to_owned())
    });
    let path = segments.collect::<Vec<_>>().join("/");
    let Some(query) = query else { return path };
    let pairs = query.split('&').map(|pair| {
        let Some((name, value)) = pair.split_once('=') else { return pair.to_owned() };
        let decoded = form_decoded(name).unwrap_or_else(|| name.to_owned());
        match changed(ValuePlace::Query, &decoded, value) {
            Some(value) => format!("{name}={value}"),
            None => pair.to_owned(),
        }
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

//! Templates: texts with fields that differ from request to request, `{{seq}}` or `{{csv:user}}`.
//!
//! A field of a request is a pure function of the request's index in the run and a seed, so that
//! the parts of a run agree, and a run can be repeated.

use std::ops::Range;

use crate::list::order::mixed;
use crate::list::template_field::{
    FieldSources, NumberField, TemplateField, TextForm, Values, decimal,
};

/// Begin of the marks that stand for fields while a request is prepared. They are tokens, so that
/// they may stand in each part of a request.
const MARK: &str = "weir-field-e3b0c442-";

/// Length of a mark: its start and five digits.
const MARK_BYTES: usize = MARK.len() + 5;

/// Greatest number of fields in a request.
const FIELDS_MAX: usize = 1_000;

/// The fields of one request, while it is prepared.
#[derive(Debug, Default)]
pub struct TemplateFields {
    /// Each with its text between the braces.
    fields: Vec<(TemplateField, String)>,
}

impl TemplateFields {
    /// Replaces the fields in a text of this form by marks, and those of constants by their values.
    /// The marks are the same when they are encoded.
    ///
    /// # Errors
    /// If a field is unknown or has no value; the text names it.
    pub fn mark(
        &mut self,
        text: &str,
        form: TextForm,
        sources: &FieldSources<'_>,
    ) -> Result<String, String> {
        if text.contains(MARK) {
            return Err(format!("{MARK} is reserved for templates"));
        }
        // The field is a whole value, also where an editor of JSON wants quotes around it.
        let unquoted = match form {
            TextForm::Json => text.replace(r#""{{history}}""#, "{{history}}"),
            _ => text.to_owned(),
        };
        let mut marked = String::with_capacity(text.len());
        let mut rest = unquoted.as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((field, after)) = after.split_once("}}") else {
                return unended(after).map_or_else(|| Ok(marked + rest), Err);
            };
            marked += before;
            let form = match form {
                TextForm::Target if marked.contains('?') => TextForm::Query,
                form => form,
            };
            if field == "history" && form == TextForm::Json && !is_whole_value(&marked) {
                return Err(
                    "{{history}} is a whole value: write \"messages\": {{history}}".to_owned()
                );
            }
            match field.split_once(':') {
                Some(("env", name)) => marked += &sources.constants.variable(name)?,
                Some(("file", path)) => marked += &sources.constants.file(path)?,
                _ => marked += &self.add(TemplateField::parse(field, form, sources)?, field)?,
            }
            rest = after;
        }
        Ok(marked + rest)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns a text with the fields in the place of their marks.
    pub fn unmark(&self, marked: &str) -> String {
        let mut text = marked.to_owned();
        for (number, (_, field)) in self.fields.iter().enumerate() {
            text = text.replace(&mark(number), &format!("{{{{{field}}}}}"));
        }
        text
    }

    fn add(&mut self, field: TemplateField, text: &str) -> Result<String, String> {
        if self.fields.len() == FIELDS_MAX {
            return Err(format!("a request has at most {FIELDS_MAX} fields"));
        }
        self.fields.push((field, text.to_owned()));
        Ok(mark(self.fields.len() - 1))
    }

    /// Returns the template of a request whose bytes contain the marks.
    pub fn template(self, request: &[u8]) -> Template {
        let head_bytes = find(request, b"\r\n\r\n").map_or(request.len(), |at| at + 4);
        let (head, body) = request.split_at(head_bytes);
        let body = self.pieces(body);
        let has_length = body.iter().any(|piece| matches!(piece, TemplatePiece::Field(..)));
        let head = match length_of_body(head).filter(|_| has_length) {
            Some((from, until)) => {
                let mut pieces = self.pieces(&head[..from]);
                pieces.push(TemplatePiece::Field(TemplateField::Length, 0));
                pieces.extend(self.pieces(&head[until..]));
                pieces
            }
            None => self.pieces(head),
        };
        let places = head.iter().chain(&body).filter_map(|piece| match piece {
            TemplatePiece::Field(field, salt) => Some((field.clone(), *salt)),
            TemplatePiece::Text(_) => None,
        });
        Template {
            fields: places.filter(|(field, _)| *field != TemplateField::Length).collect(),
            head,
            body,
        }
    }

    fn pieces(&self, mut bytes: &[u8]) -> Vec<TemplatePiece> {
        let mut pieces = Vec::new();
        while let Some(at) = find(bytes, MARK.as_bytes()) {
            let digits = bytes.get(at + MARK.len()..at + MARK_BYTES);
            let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            let Some(number) = number.filter(|number: &usize| *number < self.fields.len()) else {
                break;
            };
            pieces.push(TemplatePiece::Text(bytes[..at].into()));
            let field = self.fields[number].0.clone();
            let salt = match field {
                TemplateField::Random { .. } => mixed(number as u64, 1),
                _ => number as u64,
            };
            pieces.push(TemplatePiece::Field(field, salt));
            bytes = &bytes[at + MARK_BYTES..];
        }
        pieces.push(TemplatePiece::Text(bytes.into()));
        pieces.retain(|piece| !matches!(piece, TemplatePiece::Text(text) if text.is_empty()));
        pieces
    }
}

/// Returns the mark of the field with this number.
fn mark(number: usize) -> String {
    format!("{MARK}{number:05}")
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, text)
}

/// Returns the place of the digits of `Content-Length` in a head.
fn length_of_body(head: &[u8]) -> Option<(usize, usize)> {
    const NAME: &[u8] = b"\r\ncontent-length:";
    let at = head.windows(NAME.len()).position(|bytes| bytes.eq_ignore_ascii_case(NAME))?;
    let from = at + NAME.len();
    let blanks = head[from..].iter().take_while(|byte| **byte == b' ').count();
    let digits = head[from + blanks..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((from + blanks, from + blanks + digits))
}

/// A request with fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    head: Vec<TemplatePiece>,
    body: Vec<TemplatePiece>,
    /// The fields of both, each with its salt, without the length of the body.
    fields: Vec<(TemplateField, u64)>,
}

/// Where the fields of a template's last request are in its bytes.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<Range<usize>>);

impl Places {
    /// Returns the place of the only field.
    ///
    /// # Panics
    /// If there are no fields, or several.
    pub fn only(&self) -> Range<usize> {
        let [place] = &self.0[..] else { panic!("one field") };
        place.clone()
    }

    /// Forgets the last request.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(Box<[u8]>),
    /// A field, and its salt: what makes its random values others than those of the request's other
    /// fields.
    Field(TemplateField, u64),
}

impl Template {
    /// Returns the columns whose values stand in the head, and true for those in its first line.
    pub fn columns_of_head(&self) -> impl Iterator<Item = (usize, bool)> {
        let mut is_first = true;
        self.head.iter().filter_map(move |piece| match piece {
            TemplatePiece::Text(text) => {
                is_first &= find(text, b"\r\n").is_none();
                None
            }
            TemplatePiece::Field(TemplateField::Column(column, _), _) => Some((*column, is_first)),
            TemplatePiece::Field(..) => None,
        })
    }

    /// Returns the template with a line for the user's cookies at the end of the head, unless the
    /// head has one of its own.
    #[must_use]
    pub fn with_cookies(mut self) -> Template {
        const END: &[u8] = b"\r\n\r\n";
        let is_own = |piece: &TemplatePiece| match piece {
            TemplatePiece::Text(text) => find(&text.to_ascii_lowercase(), b"\r\ncookie:").is_some(),
            TemplatePiece::Field(..) => false,
        };
        if self.head.iter().any(is_own) {
            return self;
        }
        if let Some(TemplatePiece::Text(last)) = self.head.pop() {
            let before = last.strip_suffix(END).map_or(&*last, |_| &last[..last.len() - 2]);
            self.head.push(TemplatePiece::Text(before.into()));
            self.head.push(TemplatePiece::Field(TemplateField::Cookies, 0));
            self.head.push(TemplatePiece::Text(b"\r\n"[..].into()));
        }
        let fields_of_head = self.head.iter().filter(|piece| {
            matches!(piece, TemplatePiece::Field(field, _) if *field != TemplateField::Length)
        });
        let place = fields_of_head.count() - 1;
        self.fields.insert(place, (TemplateField::Cookies, 0));
        self
    }

    /// True if nothing in it differs from request to request but a line of cookies.
    pub fn is_constant(&self) -> bool {
        self.fields.iter().all(|(field, _)| *field == TemplateField::Cookies)
    }

    /// True if the template has a value that a user captures, or its conversation.
    pub fn has_captured(&self) -> bool {
        let is_of_user = |field: &TemplateField| {
            matches!(field, TemplateField::Captured(..) | TemplateField::History)
        };
        self.fields.iter().any(|(field, _)| is_of_user(field))
    }

    /// True if the template has the conversation of a user.
    pub fn has_history(&self) -> bool {
        self.fields.iter().any(|(field, _)| *field == TemplateField::History)
    }

    /// True if the template has a value of a table.
    pub fn has_column(&self) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(field, _)| matches!(field, TemplateField::Column(..)))
    }

    /// Returns the template's only field, if that is a number.
    pub fn only_number(&self) -> Option<NumberField> {
        let [(field, salt)] = &self.fields[..] else { return None };
        let range = match field {
            TemplateField::Index => None,
            TemplateField::Random { least, greatest } => Some((*least, *greatest)),
            _ => return None,
        };
        Some(NumberField { range, salt: *salt })
    }

    /// Writes the request with these values into `bytes`, in the place of what was there.
    pub fn render(&self, values: Values<'_>, bytes: &mut Vec<u8>) {
        self.write(values, bytes, &mut Places::default());
    }

    /// Like [`Template::render`]. If `places` are those of this template's last request, which is
    /// in `bytes`, only its fields are written, unless one has another length now. Returns true if
    /// the bytes are as many as before.
    #[inline(always)]
    pub fn render_again(
        &self,
        values: Values<'_>,
        bytes: &mut Vec<u8>,
        places: &mut Places,
    ) -> bool {
        let is_filled = self.fill(values, bytes, places);
        if !is_filled {
            self.write(values, bytes, places);
        }
        is_filled
    }

    /// Writes the fields in their places. False if one does not fit, or if there are none: then
    /// nothing says whether the bytes are this template's.
    #[inline(always)]
    fn fill(&self, values: Values<'_>, bytes: &mut [u8], places: &Places) -> bool {
        if places.0.is_empty() || places.0.len() != self.fields.len() {
            return false;
        }
        for ((field, salt), place) in self.fields.iter().zip(&places.0) {
            let Some(place) = bytes.get_mut(place.clone()) else { return false };
            if !field.fill(values, *salt, place) {
                return false;
            }
        }
        true
    }

    #[inline(never)]
    fn write(&self, values: Values<'_>, bytes: &mut Vec<u8>, Places(places): &mut Places) {
        bytes.clear();
        places.clear();
        // The length of the body is in front of it.
        let length: usize = self.body.iter().map(|piece| piece.length(values)).sum();
        for piece in self.head.iter().chain(&self.body) {
            match piece {
                TemplatePiece::Text(text) => bytes.extend_from_slice(text),
                TemplatePiece::Field(TemplateField::Length, _) => decimal(length as u64, bytes),
                TemplatePiece::Field(field, salt) => {
                    let from = bytes.len();
                    field.write(values, *salt, bytes);
                    places.push(from..bytes.len());
                }
            }
        }
    }
}

impl TemplatePiece {
    /// Returns the length in bytes.
    fn length(&self, values: Values<'_>) -> usize {
        match self {
            TemplatePiece::Text(text) => text.len(),
            TemplatePiece::Field(field, salt) => field.length(values, *salt),
        }
    }
}

/// True if a field behind this text of JSON stands for a whole value.
fn is_whole_value(before: &str) -> bool {
    let last = before.trim_end().chars().next_back();
    last.is_none_or(|last| matches!(last, ':' | '[' | ','))
}

/// Returns the error of a field that has no end; `None` if the text behind the braces begins as no
/// field does, so that the braces stand for themselves.
fn unended(after: &str) -> Option<String> {
    const BEGINS: [&str; 9] =
        ["user.", "seq", "uuid", "session", "history", "rand:", "csv:", "env:", "file:"];
    let begin = BEGINS.iter().find(|begin| after.starts_with(**begin))?;
    Some(format!("{{{{{begin}… has no end: write two braces, }}}}, behind the name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::table::Table;
    use crate::list::template_field::{Constants, UserTexts};

    /// Variables with their names as values, and no files.
    struct NoFiles;

    impl Constants for NoFiles {
        fn variable(&self, name: &str) -> Result<String, String> {
            Ok(format!("<{name}>"))
        }

        fn file(&self, path: &str) -> Result<String, String> {
            Err(format!("{path} is not read"))
        }
    }

    fn sources(table: Option<&Table>) -> FieldSources<'_> {
        FieldSources { table, captured: None, constants: &NoFiles }
    }

    fn values<'a>(seed: u64, index: u64) -> Values<'a> {
        Values { seed, index, ..Values::default() }
    }

    fn table() -> Table {
        Table::parse(b"user,pass word\nann,1\nbob,\"2,\"\"3\"\"\"\n").expect("a table")
    }

    fn rendered(text: &str, index: u64) -> String {
        let mut fields = TemplateFields::default();
        let table = table();
        let marked =
            fields.mark(text, TextForm::Plain, &sources(Some(&table))).expect("a template");
        let mut bytes = Vec::new();
        let row = table.row(index % table.rows());
        let values = Values { seed: 5, index, row, ..Values::default() };
        fields.template(marked.as_bytes()).render(values, &mut bytes);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn only_the_fields_are_written_again() {
        let table = Table::parse(b"name\nan\nbob\neve\n").expect("a table");
        let text = "GET /{{seq}}/{{csv:name}} HTTP/1.1\r\nX: {{uuid}}\r\n\
                    Content-Length: 0\r\n\r\n{{rand:1:200}}={{rand:0:18446744073709551615}}";
        let mut fields = TemplateFields::default();
        let marked = fields.mark(text, TextForm::Plain, &sources(Some(&table))).expect("fields");
        let template = fields.template(marked.as_bytes());
        let mut bytes = Vec::new();
        let mut again = Vec::new();
        let mut places = Places::default();
        let mut as_long = 0;
        for index in [0, 9, 10, 8, 99, 100].into_iter().chain(101..2_000) {
            let values = Values { row: table.row(index % table.rows()), ..values(7, index) };
            template.render(values, &mut bytes);
            as_long += u32::from(template.render_again(values, &mut again, &mut places));
            assert_eq!(again, bytes, "{index}");
        }
        assert!((50..1_000).contains(&as_long), "{as_long}");
    }

    #[test]
    fn fields_have_values() {
        assert_eq!(rendered("/{{seq}}/{x}}{{env:A}}", 12), "/12/{x}}<A>");
        assert_eq!(rendered("{{csv:user}}:{{csv:pass word}}", 1), "bob:2,\"3\"");
        assert_eq!(rendered("{{rand:7:7}} {{", 3), "7 {{");
        let uuid = rendered("{{uuid}}", 9);
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        assert_ne!(uuid, rendered("{{uuid}}", 10));
        assert_eq!(uuid, rendered("{{uuid}}", 9));
    }

    #[test]
    fn random_numbers_are_in_their_range_and_independent() {
        let mut fields = TemplateFields::default();
        let marked = fields
            .mark("{{rand:1:6}} {{rand:1:6}}", TextForm::Plain, &sources(None))
            .expect("fields");
        let template = fields.template(marked.as_bytes());
        let mut counts = [[0_u32; 6]; 6];
        let mut bytes = Vec::new();
        let mut again = Vec::new();
        let mut places = Places::default();
        for index in 0..36_000 {
            let values = values(5, index);
            template.render(values, &mut bytes);
            template.render_again(values, &mut again, &mut places);
            assert_eq!(again, bytes);
            let both = std::str::from_utf8(&bytes).expect("digits");
            let (a, b) = both.split_once(' ').expect("two");
            let at = |text: &str| text.parse::<usize>().expect("a number") - 1;
            counts[at(a)][at(b)] += 1;
        }
        // χ² with 35 degrees of freedom exceeds 89 with a probability of 10⁻⁶.
        let squares = counts.iter().flatten().map(|n| (f64::from(*n) - 1_000.0).powi(2) / 1_000.0);
        let chi: f64 = squares.sum();
        assert!(chi < 89.0, "{chi}");
    }

    #[test]
    fn the_length_of_a_body_is_that_of_its_values() {
        let text = "POST /{{seq}} HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\nX: {{uuid}}\r\n\r\n\
                    {{seq}} {{csv:user}} {{uuid}}";
        for index in [0, 7, 10, 12_345] {
            let request = rendered(text, index);
            let (head, body) = request.split_once("\r\n\r\n").expect("a body");
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{request}");
            assert!(head.starts_with(&format!("POST /{index} ")), "{request}");
        }
    }

    #[test]
    fn a_body_with_random_numbers_has_its_length() {
        let text = "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n{{rand:0:100000}}";
        for index in 0..100 {
            let request = rendered(text, index);
            let (head, body) = request.split_once("\r\n\r\n").expect("a body");
            assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{request}");
        }
    }

    #[test]
    fn wrong_fields_are_named() {
        for (text, part) in [
            ("{{user}}", "{{user}} is no field"),
            ("{{rand:9:1}}", "write {{rand:1:1000}}"),
            ("{{rand}}", "write {{rand:1:1000}}"),
            ("{{csv:name}}", "no such column, but user, pass word"),
            ("{{file:/etc/passwd}}", "/etc/passwd is not read"),
            (MARK, "reserved"),
        ] {
            let table = table();
            let error =
                TemplateFields::default().mark(text, TextForm::Plain, &sources(Some(&table)));
            let error = error.expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = TemplateFields::default().mark("{{csv:a}}", TextForm::Plain, &sources(None));
        let error = error.expect_err("no rows");
        assert!(error.contains("no rows"), "{error}");
    }

    #[test]
    fn cookies_are_a_line_of_the_head() {
        let names = ["id".to_owned()];
        let sources = FieldSources { captured: Some(&names), ..sources(None) };
        let mut fields = TemplateFields::default();
        let text = "POST /{{user.id}} HTTP/1.1\r\nContent-Length: 1\r\n\r\n{{user.id}}";
        let marked = fields.mark(text, TextForm::Plain, &sources).expect("fields");
        let template = fields.template(marked.as_bytes()).with_cookies();
        let captured = [Some(b"abc"[..].into())];
        let mut bytes = Vec::new();
        let mut places = Places::default();
        for (cookies, line) in [("a=1; b=2", "Cookie: a=1; b=2\r\n"), ("", "")] {
            let cookies = cookies.as_bytes();
            let user = UserTexts { captured: &captured, cookies, ..UserTexts::default() };
            let values = Values { user: Some(&user), ..values(1, 0) };
            template.render_again(values, &mut bytes, &mut places);
            let expected = format!("POST /abc HTTP/1.1\r\nContent-Length: 3\r\n{line}\r\nabc");
            assert_eq!(std::str::from_utf8(&bytes), Ok(&*expected));
        }
        let own = "GET / HTTP/1.1\r\ncookie: x={{seq}}\r\n\r\n";
        let mut fields = TemplateFields::default();
        let marked = fields.mark(own, TextForm::Plain, &sources).expect("fields");
        let own = fields.template(marked.as_bytes());
        assert_eq!(own.clone().with_cookies(), own);
    }
}

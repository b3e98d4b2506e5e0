//! Templates: texts with fields that differ from request to request, `{{seq}}` or `{{csv:user}}`.
//!
//! A field of a request is a pure function of the request's index in the run and a seed, so that
//! the parts of a run agree, and a run can be repeated.

use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use weir_text::setting::ROWS;

use crate::list::encoding::form_encoded;
use crate::list::order::{below, mixed};
use crate::list::table::Table;

/// Begin of the marks that stand for fields while a request is prepared. They are tokens, so that
/// they may stand in each part of a request.
const MARK: &str = "weir-field-e3b0c442-";

/// Length of a mark: its start and five digits.
const MARK_BYTES: usize = MARK.len() + 5;

/// Greatest number of fields in a request.
const FIELDS_MAX: usize = 1_000;

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplateField {
    /// `{{seq}}`: index of the request in the run, from 0.
    Index,
    /// `{{rand:A:B}}`: a number from A to B.
    Random { least: u64, greatest: u64 },
    /// `{{uuid}}`: a UUID of version 4 (RFC 9562).
    Uuid,
    /// `{{csv:COLUMN}}`: the value of this column.
    Column(usize),
    /// The same in a urlencoded form.
    EncodedColumn(usize),
    /// Length of the body in bytes.
    Length,
}

/// Values that do not change during a run, by the kind of field that names them.
pub trait Constants {
    /// Returns the value of `{{env:NAME}}`.
    ///
    /// # Errors
    /// If there is none; the text is the reason.
    fn variable(&self, name: &str) -> Result<String, String>;

    /// Returns the content of `{{file:PATH}}`.
    ///
    /// # Errors
    /// If it cannot be read; the text is the reason.
    fn file(&self, path: &str) -> Result<String, String>;
}

/// The fields of one request, while it is prepared.
#[derive(Debug, Default)]
pub struct TemplateFields {
    /// Each with its text between the braces.
    fields: Vec<(TemplateField, String)>,
}

impl TemplateFields {
    /// Replaces the fields in a text by marks, and those of constants by their values. `table` has
    /// the columns.
    ///
    /// # Errors
    /// If a field is unknown or has no value; the text names it.
    pub fn mark(
        &mut self,
        text: &str,
        table: Option<&Table>,
        constants: &dyn Constants,
    ) -> Result<String, String> {
        if text.contains(MARK) {
            return Err(format!("{MARK} is reserved for templates"));
        }
        let mut marked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((field, after)) = after.split_once("}}") else { break };
            marked += before;
            match field.split_once(':').map_or((field, ""), |(kind, argument)| (kind, argument)) {
                ("env", name) => marked += &constants.variable(name)?,
                ("file", path) => marked += &constants.file(path)?,
                (kind, argument) => {
                    let field = parse(kind, argument, field, table)?;
                    marked += &self.add(field, &format!("{kind}:{argument}"))?;
                }
            }
            rest = after;
        }
        Ok(marked + rest)
    }

    /// Like [`TemplateFields::mark`], for a text of a urlencoded form: values of columns are
    /// encoded. The marks are the same when they are encoded.
    ///
    /// # Errors
    /// As there.
    pub fn mark_encoded(
        &mut self,
        text: &str,
        table: Option<&Table>,
        constants: &dyn Constants,
    ) -> Result<String, String> {
        let first = self.fields.len();
        let marked = self.mark(text, table, constants)?;
        for (field, _) in &mut self.fields[first..] {
            if let TemplateField::Column(column) = *field {
                *field = TemplateField::EncodedColumn(column);
            }
        }
        Ok(marked)
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
            text = text.replace(&mark(number), &format!("{{{{{}}}}}", field.trim_end_matches(':')));
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

fn parse(
    kind: &str,
    argument: &str,
    whole: &str,
    table: Option<&Table>,
) -> Result<TemplateField, String> {
    match (kind, argument) {
        ("seq", "") => Ok(TemplateField::Index),
        ("uuid", "") => Ok(TemplateField::Uuid),
        ("rand", range) => {
            let range = range.split_once(':');
            let range = range.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            match range {
                Some((least, greatest)) if least <= greatest => {
                    Ok(TemplateField::Random { least, greatest })
                }
                _ => Err(format!("{{{{{whole}}}}}: write {{{{rand:1:1000}}}}")),
            }
        }
        ("csv", column) => {
            let Some(table) = table else {
                return Err(format!(
                    "{{{{{whole}}}}}: there are no rows to take it from; give a CSV file by {ROWS}"
                ));
            };
            table.column(column).map(TemplateField::Column).ok_or_else(|| {
                let columns = table.columns().join(", ");
                format!("{{{{{whole}}}}}: the rows have no such column, but {columns}")
            })
        }
        _ => Err(format!(
            "{{{{{whole}}}}} is no field: there are seq, rand:A:B, uuid, csv:COLUMN, env:NAME and \
             file:PATH; a single {{ is literal"
        )),
    }
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

/// The values of a request's fields.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// Seed of the run's random values.
    pub seed: u64,
    /// Index of the request in the run.
    pub index: u64,
    /// Row of the table; empty without one.
    pub row: &'a [Box<[u8]>],
}

impl Values<'_> {
    /// Returns the value of a column as a urlencoded form has it.
    fn encoded(&self, column: usize) -> String {
        form_encoded(self.row.get(column).map_or(&[][..], |value| value))
    }
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
            TemplatePiece::Field(TemplateField::Column(column), _) => Some((*column, is_first)),
            TemplatePiece::Field(..) => None,
        })
    }

    /// True if the template has a value of a table.
    pub fn has_column(&self) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(field, _)| {
            matches!(field, TemplateField::Column(_) | TemplateField::EncodedColumn(_))
        })
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

    /// Writes the fields in their places. False if one does not fit.
    #[inline(always)]
    fn fill(&self, values: Values<'_>, bytes: &mut [u8], places: &Places) -> bool {
        if places.0.len() != self.fields.len() {
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

/// A field that is a number.
#[derive(Clone, Copy, Debug)]
pub struct NumberField {
    /// Limits of a random number; `None` for the index of the request.
    range: Option<(u64, u64)>,
    salt: u64,
}

impl NumberField {
    /// Returns its value.
    #[inline]
    pub fn value(&self, values: Values<'_>) -> u64 {
        match self.range {
            None => values.index,
            Some((least, greatest)) => random(least..=greatest, values, self.salt),
        }
    }
}

impl TemplatePiece {
    /// Returns the length in bytes.
    fn length(&self, values: Values<'_>) -> usize {
        match self {
            TemplatePiece::Text(text) => text.len(),
            TemplatePiece::Field(TemplateField::Column(column), _) => {
                values.row.get(*column).map_or(0, |value| value.len())
            }
            TemplatePiece::Field(TemplateField::EncodedColumn(column), _) => {
                values.encoded(*column).len()
            }
            TemplatePiece::Field(TemplateField::Uuid, _) => 36,
            TemplatePiece::Field(TemplateField::Index, _) => digits(values.index),
            TemplatePiece::Field(TemplateField::Random { least, greatest }, salt) => {
                digits(random(*least..=*greatest, values, *salt))
            }
            TemplatePiece::Field(TemplateField::Length, _) => 0,
        }
    }
}

/// Returns the random number of the field with this salt.
#[inline]
fn random(range: RangeInclusive<u64>, values: Values<'_>, salt: u64) -> u64 {
    let random = mixed(values.seed ^ salt, values.index);
    match range.end() - range.start() {
        u64::MAX => random,
        span => range.start() + below(span + 1, random),
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

impl TemplateField {
    /// Writes the value of the field with this salt into a place. False if it has
    /// another length.
    #[inline(always)]
    fn fill(&self, values: Values<'_>, salt: u64, place: &mut [u8]) -> bool {
        match self {
            TemplateField::Index => fill_decimal(values.index, place),
            TemplateField::Random { least, greatest } => {
                fill_decimal(random(*least..=*greatest, values, salt), place)
            }
            TemplateField::Column(column) => {
                let value = values.row.get(*column).map_or(&[][..], |value| value);
                let fits = value.len() == place.len();
                if fits {
                    place.copy_from_slice(value);
                }
                fits
            }
            TemplateField::Uuid => self.fill_uuid(values, salt, place),
            TemplateField::EncodedColumn(_) | TemplateField::Length => false,
        }
    }

    #[inline(never)]
    fn fill_uuid(&self, values: Values<'_>, salt: u64, place: &mut [u8]) -> bool {
        let mut bytes = Vec::with_capacity(place.len());
        self.write(values, salt, &mut bytes);
        place.copy_from_slice(&bytes);
        true
    }

    /// Appends the value of the field with this salt.
    fn write(&self, values: Values<'_>, salt: u64, bytes: &mut Vec<u8>) {
        match self {
            TemplateField::Index => decimal(values.index, bytes),
            TemplateField::Length => {} // not of the field alone
            TemplateField::EncodedColumn(column) => {
                bytes.extend_from_slice(values.encoded(*column).as_bytes());
            }
            TemplateField::Column(column) => {
                bytes.extend_from_slice(values.row.get(*column).map_or(&[][..], |value| value));
            }
            TemplateField::Random { least, greatest } => {
                decimal(random(*least..=*greatest, values, salt), bytes);
            }
            TemplateField::Uuid => {
                let half = |half: u64| mixed(values.seed ^ mixed(salt, 2 + half), values.index);
                uuid(half(0), half(1), bytes);
            }
        }
    }
}

/// Writes a number in decimal digits into a place. False if it has more or fewer.
#[inline]
pub fn fill_decimal(mut number: u64, place: &mut [u8]) -> bool {
    let (first, pairs) = place.as_rchunks_mut::<2>();
    for pair in pairs.iter_mut().rev() {
        *pair = PAIRS[(number % 100) as usize];
        number /= 100;
    }
    if let [digit] = first {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    number == 0 && (place.len() == 1 || place.first().is_some_and(|first| *first != b'0'))
}

/// The digits of the numbers below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Appends a number in decimal digits.
fn decimal(mut number: u64, bytes: &mut Vec<u8>) {
    let mut text = [0; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    bytes.extend_from_slice(&text[at..]);
}

/// Appends a UUID of version 4 (RFC 9562 §5.4) made of these bits.
fn uuid(high: u64, low: u64, bytes: &mut Vec<u8>) {
    let high = high & !0xf000 | 0x4000;
    let low = low & (u64::MAX >> 2) | 1 << 63;
    let mut text = String::with_capacity(36);
    let _infallible = write!(
        text,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
    bytes.extend_from_slice(text.as_bytes());
}

/// The order in which requests take the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Row i mod rows for the request with index i.
    Sequential,
    /// At random.
    Random,
    /// Each connection has a row of its own.
    Unique,
}

/// The rows of a table, in an order.
#[derive(Clone, Debug)]
pub struct TableRows {
    /// The table.
    pub table: Arc<Table>,
    /// The order.
    pub order: RowOrder,
}

impl TableRows {
    /// Returns the row of the request with this index on connection `connection` of the run.
    pub fn row(&self, seed: u64, index: u64, connection: u64) -> &[Box<[u8]>] {
        self.table.row(self.number(seed, index, connection))
    }

    /// Returns the number of that row, from 0.
    pub fn number(&self, seed: u64, index: u64, connection: u64) -> u64 {
        let rows = self.table.rows();
        match self.order {
            RowOrder::Sequential => index % rows,
            RowOrder::Random => below(rows, mixed(seed ^ 0x7061_7373, index)),
            RowOrder::Unique => connection % rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn table() -> Table {
        Table::parse(b"user,pass word\nann,1\nbob,\"2,\"\"3\"\"\"\n").expect("a table")
    }

    fn rendered(text: &str, index: u64) -> String {
        let mut fields = TemplateFields::default();
        let table = table();
        let marked = fields.mark(text, Some(&table), &NoFiles).expect("a template");
        let mut bytes = Vec::new();
        let row = table.row(index % table.rows());
        let values = Values { seed: 5, index, row };
        fields.template(marked.as_bytes()).render(values, &mut bytes);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn only_the_fields_are_written_again() {
        let table = Table::parse(b"name\nan\nbob\neve\n").expect("a table");
        let text = "GET /{{seq}}/{{csv:name}} HTTP/1.1\r\nX: {{uuid}}\r\n\
                    Content-Length: 0\r\n\r\n{{rand:1:200}}={{rand:0:18446744073709551615}}";
        let mut fields = TemplateFields::default();
        let marked = fields.mark(text, Some(&table), &NoFiles).expect("fields");
        let template = fields.template(marked.as_bytes());
        let mut bytes = Vec::new();
        let mut again = Vec::new();
        let mut places = Places::default();
        let mut as_long = 0;
        for index in [0, 9, 10, 8, 99, 100].into_iter().chain(101..2_000) {
            let values = Values { seed: 7, index, row: table.row(index % table.rows()) };
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
        let marked = fields.mark("{{rand:1:6}} {{rand:1:6}}", None, &NoFiles).expect("fields");
        let template = fields.template(marked.as_bytes());
        let mut counts = [[0_u32; 6]; 6];
        let mut bytes = Vec::new();
        let mut again = Vec::new();
        let mut places = Places::default();
        for index in 0..36_000 {
            let values = Values { seed: 5, index, row: &[] };
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
            let error =
                TemplateFields::default().mark(text, Some(&table()), &NoFiles).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let error =
            TemplateFields::default().mark("{{csv:a}}", None, &NoFiles).expect_err("no rows");
        assert!(error.contains("no rows"), "{error}");
    }

    #[test]
    fn rows_have_an_order() {
        let rows = |order| TableRows { table: Arc::new(table()), order };
        let user = |order, index, connection| rows(order).row(3, index, connection)[0].to_vec();
        assert_eq!(user(RowOrder::Sequential, 3, 0), b"bob");
        assert_eq!(user(RowOrder::Unique, 3, 2), b"ann");
        let random: Vec<Vec<u8>> = (0..64).map(|i| user(RowOrder::Random, i, 0)).collect();
        assert!(random.contains(&b"ann".to_vec()) && random.contains(&b"bob".to_vec()));
    }
}

//! A row of a list: one request as it is written there.

/// A request of a list. What a row leaves out, the command line gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Line of its begin, from 1; in a HAR file the number of the entry.
    pub line: u64,
    /// Method.
    pub method: Option<String>,
    /// URL or path as written; curl's scheme is added. Empty if it is that of the command line.
    pub target: String,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// `USER:PASS` of basic authentication.
    pub basic_auth: Option<String>,
    /// Body.
    pub body: Option<RowBody>,
    /// Name under which it is counted.
    pub name: Option<String>,
    /// Number of its turns in one pass over the list, at least 1.
    pub weight: u32,
    /// Expectations of its response.
    pub expect: Vec<String>,
}

/// A body of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowBody {
    /// The body itself.
    Bytes(Vec<u8>),
    /// Path of a file of this machine with the body. Who wrote the list has chosen it.
    File(String),
    /// The same; the line ends in it are dropped, as by curl's `-d`.
    JoinedFile(String),
}

impl Row {
    /// Returns a row with this body and nothing else.
    pub(crate) fn of_body(line: u64, body: &str) -> Row {
        Row { body: Some(RowBody::Bytes(body.as_bytes().to_vec())), ..Row::new(line, "") }
    }

    /// Returns a row with this target and nothing else.
    pub(crate) fn new(line: u64, target: &str) -> Row {
        Row {
            line,
            method: None,
            target: target.to_owned(),
            headers: Vec::new(),
            basic_auth: None,
            body: None,
            name: None,
            weight: 1,
            expect: Vec::new(),
        }
    }
}

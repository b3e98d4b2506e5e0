//! A row of a list: one request as it is written there.

use crate::list::{FormPart, Position};

/// A request of a list. What a row leaves out, the command line gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its position.
    pub position: Position,
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
    /// Media type of the body unless a header field gives it, of the row or of the command line.
    pub media_type: Option<&'static str>,
    /// Name under which it is counted.
    pub name: Option<String>,
    /// Number of its turns in one pass over the list, at least 1.
    pub weight: u32,
    /// Expectations of its response.
    pub expect: Vec<String>,
    /// Messages that a user adds to its conversation with the request: JSON objects with commas
    /// between them.
    pub message: Option<String>,
    /// Its part in a session; `None` if the list has no sessions.
    pub turn: Option<Box<SessionTurn>>,
}

/// The part of a row that makes it the turn of a session, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTurn {
    /// Id of the session.
    pub session: String,
    /// Pause after the response; `None` for none.
    pub think: Option<String>,
    /// Names of the captures, and the places of their values.
    pub captures: Vec<(String, String)>,
}

/// A body of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowBody {
    /// The body itself.
    Bytes(Vec<u8>),
    /// Path of a file of this machine with the body. The list's author has chosen it.
    File(String),
    /// The same, relative to the directory of the list.
    FileBeside(String),
    /// The same; the line ends in it are dropped, as by curl's `-d`.
    JoinedFile(String),
    /// A urlencoded form, but for its fields: their values are encoded when they are known.
    Encoded(String),
    /// A form whose parts have files, and its boundary.
    Form(String, Vec<FormPart>),
}

impl Row {
    /// Returns a row with this body and nothing else.
    pub(super) fn of_body(line: u64, body: &str) -> Row {
        Row { body: Some(RowBody::Bytes(body.as_bytes().to_vec())), ..Row::new(line, "") }
    }

    /// Returns a row with this target and nothing else.
    pub(crate) fn new(position: impl Into<Position>, target: &str) -> Row {
        Row {
            position: position.into(),
            method: None,
            target: target.to_owned(),
            headers: Vec::new(),
            basic_auth: None,
            body: None,
            media_type: None,
            name: None,
            weight: 1,
            expect: Vec::new(),
            message: None,
            turn: None,
        }
    }
}

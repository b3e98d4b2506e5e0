//! Lists of requests: the formats they are written in, the order in which a load sends them, and
//! the names under which it counts them. Logs have the times of their requests too.
//!
//! Text becomes rows, and numbers of slots become numbers of rows. The parts of a URL are not known
//! here.
//!
//! ```
//! use std::io::Cursor;
//!
//! use weir_requests::list::{ListFormat, RowReader};
//!
//! let text = "GET http://h/items\n\nDELETE http://h/items/7\nX-Reason: sold\n";
//! let mut rows = RowReader::open(Cursor::new(text), ListFormat::named("vegeta"))?;
//! let first = rows.take()?.expect("a row");
//! assert_eq!((first.method.as_deref(), &*first.target), (Some("GET"), "http://h/items"));
//! let second = rows.take()?.expect("another");
//! assert_eq!(second.headers, [("X-Reason".to_owned(), "sold".to_owned())]);
//! assert!(rows.take()?.is_none());
//! # Ok::<(), weir_requests::list::RowError>(())
//! ```

mod encoding;
mod recording;

mod reader;

mod curl;
mod har;
mod json_lines;
mod logged_json;
mod urls;
mod vegeta;

mod access_log;
mod format;
mod index;
mod lines;

mod error;
mod multipart;
mod names;
mod order;
mod position;
mod row;
mod table_rows;
mod template;

mod history;
mod table;
mod template_field;

mod time_stamp;

pub use access_log::LogFormat;
pub use encoding::{form_encoded, percent_encoded};
pub use error::RowError;
pub use format::ListFormat;
pub(crate) use har::{HarRequest, NOT_SENT, parsed as parsed_har, row as har_row};
pub use history::History;
pub(crate) use history::message;
pub use index::{IndexedRows, RowIndex, RowIndexer};
pub(crate) use json_lines::decoded;
pub(crate) use multipart::boundary;
pub use multipart::{FormPart, PartContent, multipart_body};
pub use names::{Group, NAMES_MAX, Names, OTHER};
pub use order::{Order, PASS_MAX, Sequence, Walk, WeightError};
pub(crate) use order::{below, mixed};
pub use position::Position;
pub use reader::RowReader;
pub use recording::{RecordedRequest, Recording, RecordingError, RecordingFormat, ReplayRules};
pub use row::{Row, RowBody, SessionTurn};
pub use table::Table;
pub use table_rows::{RowOrder, TableRows};
pub use template::{Places, Template, TemplateFields};
pub(crate) use template_field::target_encoded;
pub use template_field::{
    Constants, FieldSources, NumberField, TextForm, UserTexts, Values, fill_decimal,
};
pub(crate) use time_stamp::TimeStamp;

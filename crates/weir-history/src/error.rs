//! Errors of the history. Each message names the file and the remedy.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use weir_result::{LoadError, Part};
use weir_text::printable;
use weir_text::setting::{FORMAT, HISTORY, METRIC, SAVE};
use weir_verdict::AssertionError;

use crate::name::{Name, Selector};

/// Reason why the history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// A build without SQLite.
    #[error(
        "{SAVE} and weir history: this build has no SQLite: build weir with --features history"
    )]
    Unsupported,
    /// No environment variable names a place for the file.
    #[error("the history has no place: set HOME or XDG_DATA_HOME, or give {HISTORY} FILE")]
    NoPlace,
    /// No run was saved yet; with the path of the history.
    #[error("there is no history at {}: weir {SAVE} NAME URL begins one", shown(.0))]
    Absent(PathBuf),
    /// The directory of the file cannot be created.
    #[error(
        "history {}: its directory cannot be created ({cause}); choose another place with \
         {HISTORY} FILE",
        shown(path)
    )]
    Directory {
        /// Path of the history.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// A history of a newer weir.
    #[error(
        "history {} is of a newer weir (format {found}, this weir reads up to {newest}): use that \
         weir, or another file with {HISTORY} FILE",
        shown(path)
    )]
    Newer {
        /// Path of the history.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Newest format that this program reads.
        newest: u32,
    },
    /// An SQLite file that another program wrote; with its path.
    #[error("{} belongs to another program: give another file with {HISTORY}", shown(.0))]
    Foreign(PathBuf),
    /// SQLite cannot read or write the file.
    #[error("history {}: {cause}; {remedy}", shown(path))]
    Unusable {
        /// Path of the history.
        path: PathBuf,
        /// Error of SQLite.
        cause: Box<dyn Error + Send + Sync>,
        /// The remedy.
        remedy: String,
    },
    /// No run has this name.
    #[error("no run is saved as {name}: {}", known(names))]
    UnknownName {
        /// The name.
        name: Name,
        /// Names in the history.
        names: Vec<String>,
    },
    /// No run has this ID.
    #[error("there is no run #{0} in the history: weir history list prints all")]
    UnknownId(i64),
    /// Fewer runs of a name than selected.
    #[error("{selector} is not there: the number of runs under this name is {count}")]
    TooFew {
        /// The selection.
        selector: Selector,
        /// Number of runs under its name.
        count: usize,
    },
    /// The same run is saved under this name already.
    #[error("this run is saved as {name} already: it is #{id}")]
    Twice {
        /// The name.
        name: Name,
        /// ID of the saved run.
        id: i64,
    },
    /// A metric of a name that no run has; with the reason.
    #[error("{METRIC} {0} (in none of the runs)")]
    Metric(AssertionError),
    /// A document of one part of a run.
    #[error(
        "it is part {} of {} of a run: merge the parts with weir report {FORMAT} json, \
         and save the result",
        .0.index(),
        .0.count()
    )]
    Part(Part),
    /// A saved document that this program does not read.
    #[error("run #{id} of the history cannot be read: {cause}")]
    Document {
        /// ID of the run.
        id: i64,
        /// Fault of the document.
        cause: LoadError,
    },
    /// A saved run that is damaged.
    #[error("run #{id} of the history is damaged: {fault}; weir history remove {id} removes it")]
    Damaged {
        /// ID of the run.
        id: i64,
        /// The fault.
        fault: String,
    },
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

/// The names that exist, at most ten.
fn known(names: &[String]) -> String {
    match names {
        [] => "the history is empty".to_owned(),
        [.., _] if names.len() > 10 => format!("{} names are; weir history list", names.len()),
        names => format!("saved are {}", names.join(", ")),
    }
}

//! The siblings and samples that `touches` looks for, by names that revisions share.

use crate::source::words;

/// One of several things of a kind.
pub(super) struct Sibling {
    /// Names of its own files and directories, without extension.
    pub(super) stems: &'static [&'static str],
    /// Words of code that name it.
    pub(super) words: &'static [&'static str],
}

/// Kinds of addition, the number of files that each may touch, and all that there are.
pub(super) const SIBLINGS: [(&str, usize, &[Sibling]); 3] =
    [("a study kind", 10, &STUDIES), ("a live output", 6, &OUTPUTS), ("a backend", 6, &BACKENDS)];

/// Kinds of addition, the number of files that each may touch, and some that are typical.
pub(super) const SAMPLES: [(&str, usize, &[&str]); 2] =
    [("a flag", 4, &FLAGS), ("a printed and asserted metric", 5, &METRICS)];

const STUDIES: [Sibling; 4] = [
    Sibling {
        stems: &["repeat", "repetition"],
        words: &["Repeat", "RepeatArgs", "Repetition", "\"repeat\""],
    },
    Sibling {
        stems: &["ab", "comparison"],
        words: &["Ab", "AbArgs", "Design::Comparison", "StudyResult::Comparison", "\"ab\""],
    },
    Sibling { stems: &["sweep"], words: &["Sweep", "SweepArgs", "\"sweep\""] },
    Sibling { stems: &["search"], words: &["Search", "SearchArgs", "SearchResult", "\"search\""] },
];

const OUTPUTS: [Sibling; 3] = [
    Sibling { stems: &["tui"], words: &["tui", "Tui"] },
    Sibling { stems: &["endpoint", "listen"], words: &["listen", "Endpoint"] },
    Sibling { stems: &["otlp"], words: &["otlp", "Otlp"] },
];

const BACKENDS: [Sibling; 2] = [
    Sibling { stems: &["uring"], words: &["Uring", "IoUring", "uring", "io_uring", "probe_uring"] },
    Sibling { stems: &["epoll"], words: &["Epoll", "epoll"] },
];

const FLAGS: [&str; 7] = [
    "body_size",
    "connect_to",
    "connection_lifetime",
    "hpack_table",
    "script_memory",
    "source_ip",
    "wait_for_server",
];

/// Counts and times that are printed and asserted; none has an export or a plot of its own.
const METRICS: [&str; 8] = [
    "closed_by_peer",
    "connect_grown",
    "connect_setup",
    "connect_window",
    "not_resumed",
    "renewed",
    "resent",
    "retransmitted_segments",
];

impl Sibling {
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        self.words.iter().any(|word| words(text, word).next().is_some())
    }

    /// Returns the file or directory called after it that `path` is or is in, without extension.
    pub(super) fn room<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.strip_suffix(".rs").unwrap_or(path);
        let inside = path.find("/src/").map_or(0, |at| at + "/src/".len());
        let ends = path[inside..].match_indices('/').map(|(at, _)| inside + at);
        let mut rooms = ends.chain([path.len()]).map(|end| &path[..end]);
        rooms.find(|room| self.stems.contains(&room.rsplit('/').next().unwrap_or("")))
    }
}

/// True if a text has a flag or a metric, by its name in code (`like_this`), as a field, a flag or
/// a type.
pub(super) fn has_sample(text: &str, sample: &str) -> bool {
    let flag = sample.replace('_', "-");
    let capital = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    let type_name: String = sample.split('_').map(capital).collect();
    [sample, &flag, &type_name].iter().any(|name| words(text, name).next().is_some())
}

//! Counts in words, for notes.

/// Returns a number of requests.
pub(super) fn requests(count: u64) -> String {
    counted(count, "request")
}

/// Returns a number of things.
pub(super) fn counted(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    }
}

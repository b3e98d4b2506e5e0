//! Place of the history's file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::HistoryError;

/// Environment variable that names the history's file.
pub const VARIABLE: &str = "WEIR_HISTORY";

/// Returns the path of the history's file: `file` if given, else `$WEIR_HISTORY`, else
/// `weir/history.db` under `$XDG_DATA_HOME`, which is `~/.local/share` by default. `variable`
/// returns an environment variable; an empty one counts as unset, and so does a relative
/// `XDG_DATA_HOME`, as the XDG Base Directory Specification requires.
///
/// # Errors
/// When none of them names a place.
pub fn location(
    file: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, HistoryError> {
    let path = |name: &str| variable(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    if let Some(file) = file.map(Path::to_owned).or_else(|| path(VARIABLE)) {
        return Ok(file);
    }
    let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME");
    let data = data.or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("weir/history.db")).ok_or(HistoryError::NoPlace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_place_counts() {
        let all = [("WEIR_HISTORY", "h.db"), ("XDG_DATA_HOME", "/data"), ("HOME", "/me")];
        for (file, variables, expected) in [
            (Some("x.db"), &all[..], "x.db"),
            (None, &all, "h.db"),
            (None, &all[1..], "/data/weir/history.db"),
            (None, &[("XDG_DATA_HOME", "data"), all[2]], "/me/.local/share/weir/history.db"),
            (None, &[("WEIR_HISTORY", ""), all[1]], "/data/weir/history.db"),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let found = location(file.map(Path::new), variable).expect("a place");
            assert_eq!(found, Path::new(expected), "{file:?} {variables:?}");
        }
        assert!(matches!(location(None, |_| None), Err(HistoryError::NoPlace)));
    }
}

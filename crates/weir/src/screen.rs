//! The abilities of standard output: colours, columns, block characters.
//!
//! Decided from the terminal and the environment alone; the report gets the result as options.

use std::ffi::OsString;

use weir_machine::sys;
use weir_report::TextOptions;
use weir_report::text::Bars;

use crate::terminal;

/// Columns of a report that is not written to a terminal.
const COLUMNS: u16 = 80;

/// Adds the abilities of this program's standard output to the options of a report.
pub(crate) fn on_stdout(options: TextOptions) -> TextOptions {
    let columns = terminal::is_stdout_terminal().then(sys::terminal_columns);
    with_abilities(options, columns, |name| std::env::var_os(name))
}

/// Derives the abilities. `columns` is `None` if standard output is no terminal, and `Some(None)`
/// if the terminal's width is unknown. `NO_COLOR` overrides `CLICOLOR_FORCE`; an empty variable
/// counts as unset.
fn with_abilities(
    options: TextOptions,
    columns: Option<Option<u16>>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> TextOptions {
    let text = |name: &str| non_empty(variable(name));
    let is_terminal = columns.is_some();
    let is_dumb = text("TERM").is_some_and(|name| name == "dumb");
    let is_forced = text("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let is_refused = text("NO_COLOR").is_some();
    let bars = if is_utf8_locale(text) { Bars::Blocks } else { Bars::Ascii };
    TextOptions {
        colour: !is_refused && (is_forced || is_terminal && !is_dumb),
        width: columns.flatten().unwrap_or(COLUMNS),
        histogram: is_terminal.then_some(bars),
        ..options
    }
}

/// True if the user's locale is one of UTF-8.
#[cfg(feature = "tui")]
pub(crate) fn is_utf8() -> bool {
    is_utf8_locale(|name| non_empty(std::env::var_os(name)))
}

/// True if a locale is one of UTF-8. `variable` returns the variables that are not empty.
fn is_utf8_locale(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    locale.to_ascii_lowercase().replace('-', "").contains("utf8")
}

fn non_empty(value: Option<OsString>) -> Option<String> {
    value.map(|value| value.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(columns: Option<Option<u16>>, variables: &[(&str, &str)]) -> TextOptions {
        with_abilities(TextOptions::default(), columns, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn colour_follows_the_environment() {
        for (is_terminal, variables, colour) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (true, &[("TERM", "dumb")], false),
            (true, &[("TERM", "xterm-256color")], true),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (true, &[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], true),
            (true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
        ] {
            let columns = is_terminal.then_some(Some(80));
            assert_eq!(of(columns, variables).colour, colour, "{is_terminal} {variables:?}");
        }
    }

    #[test]
    fn a_terminal_gives_its_width_and_its_bars() {
        let utf8 = [("LANG", "en_US.UTF-8")];
        for (columns, variables, width, histogram) in [
            (Some(Some(132)), &utf8[..], 132, Some(Bars::Blocks)),
            (Some(None), &[("LC_CTYPE", "C.utf8")], 80, Some(Bars::Blocks)),
            (Some(Some(60)), &[], 60, Some(Bars::Ascii)),
            (Some(Some(60)), &[("LANG", "C.UTF-8"), ("LC_ALL", "C")], 60, Some(Bars::Ascii)),
            (None, &utf8, 80, None),
        ] {
            let screen = of(columns, variables);
            assert_eq!((screen.width, screen.histogram), (width, histogram), "{variables:?}");
        }
    }
}

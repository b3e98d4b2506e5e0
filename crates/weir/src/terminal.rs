//! Output to the user: the only place that writes to standard output and standard error, except for
//! the progress line. A missing reader causes no panic and does not end the run. Control characters
//! from elsewhere, line ends included, never reach standard error, and no password of a URL does.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use weir_machine::sys::{self, Stdout};
use weir_runner::credentials;
use weir_text::{is_unprintable, printable, printable_lines};

use crate::errors::NotWritten;
use crate::exit;

/// Writes a line to standard error. Without a reader, the line is lost.
pub(crate) fn eprint_line(line: impl Display) {
    let line = credentials::without_userinfo_in_message(&line.to_string());
    to_stderr(&format!("{}\n", printable(&line)));
}

/// Writes text of several lines, such as the calls that led to an error; further lines are
/// indented.
pub(crate) fn eprint_lines(text: impl Display) {
    let text = credentials::without_userinfo_in_message(&text.to_string());
    to_stderr(&format!("{}\n", printable_lines(&text)));
}

/// Writes a line below one that a terminal may have begun, such as `^C`.
pub(crate) fn eprint_on_new_line(line: &str) {
    to_stderr(&format!("\n{}\n", printable(line)));
}

/// Prints a warning on standard error, as one line.
pub(crate) fn warn(text: impl Display) {
    eprint_line(format_args!("warning: {text}"));
}

/// Writes to standard error in one call, so that lines of several threads do not mix.
fn to_stderr(text: &str) {
    let _lost = io::stderr().write_all(text.as_bytes());
}

/// True if standard output is a terminal.
pub(crate) fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes to standard output, after any output of scripts. A closed pipe is no error: its reader
/// needs no more.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn print(
    write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>,
) -> Result<(), NotWritten> {
    let before = sys::flush_c_stdout();
    let mut out = BufWriter::new(Stdout::new());
    match before.and_then(|()| write(&mut out)).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|error| NotWritten { place: "standard output", error }),
    }
}

/// Writes JSON to standard output.
///
/// # Errors
/// When there is none, or standard output cannot be written.
pub(crate) fn print_json(json: serde_json::Result<String>) -> anyhow::Result<()> {
    let text = weir_report::json::escaped(json?);
    Ok(print(|out| writeln!(out, "{text}"))?)
}

/// Printable form, for messages, of a file's name or a word of the command line.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    printable(&name.as_ref().to_string_lossy()).into_owned()
}

/// True for a character that does not stand in the parser's output.
fn is_foul(c: char) -> bool {
    is_unprintable(c) && c != '\n'
}

/// Prints the output of the command-line parser: help and version to standard output, errors to
/// standard error.
pub(crate) fn print_parse_result(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let plain = credentials::without_userinfo_in_message(&text.to_string());
    // The parser repeats words of the command line, and has lines of its own.
    let has_lines = env::args_os().any(|word| word.to_string_lossy().contains('\n'));
    let plain = match has_lines {
        true => format!("{}\n", printable(plain.trim_end())),
        false => plain,
    };
    let is_clean = plain == text.to_string() && !plain.contains(is_foul);
    let has_colour = env::var_os("NO_COLOR").is_none();
    if error.use_stderr() {
        match is_clean && has_colour && io::stderr().is_terminal() {
            true => to_stderr(&text.ansi().to_string()),
            false => to_stderr(&plain.replace(is_foul, "?")),
        }
        return ExitCode::from(exit::USAGE);
    }
    let text = match has_colour && is_stdout_terminal() {
        true => text.ansi().to_string(),
        // The program's own text, which names the place of a password.
        false => text.to_string(),
    };
    match print(|out| out.write_all(text.as_bytes())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint_line(format_args!("error: {error}"));
            ExitCode::from(exit::NOT_WRITTEN)
        }
    }
}

//! Script errors: the message, its place in the file and the callback that raised it.

/// The callback of the error of a build without the feature `luajit`.
pub const NO_ENGINE: &str = "engine";

/// LuaJIT's message for a failed allocation; it is preallocated.
pub(crate) const NOT_ENOUGH: &str = "not enough memory";
/// Prefix of traceback frames in this crate's own Lua files; see `State`.
const OWN_FRAME: &str = "\twrk:";
/// Prefixes of traceback frames of library functions, written in C or in assembly.
const LIBRARY_FRAMES: [&str; 2] = ["\t[C]:", "\t[builtin#"];

/// A script raised an error or returned an unusable value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{callback}: {message}")]
pub struct ScriptError {
    /// Callback that ran: `load` for the file itself, `resolve`, `setup`, `init`, `request`,
    /// `delay`, `response`, `done` or `teardown`; or [`NO_ENGINE`].
    pub callback: &'static str,
    /// `FILE:LINE: TEXT`, followed by the traceback, one call per line, if there is one.
    pub message: String,
}

impl ScriptError {
    /// Makes an error from `text`, the message handler's output: the error and a traceback.
    pub(crate) fn new(callback: &'static str, text: &str, memory_limit_bytes: usize) -> Self {
        let (problem, frames) = text.split_once("\nstack traceback:").unwrap_or((text, ""));
        if problem.ends_with(NOT_ENOUGH) {
            let mib = memory_limit_bytes / (1024 * 1024);
            let message = format!(
                "{NOT_ENOUGH}: a worker's script may hold {mib} MiB; is a table only growing?"
            );
            return Self { callback, message };
        }
        // Foreign frames surround the script's: its callers, and the function that raised the
        // error.
        let frames: Vec<&str> = frames.lines().filter(|line| !line.is_empty()).collect();
        let first = frames.iter().position(|frame| !is_foreign(frame)).unwrap_or(frames.len());
        let end =
            frames.iter().rposition(|frame| !is_foreign(frame)).map_or(first, |last| last + 1);
        let frames = &frames[first..end];
        let mut message = placed(problem, frames);
        if !frames.is_empty() {
            message.push_str("\nstack traceback:\n");
            message.push_str(&frames.join("\n"));
        }
        Self { callback, message }
    }

    /// Prefixes the message with `place`, unless it has a line number or a traceback.
    pub(crate) fn placed_at(mut self, place: Option<&str>) -> Self {
        if let (Some(place), false) = (place, names_a_place(&self.message)) {
            self.message = format!("{place}: {}", self.message);
        }
        self
    }
}

/// True if the message has a line number or a traceback.
fn names_a_place(message: &str) -> bool {
    let has_line = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && text[digits..].starts_with(": ")
    };
    message.contains('\n') || message.match_indices(':').any(|(at, _)| has_line(&message[at + 1..]))
}

/// Replaces a place in this crate's own Lua files by the line of the script that called them.
fn placed(problem: &str, frames: &[&str]) -> String {
    let Some(text) = problem.strip_prefix("wrk:").and_then(|rest| rest.split_once(": ")) else {
        return problem.to_owned();
    };
    let place = frames.first().and_then(|frame| frame.trim_start().split_once(": in "));
    place.map_or(text.1.to_owned(), |(place, _)| format!("{place}: {}", text.1))
}

fn is_foreign(frame: &str) -> bool {
    frame.starts_with(OWN_FRAME) || LIBRARY_FRAMES.iter().any(|begin| frame.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(ScriptError::new("init", text, 64 << 20).message, expected);
    }

    #[test]
    fn only_the_scripts_frames_remain() {
        check("a.lua:3: boom", "a.lua:3: boom");
        check(
            "a.lua:3: boom\nstack traceback:\n\t[C]: in function 'error'\n\ta.lua:3: in function \
             'init'\n\twrk:9: in function 'init'\n\t[C]: in function 'xpcall'",
            "a.lua:3: boom\nstack traceback:\n\ta.lua:3: in function 'init'",
        );
        check("a.lua:3: boom\nstack traceback:\n\t[C]: in function 'xpcall'", "a.lua:3: boom");
        check("a.lua:3: boom\nstack traceback:\n\t[builtin#21]: at 0x55ef", "a.lua:3: boom");
    }

    #[test]
    fn problems_found_by_our_own_files_are_placed_in_the_script() {
        check(
            "wrk:120: no table\nstack traceback:\n\twrk:120: in function 'format'\n\ta.lua:7: in \
             function <a.lua:5>\n\t[C]: in function 'xpcall'",
            "a.lua:7: no table\nstack traceback:\n\ta.lua:7: in function <a.lua:5>",
        );
        check("wrk:120: no host\nstack traceback:\n\t[C]: in function 'xpcall'", "no host");
    }

    #[test]
    fn the_memory_limit_is_named() {
        check(
            "not enough memory",
            "not enough memory: a worker's script may hold 64 MiB; is a table only growing?",
        );
    }

    #[test]
    fn the_callback_is_a_place_too() {
        let check = |message: &str, expected: &str| {
            let error = ScriptError { callback: "request", message: message.to_owned() };
            assert_eq!(error.placed_at(Some("a.lua:2")).message, expected);
        };
        check("request() must return a string", "a.lua:2: request() must return a string");
        check("at 1:1", "a.lua:2: at 1:1");
        check("a.lua:3: boom", "a.lua:3: boom");
        check("boom\nstack traceback:\n\ta.lua:3: in x", "boom\nstack traceback:\n\ta.lua:3: in x");
    }

    #[test]
    fn the_callback_is_named() {
        let error = ScriptError::new("delay", "a.lua:3: boom", 0);
        assert_eq!(error.to_string(), "delay: a.lua:3: boom");
    }
}

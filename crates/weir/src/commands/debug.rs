//! `weir --debug`: sends one request, and prints it, its response and the time of each step.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use weir_runner::{ExchangeTrace, RunSpec, Silent};
use weir_text::{printable, units};

use crate::{exit, runner, terminal};

/// Sends the request and prints the exchange. The exit code is 1 if there is no response, or one
/// that is not expected.
///
/// # Errors
/// When the run cannot be planned, or no request can be sent.
pub(crate) fn run(spec: &RunSpec) -> Result<ExitCode> {
    let trace = runner::of(spec).debug(spec, &mut Silent)?;
    terminal::print(|out| out.write_all(text(&trace).as_bytes()))?;
    if let Some(problem) = &trace.problem {
        terminal::eprint_line(format_args!("error: {problem}"));
    }
    let is_good = trace.problem.is_none() && !trace.response.is_empty();
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(exit::NO_SUCCESS) })
}

/// Formats an exchange: both messages with a mark before each line, and the steps.
fn text(trace: &ExchangeTrace) -> String {
    let mut text = marked('>', &trace.request) + &marked('<', &trace.response);
    let mut before_ns = 0;
    for (name, ended_ns) in &trace.steps {
        let took = units::duration(ended_ns.saturating_sub(before_ns));
        let at = units::duration(*ended_ns);
        let _infallible = writeln!(text, "  {name:<14}{took:>10}   at {at:>10}");
        before_ns = *ended_ns;
    }
    text
}

/// Puts a mark before each line of a message, and a blank line behind it.
fn marked(mark: char, message: &str) -> String {
    let lines = message.lines().map(|line| format!("{mark} {}", printable(line)));
    let lines: String = lines.map(|line| format!("{}\n", line.trim_end())).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_readable() {
        let trace = ExchangeTrace {
            request: "GET / HTTP/1.1\nHost: h\n\n".to_owned(),
            response: "HTTP/1.1 200\n\n\u{1b}[1mok\n".to_owned(),
            steps: vec![("connect", 12_000), ("last byte", 3_512_000)],
            problem: None,
        };
        assert_eq!(
            text(&trace),
            "> GET / HTTP/1.1\n> Host: h\n>\n\n< HTTP/1.1 200\n<\n< ?[1mok\n\n\
             \x20 connect            12 µs   at      12 µs\n\
             \x20 last byte        3.50 ms   at    3.51 ms\n"
        );
    }
}

//! `weir --debug`: sends one request, and prints it, its response and the time of each step. Of a
//! scenario it sends the requests of one user.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use weir_runner::{ExchangeTrace, RunSpec, Silent, TracedMessage, TracedStep};
use weir_text::{printable, units};

use crate::{exit, runner, terminal};

/// Sends the requests and prints the exchanges. The exit code is 1 if there is no response, or one
/// that is not expected.
///
/// # Errors
/// When the run cannot be planned, or no request can be sent.
pub(crate) fn run(spec: &RunSpec, row: Option<u64>) -> Result<ExitCode> {
    let steps = runner::of(spec).debug(spec, row, &mut Silent)?;
    let shown: Vec<String> = steps.iter().map(step_text).collect();
    terminal::print(|out| out.write_all(shown.join("\n").as_bytes()))?;
    let exchanges = || steps.iter().filter_map(|step| step.exchange.as_ref());
    for problem in exchanges().filter_map(|exchange| exchange.problem.as_ref()) {
        terminal::eprint_line(format_args!("error: {problem}"));
    }
    let is_good = |one: &ExchangeTrace| one.problem.is_none() && !one.response.is_empty();
    Ok(if exchanges().all(is_good) { ExitCode::SUCCESS } else { ExitCode::from(exit::NO_SUCCESS) })
}

/// Formats a step: its name, its exchange, and what follows from that.
fn step_text(step: &TracedStep) -> String {
    let TracedStep { name, exchange, notes } = step;
    let mut text = match name.is_empty() {
        true => String::new(),
        false => format!("# {}\n", printable(name)),
    };
    text += &exchange.as_ref().map_or_else(String::new, self::text);
    for note in notes {
        let _infallible = writeln!(text, "# {}", printable(note));
    }
    text
}

/// Formats an exchange: request and response with a mark before each line, the messages after the
/// head with their times, and the steps.
fn text(trace: &ExchangeTrace) -> String {
    let mut text = marked('>', &trace.request) + &marked('<', &trace.response);
    for TracedMessage { at_ns, is_sent, text: content } in &trace.messages {
        let mark = if *is_sent { '>' } else { '<' };
        let at = units::duration(*at_ns);
        let mut lines = content.lines();
        let first = printable(lines.next().unwrap_or_default()).into_owned();
        let _infallible = writeln!(text, "{}", format!("{mark} {at:>10}  {first}").trim_end());
        for line in lines {
            let _infallible = writeln!(text, "{mark} {:>10}  {}", "", printable(line));
        }
    }
    for remark in &trace.remarks {
        let _infallible = writeln!(text, "{remark}");
    }
    if !trace.messages.is_empty() || !trace.remarks.is_empty() {
        text.push('\n');
    }
    if let Some(lookup_ns) = trace.lookup_ns {
        let _infallible = writeln!(text, "  {:<14}{:>10}", "lookup", units::duration(lookup_ns));
    }
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
            lookup_ns: Some(1_000_000),
            messages: vec![
                TracedMessage { at_ns: 2_000, is_sent: true, text: "a\nb".to_owned() },
                TracedMessage { at_ns: 3_000_000, is_sent: false, text: String::new() },
            ],
            remarks: vec!["no end".to_owned()],
            problem: None,
        };
        assert_eq!(
            text(&trace),
            "> GET / HTTP/1.1\n> Host: h\n>\n\n< HTTP/1.1 200\n<\n< ?[1mok\n\n\
             >       2 µs  a\n>             b\n<    3.00 ms\nno end\n\n\
             \x20 lookup           1.00 ms\n\
             \x20 connect            12 µs   at      12 µs\n\
             \x20 last byte        3.50 ms   at    3.51 ms\n"
        );
    }
}

//! `cargo xtask picture`: docs/run.svg, a run of weir against nginx as a terminal shows it.
//!
//! The text is the program's own output: only the server's port is replaced, so that the command
//! reads as people would type it.

pub(crate) mod report;

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use xtask::shell::{build_weir, need_program, output, root};

use crate::rig::{Server, Transport};

/// The picture, from the root of the repository.
pub(crate) const PICTURE: &str = "docs/run.svg";

/// Flags of the run.
const FLAGS: [&str; 4] = ["-t1", "-c50", "-R", "5k"];

/// The address in the picture.
const SHOWN_URL: &str = "http://127.0.0.1:8080/";

/// Sizes in pixels: a character, a line and the margin around the text.
const COLUMN: f64 = 8.4;
const LINE: f64 = 18.0;
const MARGIN: f64 = 16.0;

/// Columns of the terminal.
const COLUMNS: usize = 80;

/// Runs weir and draws its output.
pub(crate) fn picture() -> Result<()> {
    let weir = build_weir()?;
    let server = Server::nginx(Transport::Plain, &need_program("nginx", "bench")?, None, 1)?;
    let mut command = Command::new(weir);
    command.args(FLAGS).arg(&server.url).env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    let text = output(&mut command)?;
    let text = text.replace(&server.url, SHOWN_URL);
    let typed = format!("$ weir {} {SHOWN_URL}", FLAGS.join(" "));
    let place = root()?.join(PICTURE);
    fs::write(&place, svg(&format!("\x1b[1m{typed}\x1b[0m\n{text}")))
        .with_context(|| format!("failed to write {PICTURE}"))?;
    eprintln!("picture: wrote {PICTURE}");
    Ok(())
}

/// A word in its style.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    class: &'static str,
    column: usize,
    text: String,
}

/// Draws text with SGR escape sequences (ECMA-48) as a terminal would.
fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let width = COLUMNS as f64 * COLUMN + 2.0 * MARGIN;
    let height = lines.len() as f64 * LINE + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\">\n<title>The report of a run of weir</title>\n{STYLE}\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\"/>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + (index as f64 + 0.75) * LINE;
        let mut spans = String::new();
        for Piece { class, column, text } in pieces(line) {
            let x = MARGIN + column as f64 * COLUMN;
            let _infallible =
                write!(spans, "<tspan x=\"{x:.1}\" class=\"{class}\">{}</tspan>", escaped(&text));
        }
        if !spans.is_empty() {
            let _infallible = writeln!(out, "<text y=\"{y:.1}\">{spans}</text>");
        }
    }
    out + "</svg>\n"
}

/// Colours with at least the contrast that WCAG 2.1 AA asks for on the background.
const STYLE: &str = "\
<style>
rect { fill: #16181d }
text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }
.plain { fill: #d8dbe2 } .bold { fill: #ffffff; font-weight: bold } .green { fill: #7ee787 }
.yellow { fill: #e3b341 } .red { fill: #ff8080 } .dim { fill: #9aa0ac }
</style>";

/// The words of a line with their columns.
fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut class = "plain";
    let mut column = 0;
    for (index, part) in line.split('\x1b').enumerate() {
        let text = match part.split_once('m') {
            Some((code, text)) if index > 0 => {
                class = class_of(code.trim_start_matches('['));
                text
            }
            _ => part,
        };
        // Each word has its own place: viewers of SVG join blanks.
        for word in text.split(' ') {
            if !word.is_empty() {
                pieces.push(Piece { class, column, text: word.to_owned() });
            }
            column += word.chars().count() + 1;
        }
        // The last word has no blank behind it.
        column -= 1;
    }
    pieces
}

fn class_of(code: &str) -> &'static str {
    match code {
        "1" => "bold",
        "2" => "dim",
        "31" => "red",
        "32" => "green",
        "33" => "yellow",
        _ => "plain",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_and_columns_are_kept() {
        let piece = |class, column, text: &str| Piece { class, column, text: text.to_owned() };
        let line = "  Target   \x1b[32mOK\x1b[0m  5 µs \x1b[2mdim\x1b[0m";
        let expected = [
            piece("plain", 2, "Target"),
            piece("green", 11, "OK"),
            piece("plain", 15, "5"),
            piece("plain", 17, "µs"),
            piece("dim", 20, "dim"),
        ];
        assert_eq!(pieces(line), expected);
        assert_eq!(pieces(""), []);
    }

    #[test]
    fn markup_is_escaped() {
        let drawn = svg("a < b & c\n");
        assert!(drawn.contains(">&lt;</tspan>") && drawn.contains(">&amp;</tspan>"), "{drawn}");
        assert_eq!(drawn.matches("<text").count(), 1);
    }
}

//! `weir man`: man pages, made from the flags and their help, on standard output.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Command, Subcommand};
use clap_mangen::Man;
use roff::{Roff, bold, roman};

use crate::args::StudyCommand;
use crate::args::pages::ManArgs;
use crate::args::tree::tree;
use crate::terminal;

mod notes;

/// Prints a page, as roff.
///
/// # Errors
/// When there is no such page, or standard output cannot be written.
pub(crate) fn man(args: &ManArgs) -> Result<ExitCode> {
    let pages = pages();
    let text = if args.list {
        pages.iter().map(|page| name(page).to_owned() + "\n").collect::<String>().into_bytes()
    } else {
        let page = args.page.as_deref().unwrap_or("weir");
        let found = pages.iter().find(|known| is_named(known, page));
        let found = found.with_context(|| {
            format!("there is no page {}: weir man --list names all", terminal::shown(page))
        })?;
        roff(found).context("failed to write the page")?
    };
    terminal::print(|out| out.write_all(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the commands that have a page: all.
fn pages() -> Vec<Command> {
    let mut root = tree();
    root.build();
    let mut pages = Vec::new();
    add(&root, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut Vec<Command>) {
    pages.push(command.clone());
    command.get_subcommands().for_each(|child| add(child, pages));
}

/// The name of a page: `weir-history-trend`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn is_named(command: &Command, page: &str) -> bool {
    name(command) == page || name(command).strip_prefix("weir-") == Some(page)
}

fn roff(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(with_usage(command));
    let mut out = Vec::new();
    // clap_mangen leaves an empty date out, and the fields after it would move.
    let title = name(command).to_uppercase();
    let version = env!("CARGO_PKG_VERSION");
    writeln!(out, ".TH \"{title}\" 1 \"\" \"weir {version}\" \"User Commands\"")?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    let help = command.get_after_help().map(ToString::to_string);
    notes::render(&help.unwrap_or_default(), &mut out)?;
    render_see_also(command, &mut out)?;
    Ok(out)
}

fn render_see_also(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    if name(command) == "weir" {
        return Ok(());
    }
    let is_study = StudyCommand::has_subcommand(command.get_name());
    let after = if is_study { "(1), for the options of a run" } else { "(1)" };
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text([bold("weir"), roman(after)]);
    roff.to_writer(out)
}

/// The command with the usage of its help. The usage that clap_mangen makes lists every flag.
fn with_usage(command: &Command) -> Command {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start().trim_start_matches("Usage: ").to_owned();
    command.clone().override_usage(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a page without its markup.
    fn text(page: &Command) -> String {
        let roff = String::from_utf8(roff(page).expect("a page")).expect("text");
        ["\\fB", "\\fI", "\\fR", "\\fP"].iter().fold(roff, |text, mark| text.replace(mark, ""))
    }

    #[test]
    fn every_command_has_a_page_with_all_its_flags() {
        let pages = pages();
        assert!(pages.iter().any(|page| name(page) == "weir-history-trend"));
        for page in &pages {
            let text = text(page).replace("\\-", "-");
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION"] {
                assert!(text.contains(&format!(".SH {section}\n")), "{}: {text}", name(page));
            }
            let flags = page.get_arguments().filter(|arg| !arg.is_hide_set());
            for long in flags.filter_map(|arg| arg.get_long()) {
                assert!(text.contains(&format!("--{long}")), "{} lacks --{long}", name(page));
            }
            for child in page.get_subcommands() {
                let reference = format!("{}-{}(1)", name(page), child.get_name());
                assert!(text.contains(&reference), "{} lacks {reference}", name(page));
            }
        }
    }

    #[test]
    fn the_usage_is_that_of_the_help() {
        let pages = pages();
        let serve = pages.iter().find(|page| is_named(page, "serve")).expect("a page");
        assert!(text(serve).contains("weir serve [OPTIONS]"), "{}", text(serve));
        let main = text(&pages[0]);
        for part in ["weir [options] URL", ".SH EXAMPLES", "Exit status"] {
            assert!(main.contains(part), "{part} is not in {main}");
        }
    }
}

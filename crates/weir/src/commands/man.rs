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
        pages.iter().map(|page| page.name.clone() + "\n").collect::<String>().into_bytes()
    } else {
        let page = args.page.as_deref().unwrap_or("weir");
        let found = pages.iter().find(|known| known.is_named(page));
        let found = found.with_context(|| {
            format!("there is no page {}: weir man --list names all", terminal::shown(page))
        })?;
        found.roff().context("failed to write the page")?
    };
    terminal::print(|out| out.write_all(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The page of one command.
struct ManPage {
    /// `weir-history-trend`.
    name: String,
    command: Command,
}

/// Returns the pages of all commands.
fn pages() -> Vec<ManPage> {
    let mut root = tree();
    root.build();
    let mut pages = Vec::new();
    add("weir", &root, &mut pages);
    pages
}

fn add(name: &str, command: &Command, pages: &mut Vec<ManPage>) {
    pages.push(ManPage { name: name.to_owned(), command: command.clone() });
    for child in command.get_subcommands() {
        add(&format!("{name}-{}", child.get_name()), child, pages);
    }
}

impl ManPage {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.name.strip_prefix("weir-") == Some(name)
    }

    fn roff(&self) -> io::Result<Vec<u8>> {
        let man = Man::new(self.with_usage());
        let mut out = Vec::new();
        // clap_mangen leaves an empty date out, and the fields after it would move.
        let (title, version) = (self.name.to_uppercase(), env!("CARGO_PKG_VERSION"));
        writeln!(out, ".TH \"{title}\" 1 \"\" \"weir {version}\" \"User Commands\"")?;
        man.render_name_section(&mut out)?;
        man.render_synopsis_section(&mut out)?;
        man.render_description_section(&mut out)?;
        man.render_options_section(&mut out)?;
        if self.command.has_subcommands() {
            man.render_subcommands_section(&mut out)?;
        }
        let help = self.command.get_after_help().map(ToString::to_string);
        notes::render(&help.unwrap_or_default(), &mut out)?;
        self.render_see_also(&mut out)?;
        Ok(out)
    }

    fn render_see_also(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.name == "weir" {
            return Ok(());
        }
        let is_study = StudyCommand::has_subcommand(self.command.get_name());
        let after = if is_study { "(1), for the options of a run" } else { "(1)" };
        let mut roff = Roff::new();
        roff.control("SH", ["SEE ALSO"]).text([bold("weir"), roman(after)]);
        roff.to_writer(out)
    }

    /// The command with the usage of its help. The usage that clap_mangen makes lists every flag.
    fn with_usage(&self) -> Command {
        let usage = self.command.clone().render_usage().to_string();
        let usage = usage.trim_start().trim_start_matches("Usage: ").to_owned();
        self.command.clone().override_usage(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a page without its markup.
    fn text(page: &ManPage) -> String {
        let roff = String::from_utf8(page.roff().expect("a page")).expect("text");
        ["\\fB", "\\fI", "\\fR", "\\fP"].iter().fold(roff, |text, mark| text.replace(mark, ""))
    }

    #[test]
    fn every_command_has_a_page_with_all_its_flags() {
        let pages = pages();
        assert!(pages.iter().any(|page| page.name == "weir-history-trend"));
        for page in &pages {
            let text = text(page).replace("\\-", "-");
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION"] {
                assert!(text.contains(&format!(".SH {section}\n")), "{}: {text}", page.name);
            }
            let flags = page.command.get_arguments().filter(|arg| !arg.is_hide_set());
            for long in flags.filter_map(|arg| arg.get_long()) {
                assert!(text.contains(&format!("--{long}")), "{} lacks --{long}", page.name);
            }
            for child in page.command.get_subcommands() {
                let reference = format!("{}-{}(1)", page.name, child.get_name());
                assert!(text.contains(&reference), "{} lacks {reference}", page.name);
            }
        }
    }

    #[test]
    fn the_usage_is_that_of_the_help() {
        let pages = pages();
        let serve = pages.iter().find(|page| page.is_named("serve")).expect("a page");
        assert!(text(serve).contains("weir serve [OPTIONS]"), "{}", text(serve));
        let main = text(&pages[0]);
        for part in ["weir [options] URL", ".SH EXAMPLES", "Exit status"] {
            assert!(main.contains(part), "{part} is not in {main}");
        }
    }
}

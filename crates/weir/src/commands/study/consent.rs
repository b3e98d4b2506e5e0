//! The commands that a document or a study names. The file may be a stranger's, so `weir rerun` and
//! `weir resume` show them, and run them only if the user says so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use weir_result::Study;
use weir_result::study::Hooks;
use weir_runner::RunSpec;

use crate::args::study::Consent;
use crate::commands::recorded;
use crate::terminal::{self, shown};

/// A command that a file names: its flag, and the command, or the file of a script, which is a
/// program too.
pub(crate) type Named = (&'static str, String);

/// The commands of a run.
pub(crate) fn of_run(spec: &RunSpec) -> Vec<Named> {
    let scripts = spec.script.iter().map(|script| &script.file.path);
    named(&spec.watch.captures, &spec.watch.commands, scripts)
}

fn named<'p>(
    captures: &[String],
    watched: &[String],
    scripts: impl Iterator<Item = &'p PathBuf>,
) -> Vec<Named> {
    let captures = captures.iter().map(|command| ("--capture", command.clone()));
    let watched = watched.iter().map(|command| ("--watch-command", command.clone()));
    let scripts = scripts.map(|file| ("--script", file.to_string_lossy().into_owned()));
    captures.chain(watched).chain(scripts).collect()
}

/// The commands of a study's hooks.
pub(crate) fn of_hooks(hooks: &Hooks) -> Vec<Named> {
    let flags = [("--before", &hooks.before), ("--after", &hooks.after)];
    flags.into_iter().filter_map(|(flag, it)| Some((flag, it.clone()?))).collect()
}

/// The commands of a study.
///
/// # Errors
/// When a specification of the study cannot be read.
pub(crate) fn of_study(study: &Study) -> Result<Vec<Named>> {
    let mut named = of_hooks(&study.hooks);
    for cell in &study.cells {
        named.extend(of_run(&recorded::spec_of(cell.spec.as_ref(), Some(&cell.words))?));
    }
    Ok(named)
}

/// True if a study names commands.
pub(crate) fn is_needed(study: &Study) -> bool {
    of_study(study).is_ok_and(|named| !named.is_empty())
}

/// Checks that the user wants all commands of a file, and shows them: with `--run-commands`, or
/// with the flag given again.
///
/// # Errors
/// When the user said nothing of one, or gives one that the file does not name.
pub(crate) fn check(
    file: &Path,
    named: &[Named],
    consent: &Consent,
    hooks: &Hooks,
    is_quiet: bool,
) -> Result<()> {
    let own = self::named(&consent.capture, &consent.watch_command, consent.script.iter());
    let given = [own, of_hooks(hooks)].concat();
    if let Some((flag, command)) = given.iter().find(|given| !named.contains(given)) {
        bail!("{flag} {command:?} is not in {}: leave it out", shown(file));
    }
    let mut unknown: Vec<&Named> = named.iter().filter(|it| !given.contains(it)).collect();
    // The variants of a study share most of them.
    let mut seen = BTreeSet::new();
    unknown.retain(|command| seen.insert(*command));
    if unknown.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> =
        unknown.iter().map(|(flag, command)| format!("  {flag} {command:?}")).collect();
    let lines = lines.join("\n");
    if !consent.run_commands {
        bail!(
            "{} names commands that would run on this machine; to run them, add --run-commands or \
             give each again:\n{lines}",
            shown(file)
        );
    }
    if !is_quiet {
        terminal::eprint_lines(format_args!(
            "note: running the commands of {}:\n{lines}",
            shown(file)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    fn checked(given: &[&str], hooks: Hooks) -> Result<(), String> {
        let words = "weir --capture a --watch-command b -s c.lua http://h/".split(' ');
        let recorded = Cli::of_words(words).expect("a command line").run.spec([]);
        let before = Hooks { before: Some("./restart".to_owned()), ..Hooks::default() };
        let named = [of_run(&recorded), of_hooks(&before), of_run(&recorded)].concat();
        let words = [&["weir", "rerun", "x.json"], given].concat();
        let cli = Cli::of_words(words).expect("flags of weir rerun");
        let Some(crate::args::Command::Rerun(args)) = cli.command else { panic!("{given:?}") };
        let found = check(Path::new("x.json"), &named, &args.consent, &hooks, true);
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn commands_of_a_file_are_shown_and_not_run() {
        let error = checked(&[], Hooks::default()).expect_err("no flag allows them");
        let shown = "again:\n  --capture \"a\"\n  --watch-command \"b\"\n  --script \"c.lua\"\n  \
                     --before \"./restart\"";
        assert!(error.contains("--run-commands") && error.ends_with(shown), "{error}");
        let error = checked(&["-s", "c.lua"], Hooks::default()).expect_err("three are left");
        assert!(!error.contains("c.lua") && error.contains("restart"), "{error}");
        let error = checked(&["--capture", "z"], Hooks::default()).expect_err("another command");
        assert_eq!(error, "--capture \"z\" is not in x.json: leave it out");
    }

    #[test]
    fn commands_that_the_user_wants_run() {
        assert_eq!(checked(&["--run-commands"], Hooks::default()), Ok(()));
        let hooks = Hooks { before: Some("./restart".to_owned()), ..Hooks::default() };
        let given = ["--capture", "a", "--watch-command", "b", "--script", "c.lua"];
        assert_eq!(checked(&given, hooks), Ok(()));
    }
}

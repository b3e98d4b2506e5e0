//! The commands and their flags as completions and man pages show them: no command is hidden, every
//! choice has its values, and a study has the flags of its runs.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, Subcommand, ValueHint};
use weir_report::exporters::EXPORTERS;

use super::{Cli, StudyCommand};

/// Returns the program with all commands, as man pages show it.
pub(crate) fn tree() -> Command {
    explicit(Cli::command().bin_name("weir"))
}

/// Returns the program with all commands, as a shell completes it: `weir search` takes the flags of
/// a run too.
pub(crate) fn completed() -> Command {
    let root = tree();
    let is_of_run =
        |arg: &&Arg| !arg.is_positional() && !OF_PROGRAM.contains(&arg.get_id().as_str());
    let flags: Vec<Arg> = root.get_arguments().filter(is_of_run).cloned().collect();
    let names = root.get_subcommands().map(|command| command.get_name().to_owned());
    let studies: Vec<String> = names.filter(|name| StudyCommand::has_subcommand(name)).collect();
    studies.iter().fold(root, |root, study| {
        root.mut_subcommand(study, |command| flags.iter().cloned().fold(command, with_flag))
    })
}

/// Flags of the program that no run has.
const OF_PROGRAM: [&str; 4] = ["help", "short_help", "version", "compat"];

/// Adds a flag of the runs. A name that the study has too is the study's.
fn with_flag(study: Command, flag: Arg) -> Command {
    let is_taken = study.get_arguments().any(|own| {
        own.get_id() == flag.get_id()
            || own.get_long().is_some_and(|long| flag.get_long() == Some(long))
    });
    let short = flag.get_short();
    let has_short = study.get_arguments().any(|own| short.is_some() && own.get_short() == short);
    match (is_taken, has_short) {
        (true, _) => study,
        (false, true) => study.arg(flag.short(None)),
        (false, false) => study.arg(flag),
    }
}

/// Names the values of the flags of a command and its own commands.
fn explicit(command: Command) -> Command {
    command.mut_args(with_values).mut_subcommands(explicit)
}

/// Gives a flag its choices if its parser does not list them, or a hint at its values.
fn with_values(arg: Arg) -> Arg {
    if !arg.get_action().takes_values() {
        return arg;
    }
    if !arg.get_possible_values().is_empty() {
        return arg.hide_possible_values(true);
    }
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let name = name.unwrap_or_default();
    let choices = choices(&name);
    if !choices.is_empty() {
        let parser = PossibleValuesParser::new(choices);
        return arg.value_parser(parser).hide_possible_values(true);
    }
    let hint = match (name.as_str(), arg.get_value_hint()) {
        ("FILE", _) | (_, ValueHint::AnyPath) => ValueHint::FilePath,
        ("URL", _) => ValueHint::Url,
        ("CMD", _) => ValueHint::CommandString,
        // A number, a name or a text, for which files would be wrong.
        (_, ValueHint::Unknown) => ValueHint::Other,
        (_, hint) => hint,
    };
    arg.value_hint(hint)
}

/// The choices in the name of a value: `auto|uring|epoll`, and the formats of documents.
fn choices(name: &str) -> Vec<&'static str> {
    if name == "FORMAT" {
        return EXPORTERS.iter().map(|exporter| exporter.name).collect();
    }
    let is_word = |word: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.';
        !word.is_empty() && word.chars().all(is_part)
    };
    // clap keeps names of values for as long as the program runs.
    match name.contains('|') && name.split('|').all(is_word) {
        true => name.to_owned().leak().split('|').collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `check` with each command and its name: `weir history list`.
    fn visit(command: &Command, path: &str, check: &mut dyn FnMut(&Command, &str)) {
        check(command, path);
        for child in command.get_subcommands() {
            visit(child, &format!("{path} {}", child.get_name()), check);
        }
    }

    #[test]
    fn no_command_is_hidden_and_every_choice_has_its_values() {
        let mut commands = Vec::new();
        visit(&tree(), "weir", &mut |command, path| {
            commands.push(path.to_owned());
            assert!(!command.is_hide_set(), "{path}");
            for arg in command.get_arguments() {
                let names = arg.get_value_names().unwrap_or_default();
                let alternatives = names.iter().flat_map(|name| choices(name)).collect::<Vec<_>>();
                let values = arg.get_possible_values();
                let shown = values.iter().filter(|value| !value.is_hide_set());
                let values: Vec<&str> = shown.map(|value| value.get_name()).collect();
                if !alternatives.is_empty() {
                    assert_eq!(values, alternatives, "{path} {arg}");
                }
            }
        });
        let expected = Cli::command().get_subcommands().count();
        let of_root = commands.iter().filter(|path| path.split(' ').count() == 2).count();
        assert_eq!(of_root, expected);
        assert!(commands.contains(&"weir history trend".to_owned()), "{commands:?}");
    }

    #[test]
    fn names_of_values_are_choices_only_if_they_list_words() {
        assert_eq!(choices("1.0|1.1|2|auto"), ["1.0", "1.1", "2", "auto"]);
        for name in ["T|auto[:T]", "TEXT|@FILE", "N", "A,B", ""] {
            assert_eq!(choices(name), [""; 0], "{name}");
        }
        assert!(choices("FORMAT").contains(&"hlog"));
    }

    #[test]
    fn a_study_has_the_flags_of_its_runs_and_its_own_first() {
        let mut root = completed();
        root.build();
        for study in ["repeat", "ab", "sweep", "search"] {
            let command = root.find_subcommand(study).expect("it is a command");
            let flag = |long| command.get_arguments().find(|arg| arg.get_long() == Some(long));
            for long in ["connections", "rate", "http", "no-settle", "format"] {
                assert!(flag(long).is_some(), "{study} --{long}");
            }
            assert!(flag("compat").is_none(), "{study}");
        }
        let repeat = root.find_subcommand("repeat").expect("it is a command");
        let n = repeat.get_arguments().find(|arg| arg.get_short() == Some('n'));
        assert_eq!(n.and_then(Arg::get_long), Some("runs"));
    }
}

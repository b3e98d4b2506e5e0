//! Checks of words that are no flags. They use words alone: no file, no name service.

use clap::Command;
use weir_runner::credentials;
use weir_text::similar;

use super::request::RequestArgs;
use super::target::TargetArgs;
use super::topics;
use super::wrong::wrong;

/// The error for words behind `--` without a script.
pub(super) const WORDS_BEHIND_DASHES: &str =
    "words behind -- are for a script, and there is none: leave the -- out";

/// Checks the words beside the flags: one URL, unless a script gets more.
///
/// # Errors
/// When one is no URL, or one too many.
pub(super) fn check_words(
    request: &RequestArgs,
    target: &TargetArgs,
    root: &Command,
) -> Result<(), clap::Error> {
    if request.script.is_some() {
        return Ok(());
    }
    let first = target.words.first();
    if let Some(text) = first.and_then(|first| of_verb(first, &mut target.script_args())) {
        return Err(wrong(text));
    }
    if let Some(text) = first.and_then(|first| of_command(first, target, root)) {
        return Err(wrong(text));
    }
    if target.has_words_behind_dashes() {
        return Err(wrong(WORDS_BEHIND_DASHES));
    }
    let is_host = first.is_some_and(|first| first.contains(['/', ':']));
    let mut others = target.script_args();
    let Some(word) = others.find(|word| !is_host || !is_url(word)) else { return Ok(()) };
    let advice = "give one URL, or several with http; put values with blanks into quotes, and a \
                  script after -s";
    // `-H Authorization: Bearer …` without quotes: the words are the credentials.
    let is_credentials = request.header_names().any(credentials::is_name);
    Err(wrong(match is_credentials {
        true => format!("too many words: {advice}"),
        false => format!("'{word}' is one word too many: {advice}"),
    }))
}

/// True if a word is a URL or a path of one: several of them are a list.
fn is_url(word: &str) -> bool {
    word.contains("://") || word.starts_with('/')
}

/// The error for a word in the place of a command that is nearly one, or one of another tool.
fn of_command(first: &str, target: &TargetArgs, root: &Command) -> Option<String> {
    if first.contains(['.', ':', '/']) {
        return None;
    }
    let is_alone = target.script_args().next().is_none();
    let host =
        if is_alone { format!("; for a host of this name http://{first}/") } else { String::new() };
    if let Some((_, advice)) = OTHER_COMMANDS.iter().find(|(known, _)| *known == first) {
        return Some(format!("'{first}' is no command: {advice}{host}"));
    }
    let commands = root.get_subcommands().map(Command::get_name);
    // A host of one word, such as `server`, is more often longer than a command than misspelled.
    let known = similar(first, commands).filter(|it| !is_alone || first.len() <= it.len())?;
    Some(format!("'{first}' is no command: did you mean weir {known}?{host}"))
}

/// Commands of other tools that begin no load.
const OTHER_COMMANDS: [(&str, &str); 4] = [
    ("stop", "Ctrl-C ends a load with its report"),
    ("list", "weir history list has the saved runs, and weir fleet status those of a bus"),
    ("ls", "weir history list has the saved runs"),
    ("version", "weir --version prints it"),
];

/// Commands of other tools that begin a load.
const VERBS: [&str; 12] = [
    "run", "attack", "start", "load", "bench", "test", "http", "loadtest", "get", "post", "GET",
    "POST",
];

/// The error for `weir run URL`: a load needs no command.
fn of_verb<'a>(first: &str, others: &mut impl Iterator<Item = &'a String>) -> Option<String> {
    if first == "help" {
        let command = others.next()?;
        let topics = topics::names().collect::<Vec<_>>().join(", ");
        return Some(format!(
            "there is no help for '{command}': see weir --help, or a topic: {topics}"
        ));
    }
    if !VERBS.contains(&first) {
        return None;
    }
    let text = format!("'{first}' is no command, and a load needs none: weir [options]");
    let others: Vec<&String> = others.collect();
    if others.is_empty() {
        return Some(format!("{text} URL; for a host of this name http://{first}/"));
    }
    let url = others.into_iter().find(|word| word.contains(['/', '.', ':']));
    let url = url.filter(|url| !url.contains('@')).map_or("URL", String::as_str);
    Some(format!("{text} {url}"))
}

//! The command line: its commands, and the flags of a run or a study's run.

use std::ffi::OsString;
use std::iter;

use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::result::check_rows;
use super::study::StudyFlags;
use super::{ReportArgs, RunArgs, SpecArgs};
use super::{
    doctor, fleet, help, hints, history, pages, pin, scenario, serve, split, study, topics, unused,
};

/// HTTP load generator with accurate latency; drop-in replacement for wrk and wrk2
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    about,
    override_usage = "weir [options] URL\n       weir --compat <wrk|wrk2> …\n       weir \
                      <search|repeat|ab|sweep|compare|doctor|…> --help\n       weir help \
                      <load|requests|lists|streams|connections|tls|output|…>",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_version_flag = true,
    disable_help_flag = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = help::ALL,
    after_long_help = help::COMMON,
    mut_subcommands = with_help
)]
pub(crate) struct Cli {
    /// Subcommand instead of a load.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The load.
    #[command(flatten)]
    pub(crate) run: RunArgs,

    // clap has two forms of help, and its short one lists flags in two columns. So --help is
    // clap's short form, and -h the long one with every flag hidden behind a text of its own.
    /// Print all options
    #[arg(long, action = ArgAction::HelpShort, help_heading = "Other")]
    help: Option<bool>,
    /// Print the most common options
    #[arg(short = 'h', action = ArgAction::HelpLong, help_heading = "Other")]
    short_help: Option<bool>,

    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version, help_heading = "Other")]
    version: Option<bool>,
}

impl Cli {
    /// A command line, the name of the program being its first word.
    ///
    /// # Errors
    /// The error in it, or the text of `-h`, `--help` and `--version`.
    pub(crate) fn of_words(
        argv: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Cli, clap::Error> {
        let command = with_repeated_switches(Cli::command());
        // The usage and the end of --help name the commands.
        let command = command.mut_subcommands(|command| command.hide(true));
        let command = command.mut_args(|arg| arg.hide_long_help(true));
        let argv: Vec<OsString> = argv.into_iter().map(Into::into).collect();
        if let Some(help) = topics::explain(&argv, &command) {
            return Err(help);
        }
        let argv = arranged(hints::with_help_flag(pin::joined(argv), &command), &command);
        let matches = command.clone().try_get_matches_from(&argv);
        let matches = matches.map_err(|error| hints::explain(error, &argv, &command))?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        hints::check_history(&argv)?;
        unused::check_stdout(&matches)?;
        match &cli.command {
            Some(command) => command.check()?,
            None => {
                if cli.run.result.output.quiet {
                    hints::check_quiet(&argv, &command)?;
                }
                unused::check(&matches, &command, false)?;
                cli.run.check(&matches, &command)?;
            }
        }
        Ok(cli)
    }
}

/// Adds `--help` to a command and to its own commands, unless it has one under a heading.
fn with_help(command: clap::Command) -> clap::Command {
    if command.get_arguments().any(|arg| arg.get_id() == "help") {
        return command;
    }
    let help = Arg::new("help").short('h').long("help").help("Print this help").global(true);
    command.arg(help.action(ArgAction::HelpShort))
}

/// Accepts `-q -q`: a flag without a value says the same twice. Of two values the last would win
/// without a word, so a flag with a value is a list, or an error if it is repeated.
fn with_repeated_switches(command: clap::Command) -> clap::Command {
    let repeated = |arg: Arg| match arg.get_action() {
        ArgAction::SetTrue => {
            let id = arg.get_id().clone();
            arg.overrides_with(id)
        }
        // The name of a value lists the possible ones.
        action if action.takes_values() => arg.hide_possible_values(true),
        _ => arg,
    };
    command.mut_args(repeated).mut_subcommands(with_repeated_switches)
}

/// Moves the words of a study's runs behind `--`, where its command expects them.
fn arranged(argv: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let name = argv.get(1).and_then(|word| word.to_str());
    let study = name.filter(|name| study::StudyCommand::has_subcommand(name));
    let Some(study) = study.and_then(|name| command.find_subcommand(name)) else { return argv };
    let (of_study, of_run) = split::split(&argv[2..], study, command);
    let separator = (!of_run.is_empty()).then(|| OsString::from("--"));
    let head = argv.iter().take(2).cloned();
    head.chain(of_study).chain(separator).chain(of_run).collect()
}

/// Index of the word of a run that names its target.
pub(crate) fn target_at(words: &[OsString]) -> Option<usize> {
    split::target_at(words, &Cli::command())
}

/// Returns the words of a run without the flags that `own` gives too: a variant's flags replace the
/// common ones. Lists stay.
pub(crate) fn without_those_of(words: &[OsString], own: &[OsString]) -> Vec<OsString> {
    split::without_those_of(words, own, &Cli::command())
}

/// True if two names are of one flag of a run: `c`, `connections`.
pub(crate) fn are_one_flag(one: &str, other: &str) -> bool {
    one == other || split::are_one_flag(one, other, &Cli::command())
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Reference server with programmable responses, delays, stalls and faults
    Serve(Box<serve::ServeArgs>),
    /// Print the report of documents written with --output
    Report(ReportArgs),
    /// A study.
    #[command(flatten)]
    Study(study::StudyCommand),
    /// Compare documents, or two sets of them
    Compare(Box<study::CompareArgs>),
    /// Repeat the run of a document exactly
    Rerun(Box<study::RerunArgs>),
    /// Continue a study that was interrupted
    Resume(Box<study::ResumeArgs>),
    /// Saved runs: list, show, trend, tag
    History(history::HistoryArgs),
    /// Write a scenario of users, made from a recorded session
    Scenario(scenario::ScenarioArgs),
    /// Check this machine for settings and programs that spoil a measurement
    Doctor(doctor::DoctorArgs),
    /// Take part in the runs of a fleet: weir --agents N
    Agent(fleet::AgentArgs),
    /// The agents of a bus, their identities, and runs that have lost their coordinator
    Fleet(fleet::FleetCommandArgs),
    /// Print the completions of a shell
    Completions(pages::CompletionsArgs),
    /// Print a man page, as roff
    Man(pages::ManArgs),
}

impl Command {
    /// Checks combinations of flags.
    ///
    /// # Errors
    /// When a flag is wrong.
    fn check(&self) -> Result<(), clap::Error> {
        match self {
            Command::Rerun(args) => args.result.check(),
            Command::Resume(args) => check_rows(args.others.trials.raw.as_deref(), &args.output),
            Command::Study(command) => {
                let StudyFlags { others, output, .. } = command.flags();
                check_rows(others.trials.raw.as_deref(), output)
            }
            _ => Ok(()),
        }
    }
}

/// Parses the command line of a study's run, without the name of the program. It has the flags of a
/// load alone, as those of the result are the study's.
///
/// # Errors
/// The error in it.
pub(crate) fn parse_study_run(words: &[OsString]) -> Result<SpecArgs, clap::Error> {
    let argv = pin::joined(iter::once(OsString::from("weir")).chain(words.iter().cloned()));
    let command = clap::Command::new("weir").disable_help_flag(true).disable_version_flag(true);
    let command = with_repeated_switches(SpecArgs::augment_args(command));
    let matches = command.try_get_matches_from(&argv);
    let root = Cli::command();
    let parsed = matches.and_then(|matches| Ok((SpecArgs::from_arg_matches(&matches)?, matches)));
    let (mut spec, matches) = parsed.map_err(|error| hints::of_study_run(error, &argv, &root))?;
    unused::check(&matches, &root, true)?;
    if spec.load.part.is_given() {
        return Err(hints::single_run("--part"));
    }
    if !spec.load.abort.is_empty() {
        return Err(hints::single_run("--abort"));
    }
    spec.check(&root)?;
    Ok(spec)
}

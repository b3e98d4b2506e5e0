//! The flags of `weir scenario`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_runner::ImportFormat;

use super::choices::{Choices, one_of};

/// `weir scenario`.
#[derive(Debug, Args)]
#[command(override_usage = "weir scenario from FILE [-o SCENARIO.toml]")]
pub(crate) struct ScenarioArgs {
    /// Action.
    #[command(subcommand)]
    pub(crate) action: ScenarioCommand,
}

/// Actions of `weir scenario`.
#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Write a scenario made from a HAR file, a Postman collection, a .http file or curl commands
    From(ScenarioFromArgs),
}

/// `weir scenario from`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each request of one origin becomes a step. A value of a response that a later request sends again, \
such as a token or a hidden field of a form, becomes a capture; one that may be an accident is \
named in a comment, and so is all else that needs a look. Cookies are left to weir's users, who \
keep those that responses set. Passwords, tokens and API keys become variables of the environment, \
{{env:PASSWORD}}, which a run reads with --allow-local. Pauses of a HAR file become think times. \
Scripts of Postman and .http files are not run.

Exit status: 0 success, 2 usage error or a file that cannot be read, 74 scenario not written.

Examples:
  weir scenario from session.har -o shop.toml
  weir scenario from shop.postman_collection.json --origin https://staging.shop.example -o shop.toml
  PASSWORD=secret weir --scenario shop.toml --allow-local -c 10 https://shop.example/")]
pub(crate) struct ScenarioFromArgs {
    /// File with the requests; -: standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the scenario to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of -o
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Format of the file [default: recognised by its content]
    #[arg(long, value_parser = one_of(FORMATS), value_name = "har|postman|http|curl")]
    pub(crate) format: Option<ImportFormat>,
    /// Keep the requests to this origin, and leave out all others [default: that of the first
    /// request]; URLs that begin with a variable without a value are of it
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    /// Keep requests for images, fonts, style sheets and scripts of pages
    #[arg(long)]
    pub(crate) resources: bool,
    /// Write passwords, tokens and API keys into the scenario as they are
    #[arg(long)]
    pub(crate) with_secrets: bool,
}

/// `--format` of `weir scenario from`.
const FORMATS: Choices<ImportFormat> = &[
    ("har", "A HAR file, as browsers save it", ImportFormat::Har),
    ("postman", "A collection of Postman", ImportFormat::Postman),
    ("http", "A .http file of VS Code's REST Client or JetBrains", ImportFormat::Http),
    ("curl", "curl command lines", ImportFormat::Curl),
];

//! Flags of `weir doctor`.

use clap::{ArgAction, Args};

use super::choices::{Choices, one_of};

/// `weir doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each finding has its evidence, its effect on a measurement and a command that corrects it. The
commands change settings until the next boot; weir doctor itself changes nothing. With a URL it
also checks the way to that server, without a request. Checks that this machine does not permit
are listed as unknown.

Exit status: 0 success, 1 the host has no address, 2 usage error, 3 a problem or a warning with
--strict, 74 report not written.

Examples:
  weir doctor
  weir doctor http://localhost:8080/
  weir doctor --strict --format json | jq '.findings[] | select(.severity == \"problem\")'")]
pub(crate) struct DoctorArgs {
    /// Target of the planned load.
    #[arg(help = "Target of the planned load: http[s]://HOST[:PORT]/PATH")]
    pub(crate) url: Option<String>,
    /// Exit with 3 if there is a problem or a warning
    #[arg(long)]
    pub(crate) strict: bool,
    /// List the checks that found nothing to correct, too
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Format of standard output: the report for people, or one for programs
    #[arg(id = "format", long = "format", value_parser = one_of(FORMATS), default_value = "text",
          value_name = "text|json", action = ArgAction::Set)]
    pub(crate) is_json: bool,
}

/// `--format` of `weir doctor`: true for JSON.
const FORMATS: Choices<bool> = &[
    ("text", "The report for people", false),
    ("json", "All findings, as a versioned object", true),
];

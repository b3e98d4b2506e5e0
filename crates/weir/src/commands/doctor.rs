//! `weir doctor`: checks this machine for what would spoil a measurement, and changes nothing.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{ArgAction, Args, ValueEnum};
use weir_doctor::{Diagnosis, Facts, Sample, Subject, Target};
use weir_io::Endpoint;
use weir_machine::Root;
use weir_report::{TextOptions, json, text};
use weir_runner::{Location, TargetSpec};

use crate::exit;
use crate::screen::Screen;
use crate::terminal;

/// Span over which other programs, steal and throttling are observed.
const SPAN: Duration = Duration::from_secs(1);

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
    url: Option<String>,
    /// Exit with 3 if there is a problem or a warning
    #[arg(long)]
    strict: bool,
    /// List the checks that found nothing to correct, too
    #[arg(long)]
    verbose: bool,
    /// Format of standard output: the report for people, or one for programs
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text, value_name = "text|json",
          hide_possible_values = true)]
    format: DoctorFormat,
    /// Print this help
    #[arg(short, long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

/// `--format` of `weir doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// The report for people
    Text,
    /// All findings, as a versioned object
    Json,
}

/// Makes all checks and prints their findings.
///
/// # Errors
/// When the URL is wrong, its host has no address, or standard output cannot be written.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<ExitCode> {
    let target = args.url.as_deref().map(target).transpose()?;
    let root = Root::machine();
    let facts = Facts::gather(target.as_ref());
    let sample = Sample::over(&root, SPAN);
    let subject = Subject { root: &root, facts: &facts, sample: &sample, target: target.as_ref() };
    let diagnosis = Diagnosis::of(&subject);
    match args.format {
        DoctorFormat::Json => {
            let text = json::escaped(serde_json::to_string_pretty(&diagnosis)?);
            terminal::print(|out| writeln!(out, "{text}"))?;
        }
        DoctorFormat::Text => {
            let Screen { colour, width, .. } = Screen::of_stdout();
            let options = TextOptions { colour, width, ..TextOptions::default() };
            let report = weir_doctor::report(&diagnosis, args.verbose);
            terminal::print(|out| text::render(&report, &options, out))?;
        }
    }
    Ok(exit::of_diagnosis(&diagnosis, args.strict))
}

/// Resolves the target of the planned load.
fn target(url: &str) -> Result<Target> {
    let spec = TargetSpec { url: url.to_owned(), ..TargetSpec::default() };
    let Location { origin, endpoint, is_local } = Location::of(&spec)?;
    match endpoint {
        Endpoint::Tcp(address) => Ok(Target { url: origin, address, is_local }),
        Endpoint::Unix(_) => bail!("weir doctor takes a URL: http[s]://HOST[:PORT]/PATH"),
    }
}

//! `weir doctor`: checks this machine for what would spoil a measurement, and changes nothing.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use weir_doctor::{Diagnosis, ExaminedSystem, Facts, Sample, TargetServer};
use weir_io::Endpoint;
use weir_machine::Root;
use weir_report::text;
use weir_runner::{Location, TargetSpec};

use super::study;
use crate::args::doctor::DoctorArgs;
use crate::{exit, terminal};

/// Span over which other programs, steal and throttling are observed.
const SPAN: Duration = Duration::from_secs(1);

/// Makes all checks and prints their findings.
///
/// # Errors
/// When the URL is wrong, its host has no address, or standard output cannot be written.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<ExitCode> {
    let target = args.url.as_deref().map(target).transpose()?;
    let root = Root::machine();
    let facts = Facts::gather(target.as_ref());
    let sample = Sample::over(&root, SPAN);
    let subject =
        ExaminedSystem { root: &root, facts: &facts, sample: &sample, target: target.as_ref() };
    let diagnosis = Diagnosis::of(&subject);
    if args.is_json {
        terminal::print_json(serde_json::to_string_pretty(&diagnosis))?;
    } else {
        let report = weir_doctor::report(&diagnosis, args.verbose);
        terminal::print(|out| text::render(&report, &study::text_options(), out))?;
    }
    Ok(exit::of_diagnosis(&diagnosis, args.strict))
}

/// Resolves the target of the planned load.
fn target(url: &str) -> Result<TargetServer> {
    let spec = TargetSpec { url: url.to_owned(), ..TargetSpec::default() };
    let Location { origin, endpoint, is_local } = Location::of(&spec)?;
    match endpoint {
        Endpoint::Tcp(address) => Ok(TargetServer { url: origin, address, is_local }),
        Endpoint::Unix(_) => bail!("weir doctor takes a URL: http[s]://HOST[:PORT]/PATH"),
    }
}

//! `weir compare`: two documents, two sets of them, or runs of the history.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use weir_history::{History, Selector};
use weir_report::{Annotation, Findings, Source, TextOptions, exporters, markdown};
use weir_result::study::StudyError;
use weir_result::{Document, Study};
use weir_study::{Question, compare_sets};

use super::study;
use crate::args::metrics::MetricList;
use crate::args::study::{CompareArgs, FailOn};
use crate::exit;
use crate::github::StepSummary;
use crate::history;
use crate::interrupts::SignalState;
use crate::output::ExportFiles;
use crate::terminal::shown;

/// Metrics of the result.
const METRICS: [&str; 7] = ["rate", "p50", "p90", "p99", "p99.9", "mean", "errors"];

/// Compares, and prints the result.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let exports = args.result_files.exports();
    let format = args.result_files.format(args.format);
    let interrupts = SignalState::await_signals()?;
    let read: Vec<_> = args.files.iter().map(|file| ("the file", file.as_path())).collect();
    let exports = ExportFiles::at(exports, &read, &interrupts.temporaries)?;
    let summary = StepSummary::of(args.github)?;
    let [(base_name, base), (new_name, new)] = sides(args)?;
    let named = MetricList::all(&args.metrics);
    for (side, runs) in [(&base_name, &base), (&new_name, &new)] {
        let of_run = |run: &Document| named.iter().try_for_each(|metric| metric.check(&run.plan));
        let checked = runs.iter().try_for_each(of_run);
        checked.map_err(|why| anyhow!("--metric {why} ({side})"))?;
    }
    let first = base.first().context("there is no run of the base")?;
    let other = new.first().context("there is no run of the new system")?;
    let primary = study::primary_metric(first.plan.load.is_open_loop());
    let names = study::metrics(&args.metrics, Some(primary), &METRICS);
    let question = Question {
        metrics: names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
        threshold: args.threshold,
    };
    let a: Vec<_> = base.iter().collect();
    let b: Vec<_> = new.iter().collect();
    let comparison = compare_sets(&question, &a, &b, [base_name, new_name]);
    let undecided = args.fail_on == Some(FailOn::Undecided);
    let findings = Findings::of(Source::Comparison(&comparison, Some([first, other])))
        .failing_undecided(undecided);
    exports.write_findings(&findings, &TextOptions::default())?;
    study::print(&findings, format)?;
    let gate = study::gate(&comparison, args.fail_on);
    let annotation = Annotation::of_comparison(&comparison, gate);
    let markdown = |out: &mut Vec<u8>| markdown::write_report(&findings.report(), out);
    summary.publish(markdown, vec![annotation], format == exporters::TEXT)?;
    study::report_gate(&comparison, gate);
    Ok(exit::of_comparison(gate))
}

/// One side of the comparison: its name and its runs.
type ComparedSide = (String, Vec<Document>);

fn sides(args: &CompareArgs) -> Result<[ComparedSide; 2]> {
    if !args.base.is_empty() {
        return Ok([of_patterns("--base", &args.base)?, of_patterns("--new", &args.new)?]);
    }
    match &args.files[..] {
        [base, new] => Ok([of_files(shown(base), &[base])?, of_files(shown(new), &[new])?]),
        _ => bail!("name two documents, or two sets with --base and --new"),
    }
}

fn of_patterns(flag: &str, patterns: &[String]) -> Result<ComparedSide> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        let found = glob::glob(pattern).with_context(|| format!("{flag} {pattern}"))?;
        let found: Vec<PathBuf> = found.filter_map(Result::ok).collect();
        if found.is_empty() {
            bail!("{flag} {pattern} matches no file: check the pattern, and quote it");
        }
        paths.extend(found);
    }
    of_files(patterns.join(" "), &paths)
}

fn of_files(name: String, paths: &[impl AsRef<Path>]) -> Result<ComparedSide> {
    let mut runs = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let found = documents(path);
        runs.extend(found.with_context(|| format!("{} cannot be compared", shown(path)))?);
    }
    Ok((name, runs))
}

/// The document of a file, all of a study, or all runs saved under a name.
fn documents(path: &Path) -> Result<Vec<Document>> {
    if let Some(name) = path.to_str().filter(|_| !path.exists())
        && let Ok(selector) = name.parse::<Selector>()
    {
        let open = || History::open(&history::location(None)?).map_err(anyhow::Error::from);
        let saved = open().and_then(|history| Ok(history.documents(&selector)?));
        let saved = saved.context("there is no such file, and no saved run of this name")?;
        return Ok(saved.into_iter().map(|saved| saved.document).collect());
    }
    match Study::load(path) {
        Ok(study) if study.cells.len() > 1 => {
            bail!("it is a study of several variants, which has its own result")
        }
        Ok(study) => Ok(study.documents_of(0).cloned().collect()),
        Err(StudyError::SingleRun) => Ok(vec![Document::load(path)?]),
        Err(error) => Err(error.into()),
    }
}

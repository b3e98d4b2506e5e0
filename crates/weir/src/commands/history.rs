//! `weir history`: lists, prints, tags and removes saved runs, and prints their trend.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result};
use weir_history::{Filter, History, HistoryError, Layout, List, Name, Selector, Tag, Trend};
use weir_report::annotation::AnnotationLevel;
use weir_report::text::Bars;
use weir_report::{Annotation, Findings, Source, TextOptions, exporters};
use weir_result::Document;

use crate::args::PrintForm;
use crate::args::history::{HistoryArgs, HistoryCommand, ListArgs, ShowArgs, TrendArgs};
use crate::args::metrics::MetricList;
use crate::args::result::check_assertions;
use crate::commands::run::print;
use crate::commands::study;
use crate::github::StepSummary;
use crate::history::location;
use crate::interrupts::SignalState;
use crate::output::{Export, ExportFiles, Outputs};
use crate::screen::on_stdout;
use crate::terminal::{self, shown};

/// Carries out an action on the history.
///
/// # Errors
/// When the history cannot be read or written, or has no such run.
pub(crate) fn history(args: &HistoryArgs) -> Result<ExitCode> {
    let path = location(args.history.as_deref())?;
    match &args.action {
        HistoryCommand::List(list) => print_list(list, &path, args.history.is_some())?,
        HistoryCommand::Show(args) => show(args, &History::open(&path)?)?,
        HistoryCommand::Trend(args) => trend(args, &History::open(&path)?)?,
        HistoryCommand::Tag { run, tags, remove } => {
            tag(run, tags, !remove, &mut History::open(&path)?)?;
        }
        HistoryCommand::Add { name, files, tags } => add(name, files, tags, &path)?,
        HistoryCommand::Remove { ids } => remove(ids, &mut History::open(&path)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print_list(args: &ListArgs, path: &Path, is_file_given: bool) -> Result<()> {
    let filter =
        Filter { name: args.name.as_ref(), tag: args.tag.as_ref(), count: Some(args.count) };
    let entries = match History::open(path) {
        // No run was saved yet, which is no error for a list of all.
        Err(HistoryError::Absent(_)) if args.name.is_none() && !is_file_given => Vec::new(),
        history => history?.entries(filter)?,
    };
    let list = List { entries, has_one_name: args.name.is_some() };
    match args.is_json {
        true => terminal::print_json(serde_json::to_string_pretty(&list.to_json())),
        false => print_text(&list.to_text(layout())),
    }
}

fn show(args: &ShowArgs, history: &History) -> Result<()> {
    let interrupts = SignalState::await_signals()?;
    let entry = history.newest(&args.run)?;
    let document = history.document(entry.id)?;
    let exports: Vec<Export> = args.output.all_exports().collect();
    let ShowArgs { latency: spectrum, rules, verbose, .. } = *args;
    let options = TextOptions { spectrum, rules, verbose, ..TextOptions::default() };
    let form = PrintForm { format: args.output.format(args.format), options };
    check_assertions(!document.assertions.is_empty(), form.format, &exports).map_err(Error::msg)?;
    let files = ExportFiles::at(exports, &[], &interrupts.temporaries)?;
    files.write(&document, &form.options)?;
    Ok(print(&document, &form)?)
}

fn trend(args: &TrendArgs, history: &History) -> Result<()> {
    let summary = StepSummary::of(args.github)?;
    let default = || ["p50", "p99", "rate"].map(|name| name.parse().expect("a metric")).to_vec();
    let given = MetricList::all(&args.metrics);
    let metrics = if given.is_empty() { default() } else { given };
    let exports = args.result_files.exports();
    let format = args.result_files.format(args.format);
    let interrupts = SignalState::await_signals()?;
    let trend = Trend::load(history, &args.name, args.tag.as_ref(), &metrics)?;
    let rows = args.count as usize;
    let built = trend.built(rows);
    let findings = Findings::of(Source::Built(&built));
    study::check_formats(&findings, format, &exports)?;
    let files = ExportFiles::at(exports, &[], &interrupts.temporaries)?;
    files.write_findings(&findings, &TextOptions::default())?;
    if format == exporters::TEXT {
        print_text(&trend.to_text(layout(), rows))?;
    } else {
        study::print(&findings, format)?;
    }
    let annotations = trend.recent_changes(rows).into_iter().map(|change| {
        let level =
            if change.is_worse { AnnotationLevel::Warning } else { AnnotationLevel::Notice };
        Annotation::new(level, "weir: change", change.text)
    });
    let text = &built.text;
    let markdown = |out: &mut Vec<u8>| write!(out, "### weir history\n\n```text\n{text}```\n");
    Ok(summary.publish(markdown, annotations.collect(), format == exporters::TEXT)?)
}

fn tag(run: &Selector, tags: &[Tag], is_added: bool, history: &mut History) -> Result<()> {
    let entry = history.newest(run)?;
    let entry = history.tag(entry.id, tags, is_added)?;
    let tags = match entry.tags.is_empty() {
        true => "no tags".to_owned(),
        false => format!("tags {}", entry.tags.join(" ")),
    };
    print_text(&format!("{} #{}: {tags}\n", entry.name, entry.id))
}

fn add(name: &Name, files: &[PathBuf], tags: &[Tag], path: &Path) -> Result<()> {
    let mut history = History::create(path)?;
    for file in files {
        let text = || format!("{} cannot be saved", shown(file));
        let document = Document::load(file).with_context(text)?;
        let id = history.save(name, tags, &document).with_context(text)?;
        print_text(&format!("saved as {name} #{id}\n"))?;
    }
    Ok(())
}

fn remove(ids: &[i64], history: &mut History) -> Result<()> {
    history.remove(ids)?;
    let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
    print_text(&format!("removed {}\n", ids.join(" ")))
}

/// The page of standard output. Only a terminal limits the length of lines.
fn layout() -> Layout {
    let screen = on_stdout(TextOptions::default());
    Layout {
        width: terminal::is_stdout_terminal().then_some(screen.width),
        has_blocks: screen.histogram == Some(Bars::Blocks),
    }
}

fn print_text(text: &str) -> Result<()> {
    Ok(terminal::print(|out| out.write_all(text.as_bytes()))?)
}

//! `weir rerun`: the run of a document once more, or with a named change.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use weir_result::study::Hooks;
use weir_result::{Arrivals, Document, DueTimes, Note, Study};
use weir_runner::{RunSpec, Runner};
use weir_text::units;

use super::study::consent;
use super::{recorded, run, secrets};
use crate::args::study::{ChangeArgs, RerunArgs};
use crate::github::StepSummary;
use crate::interrupts::SignalState;
use crate::observers::Observers;
use crate::runner;
use crate::terminal::shown;

/// Repeats the run.
///
/// # Errors
/// When the document cannot be read, the run would be another one, or it fails.
pub(crate) fn rerun(args: &RerunArgs) -> Result<ExitCode> {
    let summary = StepSummary::of(args.result.verdict.github)?;
    let document = load(args)?;
    let mut spec = recorded::spec_of(document.run.spec.as_ref(), document.run.command.as_deref())
        .with_context(|| format!("{} cannot be repeated", shown(&args.file)))?;
    let named = consent::of_run(&spec);
    consent::check(&args.file, &named, &args.consent, &Hooks::default(), args.result.output.quiet)?;
    secrets::restore(&mut spec, &args.secrets)?;
    recorded::settle_choices(&mut spec, &document.plan);
    spec.command.clone_from(&document.run.command);
    let is_staged = spec.load.stage_count() > 0;
    if is_staged && (args.change.rate.is_some() || args.change.duration.is_some()) {
        bail!("-R and -d change no load in stages: give the command again");
    }
    let is_replay = spec.replay.is_some();
    if is_replay && (args.change.rate.is_some() || args.change.duration.is_some()) {
        bail!("-R and -d change no replayed log: give the command again, with another --speed");
    }
    let changed = change(&mut spec, &args.change);
    if !changed.is_empty() {
        spec.set_command(std::env::args_os());
    }
    let mut observers = Observers::of(&args.result, &spec.tls)?;
    let mut prepared = runner::of(&spec).prepare(&spec, &mut observers.all)?;
    let fields: Vec<&str> = changed.iter().flat_map(|(fields, _)| *fields).copied().collect();
    recorded::check_same(&document, &*prepared, &fields)
        .with_context(|| format!("{} cannot be repeated", shown(&args.file)))?;
    if !changed.is_empty() {
        let texts: Vec<&str> = changed.iter().map(|(_, text)| text.as_str()).collect();
        let text = format!("a rerun of {} with {}", document.run.id, texts.join(", "));
        prepared.add_note(Note::new("rerun_changed", text));
    }
    let interrupts = SignalState::await_signals()?;
    let here = run::RowsPlace::Here;
    run::carry_out(&args.result, prepared, here, &interrupts, &summary, &mut observers)
}

/// Reads the document of a whole run.
fn load(args: &RerunArgs) -> Result<Document> {
    let file = shown(&args.file);
    let document = Document::load(&args.file);
    if document.is_err() && Study::load(&args.file).is_ok() {
        bail!(
            "{file} is a study of several runs, and rerun repeats a single one: weir resume {file} \
             continues a study"
        );
    }
    let document = document.with_context(|| format!("{file} cannot be repeated"))?;
    if let Some(fleet) = &document.fleet {
        let words = document.run.command.iter().flatten().map(String::as_str);
        let line = shlex::try_join(words).ok().filter(|line| !line.is_empty());
        let line = line.map_or_else(String::new, |line| format!(": {line}"));
        bail!(
            "{file} is of a run on {} agents, and rerun repeats the run of one machine; give its \
             command again{line}",
            fleet.agents.len()
        );
    }
    match document.plan.part.is_some() || !document.parts.is_empty() {
        true => Err(anyhow!("{file} is of a run in parts: repeat its parts")),
        false => Ok(document),
    }
}

/// A change of the recorded plan: the fields that it may change, as JSON pointers, and a text with
/// the new value and the recorded one.
type PlanChange = (&'static [&'static str], String);

/// Changes the load, and adds the facts.
fn change(spec: &mut RunSpec, args: &ChangeArgs) -> Vec<PlanChange> {
    spec.watch.notes.extend(args.notes.iter().cloned());
    let load = &mut spec.load;
    let mut changes = Vec::<PlanChange>::new();
    if let Some(rate) = args.rate {
        let arrivals = load.arrivals().unwrap_or(Arrivals::Uniform);
        let recorded = load.rate().map_or("a closed loop".to_owned(), |it| it.to_string());
        load.due = Some(DueTimes::constant(rate, arrivals));
        let text = format!("{rate} in the place of {recorded}");
        changes.push((&["/load/due"], text));
    }
    if let Some(connections) = args.connections {
        let recorded = std::mem::replace(&mut load.connections, connections.into());
        let new = units::count(connections.into());
        let old = units::count(recorded.count().into());
        let text = format!("{new} connections in the place of {old}");
        changes.push((&["/load/connections", "/threads"], text));
    }
    if let Some(duration_ns) = args.duration {
        let recorded = load.duration_ns.replace(duration_ns);
        let old = recorded.map_or_else(|| "no limit".to_owned(), units::exact_duration);
        let text = format!("{} in the place of {old}", units::exact_duration(duration_ns));
        changes.push((&["/load/duration_ns"], text));
    }
    changes
}

//! Carries out the trials of a study on this machine.

use std::io;
use std::time::{Duration, Instant};

use weir_result::study::{Design, HookRun, Hooks, Settling};
use weir_result::{Arrivals, Document, Load, Study, units};
use weir_runner::{LoadSpec, RunSpec, Warmup};
use weir_study::search::{TrialPlan, next_plan};
use weir_study::{HookKind, Laboratory, Upcoming, trials_planned};

use super::variant::{Variant, redacted};
use super::{Manner, estimate, hook, settle};
use crate::errors::NotWritten;
use crate::interrupts::Interrupts;
use crate::live::Progress;
use crate::output::ResultFile;
use crate::{runner, terminal};

/// Time that a server has to come up after a hook, unless --wait-for-server sets another.
const RESTART_NS: u64 = 10_000_000_000;

/// Seeds of arrivals are short enough to type again.
const SEED_MAX: u64 = 1_000_000_000;

/// This machine, and the variants of the study by cell.
pub(super) struct Bench<'a> {
    variants: Vec<Variant>,
    /// The commands themselves; those of the study have no secrets.
    hooks: Hooks,
    interrupts: &'a Interrupts,
    manner: &'a Manner<'a>,
    /// Idle latency of each cell before its first trial, in nanoseconds.
    idle_ns: Vec<Option<u64>>,
    begun: Instant,
    /// Trials made since `begun`.
    made: u32,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        variants: Vec<Variant>,
        hooks: Hooks,
        interrupts: &'a Interrupts,
        manner: &'a Manner<'a>,
    ) -> Bench<'a> {
        let idle_ns = vec![None; variants.len()];
        Bench { variants, hooks, interrupts, manner, idle_ns, begun: Instant::now(), made: 0 }
    }

    fn variant(&self, upcoming: &Upcoming) -> &Variant {
        &self.variants[upcoming.cell as usize]
    }

    /// The specification of one trial: both halves of a pair get the same random arrivals, and
    /// other pairs others.
    fn spec(&self, study: &Study, upcoming: &Upcoming) -> RunSpec {
        let mut spec = self.variant(upcoming).spec.clone();
        let is_given = spec.command.iter().flatten().any(|word| word.starts_with("--seed"));
        if let Load::OpenLoop { arrivals: Arrivals::Poisson { seed }, .. } = &mut spec.load.model
            && !is_given
        {
            *seed = study.seed.wrapping_add(u64::from(upcoming.round)) % SEED_MAX;
        }
        if let (Some(plan), Design::Search { arrivals, .. }) = (next_plan(study), &study.design) {
            spec.load = trial_load(&spec.load, &plan, *arrivals, upcoming.round);
        }
        if !self.hooks.is_empty() {
            spec.target.wait_ns = spec.target.wait_ns.or(Some(RESTART_NS));
        }
        spec
    }

    /// The time left, from the trials so far or from the plan.
    fn left(&self, study: &Study) -> Option<String> {
        let (_, most) = trials_planned(study);
        let left = most.saturating_sub(study.measured().count() as u32);
        let planned = estimate::of_trial_ns(study, &self.variants);
        let measured = (self.made > 0).then(|| self.begun.elapsed() / self.made);
        let each = measured.map(|each| each.as_nanos() as u64).or(planned)?;
        Some(estimate::about(each * u64::from(left)))
    }
}

impl Laboratory for Bench<'_> {
    type Error = anyhow::Error;

    fn announce(&mut self, study: &Study, upcoming: &Upcoming) {
        if self.manner.quiet {
            return;
        }
        let (least, most) = trials_planned(study);
        // Trials that count for nothing have numbers too.
        let lost = (study.trials.len() - study.measured().count()) as u32;
        let (least, most) = (least + lost, most + lost);
        let of = if least == most { most.to_string() } else { format!("at most {most}") };
        let name = &self.variant(upcoming).cell.name;
        let name = if study.cells.len() > 1 { format!(": {name}") } else { String::new() };
        let name = next_plan(study).map_or(name, |plan| format!(": {}", load_in_words(&plan)));
        let left = self.left(study).filter(|_| !matches!(study.design, Design::Search { .. }));
        let left = left.map_or_else(String::new, |left| format!(", {left} left"));
        let number = upcoming.number;
        terminal::eprint_line(format_args!("trial {number} of {of}{name}{left}"));
    }

    fn settle(&mut self, _study: &Study, upcoming: &Upcoming) -> Result<Option<Settling>, String> {
        if !self.manner.settles || self.made == 0 {
            return Ok(None);
        }
        let idle_ns = self.idle_ns[upcoming.cell as usize];
        Ok(Some(settle::settle(&self.variant(upcoming).spec, idle_ns, self.interrupts)))
    }

    fn hook(
        &mut self,
        kind: HookKind,
        _study: &Study,
        upcoming: &Upcoming,
    ) -> Result<HookRun, String> {
        let command = match kind {
            HookKind::Before => self.hooks.before.as_deref(),
            HookKind::After => self.hooks.after.as_deref(),
        };
        let variables = [
            ("WEIR_VARIANT", self.variant(upcoming).cell.name.clone()),
            ("WEIR_TRIAL", upcoming.number.to_string()),
        ];
        let timeout = Duration::from_nanos(self.hooks.timeout_ns);
        let is_interrupted = || self.interrupts.runs().received().is_some();
        let run = hook::run(command.unwrap_or("true"), &variables, timeout, is_interrupted);
        let mut run = run.map_err(|error| format!("{} cannot be started: {error}", kind.flag()))?;
        run.output = redacted(&self.variants, &run.output);
        Ok(run)
    }

    fn run(&mut self, study: &Study, upcoming: &Upcoming) -> Result<Document, String> {
        let spec = self.spec(study, upcoming);
        let mut progress = Progress::new(self.manner.quiet);
        let prepared = runner::of(&spec).prepare(&spec, &mut progress);
        let ran = prepared.and_then(|run| run.run(self.interrupts.runs(), None, &mut progress));
        self.made += 1;
        // The reason of a failure is kept in the study.
        let reason = |text: &str| redacted(&self.variants, text);
        let finished = ran.map_err(|error| reason(&error.to_string()))?;
        if let Some((failure, _)) = finished.script_failures().first() {
            return Err(reason(failure));
        }
        let document = finished.document;
        let probed = document.probe.map(|probe| probe.service_time.p50_ns);
        let idle_ns = &mut self.idle_ns[upcoming.cell as usize];
        *idle_ns = idle_ns.or(probed);
        Ok(document)
    }

    fn keep(&mut self, study: &Study) -> Result<(), anyhow::Error> {
        let Some(path) = self.manner.output else { return Ok(()) };
        let file = ResultFile::at("--output", path, self.interrupts.temporaries());
        // It could be made before the first trial: that it cannot be now is no wrong usage.
        let file = file.map_err(|error| io::Error::other(format!("{error:#}")));
        let written = file
            .and_then(|file| file.write(|mut out| weir_report::json::write_study(study, &mut out)));
        Ok(written.map_err(|error| NotWritten { place: "--output", error })?)
    }

    fn now(&self) -> String {
        weir_runner::now()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.runs().received().is_some()
    }
}

/// Returns the load of a search's trial. Each trial has other random arrivals: they say more about
/// a rate than the same ones again.
fn trial_load(load: &LoadSpec, plan: &TrialPlan, arrivals: Arrivals, round: u32) -> LoadSpec {
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let arrivals = match arrivals {
        Arrivals::Uniform => Arrivals::Uniform,
        Arrivals::Poisson { seed } => {
            Arrivals::Poisson { seed: seed.wrapping_add(u64::from(round)) % SEED_MAX }
        }
    };
    LoadSpec {
        model: plan.rate().map_or(Load::ClosedLoop, |rate| Load::OpenLoop { rate, arrivals }),
        connections: plan.connections,
        warmup: Warmup { span_ns: ns(plan.warmup_s), is_auto: false },
        duration_ns: Some(ns(plan.duration_s)),
        requests: None,
        drain_ns: Some(plan.drain_s.map_or(load.timeout_ns, ns)),
        ..load.clone()
    }
}

/// Formats `11,000/s over 64 connections`.
fn load_in_words(plan: &TrialPlan) -> String {
    let rate = plan.rate_rps.map_or_else(|| "closed loop".to_owned(), units::round_rate);
    format!("{rate} over {} connections", units::count(plan.connections.into()))
}

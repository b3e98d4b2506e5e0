//! The trials of a study, made with a [`Runner`], hooks around each, and waits until the machine
//! and the target have recovered. The study's order and its result are in the rooms beside it;
//! files, the screen and the history belong to the caller, a [`Keeper`].

mod variant;

mod estimate;
mod hook;
mod settle;

pub use estimate::of_study as estimate;
pub use variant::{Variant, redacted};

use std::time::{Duration, Instant};

use weir_result::study::{Design, HookRun, Hooks, Settling};
use weir_result::{Arrivals, Document, DueTimes, Load, Study, Warmup};
use weir_runner::{Interrupts, Observer, RawOutput, RawTrial, RunSpec, Runner, StudyProgress, now};
use weir_text::units;

use crate::conduct::{HookKind, TrialRunner};
use crate::designs::{Upcoming, trials_planned};
use crate::search::{TrialPlan, next_plan};

/// Time that a server has to come up after a hook, unless the specification sets another.
const RESTART_NS: u64 = 10_000_000_000;

/// Seeds of arrivals are short enough to type again.
const SEED_MAX: u64 = 1_000_000_000;

/// The place where a study, its documents and its rows are kept.
pub trait Keeper {
    /// Keeps the study as it is now.
    ///
    /// # Errors
    /// When it cannot be written. The study ends then.
    fn study(&mut self, study: &Study) -> anyhow::Result<()>;

    /// Keeps the document of one trial of `variant`. A failure does not end the study.
    fn trial(&mut self, document: &Document, variant: &str);

    /// Returns the file for the rows of all trials, in which the rows of this one begin; `None` if
    /// no rows are kept.
    fn rows(&mut self, _trial: RawTrial) -> Option<&mut RawOutput> {
        None
    }
}

/// Makes the trials of a study.
pub struct Conductor<'a> {
    runner: &'a dyn Runner,
    variants: Vec<Variant>,
    /// The commands themselves; the study's copies have no secrets.
    hooks: Hooks,
    /// True if trials wait until machine and target have recovered.
    settles: bool,
    interrupts: &'a Interrupts,
    observer: &'a mut dyn Observer,
    keeper: &'a mut dyn Keeper,
    /// Idle latency of each cell before its first trial, in nanoseconds.
    idle_ns: Vec<Option<u64>>,
    begun: Instant,
    /// Trials made since `begun`.
    made: u32,
}

impl<'a> Conductor<'a> {
    /// Returns the conductor of a study with these variants, one for each cell, and these hooks.
    /// `settles`: trials wait until machine and target have recovered from the one before.
    pub fn new(
        runner: &'a dyn Runner,
        variants: Vec<Variant>,
        hooks: Hooks,
        settles: bool,
        interrupts: &'a Interrupts,
        observer: &'a mut dyn Observer,
        keeper: &'a mut dyn Keeper,
    ) -> Conductor<'a> {
        let idle_ns = vec![None; variants.len()];
        Conductor {
            runner,
            variants,
            hooks,
            settles,
            interrupts,
            observer,
            keeper,
            idle_ns,
            begun: Instant::now(),
            made: 0,
        }
    }

    fn variant(&self, upcoming: &Upcoming) -> &Variant {
        &self.variants[upcoming.cell as usize]
    }

    /// The specification of one trial: both halves of a pair get the same random arrivals, orders
    /// and values, and other pairs others.
    fn spec(&self, study: &Study, upcoming: &Upcoming) -> RunSpec {
        let mut spec = self.variant(upcoming).spec.clone();
        if spec.is_seed_drawn {
            spec.set_seed(study.seed.wrapping_add(u64::from(upcoming.round)) % SEED_MAX);
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

impl TrialRunner for Conductor<'_> {
    type Error = anyhow::Error;

    fn announce(&mut self, study: &Study, upcoming: &Upcoming) {
        let (least, most) = trials_planned(study);
        // Trials that count for nothing have numbers too.
        let lost = (study.trials.len() - study.measured().count()) as u32;
        let least = least + lost;
        let most = most + lost;
        let name = match study.cells.len() {
            0 | 1 => String::new(),
            _ => self.variant(upcoming).cell.name.clone(),
        };
        let is_search = matches!(study.design, Design::Search { .. });
        self.observer.trial(&StudyProgress {
            design: study.design.name(),
            trial: upcoming.number,
            least,
            most,
            variant: next_plan(study).map_or(name, |plan| load_in_words(&plan)),
            left: self.left(study).filter(|_| !is_search),
        });
    }

    fn settle(&mut self, upcoming: &Upcoming) -> Result<Option<Settling>, String> {
        if !self.settles || self.made == 0 {
            return Ok(None);
        }
        let idle_ns = self.idle_ns[upcoming.cell as usize];
        let spec = &self.variant(upcoming).spec;
        Ok(Some(settle::settle(self.runner, spec, idle_ns, self.interrupts)))
    }

    fn hook(&mut self, kind: HookKind, upcoming: &Upcoming) -> Result<HookRun, String> {
        let command = match kind {
            HookKind::Before => self.hooks.before.as_deref(),
            HookKind::After => self.hooks.after.as_deref(),
        };
        let variables = [
            ("WEIR_VARIANT", self.variant(upcoming).cell.name.clone()),
            ("WEIR_TRIAL", upcoming.number.to_string()),
        ];
        let timeout = Duration::from_nanos(self.hooks.timeout_ns);
        let is_interrupted = || self.interrupts.received().is_some();
        let run = hook::run(command.unwrap_or("true"), &variables, timeout, is_interrupted);
        let mut run =
            run.map_err(|error| format!("{} cannot be started: {error}", kind.setting()))?;
        run.output = redacted(&self.variants, &run.output);
        Ok(run)
    }

    fn run(&mut self, study: &Study, upcoming: &Upcoming) -> Result<Document, String> {
        let spec = self.spec(study, upcoming);
        let variant = self.variant(upcoming).cell.name.clone();
        if spec.load.is_until_signal() {
            return Err("a trial needs an end: a duration or a number of requests".to_owned());
        }
        if !spec.load.abort.is_empty() {
            return Err("the trials of a study have one length: no condition ends one".to_owned());
        }
        let ran = self.runner.prepare(&spec, self.observer).and_then(|run| {
            let rows = self.keeper.rows(RawTrial { number: upcoming.number, variant });
            run.run(self.interrupts, rows, self.observer)
        });
        self.made += 1;
        // The reason of a failure is kept in the study.
        let reason = |text: &str| redacted(&self.variants, text);
        let finished = ran.map_err(|error| reason(&error.to_string()))?;
        if let Some((failure, _)) = finished.source_failures.first() {
            return Err(reason(failure));
        }
        let document = finished.document;
        let probed = document.probe.map(|probe| probe.service_time.p50_ns);
        let idle_ns = &mut self.idle_ns[upcoming.cell as usize];
        *idle_ns = idle_ns.or(probed);
        let variant = self.variants[upcoming.cell as usize].cell.name.as_str();
        self.keeper.trial(&document, variant);
        Ok(document)
    }

    fn keep(&mut self, study: &Study) -> Result<(), anyhow::Error> {
        self.keeper.study(study)
    }

    fn now(&self) -> String {
        now()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.received().is_some()
    }
}

/// Returns the load of a search's trial. Each trial has other random arrivals: they say more about
/// a rate than the same ones again.
fn trial_load(load: &Load, plan: &TrialPlan, mut arrivals: Arrivals, round: u32) -> Load {
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    if let Arrivals::Poisson { seed } = &mut arrivals {
        *seed = seed.wrapping_add(u64::from(round)) % SEED_MAX;
    }
    Load {
        due: plan.rate().map(|rate| DueTimes::constant(rate, arrivals)),
        connections: plan.connections.into(),
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

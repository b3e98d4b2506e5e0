//! The observers of a run, as its flags name them.

use anyhow::Result;
use weir_report::exporters;
use weir_runner::{Observer, TlsSpec};
use weir_text::units;

use crate::args::ResultArgs;
use crate::args::live::LiveArgs;
use crate::args::values::listen_address;
use crate::interrupts::SignalState;
use crate::live::{Lines, LiveEndpoint, Progress, Scrapers, SharedTotals};
use crate::{otlp, terminal, tui};

/// The observers of a run.
pub(crate) struct Observers {
    /// All of them.
    pub(crate) all: Vec<Box<dyn Observer>>,
    /// The lines that the report continues, if its format has lines.
    pub(crate) lines: Option<Lines>,
    /// The endpoint of `--listen`, until it is started.
    endpoint: Option<LiveEndpoint>,
    scrapers: Scrapers,
}

impl Observers {
    /// Returns the observers that the flags name. `tls` is for the collector of `--otlp`.
    ///
    /// # Errors
    /// When `--tui` has no terminal, `--listen` no address, or `--otlp` no URL.
    pub(crate) fn of(args: &ResultArgs, tls: &TlsSpec) -> Result<Observers> {
        let has_lines = args.form().format == exporters::JSONL && !args.is_silent();
        // On one terminal, lines and a picture would overwrite each other.
        let is_shared = has_lines && terminal::is_stdout_terminal();
        let lines = (has_lines && !(is_shared && args.live.tui)).then(Lines::default);
        let progress = Progress::new(args.output.quiet, is_shared);
        Observers::new(&args.live, progress, lines, tls)
    }

    /// Returns the observers of a study, which see all its trials.
    ///
    /// # Errors
    /// As [`Observers::of`].
    pub(crate) fn of_study(flags: &LiveArgs, is_quiet: bool, tls: &TlsSpec) -> Result<Observers> {
        Observers::new(flags, Progress::new(is_quiet, false), None, tls)
    }

    fn new(
        flags: &LiveArgs,
        progress: Progress,
        lines: Option<Lines>,
        tls: &TlsSpec,
    ) -> Result<Observers> {
        let mut all: Vec<Box<dyn Observer>> = vec![match flags.tui {
            true => tui::observer()?,
            false => Box::new(progress),
        }];
        all.extend(lines.clone().map(|lines| Box::new(lines) as Box<dyn Observer>));
        let totals = SharedTotals::default();
        if flags.listen.is_some() || flags.otlp.is_some() {
            // Before those that read them.
            all.push(Box::new(totals.clone()));
        }
        if let Some(url) = &flags.otlp {
            all.push(otlp::observer(url, tls, flags.tui, totals.clone())?);
        }
        let mut endpoint = None;
        let scrapers = Scrapers::default();
        if let Some(address) = &flags.listen {
            let address = listen_address(address)?;
            endpoint = Some(LiveEndpoint::open(address, totals, scrapers.clone())?);
        }
        Ok(Observers { all, lines, endpoint, scrapers })
    }

    /// Starts the threads that serve the figures. Signals must be blocked by then.
    ///
    /// # Errors
    /// When no thread is left.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.endpoint.take().map_or(Ok(()), LiveEndpoint::start)
    }
    /// Waits at the end of the program until those who scrape the figures have seen the last ones.
    pub(crate) fn await_scrapers(&self, interrupts: &SignalState) {
        self.scrapers.await_last(&interrupts.runs, |span| {
            let span = units::short_duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
            terminal::eprint_line(format_args!(
                "metrics stay until the next scrape, at most {span}; Ctrl-C ends the wait"
            ));
        });
    }
}

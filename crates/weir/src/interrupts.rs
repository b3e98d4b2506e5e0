//! Signals of the user: a thread that waits for them. The first one ends the run in progress, or
//! the program if there is none; the second one ends the program.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_machine::sys::{Signal, Signals};
use weir_runner::{InterruptStage, NoThread};

use crate::exit;
use crate::output::Temporaries;
use crate::{terminal, tui};

/// Time for printing a report after a signal.
const PRINTING: Duration = Duration::from_millis(300);

/// State shared by the thread that waits for signals and the rest of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct SignalState {
    /// The part that a run shares.
    pub(crate) runs: weir_runner::Interrupts,
    /// The files that are removed when a signal ends the program.
    pub(crate) temporaries: Temporaries,
}

impl SignalState {
    /// Starts the thread that waits for signals. The program's first thread calls this before there
    /// are others.
    ///
    /// # Errors
    /// When signals cannot be waited for.
    pub(crate) fn await_signals() -> Result<SignalState> {
        let signals = Signals::block().context("signals cannot be waited for")?;
        let runs = weir_runner::Interrupts::default();
        let interrupts = SignalState { temporaries: Temporaries::new(runs.clone()), runs };
        let theirs = interrupts.clone();
        let wait = move || {
            while let Ok(signal) = signals.wait() {
                theirs.receive(signal);
            }
        };
        // This thread outlives the runs: nothing ends its wait.
        let builder = thread::Builder::new().name("weir-signals".to_owned());
        let _detached = builder.spawn(wait).map_err(NoThread)?;
        Ok(interrupts)
    }

    fn receive(&self, signal: Signal) {
        self.runs.receive(signal, |stage| {
            let message = match stage {
                InterruptStage::Ahead => "interrupted before the load: nothing was measured",
                InterruptStage::Running => "abandoned without a report",
                InterruptStage::Printing => {
                    // Without a reader that has stopped, the program ends by itself in this time.
                    thread::sleep(PRINTING);
                    "interrupted while the report was printed"
                }
                InterruptStage::Reported => {
                    "interrupted after the report: done() of the script was not awaited"
                }
            };
            // Until the exit, the locks keep other threads from the next stage and from new files.
            let _none_left = self.temporaries.remove();
            tui::restore();
            terminal::eprint_on_new_line(message);
            std::process::exit(exit::of_signal(signal).into());
        });
    }
}

//! Runners: they carry out specifications of runs. What conducts, shows and judges runs sees these
//! traits alone.

use weir_result::document::Input;
use weir_result::{Note, Plan};

use crate::errors::Error;
use crate::finished::Finished;
use crate::interrupts::Interrupts;
use crate::observer::Observer;
use crate::run::raw::RawOutput;
use crate::spec::RunSpec;

/// Carries out runs, one at a time.
pub trait Runner {
    /// Plans a run and checks that it can be carried out. Nothing is sent.
    ///
    /// # Errors
    /// When the specification cannot be carried out.
    fn prepare(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer,
    ) -> Result<Box<dyn PreparedRun>, Error>;

    /// Measures the target without load: the median service time, in nanoseconds, of some requests
    /// one after the other, as the probe of a run sends them. `None` if the request may not be
    /// repeated, or has no response.
    ///
    /// # Errors
    /// When the specification cannot be carried out, or the target makes a load impossible.
    fn idle_latency(&self, spec: &RunSpec, interrupts: &Interrupts) -> Result<Option<u64>, Error>;
}

/// A run that is planned and not yet carried out.
pub trait PreparedRun {
    /// The plan, without secrets. Without an HTTP version if the server chooses it.
    fn plan(&self) -> &Plan;

    /// Method and target of each of the first requests of a list, without secrets, at most 10. None
    /// without a list.
    fn first_requests(&self) -> Vec<String> {
        Vec::new()
    }

    /// Files that the run reads, with their digests.
    fn inputs(&self) -> &[Input];

    /// SHA-256 of the plan, as in the document.
    fn plan_sha256(&self) -> String;

    /// Adds a note for the document.
    fn add_note(&mut self, note: Note);

    /// Carries out the run, from the time on that its specification gives. A signal that
    /// `interrupts` receives ends it in order; `raw` gets a row for each request; `observer` gets
    /// frames and intervals while it goes.
    ///
    /// # Errors
    /// When the target makes a load impossible, the machine fails, the numbers do not add up, or a
    /// signal came before the load.
    fn run(
        self: Box<Self>,
        interrupts: &Interrupts,
        raw: Option<&mut RawOutput>,
        observer: &mut dyn Observer,
    ) -> Result<Finished, Error>;
}
